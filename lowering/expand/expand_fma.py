"""Pass `expand-fma`: fused multiply-add on x86 CPUs without the instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core.emit import Value, element_of
from relax_mlir.lowering.kernels.core.lanes import BOUNDED, Lanes, same_shape
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

Operation: TypeAlias = ir.Operation

SPLIT = 2.0**27 + 1


@dataclass(frozen=True)
class ExpandFma(ModulePass):
    """Expand `math.fma` to multiplications and additions where LLVM would call libm for each lane.

    An f32 FMA is computed in f64: its product is exact, and the sum is rounded 29 bits below f32 precision. An f64 FMA
    becomes an exact product and an exact sum of two floats each (T. Dekker, D. Knuth), but only in expansions of math
    functions, which stay far from overflow. Other f64 FMAs stay calls of libm, which rounds correctly.
    """

    name: ClassVar[str] = "expand-fma"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        if Target.parse(self.target).has_fma:
            return
        for operation in ops_of(module.operation, "math.fma"):
            _replace(operation)


def _replace(operation: Operation) -> None:
    a, b, c = operation.operands
    element = element_of(a.type)
    if not (
        isinstance(element, ir.F32Type)
        or (isinstance(element, ir.F64Type) and BOUNDED in operation.attributes)
    ):
        return
    with ir.InsertionPoint(operation), operation.location:
        result = _by_wider(a, b, c) if isinstance(element, ir.F32Type) else _by_parts(Lanes(a.type), a, b, c)
    operation.results[0].replace_all_uses_with(result)
    operation.erase()


def _by_wider(a: Value, b: Value, c: Value) -> Value:
    single = Lanes(a.type)
    wide = Lanes(same_shape(a.type, ir.F64Type.get()))
    a, b, c = (single.widen(x, wide) for x in (a, b, c))
    return single.narrow(wide.add(wide.mul(a, b), c))


def _by_parts(lanes: Lanes, a: Value, b: Value, c: Value) -> Value:
    """The rounded product and sum plus their rounding errors; NaN for infinite operands."""
    product = lanes.mul(a, b)
    (a_high, a_low), (b_high, b_low) = _halves(lanes, a), _halves(lanes, b)
    lost = lanes.sub(lanes.mul(a_high, b_high), product)
    for x, y in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
        lost = lanes.add(lost, lanes.mul(x, y))
    total = lanes.add(product, c)
    from_c = lanes.sub(total, product)
    lost_sum = lanes.add(lanes.sub(product, lanes.sub(total, from_c)), lanes.sub(c, from_c))
    lost = lanes.add(lost, lost_sum)
    return lanes.select(lanes.compare("uno", lost, lost), total, lanes.add(total, lost))


def _halves(lanes: Lanes, x: Value) -> tuple[Value, Value]:
    """Split x into a sum of two floats of 26 bits (G. Veltkamp)."""
    scaled = lanes.scale(x, SPLIT)
    high = lanes.sub(scaled, lanes.sub(scaled, x))
    return high, lanes.sub(x, high)
