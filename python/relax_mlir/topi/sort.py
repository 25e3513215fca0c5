"""Stable sorting."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, dim_of, require
from relax_mlir.topi.ordering import SORT, first_of, order_of

FEW = 64
"""The maximum number of first elements that are found without sorting the rest."""


def argsort(data: Tensor, axis: int = -1, is_ascend: bool = True, dtype: str = "int32") -> Tensor:
    """The indices that sort the elements along an axis; the sort is stable, and NaN counts as the largest value."""
    what = "topi.argsort"
    tensor = require(f"{what}: 'data'", data)
    return order_of(tensor, _axis(what, tensor, axis), is_ascend, dtypes.dtype(dtype).name)


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The sorted elements along an axis, with NaN as the largest."""
    tensor = require("topi.sort: 'data'", data)
    place = _axis("topi.sort", tensor, axis)
    order = order_of(tensor, place, is_ascend)
    return computed(tensor.shape, lambda *i: tensor(*i[:place], order(*i), *i[place + 1 :]), "T_sort", SORT)


def topk(
    data: Tensor,
    k: Dim = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: str = "int64",
) -> Tensor | list[Tensor]:
    """The first `k` elements in order along an axis, largest first unless `is_ascend` is set, and their indices.

    `k` is an integer, or a symbol that is provably at most the size; less than 1 means all. `ret_type`: "both",
    "values" or "indices".
    """
    what = "topi.topk"
    tensor = require(f"{what}: 'data'", data)
    place, count = _axis(what, tensor, axis), dim_of(f"{what}: 'k'", k)
    if ret_type not in ("both", "values", "indices"):
        raise ArgumentError(f"{what}: 'ret_type' is {ret_type!r}, expected 'both', 'values' or 'indices'")
    whole = tensor.shape[place]
    if isinstance(count, int):
        count = whole if count < 1 else symbolic.minimum(count, whole)
    elif not symbolic.prove_less_equal(count, whole):
        raise ShapeError(f"{what}: 'k' is {count}, not known to be at most {whole}")
    is_few = (isinstance(count, int) and count <= FEW) or (isinstance(k, int) and 0 < k <= FEW)
    order = first_of(tensor, place, count, is_ascend) if is_few else order_of(tensor, place, is_ascend)
    shape = [*tensor.shape[:place], count, *tensor.shape[place + 1 :]]
    values = computed(shape, lambda *i: tensor(*i[:place], order(*i), *i[place + 1 :]), "T_topk_values", SORT)
    wanted = dtypes.dtype(dtype).name
    indices = computed(shape, lambda *i: order(*i).astype(wanted), "T_topk_indices", SORT)
    return [values, indices] if ret_type == "both" else values if ret_type == "values" else indices


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, dtype: str = "int64"
) -> Tensor:
    """For each value, the number of elements of a sorted vector that are less, or less or equal with `right`."""
    what = "topi.searchsorted"
    tensor, wanted = (
        require(f"{what}: 'sorted_sequence'", sorted_sequence),
        require(f"{what}: 'values'", values),
    )
    if tensor.ndim != 1 or tensor.dtype != wanted.dtype:
        raise ShapeError(f"{what}: {tensor} is not of one dimension and of the dtype of {wanted}")
    length = tensor.shape[0]

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        at, ends, middle = [fresh("i") for _ in wanted.shape], fresh("ends"), fresh("middle")
        value = element(ins[1], at)
        before = f"{ins[0]}[{middle}] <= {value}" if right else f"{ins[0]}[{middle}] < {value}"
        return [
            f'{ends} = T.alloc_buffer((2,), "int64")',
            grid(at, wanted.shape),
            f"    {ends}[0] = 0",
            f"    {ends}[1] = {length}",
            f"    while {ends}[0] < {ends}[1]:",
            f"        {middle} = T.index(({ends}[0] + {ends}[1]) // 2)",
            f"        if {before}:",
            f"            {ends}[0] = {middle} + 1",
            "        else:",
            f"            {ends}[1] = {middle}",
            f"    {element(outs[0], at)} = {ends}[0]",
        ]

    found = LoopOp([tensor, wanted], [wanted.shape], ["int64"], body, "T_searchsorted", SORT).outputs[0]
    kind = dtypes.dtype(dtype).name
    return (
        found if kind == "int64" else computed(found.shape, lambda *i: found(*i).astype(kind), "T_cast", SORT)
    )


def _axis(what: str, tensor: Tensor, axis: int) -> int:
    if tensor.ndim == 0:
        raise ShapeError(f"{what}: {tensor} has no axis")
    return axis_of(what, axis, tensor.ndim)
