"""Sorting: stable sorts, the first elements, and a radix sort of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te.tensors import Fresh, LoopOp, Tensor, element, grid
from relax_mlir.topi.common import axis_of, computed, dim_of, require

# Order elements by their bits: a radix sort of rows, and the first elements of each row.
#
# Every element is mapped to an unsigned integer, its key; smaller keys come first. Both functions keep the order of
# equal elements.

SORT = "sort"
"""The tag of results of sorting."""
DIGIT, DIGITS = 8, 256
"""The number of bits of a digit, and the number of digits."""
SHORT = 96
"""Up to this row length, each element is compared with all others, vectorised."""

At = Callable[[str, str], str]
"""The text of a tensor's element at a position of the row."""


def order_of(tensor: Tensor, place: int, ascending: bool, dtype: str = "int64") -> Tensor:
    """The indices that sort the elements along a dimension; NaN counts as the largest value."""
    length = tensor.shape[place]
    others = [dim for number, dim in enumerate(tensor.shape) if number != place]

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        rows = [fresh("r") for _ in others]

        def at(name: str, index: str) -> str:
            return element(name, [*rows[:place], index, *rows[place:]])

        sorting = _Sorting(tensor.dtype, length, ascending, fresh)
        i = fresh("i")
        found = sorting.place(i) if dtype == "int64" else f'T.cast({sorting.place(i)}, "{dtype}")'
        lines = [
            *sorting.buffers(),
            grid(rows, others),
            *_indented(1, sorting.sorted(lambda index: at(ins[0], index))),
            f"    for {i} in range({length}):",
            f"        {at(outs[0], i)} = {found}",
        ]
        return [_has_elements(tensor), *_indented(1, lines)]

    return LoopOp([tensor], [tensor.shape], [dtype], body, "T_order", SORT).outputs[0]


def first_of(tensor: Tensor, place: int, count: Dim, ascending: bool) -> Tensor:
    """The indices (int64) of the first `count` elements in order along a dimension, for a small `count`."""
    length = tensor.shape[place]
    others = [dim for number, dim in enumerate(tensor.shape) if number != place]

    def body(ins: Sequence[str], outs: Sequence[str], fresh: Fresh) -> list[str]:
        rows = [fresh("r") for _ in others]

        def at(name: str, index: str) -> str:
            return element(name, [*rows[:place], index, *rows[place:]])

        bits = bits_of(tensor.dtype)
        best, places, hole = fresh("best"), fresh("places"), fresh("hole")
        i, key, last, before, to = fresh("i"), fresh("key"), fresh("last"), fresh("before"), fresh("to")
        lines = [
            f'{best} = T.alloc_buffer(({count},), "uint{bits}")',
            f'{places} = T.alloc_buffer(({count},), "int64")',
            f'{hole} = T.alloc_buffer((1,), "int64")',
            grid(rows, others),
            f"    for {i} in range({length}):",
            *_indented(2, key_lines(at(ins[0], i), tensor.dtype, ascending, key, fresh)),
            f"        {last} = T.min({i}, ({count}) - 1)",
            f"        if {i} < {count} or {key} < {best}[{last}]:",
            f"            {hole}[0] = {last}",
            f"            while {hole}[0] > 0 and {best}[T.max(T.index({hole}[0]) - 1, 0)] > {key}:",
            f"                {before} = T.index({hole}[0]) - 1",
            f"                {best}[{before} + 1] = {best}[{before}]",
            f"                {places}[{before} + 1] = {places}[{before}]",
            f"                {hole}[0] = {hole}[0] - 1",
            f"            {to} = T.index({hole}[0])",
            f"            {best}[{to}] = {key}",
            f"            {places}[{to}] = {i}",
            f"    for {i} in range({count}):",
            f"        {at(outs[0], i)} = {places}[{i}]",
        ]
        return [_has_elements(tensor), *_indented(1, lines)]

    shape = [*tensor.shape[:place], count, *tensor.shape[place + 1 :]]
    return LoopOp([tensor], [shape], ["int64"], body, "T_first", SORT).outputs[0]


class _Sorting:
    """Statements that sort the keys of one row, together with their positions."""

    def __init__(self, dtype: str, length: Dim, ascending: bool, fresh: Fresh) -> None:
        self.dtype, self.length, self.ascending, self.fresh = dtype, length, ascending, fresh
        self.bits = bits_of(dtype)
        self.keys, self.places, self.counts, self.which = (
            fresh(name) for name in ("keys", "places", "counts", "which")
        )

    def buffers(self) -> list[str]:
        """Two buffers of keys and two of positions; `which` selects the pair that is read."""
        return [
            f'{self.keys} = T.alloc_buffer((2, {_quoted(self.length)}), "uint{self.bits}")',
            f'{self.places} = T.alloc_buffer((2, {_quoted(self.length)}), "int64")',
            f'{self.counts} = T.alloc_buffer(({self.bits // DIGIT}, {DIGITS}), "int64")',
            f'{self.which} = T.alloc_buffer((1,), "int64")',
        ]

    def place(self, index: str) -> str:
        """The original position of the element at `index` in sorted order."""
        return f"{self.places}[T.index({self.which}[0]), {index}]"

    def sorted(self, item: Callable[[str], str]) -> list[str]:
        """Sort the row whose element at an index is given by `item`."""
        i, key = self.fresh("i"), self.fresh("key")
        return [
            f"{self.which}[0] = 0",
            f"for {i} in range({self.length}):",
            *_indented(1, key_lines(item(i), self.dtype, self.ascending, key, self.fresh)),
            f"    {self.keys}[0, {i}] = {key}",
            f"    {self.places}[0, {i}] = {i}",
            f"if {self.length} <= {SHORT}:",
            *_indented(1, self.compared()),
            "else:",
            *_indented(1, self.counted()),
            *_indented(1, [line for digit in range(self.bits // DIGIT) for line in self.moved(digit)]),
        ]

    def compared(self) -> list[str]:
        """Compute the rank of each element: the number of smaller elements, and of equal ones before it."""
        i, j, key, smaller, to = (self.fresh(name) for name in ("i", "j", "key", "smaller", "to"))
        kind = f"int{max(self.bits, 32)}"
        one, none = f"T.{kind}(1)", f"T.{kind}(0)"

        def counted(begin: str, end: str, relation: str) -> list[str]:
            test = f"{self.keys}[0, {j}] {relation} {key}"
            return [
                f"for {j} in range({begin}, {end}):",
                f"    {smaller}[0] = {smaller}[0] + T.Select({test}, {one}, {none})",
            ]

        return [
            f'{smaller} = T.alloc_buffer((1,), "{kind}")',
            f"for {i} in range({self.length}):",
            f"    {key} = {self.keys}[0, {i}]",
            f"    {smaller}[0] = {none}",
            *_indented(1, counted("0", i, "<=")),
            *_indented(1, counted(i, str(self.length), "<")),
            f"    {to} = T.index({smaller}[0])",
            f"    {self.places}[1, {to}] = {i}",
            f"{self.which}[0] = 1",
        ]

    def digit(self, key: str, number: int) -> str:
        """Digit `number` of a key; digit 0 is the lowest."""
        shifted = f"({key} >> T.uint{self.bits}({number * DIGIT}))" if number else key
        return f"T.index({shifted} & T.uint{self.bits}({DIGITS - 1}))"

    def counted(self) -> list[str]:
        """Count the occurrences of each value of each digit."""
        d, v, i, key = (self.fresh(name) for name in ("d", "v", "i", "key"))
        lines = [
            f"for {d}, {v} in T.grid({self.bits // DIGIT}, {DIGITS}):",
            f"    {self.counts}[{d}, {v}] = 0",
            f"for {i} in range({self.length}):",
            f"    {key} = {self.keys}[0, {i}]",
        ]
        for number in range(self.bits // DIGIT):
            own = self.fresh("digit")
            lines += [
                f"    {own} = {self.digit(key, number)}",
                f"    {self.counts}[{number}, {own}] = {self.counts}[{number}, {own}] + 1",
            ]
        return lines

    def moved(self, number: int) -> list[str]:
        """Move elements by one of their digits, unless all have the same value."""
        v, i, key, own, to, count = (self.fresh(name) for name in ("v", "i", "key", "own", "to", "count"))
        total, one, other = self.fresh("total"), self.fresh("one"), self.fresh("other")
        return [
            f"{one} = T.index({self.which}[0])",
            f"if {self.counts}[{number}, {self.digit(f'{self.keys}[{one}, 0]', number)}] < {self.length}:",
            f"    {other} = 1 - {one}",
            f'    {total} = T.alloc_buffer((1,), "int64")',
            f"    {total}[0] = 0",
            f"    for {v} in range({DIGITS}):",
            f"        {count} = {self.counts}[{number}, {v}]",
            f"        {self.counts}[{number}, {v}] = {total}[0]",
            f"        {total}[0] = {total}[0] + {count}",
            f"    for {i} in range({self.length}):",
            f"        {key} = {self.keys}[{one}, {i}]",
            f"        {own} = {self.digit(key, number)}",
            f"        {to} = T.index({self.counts}[{number}, {own}])",
            f"        {self.counts}[{number}, {own}] = {to} + 1",
            f"        {self.keys}[{other}, {to}] = {key}",
            f"        {self.places}[{other}, {to}] = {self.places}[{one}, {i}]",
            f"    {self.which}[0] = {other}",
        ]


def bits_of(dtype: str) -> int:
    """The number of bits of a key."""
    return max(dtypes.dtype(dtype).bits, DIGIT)


def key_lines(item: str, dtype: str, ascending: bool, key: str, fresh: Fresh) -> list[str]:
    """Statements that compute the key of an element: an unsigned integer that increases in sorting order."""
    kind, bits = dtypes.dtype(dtype), bits_of(dtype)
    unsigned, top = f"uint{bits}", f"T.uint{bits}({1 << (bits - 1)})"
    value, raw, up = fresh("value"), fresh("bits"), fresh("up")
    lines = [f"{value} = {item}"]
    if kind.is_float:
        zero = f"T.{dtype}(0)"
        lines += [
            f"{raw} = T.Select({value} == {zero}, T.{unsigned}(0), T.reinterpret('{unsigned}', {value}))",
            f"{up} = T.Select(T.isnan({value}), T.{unsigned}({(1 << bits) - 1}), "
            f"T.Select({raw} >= {top}, ~{raw}, {raw} | {top}))",
        ]
    elif kind.kind == "int":
        lines.append(f"{up} = T.reinterpret('{unsigned}', {value}) ^ {top}")
    else:
        lines.append(f"{up} = {value}" if kind.kind == "uint" else f"{up} = T.{unsigned}({value})")
    return [*lines, f"{key} = {up}" if ascending else f"{key} = ~{up}"]


def _has_elements(tensor: Tensor) -> str:
    """A condition, so that an empty tensor costs neither buffers nor iterations, even if other dimensions are large."""
    tests = [f"{dim} > 0" for dim in tensor.shape if not isinstance(dim, int) or dim < 1]
    return f"if {' and '.join(tests) or 'True'}:"


def _quoted(dim: Dim) -> str:
    return str(dim) if isinstance(dim, int) else f'"{dim}"'


def _indented(depth: int, lines: Sequence[str]) -> list[str]:
    return ["    " * depth + line for line in lines]


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
