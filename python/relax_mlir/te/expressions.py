"""Scalar expressions of tensor expressions: trees of typed nodes that print as the T language, and walks over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.te.tensors import Tensor


INDEX = "index"
"""The dtype of index variables and sizes, which mixes with int64 and int32."""
LITERAL = "literal"
"""The dtype of a Python number, which adopts that of the other operands."""
Kind = DType | str
"""A dtype, `INDEX` or `LITERAL`."""
BOOL = dtypes.dtype("bool")
BESIDE_INDICES = ("int64", "int32")
"""The dtypes that indices mix with and convert to."""

BITWISE = ("&", "|", "^", "<<", ">>")
"""The bitwise operators."""

ExprLike: TypeAlias = "Expr | symbolic.Expr | np.generic | bool | int | float"
"""Types that convert to an expression."""


class Expr:
    """A scalar expression. Operators build expressions; so do comparisons, therefore ``==`` does not compare objects.

    Nodes are immutable, and may be part of several trees. `visit`, `fold` and `substitute` walk over them.
    """

    __array_ufunc__ = None  # NumPy scalars leave mixed operators to this class
    __hash__ = object.__hash__

    def __init__(self, kind: Kind, children: Sequence[Expr] = ()) -> None:
        self.kind = kind
        self.children = tuple(children)

    @property
    def dtype(self) -> str:
        """The name of the dtype; "index" for indices and sizes, "literal" for Python numbers."""
        return str(self.kind)

    def format(self, args: Sequence[str]) -> str:
        """Format the node for messages, as in the T language; `args` are the texts of its children."""
        raise NotImplementedError  # abstract

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        """The same node with other children."""
        raise NotImplementedError  # abstract

    def astype(self, dtype: str) -> Expr:
        """Convert the value, as `op.astype` does: floats to integers saturate."""
        return Cast(self, dtypes.dtype(dtype))

    def __repr__(self) -> str:

        return shown(self)

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

    def __rand__(self, other: ExprLike) -> Expr:
        return binary("&", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("|", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return binary("|", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("^", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return binary("^", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return binary("<<", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return binary("<<", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return binary(">>", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return binary(">>", other, self)

    def __neg__(self) -> Expr:
        return Unary("-", as_expr(self))

    def __invert__(self) -> Expr:
        return Unary("not" if self.kind == BOOL else "~", as_expr(self))

    def __lt__(self, other: ExprLike) -> Expr:
        return compare("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return compare("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return compare(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return compare(">=", self, other)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]  # as in TVM: an expression, not a bool
        return compare("==", self, as_expr(other))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]  # as `__eq__`
        return compare("!=", self, as_expr(other))


class Leaf(Expr):
    """An expression without children."""

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return self


@dataclass(frozen=True)
class Range:
    """The integers from `begin`, `extent` of them."""

    begin: Dim
    extent: Dim

    @property
    def min(self) -> Dim:
        """`begin`, by TVM's name."""
        return self.begin


IterType = Literal["data-parallel", "reduction"]
DATA_PARALLEL: IterType = "data-parallel"
REDUCTION: IterType = "reduction"


class IterVar(Leaf):
    """The variable of an axis: of an output (`DATA_PARALLEL`), or of a reduction (`REDUCTION`)."""

    def __init__(self, name: str, dom: Range, iter_type: IterType) -> None:
        self.name, self.dom, self.iter_type = name, dom, iter_type
        super().__init__(INDEX)

    @property
    def var(self) -> IterVar:
        """The variable, which is the axis itself."""
        return self

    def format(self, args: Sequence[str]) -> str:
        return self.name


class ScalarVar(Leaf):
    """A variable for a scalar: an operand of a combiner."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name = name
        super().__init__(kind)

    def format(self, args: Sequence[str]) -> str:
        return self.name


class Size(Leaf):
    """A size: an expression of symbols."""

    def __init__(self, dim: Dim) -> None:
        self.dim = dim
        super().__init__(INDEX)

    def format(self, args: Sequence[str]) -> str:
        return f"({self.dim})"


class Number(Leaf):
    """A Python number; a bool has dtype bool."""

    def __init__(self, value: bool | int | float) -> None:
        self.value = value
        super().__init__(BOOL if isinstance(value, bool) else LITERAL)

    def format(self, args: Sequence[str]) -> str:
        if isinstance(self.value, float) and not math.isfinite(self.value):
            return f'float("{self.value}")'
        return repr(self.value) if isinstance(self.value, bool) or self.value >= 0 else f"({self.value!r})"


class Limit(Leaf):
    """The minimum or maximum of a dtype, or infinity: `function` is min_value, max_value or infinity."""

    def __init__(self, function: str, dtype: DType) -> None:
        self.function = function
        super().__init__(dtype)

    def format(self, args: Sequence[str]) -> str:
        return f'T.{self.function}("{self.kind}")'


class Load(Expr):
    """An element of a tensor; its children are the indices."""

    def __init__(self, tensor: Tensor, indices: Sequence[Expr]) -> None:
        self.tensor = tensor
        super().__init__(dtypes.dtype(tensor.dtype), indices)

    def format(self, args: Sequence[str]) -> str:
        return f"{self.tensor.name}[{', '.join(args) or '()'}]"

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return Load(self.tensor, children)


class Unary(Expr):
    """A unary operation: ``-x``, ``~x``, ``not x``."""

    def __init__(self, operator: str, operand: Expr) -> None:
        self.operator = operator
        super().__init__(operand.kind, [operand])

    def format(self, args: Sequence[str]) -> str:
        if self.operator == "~":
            return f"T.bitwise_not({args[0]})"
        return f"({self.operator}{' ' if self.operator == 'not' else ''}{args[0]})"

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return Unary(self.operator, children[0])


class Infix(Expr):
    """An infix operation on two values."""

    def __init__(self, operator: str, left: Expr, right: Expr, kind: Kind) -> None:
        self.operator = operator
        super().__init__(kind, [left, right])

    def format(self, args: Sequence[str]) -> str:
        return f"({args[0]} {self.operator} {args[1]})"


class Binary(Infix):
    """An arithmetic or bitwise operation on two values of one dtype; built by `binary`."""

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return binary(self.operator, *children)


class Compare(Infix):
    """A comparison of two values of one dtype; built by `compare`."""

    def __init__(self, operator: str, left: Expr, right: Expr) -> None:
        super().__init__(operator, left, right, BOOL)

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return compare(self.operator, *children)


class Logical(Infix):
    """``left and right``, ``left or right``: the second is not computed if the first decides."""

    def __init__(self, operator: str, left: Expr, right: Expr) -> None:
        super().__init__(operator, left, right, BOOL)

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return Logical(self.operator, *children)


class Cast(Expr):
    """A value converted to another dtype."""

    def __init__(self, operand: Expr, dtype: DType) -> None:
        super().__init__(dtype, [as_expr(operand)])

    def format(self, args: Sequence[str]) -> str:
        return f'T.cast({args[0]}, "{self.kind}")'

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        assert isinstance(self.kind, DType)
        return Cast(children[0], self.kind)


class Call(Expr):
    """A function of the T language on values of one dtype; the result has that dtype, or bool for a `test`."""

    def __init__(self, function: str, args: Sequence[Expr], kind: Kind) -> None:
        self.function = function
        super().__init__(kind, args)

    def format(self, args: Sequence[str]) -> str:
        return f"T.{self.function}({', '.join(args)})"

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        common = common_kind(f"te.{self.function}", children)
        return Call(self.function, children, BOOL if self.kind == BOOL else common)


class Choice(Expr):
    """One of two values by a condition: `Select` computes both, `IfThenElse` only the chosen one."""

    function: str

    def __init__(self, test: Expr, then: Expr, otherwise: Expr) -> None:
        kind = common_kind(f"te.{self.function}", [then, otherwise])
        super().__init__(kind, [test, then, otherwise])

    def format(self, args: Sequence[str]) -> str:
        return f"T.{self.function}({', '.join(args)})"

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        return type(self)(*children)


class Select(Choice):
    """One of two values; both are computed."""

    function = "Select"


class IfThenElse(Choice):
    """One of two values; the other is not computed, so its accesses may be out of bounds."""

    function = "if_then_else"


def as_expr(value: object) -> Expr:
    """Convert a value to an expression: numbers, NumPy scalars and expressions of symbols.

    Raises:
        ArgumentError: anything else. A value that is more than a scalar has its own error, in `refusal`.
    """
    if isinstance(value, Expr):
        refused = getattr(value, "refusal", None)
        if refused is not None:
            raise refused
        return value
    if isinstance(value, symbolic.Expr):
        return Size(value)
    if isinstance(value, np.generic):
        return Number(value.item()).astype(dtypes.dtype(value.dtype).name)
    if isinstance(value, bool | int | float):
        return Number(value)
    refused = getattr(value, "refusal", None)
    if refused is not None:
        raise refused
    raise ArgumentError(
        f"{value!r} ({type(value).__name__}) is no tensor expression: expected a number, an index or an element"
    )


def common_kind(what: str, items: Sequence[Expr]) -> Kind:
    """The common dtype of operands; literals adopt it, and indices adopt int64 and int32.

    Raises:
        DTypeError: two different dtypes.
    """
    kinds = [item.kind for item in items if item.kind != LITERAL]
    if not kinds:
        return LITERAL
    wide = [kind for kind in kinds if kind != INDEX]
    first = wide[0] if wide else INDEX
    for kind in kinds:
        if kind == first or (kind == INDEX and str(first) in BESIDE_INDICES):
            continue
        hint = "an index is an integer: i.astype(...)" if INDEX in (kind, first) else "convert one with astype"
        raise DTypeError(f"{what}: operands have dtypes {first} and {kind}; {hint}")
    return first


def unified(what: str, items: Sequence[Expr]) -> tuple[Kind, list[Expr]]:
    """The common dtype of operands, and the operands; indices are converted to int32 if they are mixed with it."""
    kind = common_kind(what, items)
    if str(kind) != "int32":
        return kind, list(items)
    assert isinstance(kind, DType)
    return kind, [Cast(item, kind) if item.kind == INDEX else item for item in items]


def binary(operator: str, left: ExprLike, right: ExprLike) -> Expr:
    """An arithmetic or bitwise operation; NotImplemented if the other operand is a tensor."""
    if hasattr(left, "broadcast_operator") or hasattr(right, "broadcast_operator"):
        return NotImplemented  # type: ignore[no-any-return]  # Python then tries the tensor's operator
    kind, (a, b) = unified(f"'{operator}'", [as_expr(left), as_expr(right)])
    is_float = isinstance(kind, DType) and kind.is_float
    if operator in BITWISE and is_float:
        raise DTypeError(f"'{operator}': operands have dtype {kind}, expected integers or bool")
    if operator == "/" and not is_float and kind != LITERAL:
        raise DTypeError(f"'/': operands have dtype {kind}, expected floats, since integers divide by // or te.div")
    return Binary(operator, a, b, kind)


def compare(operator: str, left: ExprLike, right: ExprLike) -> Expr:
    """A comparison; an int32 element is compared with an index as int64."""
    items = [as_expr(left), as_expr(right)]
    if any(item.kind == INDEX for item in items):
        items = [item.astype("int64") if item.dtype == "int32" else item for item in items]
    common_kind(f"'{operator}'", items)
    return Compare(operator, *items)


def condition(what: str, value: ExprLike) -> Expr:
    """An expression, which must be bool."""
    item = as_expr(value)
    if item.kind != BOOL:
        raise DTypeError(f"{what}: the condition has dtype {item.dtype}, expected bool")
    return item


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


Found = TypeVar("Found")
TEXT_LIMIT = 200
"""Maximum number of characters that `repr` shows of an expression."""


def post_order(*roots: Expr) -> list[Expr]:
    """All expressions in `roots`, without duplicates, in post-order."""
    order: list[Expr] = []
    seen: set[int] = set()
    waiting: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while waiting:
        item, is_done = waiting.pop()
        if is_done:
            order.append(item)
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        waiting.append((item, True))
        waiting += [(child, False) for child in reversed(item.children)]
    return order


def visit(root: Expr, function: Callable[[Expr], object]) -> None:
    """Call `function` with every expression in `root`, once each, in post-order."""
    for item in post_order(root):
        function(item)


def fold(root: Expr, function: Callable[[Expr, list[Found]], Found]) -> Found:
    """The result of `function` for `root`; it is called once per expression, with the results for its children."""
    found: dict[int, Found] = {}
    for item in post_order(root):
        found[id(item)] = function(item, [found[id(child)] for child in item.children])
    return found[id(root)]


def substitute(root: Expr, values: Mapping[Expr, ExprLike]) -> Expr:
    """`root` with the expressions of `values`, such as index variables, replaced. Unchanged parts are shared."""
    given = {id(key): as_expr(value) for key, value in values.items()}

    def replaced(item: Expr, children: list[Expr]) -> Expr:
        if id(item) in given:
            return given[id(item)]
        same = all(old is new for old, new in zip(item.children, children, strict=True))
        return item if same else item.rebuilt(children)

    return fold(root, replaced)


def loads_of(*roots: Expr) -> list[Load]:
    """The elements that expressions read."""
    return [item for item in post_order(*roots) if isinstance(item, Load)]


def variables_of(*roots: Expr) -> list[IterVar]:
    """The axes that expressions use."""
    return [item for item in post_order(*roots) if isinstance(item, IterVar)]


ON_DIMS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": symbolic.floordiv,
    "%": symbolic.floormod,
}


def to_dim(
    root: Expr, variables: Mapping[IterVar, Dim], operators: Mapping[str, Callable[[Dim, Dim], Dim]] = ON_DIMS
) -> Dim | None:
    """Convert an index expression to a dimension, with `variables` for the axes; None if that is impossible.

    Dimension arithmetic assumes that symbols are non-negative, and divisors nonzero. `operators` replaces its
    operations, for callers that know more about the variables.
    """
    known = {id(key): value for key, value in variables.items()}

    def dim(item: Expr, parts: list[Dim | None]) -> Dim | None:
        if isinstance(item, Size):
            return item.dim
        if isinstance(item, Number):
            return item.value if isinstance(item.value, int) and not isinstance(item.value, bool) else None
        if isinstance(item, IterVar):
            return known.get(id(item))
        if isinstance(item, Cast) and item.children[0].kind == INDEX and item.dtype == "int64":
            return parts[0]
        if not isinstance(item, Binary) or item.operator not in operators:
            return None
        left, right = parts
        if left is None or right is None or (item.operator in ("//", "%") and right == 0):
            return None
        return operators[item.operator](left, right)

    return fold(root, dim)


def shown(root: Expr) -> str:
    """The text of an expression, truncated if it is long."""

    def text(item: Expr, parts: list[str]) -> str:
        whole = item.format(parts)
        return whole if len(whole) <= TEXT_LIMIT else f"{whole[: TEXT_LIMIT - 2]} …"

    return fold(root, text)


def names_used(roots: Iterable[Expr]) -> list[str]:
    """The symbols in expressions, in order of appearance."""
    dims = [item.dim for item in post_order(*roots) if isinstance(item, Size)]
    return list(dict.fromkeys(name for dim in dims for name in symbolic.symbols(dim)))
