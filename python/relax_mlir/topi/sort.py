"""Elements in order: a merge sort, which leaves equal elements in the order that they have."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.own_loops import Fresh, LoopOp, element, grid
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import axis_of, computed, dim_of, require

SORT = "sort"
"""The tag of what sorting gives."""


def argsort(data: Tensor, axis: int = -1, is_ascend: bool = True, dtype: str = "int32") -> Tensor:
    """The indices of the elements in order along an axis; equal ones keep their order, and NaN counts as largest."""
    what = "topi.argsort"
    tensor = require(f"{what}: 'data'", data)
    order, wanted = _order(tensor, _axis(what, tensor, axis), is_ascend), dtypes.dtype(dtype).name
    return computed(tensor.shape, lambda *i: order(*i).astype(wanted), "T_argsort", SORT)


def sort(data: Tensor, axis: int = -1, is_ascend: bool = True) -> Tensor:
    """The elements in order along an axis, with NaN as the largest."""
    tensor = require("topi.sort: 'data'", data)
    place = _axis("topi.sort", tensor, axis)
    order = _order(tensor, place, is_ascend)
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

    `k` is an integer or a symbol that is known to be at most the size; less than 1 means all. `ret_type`: "both",
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
    order = _order(tensor, place, is_ascend)
    shape = [*tensor.shape[:place], count, *tensor.shape[place + 1 :]]
    values = computed(shape, lambda *i: tensor(*i[:place], order(*i), *i[place + 1 :]), "T_topk_values", SORT)
    wanted = dtypes.dtype(dtype).name
    indices = computed(shape, lambda *i: order(*i).astype(wanted), "T_topk_indices", SORT)
    return [values, indices] if ret_type == "both" else values if ret_type == "values" else indices


def searchsorted(
    sorted_sequence: Tensor, values: Tensor, right: bool = False, dtype: str = "int64"
) -> Tensor:
    """How many elements of a sorted tensor of one dimension are less than each value, or not more (`right`)."""
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


def _order(tensor: Tensor, place: int, ascending: bool) -> Tensor:
    """The indices (int64) in order, by runs of twice the length in each round."""
    length = tensor.shape[place]
    others = [dim for number, dim in enumerate(tensor.shape) if number != place]

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        data, order = ins[0], outs[0]
        rows = [fresh("r") for _ in others]
        i, run, next_ = fresh("i"), fresh("run"), fresh("next")
        low, middle, high = fresh("low"), fresh("middle"), fresh("high")
        width, heads, more = fresh("width"), fresh("heads"), fresh("more")
        a, b = fresh("a"), fresh("b")

        def at(tensor_name: str, index: str) -> str:
            return element(tensor_name, [*rows[:place], index, *rows[place:]])

        later = _before(at(data, f"T.index({b})"), at(data, f"T.index({a})"), tensor.dtype, ascending)
        return [
            f'{more} = T.alloc_buffer(("{length}",), "int64")',
            f'{width} = T.alloc_buffer((1,), "int64")',
            f'{heads} = T.alloc_buffer((2,), "int64")',
            grid(rows, others),
            f"    for {i} in range({length}):",
            f"        {at(order, i)} = {i}",
            f"    {width}[0] = 1",
            f"    while {width}[0] < {length}:",
            f"        for {run} in range((({length}) + 2 * {width}[0] - 1) // (2 * {width}[0])):",
            f"            {low} = {run} * 2 * {width}[0]",
            f"            {middle} = T.min({low} + {width}[0], {length})",
            f"            {high} = T.min({low} + 2 * {width}[0], {length})",
            f"            {heads}[0] = {low}",
            f"            {heads}[1] = {middle}",
            f"            for {next_} in range({low}, {high}):",
            f"                {a} = {at(order, f'T.index(T.min({heads}[0], ({length}) - 1))')}",
            f"                {b} = {at(order, f'T.index(T.min({heads}[1], ({length}) - 1))')}",
            f"                if {heads}[1] < {high} and ({heads}[0] >= {middle} or {later}):",
            f"                    {more}[{next_}] = {b}",
            f"                    {heads}[1] = {heads}[1] + 1",
            "                else:",
            f"                    {more}[{next_}] = {a}",
            f"                    {heads}[0] = {heads}[0] + 1",
            f"        for {i} in range({length}):",
            f"            {at(order, i)} = {more}[{i}]",
            f"        {width}[0] = {width}[0] * 2",
        ]

    return LoopOp([tensor], [tensor.shape], ["int64"], body, "T_order", SORT).outputs[0]


def _before(first: str, second: str, dtype: str, ascending: bool) -> str:
    """Whether one element stands strictly before another one."""
    sign = "<" if ascending else ">"
    plain = f"{first} {sign} {second}"
    if not dtype.startswith(("float", "bfloat")):
        return f"({plain})"
    small, large = (first, second) if ascending else (second, first)
    return f"({plain} or (T.isnan({large}) and not T.isnan({small})))"
