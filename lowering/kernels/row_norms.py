"""layer_norm and rms_norm over the last axes."""

from __future__ import annotations

from relax_mlir.lowering.kernels.emit import Index, Value
from relax_mlir.lowering.kernels.parallel import parallel_loop
from relax_mlir.lowering.kernels.row_epilogues import prepare
from relax_mlir.lowering.kernels.row_loops import NOTHING_AROUND, Around
from relax_mlir.lowering.kernels.rows import Rows, inverse_root, only, row_sum
from relax_mlir.target import Target


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

    Two passes: the variance is that of the centred values.
    """
    rows = Rows.of(target, x, inner)
    lanes = rows.vector
    source, sink = rows.matrix(x), rows.matrix(out)
    weight, bias = rows.line(gamma), rows.line(beta)
    share = rows.scalar.div(rows.scalar.const(1.0), rows.length_as_float())
    stages = prepare(around, out, inner)
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        stages.before(row)

        def load(at: Index, mask: Value | None) -> Value:
            return rows.load(source, row, at, mask=mask)

        total = row_sum(rows, lambda at, mask, total: lanes.add(total, load(at, mask)))
        mean = rows.splat(rows.scalar.mul(total, share))

        def squares(at: Index, mask: Value | None, total: Value) -> Value:
            rows.prefetch_ahead(source, row, at)
            centred = only(lanes, mask, lanes.sub(load(at, mask), mean), 0.0)
            return lanes.fma(centred, centred, total)

        variance = rows.scalar.mul(row_sum(rows, squares), share)
        last = stages.last(row)
        factor = rows.splat(inverse_root(rows.scalar, variance, epsilon))

        def normalise(at: Index, mask: Value | None, _: Value) -> None:
            value = lanes.mul(lanes.sub(load(at, mask), mean), factor)
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
