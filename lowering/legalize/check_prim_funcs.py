"""Pass ``check-prim-funcs``: prim funcs of users can be lowered, stay in bounds and change no input (R0)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import ml_dtypes
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import (
    DTYPE,
    EXPOSES,
    INDICES_PROVED,
    KERNEL_SEAL,
    LOOP_KIND,
    PARAMS,
    PATTERN,
    PRIM_FUNC,
    PROVED,
    SCOPE,
    UNCHECKED,
)
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.prim_funcs import (
    OP_CLAIMS,
    PrimParam,
    against_entry,
    claims,
    entry_of,
    is_sealed,
    prim_callees,
    prim_params,
    remove_claims,
    seal,
)
from relax_mlir.error import Diagnostic, VerifyError
from relax_mlir.ir_module import functions_of
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, ops_of
from relax_mlir.lowering.analysis.check_bounds import (
    BOUNDS_ERROR,
    SHAPE_ERROR,
    bounds_mode,
    is_rising_access,
    unproved,
)
from relax_mlir.lowering.analysis.index_ranges import Ranges
from relax_mlir.lowering.legality import NOT_ON, PRIM_OPS, PRIM_TYPES, instead_of
from relax_mlir.lowering.legalize.prim_call_sites import CallSites, called_by_prims, written_inputs
from relax_mlir.mlir import arith, func, ir, linalg, math
from relax_mlir.scalars import arithmetic
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import known_passes, run_native

# Define ops of users' prim funcs for all operands, with the results of Relax ops (docs/numerics.md).
#
# A division by zero gives 0, the lowest integer divided by -1 gives itself; a shift by the width or more
# gives 0, or the sign; a float beyond the range of an integer gives its limit, NaN gives 0. Assumptions that
# MLIR allows on an op (no overflow, no NaNs) are dropped, because nothing checks them.


Value = ir.Value
PROMISES = ("isExact", "nonNeg", "isDisjoint", "roundingmode")
OVERFLOW, FASTMATH = "overflowFlags", "fastmath"
_UNSAFE_FASTMATH = {"nnan", "ninf", "fast"}
SAFE_FASTMATH = ["reassoc", "nsz", "arcp", "contract", "afn"]
EQ, ULT = arith.CmpIPredicate.eq, arith.CmpIPredicate.ult


def define_arithmetic(function: func.FuncOp) -> None:
    """Rewrite the ops of a prim func in place."""
    for op in ops_of(function.operation):
        if op.name.startswith(("arith.", "math.")):
            _drop_promises(op)
        rule = RULES.get(op.name)
        if rule is None or _is_defined(op):
            continue
        _name_nothing(op)
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(rule(op, *op.operands))
        op.erase()


def _drop_promises(op: ir.Operation) -> None:
    for name in PROMISES:
        if name in op.attributes:
            del op.attributes[name]
    if OVERFLOW in op.attributes:
        op.attributes[OVERFLOW] = ir.Attribute.parse("#arith.overflow<none>")
    if FASTMATH in op.attributes:
        flags = set(str(op.attributes[FASTMATH]).partition("<")[2].rstrip(">").split(","))
        if flags & _UNSAFE_FASTMATH:
            kept = SAFE_FASTMATH if "fast" in flags else sorted(flags - _UNSAFE_FASTMATH) or ["none"]
            op.attributes[FASTMATH] = ir.Attribute.parse(f"#arith.fastmath<{','.join(kept)}>")


def _name_nothing(op: ir.Operation) -> None:
    """Replace the ``linalg`` op around `op` by a ``linalg.generic``, if its name no longer describes its body."""
    around = op.parent.operation
    if not around.name.startswith("linalg.") or around.name == "linalg.generic":
        return
    with ir.InsertionPoint(around), around.location:
        maps = linalg.get_indexing_maps(around)
        rank = maps[0].value.n_dims
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        inputs = len(around.operands) - 1
        new = ir.Operation.create(
            "linalg.generic",
            results=[result.type for result in around.results],
            operands=list(around.operands),
            attributes={
                "indexing_maps": ir.ArrayAttr.get(list(maps)),
                "iterator_types": ir.ArrayAttr.get([parallel] * rank),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([inputs, 1]),
            },
            regions=1,
        )
    entry_block(around).append_to(new.regions[0])
    for old, result in zip(around.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    around.erase()


# -- divisions


@dataclass(frozen=True)
class Integers:
    """Constants of an integer type or of ``index``."""

    type: ir.Type

    @property
    def bits(self) -> int:
        return ir.IntegerType(self.type).width if isinstance(self.type, ir.IntegerType) else 64

    @property
    def least(self) -> int:
        return -(1 << (self.bits - 1))

    def constant(self, value: int) -> Value:
        return arith.constant(self.type, value)


def _divide(emit: Callable[[Value, Value], Value], *, signed: bool, remainder: bool = False) -> Callable[..., Value]:
    def rule(op: ir.Operation, a: Value, b: Value) -> Value:
        kind = Integers(a.type)
        zero = kind.constant(0)
        by_zero = arith.cmpi(EQ, b, zero)
        traps = by_zero
        if signed:
            least, minus_one = (arith.cmpi(EQ, x, kind.constant(n)) for x, n in ((a, kind.least), (b, -1)))
            traps = arith.ori(traps, arith.andi(least, minus_one))
        found = emit(a, arith.select(traps, kind.constant(1), b))
        return found if remainder else arith.select(by_zero, zero, found)

    return rule


def _shift(emit: Callable[[Value, Value], Value], *, signed: bool) -> Callable[..., Value]:
    def rule(op: ir.Operation, x: Value, count: Value) -> Value:
        kind = Integers(x.type)
        inside = arith.cmpi(ULT, count, kind.constant(kind.bits))
        if signed:
            return emit(x, arith.select(inside, count, kind.constant(kind.bits - 1)))
        zero = kind.constant(0)
        return arith.select(inside, emit(x, arith.select(inside, count, zero)), zero)

    return rule


def _to_integer(kind: str) -> Callable[..., Value]:
    def rule(op: ir.Operation, value: Value) -> Value:
        bits = ir.IntegerType(op.results[0].type).width
        return arithmetic.convert(dtypes.from_element_type(value.type), dtypes.dtype(f"{kind}{bits}"), value)

    return rule


# -- powers


def _float_power(op: ir.Operation, x: Value, exponent: Value) -> Value:
    """``x ** exponent`` through f64; an odd exponent keeps the sign."""
    double, i64 = ir.F64Type.get(), ir.IntegerType.get_signless(64)
    exponent = arith.index_cast(i64, exponent) if isinstance(exponent.type, ir.IndexType) else exponent
    source = dtypes.from_element_type(x.type)
    wide = arithmetic.convert(source, dtypes.dtype("float64"), x)
    power = math.powf(math.absf(wide), arith.sitofp(double, exponent))
    kind = Integers(exponent.type)
    odd = arith.cmpi(EQ, arith.andi(exponent, kind.constant(1)), kind.constant(1))
    found = arith.select(odd, math.copysign(power, wide), power)
    return arithmetic.convert(dtypes.dtype("float64"), source, found)


def _integer_power(op: ir.Operation, base: Value, exponent: Value) -> Value:
    from relax_mlir.scalars.rules import BINARY_RULES

    return BINARY_RULES["power"](_signed(base.type), base, exponent)


def _signed(type_: ir.Type) -> DType:
    return dtypes.dtype(f"int{ir.IntegerType(type_).width}")


def _is_normal(op: ir.Operation, x: Value) -> Value:
    """Emit the test that a float is neither zero, subnormal, infinite nor NaN."""
    kind = dtypes.from_element_type(x.type)
    wide = arithmetic.compute_dtype(kind)
    size = math.absf(arithmetic.widen(kind, x))
    least = arithmetic.compare(wide, "ge", size, arithmetic.const(wide, float(ml_dtypes.finfo(kind.numpy).tiny)))
    return arith.andi(least, arithmetic.compare(wide, "lt", size, arithmetic.const(wide, float("inf"))))


def _fma(op: ir.Operation, *operands: Value) -> Value:
    """Compute the fused multiply-add of bf16, which has none, in f32."""
    kind = dtypes.from_element_type(operands[0].type)
    return arithmetic.widened(lambda dtype, a, b, c: math.fma(a, b, c))(kind, *operands)


RULES: dict[str, Callable[..., Value]] = {
    "arith.divsi": _divide(arith.divsi, signed=True),
    "arith.divui": _divide(arith.divui, signed=False),
    "arith.floordivsi": _divide(arith.floordivsi, signed=True),
    "arith.ceildivsi": _divide(arith.ceildivsi, signed=True),
    "arith.ceildivui": _divide(arith.ceildivui, signed=False),
    "arith.remsi": _divide(arith.remsi, signed=True, remainder=True),
    "arith.remui": _divide(arith.remui, signed=False, remainder=True),
    "arith.shli": _shift(arith.shli, signed=False),
    "arith.shrui": _shift(arith.shrui, signed=False),
    "arith.shrsi": _shift(arith.shrsi, signed=True),
    "arith.fptosi": _to_integer("int"),
    "arith.fptoui": _to_integer("uint"),
    "math.fma": _fma,
    "math.fpowi": _float_power,
    "math.ipowi": _integer_power,
    "math.isnormal": _is_normal,
}
"""The replacement of each op."""


# -- ops that are defined for all operands that they can get


def _is_defined(op: ir.Operation) -> bool:
    if op.name == "math.fma":
        return not isinstance(op.operands[0].type, ir.BF16Type)
    if op.name.startswith("math."):
        return False
    if op.name.startswith("arith.fpto"):
        return _is_saturated(op)
    known = _constant(op.operands[1])
    if "sh" in op.name:
        bits = Integers(op.operands[0].type).bits
        return (0 <= known < bits) if known is not None else _is_limited(op.operands[1], bits)
    if known is not None:
        return known != 0 and (known != -1 or op.name.endswith("ui"))
    return _is_positive(op.operands[1]) or _is_guarded(*op.operands, signed=not op.name.endswith("ui"))


def _is_positive(divisor: Value) -> bool:
    """True if a divisor is the maximum of a value and a positive constant."""
    op = defining_op(divisor)
    if op is None or op.name != "arith.maxsi":
        return False
    return any((number := _constant(side)) is not None and number > 0 for side in op.operands)


def _constant(value: Value) -> int | None:
    op = defining_op(value)
    if op is None or op.name != "arith.constant" or not isinstance(op.attributes["value"], ir.IntegerAttr):
        return None
    return int(ir.IntegerAttr(op.attributes["value"]).value)


def _is_guarded(a: Value, divisor: Value, *, signed: bool) -> bool:
    """True if `divisor` is ``select(traps, 1, b)`` of `safe_divisor`."""
    choice = defining_op(divisor)
    if choice is None or choice.name != "arith.select" or _constant(choice.operands[1]) != 1:
        return False
    test, _, b = choice.operands
    if not signed:
        return _tests(test, b, 0)
    either = defining_op(test)
    if either is None or either.name != "arith.ori" or not _tests(either.operands[0], b, 0):
        return False
    both = defining_op(either.operands[1])
    return (
        both is not None
        and both.name == "arith.andi"
        and _tests(both.operands[0], a, Integers(a.type).least)
        and _tests(both.operands[1], b, -1)
    )


def _tests(test: Value, value: Value, number: int) -> bool:
    """True if `test` is ``value == number``."""
    op = defining_op(test)
    return (
        op is not None
        and op.name == "arith.cmpi"
        and int(ir.IntegerAttr(op.attributes["predicate"]).value) == int(EQ)
        and op.operands[0] == value
        and _constant(op.operands[1]) == number
    )


def _is_limited(count: Value, bits: int) -> bool:
    """True if `count` is ``select(count < bits, count, n)`` with a constant in range."""
    choice = defining_op(count)
    if choice is None or choice.name != "arith.select":
        return False
    other, test = _constant(choice.operands[2]), defining_op(choice.operands[0])
    return (
        other is not None
        and 0 <= other < bits
        and test is not None
        and test.name == "arith.cmpi"
        and int(ir.IntegerAttr(test.attributes["predicate"]).value) == int(ULT)
        and test.operands[0] == choice.operands[1]
        and _constant(test.operands[1]) == bits
    )


def _is_saturated(op: ir.Operation) -> bool:
    """True if the operand is ``select(low <= x and x < high, x, 0)``, as the rule of astype emits it."""
    choice = defining_op(op.operands[0])
    if choice is None or choice.name != "arith.select":
        return False
    both = defining_op(choice.operands[0])
    if both is None or both.name != "arith.andi":
        return False
    value, other = choice.operands[1], defining_op(choice.operands[2])
    kind = "int" if op.name == "arith.fptosi" else "uint"
    low, high = arithmetic.bounds(dtypes.dtype(f"{kind}{ir.IntegerType(op.results[0].type).width}"))
    wanted = ((arith.CmpFPredicate.OGE, float(low)), (arith.CmpFPredicate.OLT, float(high + 1)))
    tests = [defining_op(test) for test in both.operands]
    if other is None or other.name != "arith.constant" or ir.FloatAttr(other.attributes["value"]).value != 0:
        return False
    return all(
        test is not None
        and test.name == "arith.cmpf"
        and int(ir.IntegerAttr(test.attributes["predicate"]).value) == int(predicate)
        and test.operands[0] == value
        and _float(test.operands[1]) == number
        for test, (predicate, number) in zip(tests, wanted, strict=True)
    )


def _float(value: Value) -> float | None:
    op = defining_op(value)
    if op is None or op.name != "arith.constant" or not isinstance(op.attributes["value"], ir.FloatAttr):
        return None
    return float(ir.FloatAttr(op.attributes["value"]).value)


def prove(functions: Iterable[func.FuncOp]) -> list[str]:
    """The kinds of errors that no access of these prim funcs can raise; their arithmetic is defined in place."""
    unproved_kinds = set()
    for function in functions:
        define_arithmetic(function)
        unproved_kinds |= {requirement.kind for requirement in unproved(function, Ranges(function))}
    return [kind for kind in (BOUNDS_ERROR, SHAPE_ERROR) if kind not in unproved_kinds]


def _take_proved(prim: func.FuncOp) -> set[str]:
    """Remove and return what was proved of a prim func when it was created; nothing if its hash does not match."""
    attribute = prim.attributes.get(PROVED)
    if attribute is None:
        return set()
    kinds = {str(ir.StringAttr(kind).value) for kind in ir.ArrayAttr(attribute)} if is_sealed(prim) else set()
    del prim.attributes[PROVED]
    if not claims(prim) and KERNEL_SEAL in prim.attributes:
        del prim.attributes[KERNEL_SEAL]
    return kinds


OP_ATTRIBUTES = frozenset({*OP_CLAIMS, LOOP_KIND, DTYPE, SCOPE})
"""Attributes starting with ``relax.`` that ops of prim funcs may have; the last three come from scripts."""
VIEWS = ("memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.subview")
BUFFERS = (*VIEWS, "memref.alloc", "memref.alloca")
"""The ops that may return memrefs."""

MAX_CONSTANT = 1 << 30
"""The maximum elements of a constant: constants are part of the code, and LLVM needs their memory several times."""


class CheckPrimFuncs(ModulePass):
    """Reject prim funcs that cannot be lowered, or that store into inputs of a pure call; mark those that need checks.

    A prim func that is not proved to stay in bounds gets an attribute, for which `check-bounds` checks it at run time.
    Integer arithmetic gets a result for all operands (a division by zero gives 0, for example). Stack buffers become
    heap buffers.
    """

    name: ClassVar[str] = "check-prim-funcs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Check and rewrite the module in place; raises `VerifyError` with up to 20 problems."""
        prims = {
            op.name.value: op
            for op in module.body.operations
            if isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes
        }
        if not prims:
            return
        for prim in prims.values():
            _settle_claims(prim)
        found = [problem for prim in prims.values() for problem in problems(prim, prims)]
        if found:
            raise VerifyError("prim funcs hold what cannot be compiled", found[:20])
        if any(op.name.startswith("affine.") for prim in prims.values() for op in ops_of(prim.operation)):
            known_passes("lower-affine").execute(module, ctx)
        sites = CallSites.of(module, prims)
        found = [*sites.problems(), *written_inputs(prims, sites)]
        if found:
            raise VerifyError("prim funcs do not fit their calls", found[:20])
        proved = {name: _take_proved(prim) for name, prim in prims.items()}
        for prim in prims.values():
            define_arithmetic(prim)
            _use_memory(prim)
        forget_declared(prims)
        if bounds_mode(ctx) != "none":
            for name, prim in prims.items():
                _mark(prim, sites, name, proved[name])


def check_made(module: ir.Module, names: Sequence[str], ctx: PassContext) -> None:
    """Check prim funcs that legalisation has generated from tensor expressions, whose calls match their declarations.

    Raises `VerifyError` with up to 20 problems.
    """
    prims = {op.name.value: op for op in functions_of(module) if PRIM_FUNC in op.attributes}
    found = [problem for name in names for problem in problems(prims[name], prims)]
    if found:
        raise VerifyError("prim funcs hold what cannot be compiled", found[:20])
    sites = CallSites.of(module, prims)
    for name in names:
        is_as_made = is_sealed(prims[name])
        proved = _take_proved(prims[name])
        define_arithmetic(prims[name])
        _use_memory(prims[name])
        if bounds_mode(ctx) != "none":
            _mark(prims[name], sites, name, proved)
        if is_as_made:
            seal(prims[name])


def forget_declared(prims: Mapping[str, func.FuncOp]) -> None:
    """Remove the declared parameters of prim funcs that others call: those calls are not checked against them."""
    for name in called_by_prims(prims):
        if PARAMS in prims[name].attributes:
            del prims[name].attributes[PARAMS]


def problems(prim: func.FuncOp, prims: dict[str, func.FuncOp]) -> Iterator[Diagnostic]:
    """Report what cannot be compiled in a prim func."""
    name = prim.name.value
    if prim.is_external:
        yield _problem(prim.operation, name, "it has no body: define it, or call a packed function")
        return
    yield from _parameters(prim)
    entry = entry_of(prim)
    if entry is not None and (reason := against_entry(prim, prims.get(entry.callee), entry.written)):
        message = f"has the attribute {EXPOSES}, but {reason}: leave it out"
        yield _problem(prim.operation, name, message)
    if KERNEL_SEAL not in prim.attributes and (found := claims(prim)):
        message = f"has the attribute {found[0]}, which legalize-ops makes: leave it out"
        yield _problem(prim.operation, name, message)
    for op in ops_of(prim.operation):
        yield from _attributes(op, name)
        if op.name not in PRIM_OPS:
            yield _problem(op, name, f"{op.name} is not part of prim funcs: {instead_of(op.name)}")
            continue
        for message in (*_types(op), *_shape_of(op)):
            yield _problem(op, name, f"{op.name}: {message}")
        if op.name == "func.call":
            yield from _call(op, prim, prims)


def _settle_claims(prim: func.FuncOp) -> None:
    """Remove results of an earlier run: claims about a body that has changed since, and marks for checks."""
    if KERNEL_SEAL in prim.attributes and not is_sealed(prim):
        remove_claims(prim)
    for mark in (UNCHECKED, INDICES_PROVED):
        if mark in prim.attributes:
            del prim.attributes[mark]


def _attributes(op: ir.Operation, name: str) -> Iterator[Diagnostic]:
    """Report attributes that only the lowering may give to ops of prim funcs."""
    for attribute in op.attributes if op.name != "func.func" else ():
        if attribute.startswith(("relax.", "llvm.")) and attribute not in OP_ATTRIBUTES:
            yield _problem(op, name, f"{op.name} has the attribute {attribute}, which the lowering makes: leave it out")


def _problem(op: ir.Operation, name: str, message: str) -> Diagnostic:
    return Diagnostic("error", location_text(op.location), f"prim func '{name}': {message}")


def _parameters(prim: func.FuncOp) -> Iterator[Diagnostic]:
    """Report parameters that mix tensors and memrefs, have other layouts, or differ from the declared shapes."""
    name, types = prim.name.value, [*prim.type.inputs, *prim.type.results]
    if len(prim.regions[0].blocks) != 1:
        yield _problem(prim.operation, name, "its body has several blocks: write scf.if, scf.for and scf.while")
    tensors = [t for t in types if isinstance(t, ir.RankedTensorType)]
    memrefs = [t for t in types if isinstance(t, ir.MemRefType)]
    if tensors and memrefs:
        yield _problem(prim.operation, name, "its parameters are tensors and memrefs: use one of both")
    if memrefs and prim.type.results:
        yield _problem(prim.operation, name, "it works on memrefs, and returns something: write to its last buffers")
    for number, type_ in enumerate(types):
        if isinstance(type_, ir.MemRefType) and not is_plain(type_):
            message = f"parameter {number} is {type_}: buffers are in row-major order, without strides or offsets"
            yield _problem(prim.operation, name, message)
        elif not isinstance(type_, ir.MemRefType | ir.RankedTensorType | ir.IndexType):
            message = f"parameter {number} is {type_}, expected a tensor, a memref or an index"
            yield _problem(prim.operation, name, message)
    for number, param in enumerate(prim_params(prim) or ()):
        type_ = prim.type.inputs[number]
        if (param.shape is None) != isinstance(type_, ir.IndexType):
            yield _problem(prim.operation, name, f"'{param.name}' is {type_}, but is declared otherwise in {PARAMS}")
        elif param.shape is not None:
            yield from _declared(prim, number, param.name, param.shape)


def _declared(prim: func.FuncOp, number: int, name: str, shape: Sequence[object]) -> Iterator[Diagnostic]:
    type_ = ir.ShapedType(prim.type.inputs[number])
    agree = len(shape) == type_.rank and all(
        type_.is_dynamic_dim(axis) or dim == type_.get_dim_size(axis) for axis, dim in enumerate(shape)
    )
    if not agree:
        shown = ", ".join(map(str, shape))
        yield _problem(prim.operation, prim.name.value, f"'{name}' is {type_}, but {PARAMS} declares ({shown})")


def is_plain(type_: ir.MemRefType) -> bool:
    """True if a memref is in row-major order, in the default memory space."""
    return type_.memory_space is None and bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))


def _types(op: ir.Operation) -> Iterator[str]:
    """Report values of types that some level does not support, and buffers whose origin cannot be followed."""
    if op.name == "func.func":
        return
    for result in op.results:
        yield from _type(result.type)
        if op.name in NOT_ON and str(result.type) in NOT_ON[op.name]:
            yield f"it has no meaning for {result.type}: {NOT_ON[op.name][str(result.type)]}"
        if op.name == "arith.constant" and isinstance(result.type, ir.RankedTensorType):
            count = prod(result.type.shape)
            if count > MAX_CONSTANT:
                yield f"a constant of {count} elements is too large for code: use linalg.fill on tensor.empty"
        if isinstance(result.type, ir.MemRefType) and op.name not in BUFFERS:
            yield "gives a buffer that depends on the control flow: branch around what uses it instead"
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                yield from _type(argument.type)
                if isinstance(argument.type, ir.MemRefType):
                    yield "carries a buffer from round to round: carry numbers, or use one buffer"


def _type(type_: ir.Type) -> Iterator[str]:
    shaped = isinstance(type_, ir.MemRefType | ir.RankedTensorType)
    element = ir.ShapedType(type_).element_type if shaped else type_
    if str(element) not in PRIM_TYPES:
        yield f"{type_} is no type of prim funcs, whose numbers are {', '.join(PRIM_TYPES)}"
    if isinstance(type_, ir.RankedTensorType) and type_.encoding is not None:
        yield f"{type_} has an encoding"


def _shape_of(op: ir.Operation) -> Iterator[str]:
    """Report views and loops whose accesses cannot be followed."""
    if op.name in ("memref.collapse_shape", "memref.expand_shape"):
        if not is_plain(ir.MemRefType(op.operands[0].type)):
            yield "its operand has strides: copy it into a buffer of its own first"
    elif op.name == "memref.cast":
        source, target = op.operands[0].type, op.results[0].type
        if not (isinstance(source, ir.MemRefType) and isinstance(target, ir.MemRefType)) or (
            (source.affine_map, source.memory_space) != (target.affine_map, target.memory_space)
        ):
            yield "it changes the layout"
    elif op.name in ("memref.alloc", "memref.alloca"):
        if not is_plain(ir.MemRefType(op.results[0].type)) or len(op.operands) != _dynamic(op.results[0].type):
            yield "a buffer has a plain layout"
    elif op.name.startswith("linalg.") and len(op.regions):
        maps = linalg.get_indexing_maps(op)
        results = [expr for item in maps or () for expr in item.value.results]
        if not all(is_rising_access(expr) for expr in results):
            yield (
                "an access is no sum of loop variables, times or floordiv positive numbers: read the element by "
                "tensor.extract"
            )


def _dynamic(type_: ir.Type) -> int:
    shaped = ir.ShapedType(type_)
    return sum(shaped.is_dynamic_dim(axis) for axis in range(shaped.rank))


def _call(op: ir.Operation, prim: func.FuncOp, prims: dict[str, func.FuncOp]) -> Iterator[Diagnostic]:
    """Report calls of functions that are no prim funcs, and recursion."""
    name = callee_of(op)
    if name not in prims:
        yield _problem(op, prim.name.value, f"calls '{name}', which is no prim func")
        return
    reached, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current == prim.name.value:
            yield _problem(op, prim.name.value, f"the call of '{name}' leads back here: write a loop")
            return
        if current in reached or current not in prims:
            continue
        reached.add(current)
        waiting += prim_callees(prims[current])


def _use_memory(prim: func.FuncOp) -> None:
    """Replace stack buffers by heap buffers: in loops, or if large, they overflow the stack. Drop alignments."""
    for op in ops_of(prim.operation, "memref.alloca", "memref.alloc", "memref.load", "memref.store"):
        if "alignment" in op.attributes:
            del op.attributes["alignment"]
        if op.name == "memref.alloca":
            with ir.InsertionPoint(op), op.location:
                new = ir.Operation.create(
                    "memref.alloc",
                    results=[op.results[0].type],
                    operands=list(op.operands),
                    attributes={"operandSegmentSizes": op.attributes["operandSegmentSizes"]},
                )
            op.results[0].replace_all_uses_with(new.results[0])
            op.erase()


def _mark(prim: func.FuncOp, sites: CallSites, name: str, proved: set[str]) -> None:
    """Mark a prim func that is not fully proved, so that it is checked, and neither fused nor replaced."""
    if PARAMS not in prim.attributes:
        # Calls that are not checked against the declared sizes may pass others, for which nothing is proved.
        proved = set()
    if proved == {BOUNDS_ERROR, SHAPE_ERROR}:
        return
    destinations = sites.destinations(name)
    with prim.context:
        prim.attributes[UNCHECKED] = ir.DenseI64ArrayAttr.get(destinations)
        if BOUNDS_ERROR in proved:
            prim.attributes[INDICES_PROVED] = ir.UnitAttr.get()
    if not _needs_checks(prim, sites.params(name)):
        for mark in (UNCHECKED, INDICES_PROVED):
            if mark in prim.attributes:
                del prim.attributes[mark]
        return
    remove_claims(prim)
    if PATTERN in prim.attributes:
        del prim.attributes[PATTERN]


def _needs_checks(prim: func.FuncOp, params: Sequence[PrimParam] | None) -> bool:
    """True if something is not proved, even after CSE."""
    if next(unproved(prim, Ranges(prim, params)), None) is None:
        return False
    run_native("func.func(cse)", prim.operation)
    return next(unproved(prim, Ranges(prim, params)), None) is not None
