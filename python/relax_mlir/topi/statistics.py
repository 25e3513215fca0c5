"""Medians, variances, histogram bins; random words (Philox), and samples of distributions."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ShapeError
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, cast
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import LoopOp, Tensor
from relax_mlir.topi import reduce
from relax_mlir.topi.common import (
    axes_of,
    axis_of,
    computed,
    dims_of,
    index_tensor_of,
    product,
    require,
    require_equal,
    require_float,
    size,
)
from relax_mlir.topi.elementwise import add, exp, log, multiply, sqrt, subtract
from relax_mlir.topi.manipulate import reshape
from relax_mlir.topi.sort import SORT, argsort, searchsorted
from relax_mlir.topi.tag import COMM_REDUCE, ELEMWISE

Axis = int | Sequence[int] | None


def median(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor | list[Tensor]:
    """The lower median along an axis with its index (int64), as in torch; without an axis, the median of all elements.

    The first NaN if there is one. The median of no elements raises `BoundsError` at run time.
    """
    what = "topi.median"
    tensor = require(f"{what}: 'data'", data)
    if axis is None:
        flat = reshape(tensor, (product(tensor.shape),))
        values, _ = _middle(flat, 0, keepdims=False)
        shape = [1] * tensor.ndim if keepdims else []
        return computed(shape, lambda *i: values(), "T_median", SORT)
    return list(_middle(tensor, axis_of(what, axis, tensor.ndim), keepdims))


def _middle(tensor: Tensor, place: int, keepdims: bool) -> tuple[Tensor, Tensor]:
    order = argsort(tensor, place, True, "int64")
    length = as_expr(size(tensor.shape[place]))
    numbers = None
    if tensor.dtype.startswith(("float", "bfloat")):
        whole = computed(
            tensor.shape,
            lambda *i: functions.select(functions.isnan(tensor(*i)), functions.const(0, "int64"), 1),
            "T_numbers",
            ELEMWISE,
        )
        numbers = reduce.sum(whole, place)
    kept = [1] if keepdims else []
    shape = [*tensor.shape[:place], *kept, *tensor.shape[place + 1 :]]

    def index(*i: Expr) -> Expr:
        rest = [*i[:place], *i[place + len(kept) :]]
        middle: Expr = (length - 1) // 2
        if numbers is not None:
            counted = numbers(*rest)
            middle = functions.select(counted < length, counted, middle)
        return order(*rest[:place], middle, *rest[place:])

    found = computed(shape, index, "T_median_index", SORT)

    def value(*i: Expr) -> Expr:
        rest = [*i[:place], *i[place + len(kept) :]]
        return tensor(*rest[:place], found(*i), *rest[place:])

    return computed(shape, value, "T_median", SORT), found


def bucketize(input_tensor: Tensor, boundaries: Tensor, right: bool = False, dtype: str = "int64") -> Tensor:
    """The index of the interval between sorted boundaries that contains each element.

    A boundary belongs to the interval before it, or, with `right`, to the one after it.
    """
    return searchsorted(boundaries, input_tensor, right, dtype)


def variance(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean squared deviation from the mean."""
    tensor = require("topi.variance: 'data'", data)
    require_float("topi.variance", tensor)
    distance = subtract(tensor, reduce.mean(tensor, axis, keepdims=True))
    return reduce.mean(multiply(distance, distance), axis, keepdims)


def std(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return sqrt(variance(data, axis, keepdims))


def logsumexp(data: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """``log(sum(exp(data)))``, without overflow; -inf for no elements."""
    tensor = require("topi.logsumexp: 'data'", data)
    require_float("topi.logsumexp", tensor)
    most = reduce.max(tensor, axis, keepdims=True)

    def held(*i: Expr) -> Expr:
        item = most(*i)
        return functions.select(functions.isinf(item), functions.const(0, tensor.dtype), item)

    shift = computed(most.shape, held, "T_held", ELEMWISE)
    total = log(reduce.sum(exp(subtract(tensor, shift)), axis, keepdims=True))
    found: Tensor = add(total, shift)
    if keepdims:
        return found
    reduced = axes_of("topi.logsumexp", axis, tensor.ndim)
    kept = [dim for number, dim in enumerate(tensor.shape) if number not in reduced]

    def value(*i: Expr) -> Expr:
        rest = iter(i)
        return found(*(0 if number in reduced else next(rest) for number in range(tensor.ndim)))

    return computed(kept, value, "T_logsumexp", COMM_REDUCE)


def collapse_sum(data: Tensor, target_shape: Sequence[Dim]) -> Tensor:
    """Sum a tensor to a shape that broadcasts to its shape: over new dimensions, and over dimensions of size 1."""
    what = "topi.collapse_sum"
    tensor, wanted = require(f"{what}: 'data'", data), dims_of(f"{what}: 'target_shape'", target_shape)
    more = tensor.ndim - len(wanted)
    own = tensor.shape[max(more, 0) :]
    if more < 0 or not all(new == 1 or symbolic.prove_equal(new, old) for new, old in zip(wanted, own, strict=True)):
        raise ShapeError(f"{what}: ({', '.join(map(str, wanted))}) is not known to broadcast to the shape of {tensor}")
    summed = [
        *range(more),
        *(more + n for n, (new, old) in enumerate(zip(wanted, own, strict=True)) if new != old),
    ]
    if not summed:
        return computed(tensor.shape, lambda *i: tensor(*i), "T_collapse_sum", COMM_REDUCE)
    found = reduce.sum(tensor, summed, keepdims=True)
    return computed(wanted, lambda *i: found(*[0] * more, *i), "T_collapse_sum", COMM_REDUCE)


CHANCE = "chance"
"""The tag of samples."""


def multinomial_from_uniform(
    prob: Tensor, uniform_sample: Tensor, sample_indices: Tensor, dtype: str = "int64"
) -> Tensor:
    """For each number, the first class of a row at which the cumulative probability exceeds the number.

    If there is none, the last class. `prob` is ``(rows, classes)``; `uniform_sample`, `sample_indices` (rows) and the
    result are ``(samples, 1)``. Sums are float64. A missing row, or a row without classes, raises `BoundsError` at run
    time, arguments of other shapes `ShapeError`.
    """
    what = "topi.multinomial_from_uniform"
    chances, sample = require(f"{what}: 'prob'", prob), require(f"{what}: 'uniform_sample'", uniform_sample)
    rows = index_tensor_of(f"{what}: 'sample_indices'", sample_indices)
    require_float(what, chances)
    require_float(what, sample)
    require_equal(f"{what}: 'sample_indices'", rows.shape, sample.shape)
    if chances.ndim != 2 or sample.ndim != 2 or sample.shape[1] != 1:
        raise ShapeError(f"{what}: {chances} and {sample} are not (rows, classes) and (samples, 1)")
    (count, _), classes = sample.shape, chances.shape[1]

    def body(b: LoopBuilder, chance: Buffer, number: Buffer, sources: Buffer, out: Buffer) -> None:
        total, found = b.alloc((1,), "float64", "total"), b.alloc((1,), "int64", "found")
        with b.loop(count) as i:
            wanted = number[i, 0].astype("float64")
            row = sources[i, 0].index()
            total[0] = chance[row, 0].astype("float64")
            found[0] = b.select(total[0] > wanted, 0, b.size(classes) - 1)
            with b.loop(1, classes) as j, b.when(total[0] <= wanted):
                total[0] = total[0] + chance[row, j].astype("float64")
                with b.when(total[0] > wanted):
                    found[0] = j
            out[i, 0] = found[0].astype(dtypes.dtype(dtype).name)

    op = LoopOp([chances, sample, rows], [sample.shape], [dtypes.dtype(dtype).name], body, "T_multinomial", CHANCE)
    return op.outputs[0]


ROUNDS = 10
FACTORS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)
"""The increments of the words of the key per round."""
MASK = 0xFFFFFFFF
TAG = "random"


def random_words(state: Tensor, count: Dim) -> list[Tensor]:
    """`count` words (``uint32``) of a state (key and counter, three ``uint64``), and the next state."""

    def body(b: LoopBuilder, given: Buffer, words: Buffer, after: Buffer) -> None:
        whole = b.size(symbolic.floordiv(count, 4))
        blocks = b.size(symbolic.ceildiv(count, 4))
        with b.loop(whole) as block:
            for number, word in enumerate(_block(b, given, block.astype("uint64"))):
                words[block * 4 + number] = word
        with b.loop(whole, blocks) as last:
            for number, word in enumerate(_block(b, given, last.astype("uint64"))[:3]):
                with b.when(last * 4 + number < b.size(count)):
                    words[last * 4 + number] = word
        low, high = _counter(b, given, cast(blocks, dtypes.dtype("uint64")))
        after[0], after[1], after[2] = given[0], low, high

    return LoopOp([state], [(count,), (3,)], ["uint32", "uint64"], body, "T_random_words", TAG).outputs


def _counter(b: LoopBuilder, given: Buffer, offset: Scalar) -> tuple[Scalar, Scalar]:
    """The counter plus an offset: the low and the high 64 bits."""
    before = given[1]
    low = before + offset
    return low, given[2] + b.select(low < before, b.const(1, "uint64"), 0)


def _block(b: LoopBuilder, given: Buffer, number: Scalar) -> list[Scalar]:
    """A block of four words. 32-bit values are stored in 64-bit words."""
    x = [half for word in _counter(b, given, number) for half in (word & MASK, word >> 32)]
    word = given[0]
    key = [word & MASK, word >> 32]
    for number_of_round in range(ROUNDS):
        if number_of_round:
            key = [(k + step) & MASK for k, step in zip(key, STEPS, strict=True)]
        first, second = (word * factor for word, factor in zip((x[0], x[2]), FACTORS, strict=True))
        x = [(second >> 32) ^ x[1] ^ key[0], second & MASK, (first >> 32) ^ x[3] ^ key[1], first & MASK]
    return [word.astype("uint32") for word in x]
