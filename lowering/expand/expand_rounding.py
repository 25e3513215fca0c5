"""Pass `expand-rounding`: rounding to integers on x86 CPUs without the instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core.emit import Value, element_of
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

Operation: TypeAlias = ir.Operation

FRACTION_BITS = {32: 23, 64: 52}


def _round_even(lanes: Lanes, x: Value) -> Value:
    """Round floats below 2 to the number of fraction bits by adding that power; larger ones are already integers."""
    magnitude, large = lanes.abs(x), lanes.const(2.0 ** FRACTION_BITS[lanes.width])
    rounded = lanes.sub(lanes.add(magnitude, large), large)
    return lanes.select(lanes.compare("olt", magnitude, large), lanes.copysign(rounded, x), x)


def _floor(lanes: Lanes, x: Value) -> Value:
    near = _round_even(lanes, x)
    return lanes.select(lanes.compare("ogt", near, x), lanes.sub(near, lanes.const(1.0)), near)


def _ceil(lanes: Lanes, x: Value) -> Value:
    return lanes.negate(_floor(lanes, lanes.negate(x)))


def _trunc(lanes: Lanes, x: Value) -> Value:
    return lanes.copysign(_floor(lanes, lanes.abs(x)), x)


EXPANSIONS: dict[str, Callable[[Lanes, Value], Value]] = {
    "math.roundeven": _round_even,
    "math.floor": _floor,
    "math.ceil": _ceil,
    "math.trunc": _trunc,
}


@dataclass(frozen=True)
class ExpandRounding(ModulePass):
    """Expand `math.roundeven`, `floor`, `ceil` and `trunc` to arithmetic where LLVM would call libm for each lane.

    This applies to x86 before SSE 4.1. Results match libm's, including signed zeros; NaN stays NaN.
    """

    name: ClassVar[str] = "expand-rounding"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        target = Target.parse(self.target)
        if target.architecture != "x86_64" or target.has("sse4_1"):
            return
        for operation in ops_of(module.operation, *EXPANSIONS):
            (operand,) = operation.operands
            if element_of(operand.type).width not in FRACTION_BITS:
                continue
            with ir.InsertionPoint(operation), operation.location:
                result = EXPANSIONS[operation.name](Lanes(operand.type), operand)
            operation.results[0].replace_all_uses_with(result)
            operation.erase()
