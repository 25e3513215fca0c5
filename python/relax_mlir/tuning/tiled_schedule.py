"""A generic schedule with knobs, for computations without a dedicated schedule.

It is a function of the computed tensors, as `create_task` takes it. In a strategy, call it with the outputs:
``add_implementation(compute, lambda attrs, outs, target: tiled_schedule(outs))``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relax_mlir import te
from relax_mlir.error import (
    ArgumentError,
    expect_all,
)
from relax_mlir.strategy.knobs import get_config
from relax_mlir.te import ComputeOp, IterVar, Schedule, Tensor

COLUMNS = ([32], [16], [64], [8])
"""Tile lengths along the last axis, which is vectorised."""
ROWS = ([4], [8], [2], [1], [6], [12])
"""Tile lengths along one of the other axes, which is unrolled."""
MAX_UNROLLED = 32
"""The maximum number of iterations of unrolled reduction loops."""


def tiled_schedule(outs: Sequence[Tensor]) -> Schedule:
    """Compute a tensor in tiles with register accumulators.

    For reductions with an elementwise prologue or epilogue: matmuls, contractions, convolutions, poolings. Without a
    reduction, rows are vectorised. Its knobs:

    - ``columns``, ``rows``: the lengths of tiles; ``rows_axis``: the axis of the rows.
    - ``order``: which of the two loops over tiles is the outer one.
    - ``unrolled``: the number of reduction loops that are unrolled, from the innermost outwards, if they are short.
    - ``inputs``: copy computed inputs of the reduction first, such as padded data, or inline them.

    Raises:
        ArgumentError: several outputs, or one without axes.
    """
    expect_all("tiled_schedule: 'outs'", outs, Tensor, "computed te.Tensors")
    if len(outs) != 1 or not isinstance(outs[0].op, ComputeOp) or len(outs[0].op.outputs) != 1:
        raise ArgumentError("tiled_schedule takes one computed tensor: schedule several outputs by hand")
    (out,) = outs
    op = out.op
    assert isinstance(op, ComputeOp)
    if not op.axis:
        raise ArgumentError(f"tiled_schedule: '{out.name}' has no axes: there is nothing to cut into tiles")
    s = te.create_schedule(op)
    if op.reduce_axis:
        sums: Tensor | None = s.cache_write(out, "local")
    else:
        found = [t for t in op.input_tensors if _is_reduction(t) and t.ndim == out.ndim]
        sums = found[0] if len(found) == 1 else None
        if sums is not None:
            s[sums].set_scope("local")
    outer, inner = _tiles(s, out)
    s[out].reorder(*outer, *inner)
    s[out].vectorize(inner[-1])
    for axis in inner[:-1]:
        s[out].unroll(axis)
    if len(outer) > 1:
        s[out].parallel(outer[0] if len(outer) == 2 else s[out].fuse(outer[0], outer[1]))
    if sums is None:
        _inputs(s, out, keep=())
    else:
        _sums(s, sums, out, outer[-1])
        _inputs(s, sums, keep=(sums,))
        _inline_rest(s, out, sums)
    return s


def _is_reduction(tensor: Tensor) -> bool:
    return isinstance(tensor.op, ComputeOp) and bool(tensor.op.reduce_axis)


def _tiles(s: Schedule, out: Tensor) -> tuple[list[IterVar], list[IterVar]]:
    """Split the axes of a tensor: the loops outside of a tile, and the loops of a tile."""
    config = get_config()
    assert isinstance(out.op, ComputeOp)
    *others, last = out.op.axis
    config.define_split("columns", last, candidates=COLUMNS)
    column, within = config["columns"].apply(s, out, last)
    if not others:
        return [column], [within]
    config.define_knob("rows_axis", list(reversed(range(len(others)))))
    chosen = others.pop(config["rows_axis"].val)
    config.define_split("rows", chosen, candidates=ROWS)
    row, row_within = config["rows"].apply(s, out, chosen)
    config.define_knob("order", ["rows", "columns"])
    tiles = [row, column] if config["order"].val == "rows" else [column, row]
    return [*others, *tiles], [row_within, within]


def _sums(s: Schedule, sums: Tensor, out: Tensor, place: IterVar) -> None:
    """Compute the accumulators of a tile where it is written, with the reduction loops around the tile."""
    config = get_config()
    assert isinstance(sums.op, ComputeOp)
    s[sums].compute_at(s[out], place)
    *others, last = sums.op.axis
    taps = list(sums.op.reduce_axis)
    s[sums].reorder(*taps, *others, last)
    s[sums].vectorize(last)
    for axis in others:
        s[sums].unroll(axis)
    short = [0]
    for number in range(1, len(taps) + 1):
        lengths = [tap.dom.extent for tap in taps[-number:]]
        known = [length for length in lengths if isinstance(length, int)]
        if len(known) < number or prod(known) > MAX_UNROLLED:
            break
        short.append(number)
    config.define_knob("unrolled", short)
    for tap in taps[len(taps) - config["unrolled"].val :]:
        s[sums].unroll(tap)


def _inputs(s: Schedule, reader: Tensor, keep: Sequence[Tensor]) -> None:
    """Copy or inline the computed inputs of a stage; inline what those read."""
    read = [t for t in reader.op.input_tensors if isinstance(t.op, ComputeOp) and t not in keep]
    plain = [t for t in read if not _is_reduction(t)]
    for tensor in plain:
        for below in _below(tensor):
            if not _is_reduction(below):
                s[below].compute_inline()
    if not plain:
        return
    config = get_config()
    config.define_knob("inputs", ["copied", "inlined"])
    for tensor in plain:
        assert isinstance(tensor.op, ComputeOp)
        if config["inputs"].val == "inlined" or not tensor.op.axis:
            s[tensor].compute_inline()
            continue
        s[tensor].vectorize(tensor.op.axis[-1])


def _below(tensor: Tensor) -> list[Tensor]:
    """The computed tensors that a tensor depends on, each once."""
    found: dict[Tensor, None] = {}
    waiting = [tensor]
    while waiting:
        for read in waiting.pop().op.input_tensors:
            if isinstance(read.op, ComputeOp) and read not in found:
                found[read] = None
                waiting.append(read)
    return list(found)


def _inline_rest(s: Schedule, out: Tensor, sums: Tensor) -> None:
    """Inline the computed inputs of the output other than the accumulators."""
    for tensor in out.op.input_tensors:
        if isinstance(tensor.op, ComputeOp) and tensor is not sums and not _is_reduction(tensor):
            if tensor in sums.op.input_tensors or tensor in _below(sums):
                continue
            s[tensor].compute_inline()
