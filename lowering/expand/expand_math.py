"""Pass `expand-math`: expand math functions to arithmetic for the vector units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core.emit import Type, Value, element_of
from relax_mlir.lowering.kernels.core.lanes import Lanes, same_shape
from relax_mlir.lowering.kernels.math.math_erf import erf, gelu, written_with
from relax_mlir.lowering.kernels.math.math_functions import (
    BINARY_EXPANSIONS,
    EXPANSIONS,
    FAST_EXPANSIONS,
    PREDICATES,
    double_expansions,
)
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.config import MATH_FAST

Operation: TypeAlias = ir.Operation


KNOWN = frozenset((*EXPANSIONS, *BINARY_EXPANSIONS, *PREDICATES))
SINGLE: dict[str, Callable[..., Value]] = {**EXPANSIONS, **BINARY_EXPANSIONS}


@dataclass(frozen=True)
class ExpandMath(ModulePass):
    """Expand exponentials, logarithms, powers, trigonometric and hyperbolic functions, their inverses, erf and remf.

    They become polynomials for f32, and for f16 and bf16 computed in f32, scalar or vector. In f64, exponentials,
    logarithms and hyperbolic functions do so if `target` has a fused multiply-add; others are calls of libm. Without
    fused multiply-add, expm1 and log1p are computed from libm's exp and log. Results differ from the correctly rounded
    ones by a few ulp at most (each function in `relax_mlir.lowering.kernels.math.math_functions` states its bound).
    NaN, infinities, signed zeros, overflow and denormals match libm. With `fast`, or the context's option
    ``math.fast``, exp, exp2, tanh and erf of f32 use shorter polynomials with an error of 1e-5.

    An erf of f32 that is part of a gelu becomes that gelu. If `target` has AVX-512, exp, exp2, erf and gelu on vectors
    of 16 take fewer instructions.
    """

    name: ClassVar[str] = "expand-math"
    target: str = "cpu"
    fast: bool = False

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite all operations of the module in place."""
        fast = self.fast or bool(ctx.option(MATH_FAST))
        single = {**SINGLE, **FAST_EXPANSIONS} if fast else SINGLE
        target = Target.parse(self.target)

        for operation in ops_of(module.operation, *KNOWN):
            if not (single["math.erf"] is erf and _replace_gelu(operation, target)):
                _replace(operation, single, target)


def _replace_gelu(operation: Operation, target: Target) -> bool:
    """Replace the f32 gelu around an erf (the operation) as a whole; return True on success."""
    if operation.name != "math.erf" or not isinstance(element_of(operation.operands[0].type), ir.F32Type):
        return False
    written = written_with(operation)
    if written is None:
        return False
    lanes = Lanes.of(operation.operands[0].type, target)
    last = written.operations[-1]
    with ir.InsertionPoint(last), last.location:
        last.results[0].replace_all_uses_with(gelu(lanes, written.argument))
    for part in reversed(written.operations):
        part.erase()
    return True


def _replace(operation: Operation, single: Mapping[str, Callable[..., Value]], target: Target) -> None:
    operand = operation.operands[0]
    element = element_of(operand.type)
    with ir.InsertionPoint(operation), operation.location:
        if operation.name in PREDICATES:
            result = PREDICATES[operation.name](Lanes(operand.type), operand)
        elif isinstance(element, (ir.F32Type, ir.F16Type, ir.BF16Type)):
            result = _in_f32(list(operation.operands), element, single[operation.name], target)
        elif isinstance(element, ir.F64Type) and operation.name in (double := double_expansions(target)):
            result = double[operation.name](Lanes.of(operand.type, target), operand)
        else:
            return
    operation.results[0].replace_all_uses_with(result)
    operation.erase()


def _in_f32(
    operands: Sequence[Value], element: Type, expansion: Callable[..., Value], target: Target
) -> Value:
    type_ = operands[0].type
    single = same_shape(type_, ir.F32Type.get())
    lanes = Lanes.of(single, target)
    if isinstance(element, ir.F32Type):
        return expansion(lanes, *operands)
    wide = expansion(lanes, *(arith.ExtFOp(single, operand).result for operand in operands))
    return arith.TruncFOp(type_, wide).result
