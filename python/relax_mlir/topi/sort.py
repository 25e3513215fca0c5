"""Sorting: stable sorts, the first elements, and a radix sort of rows."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable
from contextlib import AbstractContextManager

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar
from relax_mlir.symbolic import Dim
from relax_mlir.te.tensors import LoopOp, Tensor
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


def order_of(tensor: Tensor, place: int, ascending: bool, dtype: str = "int64") -> Tensor:
    """The indices that sort the elements along a dimension; NaN counts as the largest value."""
    length = tensor.shape[place]
    others = [dim for number, dim in enumerate(tensor.shape) if number != place]

    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        with _if_not_empty(b, tensor):
            sorting = _Sorting(b, x.dtype, length, ascending)
            with b.grid(others) as rows:
                sorting.sort(lambda i: x[rows[:place], i, rows[place:]])
                with b.loop(length) as i:
                    out[rows[:place], i, rows[place:]] = sorting.place(i).astype(dtype)

    return LoopOp([tensor], [tensor.shape], [dtype], body, "T_order", SORT).outputs[0]


def first_of(tensor: Tensor, place: int, count: Dim, ascending: bool) -> Tensor:
    """The indices (int64) of the first `count` elements in order along a dimension, for a small `count`."""
    length = tensor.shape[place]
    others = [dim for number, dim in enumerate(tensor.shape) if number != place]

    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        with _if_not_empty(b, tensor):
            best = b.alloc((count,), f"uint{bits_of(x.dtype)}", "best")
            places, hole = b.alloc((count,), "int64", "places"), b.alloc((1,), "int64", "hole")
            with b.grid(others) as rows:
                with b.loop(length) as i:
                    key = key_of(b, x[rows[:place], i, rows[place:]], ascending)
                    insert(b, i, key, best, places, hole)
                with b.loop(count) as i:
                    out[rows[:place], i, rows[place:]] = places[i]

    def insert(b: LoopBuilder, i: Scalar, key: Scalar, best: Buffer, places: Buffer, hole: Buffer) -> None:
        """Insert a key that belongs to the first ones, after those that are not larger."""
        last = b.min(i, b.size(count) - 1)
        with b.when(b.either(i < b.size(count), lambda: key < best[last])):
            hole[0] = last
            with b.repeat(lambda: b.both(hole[0] > 0, lambda: best[b.max(hole[0].index() - 1, 0)] > key)):
                before = hole[0].index() - 1
                best[before + 1] = best[before]
                places[before + 1] = places[before]
                hole[0] = hole[0] - 1
            to = hole[0].index()
            best[to] = key
            places[to] = i

    shape = [*tensor.shape[:place], count, *tensor.shape[place + 1 :]]
    return LoopOp([tensor], [shape], ["int64"], body, "T_first", SORT).outputs[0]


class _Sorting:
    """Sorts the keys of one row, together with their positions.

    There are two buffers of keys and two of positions; `which` selects the pair that is read.
    """

    def __init__(self, b: LoopBuilder, dtype: DType, length: Dim, ascending: bool) -> None:
        self.b, self.length, self.ascending, self.width = b, length, ascending, bits_of(dtype)
        self.digits = self.width // DIGIT
        self.keys = b.alloc((2, length), f"uint{self.width}", "keys")
        self.places = b.alloc((2, length), "int64", "places")
        self.counts = b.alloc((self.digits, DIGITS), "int64", "counts")
        self.which = b.alloc((1,), "int64", "which")

    def place(self, index: Scalar) -> Scalar:
        """The original position of the element at `index` in sorted order."""
        return self.places[self.which[0].index(), index]

    def sort(self, item: Callable[[Scalar], Scalar]) -> None:
        """Sort the row whose element at an index is given by `item`."""
        b = self.b
        self.which[0] = 0
        with b.loop(self.length) as i:
            self.keys[0, i] = key_of(b, item(i), self.ascending)
            self.places[0, i] = i
        if isinstance(self.length, int):
            self.rank() if self.length <= SHORT else self.count_and_move()
            return
        with b.when(b.call("less_equal", self.length, SHORT)):
            self.rank()
        with b.otherwise():
            self.count_and_move()

    def count_and_move(self) -> None:
        """Move the elements by each of their digits, the lowest first."""
        self.count()
        for number in range(self.digits):
            self.move(number)

    def rank(self) -> None:
        """Compute the rank of each element: the number of smaller elements, and of equal ones before it."""
        b, kind = self.b, f"int{max(self.width, 32)}"
        smaller = b.alloc((1,), kind, "smaller")
        with b.loop(self.length) as i:
            key = self.keys[0, i]
            smaller[0] = 0
            with b.loop(0, i) as j:
                smaller[0] = smaller[0] + b.select(self.keys[0, j] <= key, b.const(1, kind), 0)
            with b.loop(i, self.length) as j:
                smaller[0] = smaller[0] + b.select(self.keys[0, j] < key, b.const(1, kind), 0)
            self.places[1, smaller[0].index()] = i
        self.which[0] = 1

    def digit(self, key: Scalar, number: int) -> Scalar:
        """Digit `number` of a key; digit 0 is the lowest."""
        shifted = key >> number * DIGIT if number else key
        return (shifted & (DIGITS - 1)).index()

    def count(self) -> None:
        """Count the occurrences of each value of each digit."""
        with self.b.grid((self.digits, DIGITS)) as (d, v):
            self.counts[d, v] = 0
        with self.b.loop(self.length) as i:
            key = self.keys[0, i]
            for number in range(self.digits):
                own = self.digit(key, number)
                self.counts[number, own] = self.counts[number, own] + 1

    def move(self, number: int) -> None:
        """Move elements by one of their digits, unless all have the same value."""
        b, keys, places, counts = self.b, self.keys, self.places, self.counts
        one = self.which[0].index()
        first = counts[number, self.digit(keys[one, 0], number)]
        with b.when(first < b.size(self.length)):
            other = 1 - one
            total = b.alloc((1,), "int64", "total")
            total[0] = 0
            with b.loop(DIGITS) as v:
                count = counts[number, v]
                counts[number, v] = total[0]
                total[0] = total[0] + count
            with b.loop(self.length) as i:
                key = keys[one, i]
                own = self.digit(key, number)
                to = counts[number, own].index()
                counts[number, own] = to + 1
                keys[other, to] = key
                places[other, to] = places[one, i]
            self.which[0] = other


def bits_of(dtype: DType) -> int:
    """The number of bits of a key."""
    return max(dtype.bits, DIGIT)


def key_of(b: LoopBuilder, value: Scalar, ascending: bool) -> Scalar:
    """The key of an element: an unsigned integer that increases in sorting order."""
    kind, width = value.dtype, bits_of(value.dtype)
    unsigned, top = f"uint{width}", 1 << (width - 1)
    if kind.is_float:
        raw = b.select(value == 0, b.const(0, unsigned), value.bits(unsigned))
        is_nan = b.call("isnan", value)
        up = b.select(is_nan, b.const((1 << width) - 1, unsigned), b.select(raw >= top, ~raw, raw | top))
    elif kind.kind == "int":
        up = value.bits(unsigned) ^ top
    else:
        up = value.astype(unsigned)
    return up if ascending else ~up


def _if_not_empty(b: LoopBuilder, tensor: Tensor) -> AbstractContextManager[None]:
    """A region, so that an empty tensor costs neither buffers nor iterations, even if other dimensions are large."""
    tests = [b.call("greater", dim, 0) for dim in tensor.shape if not isinstance(dim, int) or dim < 1]
    return b.when(functools.reduce(operator.and_, tests)) if tests else contextlib.nullcontext()


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


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: bool = False, dtype: str = "int64") -> Tensor:
    """For each value, the number of elements of a sorted vector that are less, or less or equal with `right`."""
    what = "topi.searchsorted"
    tensor, wanted = (
        require(f"{what}: 'sorted_sequence'", sorted_sequence),
        require(f"{what}: 'values'", values),
    )
    if tensor.ndim != 1 or tensor.dtype != wanted.dtype:
        raise ShapeError(f"{what}: {tensor} is not of one dimension and of the dtype of {wanted}")
    length = tensor.shape[0]

    def body(b: LoopBuilder, x: Buffer, sought: Buffer, out: Buffer) -> None:
        ends = b.alloc((2,), "int64", "ends")
        with b.grid(wanted.shape) as at:
            ends[0] = 0
            ends[1] = b.size(length)
            with b.repeat(lambda: ends[0] < ends[1]):
                middle = ((ends[0] + ends[1]) // 2).index()
                item, value = x[middle], sought[at]
                with b.when(item <= value if right else item < value):
                    ends[0] = middle + 1
                with b.otherwise():
                    ends[1] = middle
            out[at] = ends[0]

    found = LoopOp([tensor, wanted], [wanted.shape], ["int64"], body, "T_searchsorted", SORT).outputs[0]
    kind = dtypes.dtype(dtype).name
    return found if kind == "int64" else computed(found.shape, lambda *i: found(*i).astype(kind), "T_cast", SORT)


def _axis(what: str, tensor: Tensor, axis: int) -> int:
    if tensor.ndim == 0:
        raise ShapeError(f"{what}: {tensor} has no axis")
    return axis_of(what, axis, tensor.ndim)
