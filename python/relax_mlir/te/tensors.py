"""Tensors of tensor expressions: placeholders, computed ones, and reductions."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.location import user_frame_position
from relax_mlir.dialects.types import DimLike, as_dim, shape_text
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import (
    INDEX,
    LITERAL,
    Expr,
    ExprLike,
    IndexVar,
    Load,
    as_expr,
    condition,
    index,
)
from relax_mlir.te.functions import if_then_else


def var(name: str) -> symbolic.Expr:
    """The symbol `name`: a size, zero or positive, for shapes and index expressions."""
    return symbolic.symbol(name)


class Tensor:
    """A tensor of known shape (integers, symbols and expressions of them) and dtype; ``A[i, j]`` is an element.

    `stage` is the computation that it is a result of, None for a placeholder.
    """

    def __init__(self, shape: tuple[Dim, ...], dtype: str, name: str, stage: Stage | None = None) -> None:
        self.shape, self.dtype, self.name, self.stage = shape, dtype, name, stage

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, indices: object) -> Expr:
        """The element at `indices`, one integer expression per dimension."""
        given = indices if isinstance(indices, tuple) else (indices,)
        what = f"{self.name}[…]"
        if len(given) != self.ndim:
            raise ShapeError(
                f"{what}: {len(given)} indices for the tensor {self}, which has {self.ndim} dimensions"
            )
        return Load(self, [index(what, item) for item in given])

    def __call__(self, *indices: object) -> Expr:
        """The element at `indices`, as ``A[i, j]``."""
        return self[indices]

    def __repr__(self) -> str:
        return f"{self.name}: {shape_text(self.shape)} {self.dtype}"


class ReduceAxis(IndexVar):
    """A range over which elements are combined: `extent` values from `begin` on."""

    def __init__(self, begin: Dim, extent: Dim, name: str) -> None:
        self.begin, self.extent = begin, extent
        super().__init__(name)


Axes: TypeAlias = "ReduceAxis | Sequence[ReduceAxis]"


@dataclass(frozen=True, eq=False)
class Reduction:
    """Elements of `value` combined over `axes`."""

    combiner: str
    value: Expr
    axes: tuple[ReduceAxis, ...]


@dataclass(frozen=True, eq=False)
class Stage:
    """A computation: the axes of its outputs, what each output is there, and the user's line."""

    axes: tuple[IndexVar, ...]
    shape: tuple[Dim, ...]
    values: tuple[Expr | Reduction, ...]
    position: tuple[str, int]
    tensors: list[Tensor] = field(default_factory=list)
    """The tensors that it computes, one per value."""


def placeholder(shape: Sequence[DimLike], dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """An input of shape `shape` (integers, texts, symbols and expressions of them)."""
    return Tensor(_shape(f"placeholder '{name}'", shape), dtypes.dtype(dtype).name, name)


def compute(shape: Sequence[DimLike], fcompute: Callable[..., Any], name: str = "compute") -> Any:  # noqa: ANN401
    """The tensor whose element at ``(i, j, …)`` is ``fcompute(i, j, …)``, a number, an expression, or a reduction.

    A tuple of them gives a tuple of tensors.

    Raises:
        ArgumentError: `fcompute` takes another number of indices, or gives something else.
        DTypeError: dtypes that do not go together, or that are not told (a result of numbers alone: `const`).
        ShapeError: an access of another rank.
    """
    what = f"compute '{name}'"
    dims = _shape(what, shape)
    if not callable(fcompute):
        raise ArgumentError(f"{what}: 'fcompute' is {fcompute!r}, expected a function of the indices")
    axes = tuple(map(IndexVar, _axis_names(what, fcompute, len(dims))))
    result = fcompute(*axes)
    several = isinstance(result, tuple | list)
    values = tuple(_value(what, item) for item in (result if several else [result]))
    stage = Stage(axes, dims, values, user_frame_position())
    stage.tensors.extend(
        Tensor(dims, _dtype(what, value), name if len(values) == 1 else f"{name}_{number}", stage)
        for number, value in enumerate(values)
    )
    return tuple(stage.tensors) if several else stage.tensors[0]


def reduce_axis(dom: tuple[DimLike, DimLike], name: str = "k") -> ReduceAxis:
    """The range from ``dom[0]`` up to, without, ``dom[1]``."""
    if not isinstance(dom, tuple | list) or len(dom) != 2:
        raise ArgumentError(f"reduce_axis '{name}': 'dom' is {dom!r}, expected a pair such as (0, n)")
    begin, end = (_position(f"reduce_axis '{name}'", item) for item in dom)
    return ReduceAxis(begin, end - begin, name)


def sum(expr: ExprLike, axis: Axes, where: ExprLike | None = None) -> Reduction:
    """The sum over `axis`, one or several; 0 over nothing. `where`: only elements for which it holds."""
    return _reduction("sum", expr, axis, where)


def prod(expr: ExprLike, axis: Axes, where: ExprLike | None = None) -> Reduction:
    """The product over `axis`; 1 over nothing."""
    return _reduction("prod", expr, axis, where)


def max(expr: ExprLike, axis: Axes, where: ExprLike | None = None) -> Reduction:
    """The largest element over `axis`; over nothing the least value of the dtype, of floats -inf."""
    return _reduction("max", expr, axis, where)


def min(expr: ExprLike, axis: Axes, where: ExprLike | None = None) -> Reduction:
    """The smallest element over `axis`; over nothing the greatest value of the dtype, of floats inf."""
    return _reduction("min", expr, axis, where)


def identity(combiner: str, dtype: str) -> Expr:
    """What a reduction begins with."""
    wanted = dtypes.dtype(dtype)
    if combiner in ("sum", "prod"):
        text = f"T.{wanted}({int(combiner == 'prod')})"
    elif wanted.is_float:
        text = f'{"-" if combiner == "max" else ""}T.infinity("{wanted}")'
    else:
        text = f'T.{"min" if combiner == "max" else "max"}_value("{wanted}")'
    return Expr(wanted, (), lambda _names, _args: text)


def _reduction(combiner: str, value: object, axis: Axes, where: ExprLike | None) -> Reduction:
    what = f"te.{combiner}"
    axes = tuple(axis) if isinstance(axis, list | tuple) else (axis,)
    for item in axes:
        expect(f"{what}: 'axis'", item, ReduceAxis, "a reduce_axis, or a list of them")
    if not axes:
        raise ArgumentError(f"{what}: 'axis' is empty; give the reduce_axis to combine over")
    item = _value(what, value)
    if isinstance(item, Reduction):
        raise ArgumentError(
            f"{what}: a reduction of a reduction; give both axes, or compute the inner one first"
        )
    dtype = _dtype(what, item)
    if where is not None:
        item = if_then_else(condition(f"{what}: 'where'", where), item, identity(combiner, dtype))
    return Reduction(combiner, item, axes)


def _value(what: str, value: object) -> Expr | Reduction:
    if isinstance(value, Reduction):
        return value
    if isinstance(value, Tensor):
        raise ArgumentError(
            f"{what}: the value is the tensor {value}, expected an element: {value.name}[i, …]"
        )
    return as_expr(value)


def _dtype(what: str, value: Expr | Reduction) -> str:
    kind = value.value.kind if isinstance(value, Reduction) else value.kind
    if kind == LITERAL:
        raise DTypeError(f"{what}: the dtype of the value is not told; te.const(value, dtype) says it")
    return "int64" if kind == INDEX else str(kind)


def _shape(what: str, shape: Sequence[DimLike]) -> tuple[Dim, ...]:
    expect(f"{what}: 'shape'", shape, list | tuple, "a list or tuple of dimensions")
    dims = []
    for axis, item in enumerate(shape):
        dim = as_dim(item)
        if dim is None:
            raise ShapeError(f"{what}: dimension {axis} is unknown; match_shape gives it a symbol")
        dims.append(dim)
    return tuple(dims)


def _position(what: str, value: DimLike) -> Dim:
    dim = symbolic.to_dim(value) if value is not None else None
    if dim is None:
        raise ShapeError(f"{what}: a bound is unknown")
    return dim


def _axis_names(what: str, fcompute: Callable[..., Any], rank: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fcompute).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return [f"i{number}" for number in range(rank)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    required = [
        p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if len(required) > rank or (not rest and len(names) < rank):
        raise ArgumentError(
            f"{what}: 'fcompute' takes {len(names)} indices ({', '.join(names)}), but the shape has {rank} dimensions"
        )
    more = (f"{rest[0] if rest else 'i'}{number}" for number in itertools.count())
    return [*names[:rank], *itertools.islice(more, rank - len(names[:rank]))]
