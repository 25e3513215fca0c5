"""Tensors whose elements are functions of their indices."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.types import DimLike
from relax_mlir.error import (
    ArgumentError,
    expect_all,
)
from relax_mlir.te.expressions import REDUCTION, Expr, IterVar, as_expr
from relax_mlir.te.reductions import Reduction, as_kind
from relax_mlir.te.tags import with_scope
from relax_mlir.te.tensors import Operation, Tensor, axes_of, shape_of
from relax_mlir.te.walk import loads_of, post_order


class ComputeOp(Operation):
    """A computation: `axis` are the axes of its outputs, `body` has the value of each output at these."""

    def __init__(
        self,
        axis: Sequence[IterVar],
        body: Sequence[Expr],
        name: str,
        tag: str = "",
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, tag, attrs)
        expect_all("ComputeOp: 'axis'", axis, IterVar, "axes")
        expect_all("ComputeOp: 'body'", body, Expr, "expressions")
        self.axis, self.body = tuple(axis), tuple(body)
        shape = tuple(var.dom.extent for var in self.axis)
        names = [name] if len(self.body) == 1 else [f"{name}_{number}" for number in range(len(self.body))]
        self.outputs += [
            Tensor(shape, as_kind(value).name, own, self, number)
            for number, (own, value) in enumerate(zip(names, self.body, strict=True))
        ]

    @property
    def reduce_axis(self) -> list[IterVar]:
        """The axes that the outputs reduce over, without duplicates."""
        found = (axis for value in self.body if isinstance(value, Reduction) for axis in value.axis)
        return list(dict.fromkeys(found))

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(load.tensor for load in loads_of(*self.body)))


def compute(
    shape: Sequence[DimLike],
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a tensor, or a tuple of tensors
    """The tensor whose element at ``(i, j, …)`` is ``fcompute(i, j, …)``, a scalar, an expression, or a reduction.

    A tuple of values returns a tuple of tensors. A Python scalar becomes a float32, int32 or bool. The op keeps `tag`
    and `attrs` as metadata.

    Raises:
        ArgumentError: `fcompute` takes another number of indices, or returns something else.
        DTypeError: incompatible dtypes.
        ShapeError: an access with the wrong number of indices.
    """
    what = f"compute '{name}'"
    dims = shape_of(what, shape)
    if not callable(fcompute):
        raise ArgumentError(f"{what}: 'fcompute' is {fcompute!r}, expected a function of the indices")
    if not isinstance(tag, str) or not isinstance(attrs, Mapping | None):
        raise ArgumentError(f"{what}: 'tag' is text, and 'attrs' a dictionary")
    axes = axes_of(_axis_names(what, fcompute, len(dims)), dims)
    result = fcompute(*axes)
    several = isinstance(result, tuple | list)
    body = [
        value if isinstance(value, Reduction) else as_expr(value)
        for value in (result if several else [result])
    ]
    _check(what, axes, body)
    op = ComputeOp(axes, body, name, with_scope(what, tag), attrs)
    return tuple(op.outputs) if several else op.outputs[0]


def _check(what: str, axes: Sequence[IterVar], body: Sequence[Expr]) -> None:
    """Raise unless every variable belongs to the computation."""
    if not body:
        raise ArgumentError(f"{what}: 'fcompute' gives no value")
    for value in body:
        own = {*map(id, axes), *map(id, value.axis if isinstance(value, Reduction) else ())}
        for item in post_order(value):
            if isinstance(item, IterVar) and id(item) not in own:
                hint = (
                    "combine over it, as in te.sum(…, axis)"
                    if item.iter_type == REDUCTION
                    else "it belongs to another compute"
                )
                raise ArgumentError(f"{what}: the value reads the axis '{item.name}': {hint}")
    for value in body:
        if isinstance(value, Reduction) and len(value.combiner.lhs) > 1:
            found = [r.value_index for r in body if isinstance(r, Reduction) and r.combiner is value.combiner]
            if sorted(found) != list(range(len(value.combiner.lhs))):
                raise ArgumentError(
                    f"{what}: the reduction '{value.combiner.name}' has {len(value.combiner.lhs)} results: give all of "
                    "them, each once"
                )


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
