"""Scalar expressions of tensor expressions: trees that know their dtype and print as the T language."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import ArgumentError, DTypeError, ShapeError

if TYPE_CHECKING:
    from relax_mlir.te.tensors import Tensor

INDEX = "index"
"""The dtype of index variables and sizes, which mixes with int64."""
LITERAL = "literal"
"""The dtype of a Python number, which takes that of the other operands."""
Kind = DType | str
"""A dtype, `INDEX` or `LITERAL`."""

Names = Mapping["Expr | Tensor", str]
"""What tensors and index variables are called in the text."""


ExprLike: TypeAlias = "Expr | symbolic.Expr | np.generic | bool | int | float"
"""What stands for an expression."""


class Expr:
    """A scalar expression. Operators make expressions; comparisons, too, so that ``==`` compares no objects."""

    __array_ufunc__ = None  # NumPy scalars leave mixed operators to this class
    __hash__ = object.__hash__

    def __init__(self, kind: Kind, children: Sequence[Expr], text: Callable[[Names, list[str]], str]) -> None:
        self.kind = kind
        self.children = tuple(children)
        self._text = text

    @property
    def dtype(self) -> str:
        """The name of the dtype; "index" for indices and sizes, "literal" for Python numbers."""
        return str(self.kind)

    def text(self, names: Names) -> str:
        """The expression in the T language."""
        return self._text(names, [child.text(names) for child in self.children])

    def astype(self, dtype: str) -> Expr:
        """The value converted, as `op.astype` does: floats to integers saturate."""
        wanted = dtypes.dtype(dtype)
        return Expr(wanted, [self], lambda _, args: f'T.cast({args[0]}, "{wanted}")')

    def __bool__(self) -> bool:
        raise ArgumentError(
            "the truth of a tensor expression is known at run time only: use te.if_then_else, te.all, te.any"
        )

    def __add__(self, other: ExprLike) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("/", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("/", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("//", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("%", other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return binary("&", self, other)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("|", self, other)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("^", self, other)

    def __lshift__(self, other: ExprLike) -> Expr:
        return binary("<<", self, other)

    def __rshift__(self, other: ExprLike) -> Expr:
        return binary(">>", self, other)

    def __neg__(self) -> Expr:
        return Expr(self.kind, [self], lambda _, args: f"(-{args[0]})")

    def __invert__(self) -> Expr:
        if self.dtype == "bool":
            return Expr(self.kind, [self], lambda _, args: f"(not {args[0]})")
        return Expr(self.kind, [self], lambda _, args: f"T.bitwise_not({args[0]})")

    def __lt__(self, other: ExprLike) -> Expr:
        return compare("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return compare("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return compare(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return compare(">=", self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]  # as in TVM: an expression, no bool
        return compare("==", self, as_expr(other))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]  # likewise
        return compare("!=", self, as_expr(other))


class IndexVar(Expr):
    """A variable of an axis: of an output, or of a reduction."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(INDEX, (), lambda names, _: names[self])


class Load(Expr):
    """An element of a tensor."""

    def __init__(self, tensor: Tensor, indices: Sequence[Expr]) -> None:
        self.tensor = tensor

        def text(names: Names, args: list[str]) -> str:
            return f"{names[tensor]}[{', '.join(args) or '()'}]"

        super().__init__(dtypes.dtype(tensor.dtype), indices, text)


class Size(Expr):
    """An expression of symbols."""

    def __init__(self, dim: symbolic.Dim) -> None:
        self.dim = dim
        super().__init__(INDEX, (), lambda _names, _args: f"({dim})")


def as_expr(value: object) -> Expr:
    """A value as an expression: numbers, NumPy scalars and expressions of symbols.

    Raises:
        ArgumentError: anything else.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, symbolic.Expr):
        return Size(value)
    if isinstance(value, np.generic):
        return literal(value.item()).astype(dtypes.dtype(value.dtype).name)
    if isinstance(value, bool | int | float):
        return literal(value)
    raise ArgumentError(
        f"{value!r} ({type(value).__name__}) is no tensor expression: expected a number, an index or an element"
    )


def literal(value: bool | int | float) -> Expr:
    """A Python number."""
    if isinstance(value, float) and not math.isfinite(value):
        text = f'float("{value}")'
    else:
        text = repr(value) if not isinstance(value, int | float) or value >= 0 else f"({value!r})"
    return Expr(dtypes.dtype("bool") if isinstance(value, bool) else LITERAL, (), lambda _names, _args: text)


def common_kind(what: str, items: Sequence[Expr]) -> Kind:
    """The dtype of operands, which must be one; literals take it, and indices mix with int64.

    Raises:
        DTypeError: two dtypes.
    """
    kinds = [item.kind for item in items if item.kind != LITERAL]
    if not kinds:
        return LITERAL
    wide = [kind for kind in kinds if kind != INDEX]
    first = wide[0] if wide else INDEX
    for kind in kinds:
        if kind == first or (kind == INDEX and str(first) == "int64"):
            continue
        hint = (
            "an index is an integer: i.astype(...)" if INDEX in (kind, first) else "convert one with astype"
        )
        raise DTypeError(f"{what}: operands have dtypes {first} and {kind}; {hint}")
    return first


def binary(operator: str, left: ExprLike, right: ExprLike) -> Expr:
    """An arithmetic or bitwise operator."""
    items = [as_expr(left), as_expr(right)]
    kind = common_kind(f"'{operator}'", items)
    return Expr(kind, items, lambda _, args: f"({args[0]} {operator} {args[1]})")


def compare(operator: str, left: ExprLike, right: ExprLike) -> Expr:
    """A comparison."""
    items = [as_expr(left), as_expr(right)]
    common_kind(f"'{operator}'", items)
    return Expr(dtypes.dtype("bool"), items, lambda _, args: f"({args[0]} {operator} {args[1]})")


def condition(what: str, value: ExprLike) -> Expr:
    """An expression that must be bool."""
    item = as_expr(value)
    if item.dtype != "bool":
        raise DTypeError(f"{what}: the condition has dtype {item.dtype}, expected bool")
    return item


def nodes(root: Expr) -> Iterator[Expr]:
    """`root` and all expressions in it."""
    yield root
    for child in root.children:
        yield from nodes(child)


def index(what: str, value: object) -> Expr:
    """An index expression: of indices and sizes, or an integer from data.

    Raises:
        ShapeError: a slice.
        DTypeError: not an integer.
    """
    if isinstance(value, slice) or value is Ellipsis or value is None:
        raise ShapeError(f"{what}: an element needs one index per dimension, not slices")
    if isinstance(value, float):
        raise DTypeError(f"{what}: the index {value} is no integer")
    item = as_expr(value)
    if not (item.kind in (INDEX, LITERAL) or (isinstance(item.kind, DType) and item.kind.is_integer)):
        raise DTypeError(f"{what}: an index has dtype {item.dtype}, expected an integer")
    return item
