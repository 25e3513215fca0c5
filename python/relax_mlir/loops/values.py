"""The values of loops: typed scalars with operators, literals, buffers, and the functions of the T language.

Operators on a `Scalar` emit arithmetic at the insertion point, elements of a `Buffer` loads and stores. A Python number
takes the dtype of the scalars that it is combined with. Other conversions are explicit, but for indices, which mix with
int64.
"""

from __future__ import annotations

import math as pymath
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from relax_mlir.dialects.dtypes import DType, dtype
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import arith, ir, math, memref, scf
from relax_mlir.scalars import arithmetic, rules
from relax_mlir.scalars.arithmetic import ScalarRule, compare, const, widened, widened_test
from relax_mlir.symbolic import Dim

Literal: TypeAlias = bool | int | float


@dataclass(frozen=True)
class _Index(DType):
    """The dtype of loop variables, sizes and indices: it behaves as int64, and is ``index`` in the IR."""

    @property
    def numpy(self) -> np.dtype[Any]:
        return np.dtype("int64")


INDEX = _Index("index", "index", "int", 64)
INT64 = "int64"


@dataclass(frozen=True, eq=False)
class Scalar:
    """A value of one dtype. Operators emit arithmetic; so do comparisons, therefore ``==`` does not compare objects."""

    ssa: ir.Value
    dtype: DType

    __array_ufunc__ = None  # NumPy scalars leave mixed operators to this class
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ArgumentError("the truth of a scalar is known at run time only")

    def astype(self, wanted: str) -> Scalar:
        """The value converted by the rules of `relax.astype`."""
        return convert(self, dtype(wanted))

    def bits(self, wanted: str) -> Scalar:
        """The bits of the value as another dtype of the same width."""
        return reinterpret(self, dtype(wanted))

    def index(self) -> Scalar:
        """An integer as an index, the dtype of loop variables."""
        return Scalar(as_index(self, "the value"), INDEX)

    def __add__(self, other: Term) -> Scalar:
        return scalar("add", self, other)

    def __radd__(self, other: Term) -> Scalar:
        return scalar("add", other, self)

    def __sub__(self, other: Term) -> Scalar:
        return scalar("subtract", self, other)

    def __rsub__(self, other: Term) -> Scalar:
        return scalar("subtract", other, self)

    def __mul__(self, other: Term) -> Scalar:
        return scalar("multiply", self, other)

    def __rmul__(self, other: Term) -> Scalar:
        return scalar("multiply", other, self)

    def __truediv__(self, other: Term) -> Scalar:
        return scalar("truediv", self, other)

    def __rtruediv__(self, other: Term) -> Scalar:
        return scalar("truediv", other, self)

    def __floordiv__(self, other: Term) -> Scalar:
        return scalar("floordiv", self, other)

    def __rfloordiv__(self, other: Term) -> Scalar:
        return scalar("floordiv", other, self)

    def __mod__(self, other: Term) -> Scalar:
        return scalar("floormod", self, other)

    def __rmod__(self, other: Term) -> Scalar:
        return scalar("floormod", other, self)

    def __pow__(self, other: Term) -> Scalar:
        return scalar("pow", self, other)

    def __rpow__(self, other: Term) -> Scalar:
        return scalar("pow", other, self)

    def __and__(self, other: Term) -> Scalar:
        return scalar("bitwise_and", self, other)

    def __rand__(self, other: Term) -> Scalar:
        return scalar("bitwise_and", other, self)

    def __or__(self, other: Term) -> Scalar:
        return scalar("bitwise_or", self, other)

    def __ror__(self, other: Term) -> Scalar:
        return scalar("bitwise_or", other, self)

    def __xor__(self, other: Term) -> Scalar:
        return scalar("bitwise_xor", self, other)

    def __rxor__(self, other: Term) -> Scalar:
        return scalar("bitwise_xor", other, self)

    def __lshift__(self, other: Term) -> Scalar:
        return scalar("shift_left", self, other)

    def __rlshift__(self, other: Term) -> Scalar:
        return scalar("shift_left", other, self)

    def __rshift__(self, other: Term) -> Scalar:
        return scalar("shift_right", self, other)

    def __rrshift__(self, other: Term) -> Scalar:
        return scalar("shift_right", other, self)

    def __lt__(self, other: Term) -> Scalar:
        return scalar("less", self, other)

    def __le__(self, other: Term) -> Scalar:
        return scalar("less_equal", self, other)

    def __gt__(self, other: Term) -> Scalar:
        return scalar("greater", self, other)

    def __ge__(self, other: Term) -> Scalar:
        return scalar("greater_equal", self, other)

    def __eq__(self, other: Term) -> Scalar:  # type: ignore[override]  # emits a comparison
        return scalar("equal", self, other)

    def __ne__(self, other: Term) -> Scalar:  # type: ignore[override]  # emits a comparison
        return scalar("not_equal", self, other)

    def __neg__(self) -> Scalar:
        return scalar("negative", self)

    def __invert__(self) -> Scalar:
        return scalar("logical_not" if self.dtype.kind == "bool" else "bitwise_not", self)


Term: TypeAlias = Scalar | Literal
"""The value of an expression; a literal takes the dtype of the scalars that it is combined with."""
Indices: TypeAlias = "Term | Sequence[Indices]"
"""The indices of an access; tuples among them are flattened."""


@dataclass(frozen=True)
class Buffer:
    """A buffer: its memory (a memref or a tensor), declared shape and dtype. ``b[i, j]`` is an element of a memref."""

    name: str
    ssa: ir.Value
    shape: tuple[Dim, ...] | None
    dtype: DType
    rank: int

    def __getitem__(self, indices: Indices) -> Scalar:
        return self.load(self.positions(indices))

    def __setitem__(self, indices: Indices, value: Term) -> None:
        positions = self.positions(indices)
        memref.store(stored(value, self), self.ssa, positions)

    def load(self, positions: Sequence[ir.Value]) -> Scalar:
        """The element at `positions`, each an ``index``."""
        return Scalar(memref.load(self.ssa, positions), self.dtype)

    def positions(self, indices: Indices) -> list[ir.Value]:
        """The indices of an access, one per dimension."""
        items = list(_flat(indices))
        self.check_rank(len(items))
        return [as_index(item, "the index") for item in items]

    def check_rank(self, count: int) -> None:
        """Raise `ShapeError` unless an access with `count` indices gives one for each dimension."""
        if count != self.rank:
            raise ShapeError(f"'{self.name}' has {self.rank} dimensions, {count} indices given: write {example(self)}")

    def __iter__(self) -> None:
        """Raise `ArgumentError`: without it, Python would take ``b[0]``, ``b[1]`` and so on, without end."""
        raise ArgumentError(f"'{self.name}' is a buffer; read an element, as in {example(self)}")


def _flat(indices: Indices) -> Iterator[Term]:
    if not isinstance(indices, Sequence):
        yield indices
        return
    for item in indices:
        yield from _flat(item)


def example(buffer: Buffer) -> str:
    """An access to a buffer, for messages."""
    names = ", ".join("ijklmnopq"[:9][axis % 9] for axis in range(buffer.rank))
    return f"{buffer.name}[{names or '()'}]"


def shown(dtype_: DType) -> str:
    """A dtype as shown in messages."""
    return "int64 (an index)" if dtype_ is INDEX else str(dtype_)


def type_name(term: Term) -> str:
    """The dtype of a term as shown in messages."""
    return shown(term.dtype) if isinstance(term, Scalar) else f"the literal {term!r}"


def materialize(literal: Literal, wanted: DType) -> Scalar:
    """A literal as a scalar; raises `DTypeError` if it is not a value of the dtype."""
    if wanted.is_float:
        return Scalar(const(wanted, float(literal)), wanted)
    if isinstance(literal, float) and not literal.is_integer():
        raise DTypeError(f"{literal!r} is no value of dtype {shown(wanted)}")
    value = int(literal)
    if wanted.kind == "bool":
        if value not in (0, 1):
            raise DTypeError(f"{literal!r} is no value of dtype bool")
        return Scalar(const(wanted, value), wanted)
    least, most = arithmetic.bounds(wanted)
    if not least <= value <= most:
        raise DTypeError(f"{literal!r} does not fit {shown(wanted)} ({least} to {most})")
    return Scalar(const(wanted, value), wanted)


def default_dtype(literal: Literal) -> DType:
    """The dtype of a literal without scalar operands: bool, int64 (index) or float32."""
    if isinstance(literal, bool):
        return dtype("bool")
    return INDEX if isinstance(literal, int) else dtype("float32")


def as_scalar(term: Term, wanted: DType | None = None) -> Scalar:
    """A term as a scalar; a literal takes `wanted`, or its default dtype."""
    return term if isinstance(term, Scalar) else materialize(term, wanted or default_dtype(term))


def as_condition(term: Term) -> Scalar:
    """A term as a condition; raises `DTypeError` if it is not bool."""
    if isinstance(term, bool):
        return as_scalar(term)
    if not isinstance(term, Scalar) or term.dtype.kind != "bool":
        raise DTypeError(f"the condition is {type_name(term)}, expected bool: write a comparison")
    return term


def common_dtype(what: str, terms: Sequence[Term]) -> DType:
    """The common dtype of terms; raises `DTypeError`, since only literals and indices are converted implicitly."""
    kinds: list[DType] = []
    for term in terms:
        if isinstance(term, Scalar) and term.dtype not in kinds:
            kinds.append(term.dtype)
    if not kinds:
        literals = [t for t in terms if not isinstance(t, Scalar)]
        return max((default_dtype(t) for t in literals), key=lambda d: ("bool", "int", "float").index(d.kind))
    others = [kind for kind in kinds if kind is not INDEX]
    common = others[0] if others else INDEX
    if any(kind != common for kind in others) or (common is not INDEX and INDEX in kinds and common.name != INT64):
        raise DTypeError(
            f"{what}: operands are {' and '.join(type_name(t) for t in terms)}; convert one, as in "
            f'T.cast(x, "{common}")'
        )
    return common


def unify(what: str, terms: Sequence[Term]) -> list[Scalar]:
    """The terms as scalars of their common dtype."""
    common = common_dtype(what, terms)
    return [convert_index(as_scalar(term, common), common) for term in terms]


def convert_index(value: Scalar, wanted: DType) -> Scalar:
    """Convert `value` to `wanted` if one of the two is the index dtype and the other int64."""
    if value.dtype == wanted:
        return value
    return Scalar(arith.index_cast(wanted.storage_type(), value.ssa), wanted)


def convert(value: Scalar, wanted: DType) -> Scalar:
    """Convert `value` to `wanted` by the rules of `relax.astype`."""
    int64 = dtype(INT64)
    if value.dtype == wanted:
        return value
    if value.dtype is INDEX:
        return convert(convert_index(value, int64), wanted)
    if wanted is INDEX:
        return convert_index(convert(value, int64), INDEX)
    return Scalar(arithmetic.convert(value.dtype, wanted, value.ssa), wanted)


def cast(term: Term, wanted: DType) -> Scalar:
    """A term converted to a dtype; a float literal is truncated for an integer dtype."""
    if isinstance(term, Scalar):
        return convert(term, wanted)
    if isinstance(term, float) and wanted.is_integer and pymath.isfinite(term):
        term = int(term)
    return as_scalar(term, wanted)


def reinterpret(value: Scalar, wanted: DType) -> Scalar:
    """The bits of a value as another dtype; raises `DTypeError` if its width differs."""
    if value.dtype is INDEX or value.dtype.bits != wanted.bits or "bool" in (wanted.kind, value.dtype.kind):
        raise DTypeError(f"{shown(value.dtype)} does not have as many bits as {wanted}")
    if value.dtype.is_float == wanted.is_float and not (value.dtype.is_float and value.dtype != wanted):
        return Scalar(value.ssa, wanted)
    return Scalar(arith.bitcast(wanted.storage_type(), value.ssa), wanted)


def as_index(term: Term, what: str) -> ir.Value:
    """A term as ``index``: an integer of any dtype."""
    if isinstance(term, bool | float) or (isinstance(term, Scalar) and not term.dtype.is_integer):
        raise DTypeError(f"{what} is {type_name(term)}, expected an integer")
    return convert(as_scalar(term, INDEX), INDEX).ssa


def stored(term: Term, buffer: Buffer) -> ir.Value:
    """A term converted to the element type of `buffer`; raises `DTypeError` for another dtype."""
    value = as_scalar(term, buffer.dtype)
    if value.dtype is INDEX and buffer.dtype.name == INT64:
        value = convert(value, buffer.dtype)
    if value.dtype != buffer.dtype:
        raise DTypeError(
            f"the value is {shown(value.dtype)}, but '{buffer.name}' holds {buffer.dtype}; "
            f'convert it: T.cast(..., "{buffer.dtype}")'
        )
    return value.ssa


def limit(name: str, wanted: DType) -> Scalar:
    """The minimum or maximum of a dtype, or infinity: `name` is min_value, max_value or infinity."""
    if name == "infinity" or wanted.is_float:
        if not wanted.is_float:
            raise DTypeError(f"{wanted} has no infinity")
        value = greatest(wanted) if name != "infinity" else float("inf")
        return Scalar(const(wanted, -value if name == "min_value" else value), wanted)
    limits = (0, 1) if wanted.kind == "bool" else arithmetic.bounds(wanted)
    return Scalar(const(wanted, limits[name == "max_value"]), wanted)


def greatest(wanted: DType) -> float:
    """The maximum finite value of a float dtype."""
    import ml_dtypes

    return float(ml_dtypes.finfo(wanted.numpy).max)


def divided(name: str, value: Scalar, divisor: int) -> Scalar | None:
    """Division by a positive literal, which needs no guard."""
    kind = value.dtype
    if not kind.is_integer or divisor <= 0:
        return None
    by = as_scalar(divisor, kind).ssa
    if kind.kind == "uint":
        function = arith.divui if name == "floordiv" else arith.remui
        return Scalar(function(value.ssa, by), kind)
    quotient = arith.floordivsi(value.ssa, by)
    if name == "floordiv":
        return Scalar(quotient, kind)
    return Scalar(arith.subi(value.ssa, arith.muli(quotient, by)), kind)


def is_size(value: ir.Value) -> bool:
    """True if an index is an expression of buffer sizes that is not negative."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == "arith.constant":
        return isinstance(op.attributes["value"], ir.IntegerAttr) and int(op.attributes["value"].value) >= 0
    if op.name == "memref.dim":
        return defining_op(op.operands[0]) is None
    if op.name == "arith.floordivsi":  # not by 0, since it is only emitted for guarded sizes and constants
        return all(map(is_size, op.operands))
    return op.name in ("arith.addi", "arith.muli", "arith.minsi", "arith.maxsi") and all(map(is_size, op.operands))


def floordiv_by_size(value: ir.Value, size: ir.Value) -> ir.Value:
    """The quotient by a size; 0 if the size is 0."""
    zero = arith.constant(ir.IndexType.get(), 0)
    quotient = arith.floordivsi(value, _positive(size))
    return arith.select(arith.cmpi(arith.CmpIPredicate.eq, size, zero), zero, quotient)


def floormod_by_size(value: ir.Value, size: ir.Value) -> ir.Value:
    """The remainder by a size; 0 if the size is 0."""
    divisor = _positive(size)
    return arith.subi(value, arith.muli(arith.floordivsi(value, divisor), divisor))


def _positive(size: ir.Value) -> ir.Value:
    return arith.maxsi(size, arith.constant(ir.IndexType.get(), 1))


BY_SIZE = {"floordiv": floordiv_by_size, "floormod": floormod_by_size}
"""Function name → division by a size."""


@dataclass(frozen=True)
class Intrinsic:
    """A function of scalars of one dtype: its rule, its arity, the dtype kinds that it takes, and its result."""

    rule: ScalarRule
    arity: int
    kinds: tuple[str, ...] = ("float",)
    test: bool = False
    """True if the result is bool instead of the operand dtype."""


NUMBERS = ("float", "int", "uint")
INTEGERS = ("int", "uint")
ANY = (*NUMBERS, "bool")


def _trunc_divide(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    """Truncating division; 0 for a division by zero."""
    zero = const(dtype, 0)
    divisor = rules.safe_divisor(dtype, a, b)
    quotient = arith.divui(a, divisor) if dtype.kind == "uint" else arith.divsi(a, divisor)
    return arith.select(compare(dtype, "eq", b, zero), zero, quotient)


def _trunc_mod(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    divisor = rules.safe_divisor(dtype, a, b)
    return arith.remui(a, divisor) if dtype.kind == "uint" else arith.remsi(a, divisor)


def _ceil_divide(dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    negated = arith.subi(const(dtype, 0), a)
    return arith.subi(const(dtype, 0), rules.BINARY_RULES["floor_divide"](dtype, negated, b))


def _rounding(name: str) -> ScalarRule:
    function = rules.ROUNDING[name]
    return widened(lambda dtype, x: function(x))


BINARY: dict[str, Intrinsic] = {
    "add": Intrinsic(rules.BINARY_RULES["add"], 2, NUMBERS),
    "subtract": Intrinsic(rules.BINARY_RULES["subtract"], 2, NUMBERS),
    "multiply": Intrinsic(rules.BINARY_RULES["multiply"], 2, NUMBERS),
    "truediv": Intrinsic(rules.BINARY_RULES["divide"], 2),
    "floordiv": Intrinsic(rules.BINARY_RULES["floor_divide"], 2, NUMBERS),
    "floormod": Intrinsic(rules.BINARY_RULES["floor_mod"], 2, NUMBERS),
    "truncdiv": Intrinsic(_trunc_divide, 2, INTEGERS),
    "truncmod": Intrinsic(_trunc_mod, 2, INTEGERS),
    "ceildiv": Intrinsic(_ceil_divide, 2, ("int",)),
    "pow": Intrinsic(rules.BINARY_RULES["power"], 2, NUMBERS),
    "max": Intrinsic(rules.BINARY_RULES["maximum"], 2, ANY),
    "min": Intrinsic(rules.BINARY_RULES["minimum"], 2, ANY),
    "fmod": Intrinsic(widened(lambda dtype, a, b: arith.remf(a, b)), 2),
    "atan2": Intrinsic(rules.BINARY_RULES["atan2"], 2),
    "bitwise_and": Intrinsic(rules.BITWISE_RULES["bitwise_and"], 2, (*INTEGERS, "bool")),
    "bitwise_or": Intrinsic(rules.BITWISE_RULES["bitwise_or"], 2, (*INTEGERS, "bool")),
    "bitwise_xor": Intrinsic(rules.BITWISE_RULES["bitwise_xor"], 2, (*INTEGERS, "bool")),
    "shift_left": Intrinsic(rules.BITWISE_RULES["left_shift"], 2, INTEGERS),
    "shift_right": Intrinsic(rules.BITWISE_RULES["right_shift"], 2, INTEGERS),
    **{
        name: Intrinsic(rules.COMPARISON_RULES[name], 2, ANY, test=True)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
}

_FLOAT_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log", "rsqrt"),
    *("sigmoid", "sin", "sinh", "sqrt", "tan", "tanh"),
)

UNARY: dict[str, Intrinsic] = {
    **{name: Intrinsic(rules.UNARY_RULES[name], 1) for name in _FLOAT_UNARY},
    **{name: Intrinsic(_rounding(name), 1) for name in rules.ROUNDING},
    **{
        name: Intrinsic(widened(lambda dtype, x, function=function: function(x)), 1)
        for name, function in (
            ("exp2", math.exp2),
            ("expm1", math.expm1),
            ("log2", math.log2),
            ("log10", math.log10),
            ("log1p", math.log1p),
        )
    },
    "abs": Intrinsic(rules.UNARY_RULES["abs"], 1, NUMBERS),
    "negative": Intrinsic(rules.UNARY_RULES["negative"], 1, NUMBERS),
    "bitwise_not": Intrinsic(rules.UNARY_RULES["bitwise_not"], 1, (*INTEGERS, "bool")),
    "popcount": Intrinsic(lambda dtype, x: math.ctpop(x), 1, INTEGERS),
    "clz": Intrinsic(lambda dtype, x: math.ctlz(x), 1, INTEGERS),
    "logical_not": Intrinsic(rules.UNARY_RULES["logical_not"], 1, ("bool",)),
    **{name: Intrinsic(widened_test(rules.FLOAT_TESTS[name][0]), 1, test=True) for name in rules.FLOAT_TESTS},
}

INTRINSICS: dict[str, Intrinsic] = {
    **BINARY,
    **UNARY,
    "fma": Intrinsic(rules.BINARY_RULES["ewise_fma"], 3, NUMBERS),
}

ALIASES = {
    "power": "pow",
    "fabs": "abs",
    "nearbyint": "round",
    "div": "truncdiv",
    "Div": "truncdiv",
    "floor_div": "floordiv",
    "floor_mod": "floormod",
    "left_shift": "shift_left",
    "right_shift": "shift_right",
    "Not": "logical_not",
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Max": "max",
    "Min": "min",
}


ON_LITERALS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "bitwise_not": operator.invert,
    "logical_not": operator.not_,
    "max": max,
    "min": min,
}


def apply(name: str, terms: Sequence[Term]) -> Term:
    """A function of scalars of one dtype; folded if all operands are literals.

    Raises `ArgumentError` or `DTypeError` for operands that it does not take.
    """
    if not any(isinstance(term, Scalar) for term in terms) and name in ON_LITERALS:
        try:
            folded: Literal = ON_LITERALS[name](*terms)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ArgumentError(str(error)) from None
        return folded
    intrinsic = INTRINSICS[name]
    divisor = terms[1] if name in ("floordiv", "floormod") and len(terms) == 2 else None
    if isinstance(divisor, int) and not isinstance(divisor, bool) and isinstance(terms[0], Scalar):
        short = divided(name, terms[0], divisor)
        if short is not None:
            return short
    operands = unify(name, terms)
    kind = operands[0].dtype
    check_kind(name, intrinsic, kind)
    if divisor is not None and kind is INDEX and is_size(operands[1].ssa):
        return Scalar(BY_SIZE[name](operands[0].ssa, operands[1].ssa), kind)
    result = intrinsic.rule(kind, *(item.ssa for item in operands))
    return Scalar(result, dtype("bool") if intrinsic.test else kind)


def call(name: str, terms: Sequence[Term]) -> Term:
    """A function by name; a function of floats also takes integers that are literals."""
    intrinsic = INTRINSICS[name]
    if name not in ON_LITERALS and intrinsic.kinds[0] == "float" and not any(map(_is_no_integer, terms)):
        terms = [float(term) for term in terms if not isinstance(term, Scalar)]
    return apply(name, terms)


def _is_no_integer(term: Term) -> bool:
    return not isinstance(term, int) or isinstance(term, bool)


def scalar(name: str, *terms: Term) -> Scalar:
    """A function of terms as a scalar."""
    return as_scalar(apply(name, terms))


def check_kind(name: str, intrinsic: Intrinsic, kind: DType) -> None:
    """Raise `DTypeError` unless a function takes a dtype."""
    if kind.kind in intrinsic.kinds:
        return
    hint = ""
    if name == "truediv":
        hint = "; integers divide by // (or T.truncdiv)"
    elif kind.is_integer and "float" in intrinsic.kinds:
        hint = "; convert to a float first, as in T.float32(x)"
    raise DTypeError(f"{name} has no meaning for {shown(kind)}{hint}")


def select(condition: Scalar, then: Term, other: Term) -> Scalar:
    """One of two values; both are computed."""
    a, b = unify("a choice", [then, other])
    return Scalar(arithmetic.select(a.dtype, condition.ssa, a.ssa, b.ssa), a.dtype)


def choose(condition: Scalar, then: Callable[[], Term], other: Callable[[], Term]) -> Scalar:
    """One of two values; the other is not computed: an ``scf.if`` with one result, of their common dtype."""
    scratch = scf.IfOp(condition.ssa, [], has_else=True)
    blocks = (scratch.then_block, scratch.else_block)
    terms: list[Term] = []
    for block, branch in zip(blocks, (then, other), strict=True):
        with ir.InsertionPoint(block):
            terms.append(branch())
    common = common_dtype("a choice", terms)
    for block, term in zip(blocks, terms, strict=True):
        with ir.InsertionPoint(block):
            scf.YieldOp([convert(as_scalar(term, common), common).ssa])
    final = ir.Operation.create("scf.if", results=[common.storage_type()], operands=[condition.ssa], regions=2)
    for number, block in enumerate(blocks):
        block.append_to(final.regions[number])
    scratch.operation.erase()
    return Scalar(final.results[0], common)
