"""layer_norm and rms_norm over the last axes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels import emit
from relax_mlir.lowering.kernels.emit import Index, Value
from relax_mlir.lowering.kernels.parallel import parallel_loop
from relax_mlir.lowering.kernels.row_epilogues import prepare
from relax_mlir.lowering.kernels.row_loops import NOTHING_AROUND, Around
from relax_mlir.lowering.kernels.rows import Rows, inverse_root, only, row_sum, row_sums
from relax_mlir.target import Target

NEAR_MEAN = 2.0
"""A row's mean is near 0 if its variance is at least one part in so many of its mean square, whose difference from the
square of the mean loses one bit at most then."""


def layer_norm(
    target: Target,
    x: Value,
    gamma: Value,
    beta: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    around: Around = NOTHING_AROUND,
) -> None:
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, over the last `inner` axes.

    One sweep finds the mean and the mean square, and, where the mean is near (see `NEAR_MEAN`), the variance is the
    difference of the latter and the square of the former. Else a second sweep finds that of the centred values.
    """
    rows = Rows.of(target, x, inner)
    lanes, scalar = rows.vector, rows.scalar
    source, sink = rows.matrix(x), rows.matrix(out)
    weight, bias = rows.line(gamma), rows.line(beta)
    share = scalar.div(scalar.const(1.0), rows.length_as_float())
    stages = prepare(around, out, inner)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        stages.before(row)

        def load(at: Index, mask: Value | None) -> Value:
            return rows.load(source, row, at, mask=mask)

        def moments(at: Index, mask: Value | None, sums: Sequence[Value]) -> list[Value]:
            rows.prefetch_ahead(source, row, at)
            value = load(at, mask)
            return [lanes.add(sums[0], value), lanes.fma(value, value, sums[1])]

        mean, square = (scalar.mul(total, share) for total in row_sums(rows, moments, 2))
        centre = rows.splat(mean)

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            centred = only(lanes, mask, lanes.sub(load(at, mask), centre), 0.0)
            return lanes.fma(centred, centred, total)

        def centred_variance() -> list[Value]:
            return [scalar.mul(row_sum(rows, squares), share)]

        variance = scalar.sub(square, scalar.mul(mean, mean))
        # The difference is NaN where squares have overflowed; the centred ones may not.
        margin = scalar.sub(scalar.scale(variance, NEAR_MEAN), square)
        is_near = scalar.compare("oge", margin, scalar.const(0.0))
        near = [variance]
        (variance,) = emit.choose(is_near, [rows.element], lambda: near, centred_variance)
        last = stages.last(row)
        factor = rows.splat(inverse_root(scalar, variance, epsilon))

        def normalise(at: Index, mask: Value | None, _: Value) -> None:
            value = lanes.mul(lanes.sub(load(at, mask), centre), factor)
            scale = rows.load(weight, at, mask=mask)
            shift = rows.load(bias, at, mask=mask)
            value = last(rows, at, mask, lanes.fma(value, scale, shift))
            rows.store(value, sink, row, at, mask=mask)

        rows.sweep(normalise)
        stages.behind(row)


def rms_norm(
    target: Target,
    x: Value,
    weight: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    around: Around = NOTHING_AROUND,
) -> None:
    """x / sqrt(mean of x² + epsilon) · weight, over the last `inner` axes."""
    rows = Rows.of(target, x, inner)
    lanes = rows.vector
    source, sink, factors = rows.matrix(x), rows.matrix(out), rows.line(weight)
    share = rows.scalar.div(rows.scalar.const(1.0), rows.length_as_float())
    stages = prepare(around, out, inner)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        stages.before(row)

        def load(at: Index, mask: Value | None) -> Value:
            return rows.load(source, row, at, mask=mask)

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            rows.prefetch_ahead(source, row, at)
            value = load(at, mask)
            return lanes.fma(value, value, total)

        mean = rows.scalar.mul(row_sum(rows, squares), share)
        last = stages.last(row)
        factor = rows.splat(inverse_root(rows.scalar, mean, epsilon))

        def normalise(at: Index, mask: Value | None, _: Value) -> None:
            scale = rows.load(factors, at, mask=mask)
            value = last(rows, at, mask, lanes.mul(lanes.mul(load(at, mask), factor), scale))
            rows.store(value, sink, row, at, mask=mask)

        rows.sweep(normalise)
        stages.behind(row)
