"""Sums and products of all elements up to each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.te import functions
from relax_mlir.te.compute import compute
from relax_mlir.te.expressions import Expr
from relax_mlir.te.recurrence import scan
from relax_mlir.te.tensors import Tensor, placeholder
from relax_mlir.topi.common import axis_of, computed, product, require
from relax_mlir.topi.manipulate import reshape

CUMULATIVE = "cumulative"
"""The tag of what is computed of the elements before."""


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The sums of the elements up to each along an axis, or of the flattened tensor.

    `dtype`: elements are converted first. `exclusive`: without the element itself.
    """
    return _cumulative("cumsum", data, axis, dtype, exclusive, 0, lambda a, b: a + b)


def cumprod(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The products of the elements up to each; see `cumsum`."""
    return _cumulative("cumprod", data, axis, dtype, exclusive, 1, lambda a, b: a * b)


def _cumulative(
    name: str,
    data: Tensor,
    axis: int | None,
    dtype: str | None,
    exclusive: bool | None,
    start: int,
    combine: Callable[[Expr, Expr], Expr],
) -> Tensor:
    tensor = require(f"topi.{name}: 'data'", data)
    if axis is None:
        tensor, axis = reshape(tensor, (product(tensor.shape),)), 0
    place = axis_of(f"topi.{name}", axis, tensor.ndim)
    kind = tensor.dtype if dtype is None else dtypes.dtype(dtype).name
    rest = [*tensor.shape[:place], *tensor.shape[place + 1 :]]
    state = placeholder((tensor.shape[place] + 1, *rest), kind, "state")  # of the elements before each
    first = compute((1, *rest), lambda *i: functions.const(start, kind), "start")

    def step(t: Expr, *i: Expr) -> Expr:
        item = tensor(*i[:place], t - 1, *i[place:])
        return combine(state(t - 1, *i), item if kind == tensor.dtype else item.astype(kind))

    before: Any = scan(first, compute(state.shape, step, "step"), state, name=f"T_{name}_before")
    return computed(
        tensor.shape,
        lambda *i: before(i[place] if exclusive else i[place] + 1, *i[:place], *i[place + 1 :]),
        f"T_{name}",
        CUMULATIVE,
    )
