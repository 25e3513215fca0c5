"""Reductions: combiners over axes, and their initial values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.types import DimLike
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    RelaxError,
    ShapeError,
    expect,
)
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import (
    INDEX,
    LITERAL,
    REDUCTION,
    Binary,
    Call,
    Expr,
    ExprLike,
    IfThenElse,
    IterVar,
    Kind,
    Limit,
    Number,
    Range,
    ScalarVar,
    as_expr,
    condition,
    loads_of,
    post_order,
    variables_of,
)
from relax_mlir.te.functions import maximum, minimum

Axes: TypeAlias = "IterVar | Sequence[IterVar]"


@dataclass(frozen=True, eq=False)
class Combiner:
    """Combines two tuples of values into one: ``result`` of `lhs` and `rhs`; `identity` is its neutral tuple.

    `lhs` is the accumulator. The operation must be associative and commutative: elements are combined in any order. If
    it is `ordered`, they are combined sequentially, starting with `identity`.
    """

    name: str
    lhs: tuple[ScalarVar, ...]
    rhs: tuple[ScalarVar, ...]
    result: tuple[Expr, ...]
    identity: tuple[Expr, ...]
    ordered: bool = False


class Reduction(Expr):
    """A reduction of `source` over `axis`: value `value_index` of the combiner's result.

    It is the whole value of a `compute`, never part of an expression. `init`, if given, replaces the identity as the
    initial value.
    """

    @property
    def refusal(self) -> ArgumentError:
        """The error of using it as part of an expression."""
        return ArgumentError(
            f"a reduction ({self.combiner.name}) is the whole value of a compute: compute it first, then read its "
            "elements in another compute"
        )

    def __init__(
        self,
        combiner: Combiner,
        source: Sequence[Expr],
        axis: Sequence[IterVar],
        value_index: int = 0,
        init: Sequence[Expr] = (),
    ) -> None:
        self.combiner, self.axis, self.value_index = combiner, tuple(axis), value_index
        super().__init__(combiner.lhs[value_index].kind, [*source, *init])

    @property
    def source(self) -> tuple[Expr, ...]:
        """The values that are reduced, one for each operand of the combiner."""
        return self.children[: len(self.combiner.lhs)]

    @property
    def init(self) -> tuple[Expr, ...]:
        """The given initial values; empty: the identity."""
        return self.children[len(self.combiner.lhs) :]

    @property
    def initial(self) -> tuple[Expr, ...]:
        """The initial values of the reduction."""
        return self.init or self.combiner.identity

    def format(self, args: Sequence[str]) -> str:
        axes = ", ".join(axis.name for axis in self.axis)
        return f"{self.combiner.name}({', '.join(args)}, axis=[{axes}])"

    def rebuilt(self, children: Sequence[Expr]) -> Expr:
        count = len(self.combiner.lhs)
        return Reduction(self.combiner, children[:count], self.axis, self.value_index, children[count:])


def reduce_axis(dom: tuple[DimLike, DimLike], name: str = "k") -> IterVar:
    """The axis of the range ``dom[0]`` to ``dom[1]``, exclusive."""
    if not isinstance(dom, tuple | list) or len(dom) != 2:
        raise ArgumentError(f"reduce_axis '{name}': 'dom' is {dom!r}, expected a pair such as (0, n)")
    begin, end = (_position(f"reduce_axis '{name}'", item) for item in dom)
    return IterVar(name, Range(begin, end - begin), REDUCTION)


def sum(expr: ExprLike, axis: Axes, where: ExprLike | None = None, init: ExprLike | None = None) -> Reduction:
    """The sum over `axis`, one or several axes; 0 if empty. `where`: only elements for which it holds."""
    return _named("sum", expr, axis, where, init)


def prod(expr: ExprLike, axis: Axes, where: ExprLike | None = None, init: ExprLike | None = None) -> Reduction:
    """The product over `axis`; 1 if empty."""
    return _named("prod", expr, axis, where, init)


@overload
def max(expr: ExprLike, axis: Axes, where: ExprLike | None = None, init: ExprLike | None = None) -> Reduction: ...
@overload
def max(expr: ExprLike, axis: ExprLike, *more: ExprLike) -> Any: ...  # noqa: ANN401 - as `maximum`


def max(
    expr: ExprLike,
    axis: Axes | ExprLike,
    *more: Any,
    where: ExprLike | None = None,
    init: ExprLike | None = None,
) -> Any:
    """The maximum over `axis`, or of two or more values, as `maximum` computes it.

    ``max(x[i, k], axis=k)`` is a reduction; if it is empty, the lowest value of the dtype, -inf for floats.
    ``max(x[i], 0)`` is an expression, and ``max(n, 4)`` of sizes is a size, which may be used in shapes.
    """
    return _extreme("max", (expr, axis, *more), where, init)


@overload
def min(expr: ExprLike, axis: Axes, where: ExprLike | None = None, init: ExprLike | None = None) -> Reduction: ...
@overload
def min(expr: ExprLike, axis: ExprLike, *more: ExprLike) -> Any: ...  # noqa: ANN401 - as `minimum`


def min(
    expr: ExprLike,
    axis: Axes | ExprLike,
    *more: Any,
    where: ExprLike | None = None,
    init: ExprLike | None = None,
) -> Any:
    """The minimum over `axis`, or of two or more values, as `minimum` computes it.

    ``min(x[i, k], axis=k)`` is a reduction; if it is empty, the highest value of the dtype, inf for floats.
    ``min(x[i], 0)`` is an expression, and ``min(n, 4)`` of sizes is a size, which may be used in shapes.
    """
    return _extreme("min", (expr, axis, *more), where, init)


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A custom reduction: ``reducer(expr, axis, where=None, init=None)``.

    Args:
        fcombine: combines two values, or two tuples of values; associative and commutative.
        fidentity: maps the dtype of each value, as a string, to the neutral value.
        name: the name of the reduction.

    With tuples the reducer takes a tuple of expressions and returns a tuple of reductions, which is the value of a
    `compute` with several outputs.
    """

    expect("comm_reducer: 'name'", name, str, "a name")

    def reducer(
        expr: Any,  # noqa: ANN401 - an expression, or a tuple of them
        axis: Axes,
        where: ExprLike | None = None,
        init: Any = None,  # noqa: ANN401 - an expression, or a tuple of them
    ) -> Any:  # noqa: ANN401 - a reduction, or a tuple of them
        what = f"reducer '{name}'"
        several = isinstance(expr, tuple | list)
        source = [_source(what, item) for item in (expr if several else [expr])]
        kinds = [as_kind(item) for item in source]
        combiner = _combiner(what, name, fcombine, fidentity, kinds, several)
        starts = None if init is None else list(init) if isinstance(init, tuple | list) else [init]
        made = _reductions(what, combiner, source, axis, where, starts)
        return made if several else made[0]

    reducer.__name__ = name
    reducer.__doc__ = f"`{name}` over axes, by a combiner of your own."
    return reducer


def identity(combiner: str, dtype: str) -> Expr:
    """The identity of a sum, prod, max or min."""
    wanted = dtypes.dtype(dtype)
    if combiner in ("sum", "prod"):
        return typed(int(combiner == "prod"), wanted)
    if combiner == "min" or not wanted.is_float:
        if wanted.is_float:
            return Limit("infinity", wanted)
        return Limit("min_value" if combiner == "max" else "max_value", wanted)
    return -Limit("infinity", wanted)


def typed(value: bool | int | float, dtype: DType) -> Expr:
    """A number of a dtype."""
    return Number(value).astype(dtype.name)


def as_kind(item: Expr) -> DType:
    """The dtype of an expression as an element: int64 for an index, TVM's default for a Python number."""
    if item.kind == INDEX:
        return dtypes.dtype("int64")
    if item.kind != LITERAL:
        assert isinstance(item.kind, DType)
        return item.kind
    values = [part.value for part in post_order(item) if isinstance(part, Number)]
    if any(isinstance(value, float) for value in values):
        return dtypes.dtype("float32")
    fits = all(-(2**31) <= value < 2**31 for value in values)
    return dtypes.dtype("int32" if fits else "int64")


def _extreme(name: str, given: tuple[Any, ...], where: ExprLike | None, init: ExprLike | None) -> Any:  # noqa: ANN401 - a reduction, an expression or a size
    """The reduction of ``given[0]`` if the second value is an axis, otherwise the extreme of all values."""
    value, axis, *more = given
    if not isinstance(axis, list | tuple) and not is_reduce_axis(axis):
        if where is not None or init is not None:
            raise ArgumentError(
                f"te.{name}: 'axis' is {axis!r} and no reduce_axis, but 'where' and 'init' belong to a reduction"
            )
        return functools.reduce(_larger if name == "max" else _smaller, given)
    if len(more) > 2:
        raise ArgumentError(f"te.{name}: a reduction takes 'where' and 'init' at most, got {more!r}")
    options = {"where": where, "init": init}
    for key, item in zip(options, more, strict=False):
        if options[key] is not None:
            raise ArgumentError(f"te.{name}: '{key}' is given twice")
        options[key] = item
    return _named(name, value, axis, options["where"], options["init"])


def _larger(x: ExprLike, y: ExprLike) -> Expr | Dim:
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.maximum(x, y)
    return maximum(x, y)


def _smaller(x: ExprLike, y: ExprLike) -> Expr | Dim:
    if isinstance(x, int | symbolic.Expr) and isinstance(y, int | symbolic.Expr):
        return symbolic.minimum(x, y)
    return minimum(x, y)


def is_reduce_axis(item: object) -> bool:
    """True for results of `reduce_axis`."""
    return isinstance(item, IterVar) and item.iter_type == REDUCTION


def _named(name: str, value: object, axis: Axes, where: ExprLike | None, init: ExprLike | None) -> Reduction:
    item = _source(f"te.{name}", value)
    dtype = as_kind(item)
    lhs, rhs = ScalarVar("x", dtype), ScalarVar("y", dtype)
    combined: Expr = (
        Binary("+" if name == "sum" else "*", lhs, rhs, dtype)
        if name in ("sum", "prod")
        else Call(name, [lhs, rhs], dtype)
    )
    combiner = Combiner(name, (lhs,), (rhs,), (combined,), (identity(name, dtype.name),))
    return _reductions(f"te.{name}", combiner, [item], axis, where, None if init is None else [init])[0]


def _reductions(
    what: str,
    combiner: Combiner,
    source: Sequence[Expr],
    axis: Axes,
    where: ExprLike | None,
    init: Sequence[Any] | None,
) -> tuple[Reduction, ...]:
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    for item in axes:
        if not is_reduce_axis(item):
            raise ArgumentError(
                f"{what}: 'axis' is {item!r} ({type(item).__name__}), expected a reduce_axis, or a list of them"
            )
    if not axes:
        raise ArgumentError(f"{what}: 'axis' is empty; give the reduce_axis to combine over")
    kinds = [var.kind for var in combiner.lhs]
    items = [_converted(what, item, kind) for item, kind in zip(source, kinds, strict=True)]
    if where is not None:
        test = condition(f"{what}: 'where'", where)
        items = [IfThenElse(test, item, start) for item, start in zip(items, combiner.identity, strict=True)]
    starts: list[Expr] = []
    if init is not None:
        if len(init) != len(items):
            raise ArgumentError(f"{what}: 'init' has {len(init)} values for {len(items)}")
        starts = [_converted(what, as_expr(item), kind) for item, kind in zip(init, kinds, strict=True)]
        inside = [var.name for var in variables_of(*starts) if any(var is own for own in axes)]
        if inside:
            raise ArgumentError(f"{what}: 'init' reads the axis '{inside[0]}' that is combined over")
    return tuple(Reduction(combiner, items, axes, number, starts) for number in range(len(items)))


def _converted(what: str, item: Expr, kind: Kind) -> Expr:
    if item.kind == kind:
        return item
    if item.kind in (LITERAL, INDEX):
        return item.astype(str(kind))
    raise DTypeError(f"{what}: a value has dtype {item.dtype}, expected {kind}")


def _source(what: str, value: object) -> Expr:
    if isinstance(value, Reduction):
        raise ArgumentError(f"{what}: a reduction of a reduction; give both axes, or compute the inner one first")
    return as_expr(value)


def _combiner(
    what: str,
    name: str,
    fcombine: Callable[..., Any],
    fidentity: Callable[..., Any],
    kinds: Sequence[DType],
    several: bool,
) -> Combiner:
    """The combiner that a user's functions define for values of these dtypes."""
    for label, function in (("fcombine", fcombine), ("fidentity", fidentity)):
        if not callable(function):
            raise ArgumentError(f"{what}: '{label}' is {function!r}, expected a function")
    lhs = tuple(ScalarVar(f"x{number}", kind) for number, kind in enumerate(kinds))
    rhs = tuple(ScalarVar(f"y{number}", kind) for number, kind in enumerate(kinds))
    combined = fcombine(lhs, rhs) if several else fcombine(lhs[0], rhs[0])
    names = [kind.name for kind in kinds]
    start = fidentity(*names) if _takes(fidentity, len(names)) else fidentity(names)
    parts = {}
    for label, given in (("fcombine", combined), ("fidentity", start)):
        items = list(given) if isinstance(given, tuple | list) else [given]
        if len(items) != len(kinds):
            raise ArgumentError(f"{what}: '{label}' gives {len(items)} values for {len(kinds)}")
        parts[label] = tuple(
            _converted(f"{what}: '{label}'", as_expr(item), kind) for item, kind in zip(items, kinds, strict=True)
        )
    outside = [item for item in post_order(*parts["fidentity"]) if isinstance(item, ScalarVar | IterVar)]
    if outside or loads_of(*parts["fcombine"], *parts["fidentity"]) or variables_of(*parts["fcombine"]):
        raise ArgumentError(
            f"{what}: 'fcombine' and 'fidentity' are made of the values that they are given, not of tensors and axes"
        )
    return Combiner(name, lhs, rhs, parts["fcombine"], parts["fidentity"])


def _takes(function: Callable[..., Any], count: int) -> bool:
    """True if a function can be called with `count` arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return True
    return True


def _position(what: str, value: DimLike) -> Dim:
    try:
        dim = symbolic.to_dim(value) if value is not None else None
    except RelaxError as error:
        raise ShapeError(f"{what}: {error}") from None
    if dim is None:
        raise ShapeError(f"{what}: a bound is unknown")
    return dim
