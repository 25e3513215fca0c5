"""The online softmax of attention: scores of a block become weights, and earlier accumulators are rescaled.

After M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867, 2018: each row keeps
the largest score seen so far and the sum of the weights relative to it.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.attention.attention_pack import Sizes, copy_row
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.lanes import Lanes
from relax_mlir.lowering.kernels.core.simd import times_power
from relax_mlir.lowering.kernels.math.math_exp import (
    LOG2_E,
    ROUND_TO_INT,
    VANISHES,
    exp_of_rest,
    to_sixteenths,
)
from relax_mlir.lowering.kernels.rows.rows import Rows, Step, only
from relax_mlir.mlir import arith, ir, math

# The exponential of a score minus the largest score: its argument is never positive.


SMALLEST = -86.5
"""e to this power, about 2.7e-38, is still a normal f32; smaller results are flushed to 0."""

POLYNOMIAL = (1.3843607e-3, 8.3741955e-3, 4.1668005e-2, 1.6666430e-1, 4.9999994e-1, 1.0, 1.0)
"""Coefficients of e^r for |r| ≤ ln 2 / 2, from the highest power to the lowest, with an error of 1.8e-8.

They are a least-squares fit of the relative error with the weights of C. Lawson's iteration, rounded to f32."""

EXPONENT_BIAS, MANTISSA_BITS = 127, 23
DOUBLE_BIAS, DOUBLE_MANTISSA_BITS = 1023, 52


@dataclass(frozen=True)
class Exponential:
    """e^x / 2^k for x ≤ 0; NaN stays NaN, and -inf gives 0.

    The error in f32 is at most 2 ulp; where e^x is below e^-86.5 · 2^k, the result is 0 or close to 0. 2^k exceeds the
    number of keys, so that no sum of weights exceeds 1, and sums of large values do not overflow before they are
    divided by it. `down` is k, in the type of the accumulators.
    """

    down: e.Value

    @staticmethod
    def of(element: e.Type, keys: e.Index) -> Exponential:
        """The exponential for this number of keys."""
        if isinstance(keys, int):
            return Exponential(e.constant(element, keys.bit_length()))
        i64 = ir.IntegerType.get_signless(64)
        leading = math.CountLeadingZerosOp(arith.index_cast(i64, keys)).result
        return Exponential(arith.uitofp(element, arith.subi(e.constant(i64, 64), leading)))

    def emit(self, lanes: Lanes, x: e.Value) -> e.Value:
        """Emit the exponential of a vector.

        Reduce x = n·ln 2 + r as `math_exp` does, with fewer instructions: there is no upper clamp, ln 2 is one constant
        (n is small where the result matters), and 2ⁿ comes from the bits of the sum that rounds to n.
        """
        down = simd.splat(self.down, lanes.type.shape[0])
        if lanes.width != 32:
            return lanes.mul(math.ExpOp(x).result, _power(lanes, down))
        if lanes.avx512:
            x = lanes.at_least(x, VANISHES)
            y, place = to_sixteenths(lanes, x, LOG2_E)
            return times_power(exp_of_rest(lanes, _rest(lanes, x, y), place), lanes.sub(y, down))
        shift = lanes.sub(lanes.const(ROUND_TO_INT + EXPONENT_BIAS), down)
        smallest = lanes.fma(down, lanes.const(pymath.log(2.0)), lanes.const(SMALLEST))
        return _exp(lanes, x, shift, smallest)


def exp_of_difference(lanes: Lanes, x: e.Value) -> e.Value:
    """e^x for x ≤ 0, as `Exponential`, scalar or vector."""
    if lanes.width != 32:
        return math.ExpOp(x).result
    return _exp(lanes, x, lanes.const(ROUND_TO_INT + EXPONENT_BIAS), lanes.const(SMALLEST))


def _exp(lanes: Lanes, x: e.Value, rounding: e.Value, smallest: e.Value) -> e.Value:
    shifted = lanes.fma(x, lanes.const(LOG2_E), rounding)
    power = lanes.from_bits(lanes.shift_left(lanes.bits(shifted), MANTISSA_BITS))
    result = lanes.mul(lanes.horner(_rest(lanes, x, lanes.sub(shifted, rounding)), POLYNOMIAL), power)
    return lanes.select(lanes.compare("olt", x, smallest), lanes.const(0.0), result)


def _rest(lanes: Lanes, x: e.Value, n: e.Value) -> e.Value:
    """x - n·ln 2."""
    return lanes.fma(n, lanes.const(-pymath.log(2.0)), x)


def _power(lanes: Lanes, down: e.Value) -> e.Value:
    """2^-down in f64."""
    exponent = arith.fptosi(lanes.ints, lanes.sub(lanes.const(DOUBLE_BIAS), down))
    return lanes.from_bits(lanes.shift_left(exponent, DOUBLE_MANTISSA_BITS))


UNROLL = 4
"""Vectors at a time: enough independent exponentials to hide their latency."""


@dataclass(frozen=True)
class Bias:
    """The bias added to the scores: a contiguous buffer viewed as flat, and its strides for the axes of the scores.

    The strides are those of batch, head and query, 0 where the bias is broadcast. `along` is true if it varies by key.
    """

    flat: e.Value
    strides: tuple[e.Index, e.Index, e.Index]
    along: bool

    @staticmethod
    def of(buffer: e.Value, flat: e.Value) -> Bias:
        """The bias in a buffer of rank 0 to 4; axes of static size 1 are repeated."""
        type_ = ir.MemRefType(buffer.type)
        strides: list[e.Index] = [0, 0, 0, 0]
        step: e.Index = 1
        for axis in reversed(range(type_.rank)):
            size = e.dim(buffer, axis)
            strides[4 - type_.rank + axis] = 0 if isinstance(size, int) and size == 1 else step
            step = e.mul(step, size)
        return Bias(flat, (strides[0], strides[1], strides[2]), strides[3] != 0)

    def place(self, position: Sequence[e.Index], key: e.Index) -> e.Index:
        """The offset of the bias of a key; `position`: batch, head and query."""
        at: e.Index = 0
        for where, stride in zip(position, self.strides, strict=True):
            if not (isinstance(stride, int) and stride == 0):
                at = e.add(at, e.mul(where, stride))
        return e.add(at, key) if self.along else at


@dataclass(frozen=True)
class Running:
    """The scratch memory of a block of queries: scores of a tile, largest scores, totals and accumulators by row.

    `exponential` computes the weights.
    """

    buffer: e.Value
    scores: e.Index
    width: e.Index
    largest: e.Index
    totals: e.Index
    sums: e.Index
    sum_width: e.Index
    bias_row: e.Index
    exponential: Exponential


def weigh_row(
    sizes: Sizes,
    at: Running,
    line: e.Index,
    row: e.Index,
    visible: e.Index,
    depth: e.Index,
    first: e.Value,
    bias: tuple[Bias, e.Index] | None,
) -> None:
    """Replace a row of scores by weights, and update the row's maximum, total and accumulators.

    `line`: the row's index in the tile, `row`: in the block of queries; `visible`: the number of keys attended to (the
    weights of the others, up to `depth`, become 0); `first`: true for the first block of keys; `bias`: the bias and the
    offset of the row's first key in it.
    """
    lanes, scalar = Lanes(sizes.vector()), Lanes(sizes.element)
    sweep = Rows(
        sizes.element,
        sizes.lanes,
        UNROLL,
        1,
        visible,
        avx512=sizes.avx512,
        vectors_per_body=sizes.vectors_per_body,
    )
    start = e.add(at.scores, e.mul(line, at.width))
    score = _Score.of(sizes, at, start, visible, bias)
    low = -pymath.inf

    def larger(a: e.Value, b: e.Value) -> e.Value:
        # If the other is NaN, the accumulator (the first) stays: the weights computed with it are NaN anyway.
        return lanes.select(lanes.compare("olt", a, b), b, a)

    def maximum(place: e.Index, mask: e.Value | None, best: e.Value) -> e.Value:
        value = score.load(lanes, place, mask)
        return larger(best, value if mask is None else lanes.select(mask, value, lanes.const(low)))

    found = simd.reduce("maxnumf", sweep.sweep(maximum, low, larger), fastmath="nnan")
    place_of_largest, place_of_total = e.add(at.largest, row), e.add(at.totals, row)
    before = scalar.select(first, scalar.const(low), e.load(at.buffer, place_of_largest))
    best = scalar.select(scalar.compare("olt", before, found), found, before)
    # While all scores are -inf, weights are 0 and not NaN: later blocks may have finite scores.
    none = scalar.compare("oeq", best, scalar.const(low))
    base = scalar.select(none, scalar.const(0.0), best)

    def weighing(part: Rows) -> Step:
        lanes, shift = part.vector, part.splat(base)

        def weight(place: e.Index, mask: e.Value | None, total: e.Value) -> e.Value:
            value = at.exponential.emit(lanes, lanes.sub(score.load(lanes, place, mask), shift))
            value = only(lanes, mask, value, 0.0)
            simd.store(value, at.buffer, e.add(start, place))
            return lanes.add(total, value)

        return weight

    total = sweep.heavy_sum(weighing)
    if not (isinstance(depth, int) and depth == visible) and depth is not visible:
        with e.loop(e.round_up(visible, sizes.lanes), depth, sizes.lanes) as place:
            simd.store(lanes.const(0.0), at.buffer, e.add(start, place))

    def rescaled() -> list[e.Value]:
        factor = exp_of_difference(scalar, scalar.sub(before, base))
        _scale(sizes, at, row, factor)
        old = e.load(at.buffer, place_of_total)
        return [scalar.add(scalar.mul(old, factor), total)]

    total = e.choose(first, [sizes.element], lambda: [total], rescaled)[0]
    e.store(best, at.buffer, place_of_largest)
    e.store(total, at.buffer, place_of_total)


def _scale(sizes: Sizes, at: Running, row: e.Index, factor: e.Value) -> None:
    """Rescale the accumulators of a row, unless the factor is 1."""
    lanes, scalar = Lanes(sizes.vector()), Lanes(sizes.element)
    with e.when(scalar.compare("une", factor, scalar.const(1.0))):
        start, factors = e.add(at.sums, e.mul(row, at.sum_width)), simd.splat(factor, sizes.lanes)
        with e.loop(0, at.sum_width, sizes.lanes) as i:
            place = e.add(start, i)
            simd.store(lanes.mul(simd.load(sizes.lanes, at.buffer, place), factors), at.buffer, place)


@dataclass(frozen=True)
class _Score:
    """Reads a row of scores with its bias."""

    sizes: Sizes
    buffer: e.Value
    start: e.Index
    repeated: e.Value | None
    row: tuple[e.Value, e.Index] | None

    @staticmethod
    def of(sizes: Sizes, at: Running, start: e.Index, count: e.Index, bias: tuple[Bias, e.Index] | None) -> _Score:
        if bias is None:
            return _Score(sizes, at.buffer, start, None, None)
        what, place = bias
        if not what.along:
            # Without keys the bias may be empty, so it is not read.
            value = simd.widen(e.load_if(e.compare("ne", count, 0), what.flat, place), sizes.element)
            return _Score(sizes, at.buffer, start, value, None)
        if sizes.low_precision:
            copy_row(sizes, what.flat, place, count, at.buffer, at.bias_row)
            return _Score(sizes, at.buffer, start, None, (at.buffer, at.bias_row))
        return _Score(sizes, at.buffer, start, None, (what.flat, place))

    def load(self, lanes: Lanes, place: e.Index, mask: e.Value | None) -> e.Value:
        """Load a vector of scores; lanes outside the mask are undefined."""
        (size,) = lanes.type.shape
        value = simd.load(size, self.buffer, e.add(self.start, place))
        if self.row is not None:
            buffer, start = self.row
            where = None if self.sizes.low_precision else mask
            more = simd.load(size, buffer, e.add(start, place), where=where)
            return lanes.add(value, more)
        return value if self.repeated is None else lanes.add(value, simd.splat(self.repeated, size))
