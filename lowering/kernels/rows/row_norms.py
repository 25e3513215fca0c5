"""layer_norm and rms_norm over the last axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.rows.norm_loops import Normalise, emit_norm
from relax_mlir.lowering.kernels.rows.row_loops import NO_ROW_FUSION, RowFusion
from relax_mlir.lowering.kernels.rows.rows import Rows, Steps, inverse_root, only, row_sum
from relax_mlir.target import Target

NEAR_MEAN = 2.0
"""A row's mean is near 0 if its variance is not below its mean square divided by this. Then the difference of the mean
square and the square of the mean loses at most one bit."""


def layer_norm(
    target: Target,
    x: Value,
    gamma: Value,
    beta: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    fusion: RowFusion = NO_ROW_FUSION,
) -> None:
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, over the last `inner` axes.

    One sweep computes the mean and the mean square. If the mean is near 0 (see `NEAR_MEAN`), the variance is the mean
    square minus the square of the mean. Else a second sweep computes it from the centred values.
    """
    rows = Rows.of(target, x, inner)
    norm = _LayerNorm(rows, rows.matrix(x), rows.line(gamma), rows.line(beta), _share(rows), epsilon)
    emit_norm(target, norm, out, inner, fusion)


def rms_norm(
    target: Target,
    x: Value,
    weight: Value,
    out: Value,
    *,
    epsilon: float,
    inner: int = 1,
    fusion: RowFusion = NO_ROW_FUSION,
) -> None:
    """x / sqrt(mean of x² + epsilon) · weight, over the last `inner` axes."""
    rows = Rows.of(target, x, inner)
    norm = _RmsNorm(rows, rows.matrix(x), rows.line(weight), _share(rows), epsilon)
    emit_norm(target, norm, out, inner, fusion)


def _share(rows: Rows) -> Value:
    """The reciprocal of the row length."""
    return rows.scalar.div(rows.scalar.const(1.0), rows.length_as_float())


@dataclass(frozen=True)
class _LayerNorm:
    rows: Rows
    source: Value
    gamma: Value
    beta: Value
    share: Value
    epsilon: float
    count: int = 2

    def sums(self, row: Index) -> Steps:
        rows, lanes = self.rows, self.rows.vector

        def moments(at: Index, mask: Value | None, sums: Sequence[Value]) -> list[Value]:
            rows.prefetch_ahead(self.source, row, at)
            value = rows.load(self.source, row, at, mask=mask)
            return [lanes.add(sums[0], value), lanes.fma(value, value, sums[1])]

        return moments

    def numbers(self, row: Index, sums: Sequence[Value]) -> list[Value]:
        """The mean, and 1 / sqrt(variance + epsilon)."""
        scalar = self.rows.scalar
        mean, square = (scalar.mul(total, self.share) for total in sums)
        variance = scalar.sub(square, scalar.mul(mean, mean))
        # The difference is NaN if squares have overflowed; centred squares may not overflow.
        margin = scalar.sub(scalar.scale(variance, NEAR_MEAN), square)
        is_near = scalar.compare("oge", margin, scalar.const(0.0))
        near = [variance]
        (variance,) = emit.choose(
            is_near, [self.rows.element], lambda: near, lambda: [self._centred_variance(row, mean)]
        )
        return [mean, inverse_root(scalar, variance, self.epsilon)]

    def _centred_variance(self, row: Index, mean: Value) -> Value:
        rows, lanes = self.rows, self.rows.vector
        centre = rows.splat(mean)

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            value = lanes.sub(rows.load(self.source, row, at, mask=mask), centre)
            centred = only(lanes, mask, value, 0.0)
            return lanes.fma(centred, centred, total)

        return rows.scalar.mul(row_sum(rows, squares), self.share)

    def normalise(self, part: Rows, row: Value, numbers: Sequence[Value]) -> Normalise:
        lanes = part.vector
        centre, factor = map(part.splat, numbers)

        def vector(at: Index, mask: Value | None) -> Value:
            value = lanes.mul(lanes.sub(part.load(self.source, row, at, mask=mask), centre), factor)
            scale = part.load(self.gamma, at, mask=mask)
            shift = part.load(self.beta, at, mask=mask)
            return lanes.fma(value, scale, shift)

        return vector


@dataclass(frozen=True)
class _RmsNorm:
    rows: Rows
    source: Value
    weight: Value
    share: Value
    epsilon: float
    count: int = 1

    def sums(self, row: Index) -> Steps:
        rows, lanes = self.rows, self.rows.vector

        def squares(at: Index, mask: Value | None, sums: Sequence[Value]) -> list[Value]:
            rows.prefetch_ahead(self.source, row, at)
            value = rows.load(self.source, row, at, mask=mask)
            return [lanes.fma(value, value, sums[0])]

        return squares

    def numbers(self, row: Index, sums: Sequence[Value]) -> list[Value]:
        """1 / sqrt(mean square + epsilon)."""
        scalar = self.rows.scalar
        return [inverse_root(scalar, scalar.mul(sums[0], self.share), self.epsilon)]

    def normalise(self, part: Rows, row: Value, numbers: Sequence[Value]) -> Normalise:
        lanes = part.vector
        (factor,) = map(part.splat, numbers)

        def vector(at: Index, mask: Value | None) -> Value:
            scale = part.load(self.weight, at, mask=mask)
            return lanes.mul(lanes.mul(part.load(self.source, row, at, mask=mask), factor), scale)

        return vector
