"""Passes that expand ops for which the target has no instruction (level V)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.base.module_parts import own_ops
from relax_mlir.lowering.kernels.core import emit, lanes
from relax_mlir.lowering.kernels.core.emit import Type, Value, element_of
from relax_mlir.lowering.kernels.core.lanes import BOUNDED, Lanes, same_shape
from relax_mlir.lowering.kernels.math.math_erf import erf, gelu, written_with
from relax_mlir.lowering.kernels.math.math_functions import (
    BINARY_EXPANSIONS,
    EXPANSIONS,
    FAST_EXPANSIONS,
    PREDICATES,
    double_expansions,
)
from relax_mlir.mlir import arith, ir, memref
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.context import MATH_FAST
from relax_mlir.transform.pipeline import run_native

# Pass `expand-bools`: any byte other than 0 is true.


class ExpandBools(ModulePass):
    """Read booleans as bytes that are not 0.

    A boolean takes a byte in memory, and LLVM's load of an ``i1`` reads its lowest bit. NumPy and torch write 0 and 1
    but treat any byte that is not 0 as true, such as 255 in a mask of a file. Stores here write 0 or 1. Generated
    vector code already reads bytes, and shared kernels have no booleans.
    """

    name: ClassVar[str] = "expand-bools"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for op in own_ops(module, "memref.load"):
            if emit.is_bool(op.results[0].type):
                with ir.InsertionPoint(op), op.location:
                    value = _read(op.operands[0], list(op.operands)[1:])
                op.results[0].replace_all_uses_with(value)
                op.operation.erase()


def _read(buffer: ir.Value, indices: list[ir.Value]) -> ir.Value:
    byte = ir.IntegerType.get_signless(8)
    old = ir.MemRefType(buffer.type)
    bytes_type = ir.MemRefType.get(old.shape, byte, old.layout, old.memory_space)
    cast = "builtin.unrealized_conversion_cast"
    seen = ir.Operation.create(cast, results=[bytes_type], operands=[buffer]).result
    return arith.cmpi(arith.CmpIPredicate.ne, memref.load(seen, indices), arith.constant(byte, 0))


# Pass `expand-floats`: f16 and bf16 without a runtime library.


IN_SINGLE_PRECISION = (
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}",
    "func.func(math-extend-to-supported-types)",
)
CONVERSIONS = ("arith.extf", "arith.truncf")
"""The conversions that upstream's emulation leaves: it converts integers to and from f32."""


def mentions_low_precision(module: ir.Module) -> bool:
    """True if a valid module of level R0 mentions f16 or bf16; values of these types have no other source."""
    text: str = module.operation.get_asm(large_resource_limit=0, use_local_scope=True, assume_verified=True)
    return "f16" in text or "float16" in text


@dataclass(frozen=True)
class ExpandFloats(ModulePass):
    """Compute f16 and bf16 in f32, and expand their conversions if the target has no instructions for them.

    Every operation rounds its result, as in NumPy. Conversions, including those from f64, round once, to nearest, ties
    to even. Integers are converted through f32, as in NumPy.
    """

    name: ClassVar[str] = "expand-floats"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        pipeline = f"builtin.module({','.join(IN_SINGLE_PRECISION)})"
        run_native(pipeline, module)
        native = Target.parse(self.target).has("f16c") or Target.parse(self.target).has("asimd")
        for operation in ops_of(module.operation, *CONVERSIONS):
            _expand_conversion(operation, native)


def _expand_conversion(operation: ir.Operation, native_f16: bool) -> None:
    operand, result = operation.operands[0], operation.results[0]
    if not (_is_half(operand) or _is_half(result)):
        return
    if native_f16 and {str(element_of(v.type)) for v in (operand, result)} == {"f16", "f32"}:
        # Upstream's flag would let pairs of conversions cancel, which leaves intermediate results in f32.
        operation.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
        return
    with ir.InsertionPoint(operation), operation.location:
        value = _from_single(_to_single(operand, native_f16), result.type, native_f16)
    result.replace_all_uses_with(value)
    operation.erase()


def _is_half(value: Value) -> bool:
    return isinstance(element_of(value.type), (ir.F16Type, ir.BF16Type))


def _to_single(value: Value, native_f16: bool) -> Value:
    """The operand in f32; an f64 that is rounded again later is rounded to odd."""
    element = element_of(value.type)
    if isinstance(element, ir.BF16Type):
        return lanes.bf16_to_f32(value)
    if isinstance(element, ir.F16Type):
        single = same_shape(value.type, ir.F32Type.get())
        return arith.ExtFOp(single, value).result if native_f16 else lanes.f16_to_f32(value)
    if isinstance(element, ir.F64Type):
        return lanes.f64_to_f32_odd(value)
    return value


def _from_single(value: Value, type_: Type, native_f16: bool) -> Value:
    """Convert from f32 to the result type of the conversion."""
    element = element_of(type_)
    if isinstance(element, ir.BF16Type):
        return lanes.f32_to_bf16(value)
    if isinstance(element, ir.F16Type):
        return arith.TruncFOp(type_, value).result if native_f16 else lanes.f32_to_f16(value)
    if isinstance(element, ir.F64Type):
        return arith.ExtFOp(type_, value).result
    return value


# Pass `expand-fma`: fused multiply-add on x86 CPUs without the instruction.


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
            _expand_fma(operation)


def _expand_fma(operation: ir.Operation) -> None:
    a, b, c = operation.operands
    element = element_of(a.type)
    if not (isinstance(element, ir.F32Type) or (isinstance(element, ir.F64Type) and BOUNDED in operation.attributes)):
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


# Pass `expand-math`: expand math functions to arithmetic for the vector units.


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
                _expand_function(operation, single, target)


def _replace_gelu(operation: ir.Operation, target: Target) -> bool:
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


def _expand_function(operation: ir.Operation, single: Mapping[str, Callable[..., Value]], target: Target) -> None:
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


def _in_f32(operands: Sequence[Value], element: Type, expansion: Callable[..., Value], target: Target) -> Value:
    type_ = operands[0].type
    single = same_shape(type_, ir.F32Type.get())
    lanes = Lanes.of(single, target)
    if isinstance(element, ir.F32Type):
        return expansion(lanes, *operands)
    wide = expansion(lanes, *(arith.ExtFOp(single, operand).result for operand in operands))
    return arith.TruncFOp(type_, wide).result


# Pass `expand-rounding`: rounding to integers on x86 CPUs without the instruction.


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


ROUNDINGS: dict[str, Callable[[Lanes, Value], Value]] = {
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
        for operation in ops_of(module.operation, *ROUNDINGS):
            (operand,) = operation.operands
            if element_of(operand.type).width not in FRACTION_BITS:
                continue
            with ir.InsertionPoint(operation), operation.location:
                result = ROUNDINGS[operation.name](Lanes(operand.type), operand)
            operation.results[0].replace_all_uses_with(result)
            operation.erase()
