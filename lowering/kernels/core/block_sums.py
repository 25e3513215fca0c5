"""Blocked summation: each block has separate accumulators, so that long sums stay accurate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Value

BLOCK_STEPS = 128
"""Steps of a block; the accumulators of a block are merged into the totals at its end."""


def in_blocks(
    begin: Index,
    end: Index,
    step: int,
    totals: Sequence[Value],
    reduce: Callable[[Index, Index], Sequence[Value]],
    merge: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """Reduce from `begin` to `end` block by block, and merge each result into `totals`.

    `reduce` emits the loop over a block, from its begin to its end in steps of `step`, with accumulators that start at
    neutral elements. `merge` adds its results to the totals.
    """
    size = step * BLOCK_STEPS
    with emit.carrying_loop(begin, end, size, totals) as blocks:
        stop = emit.minimum(emit.add(blocks.index, size), end)
        blocks.give(merge(blocks.values, reduce(blocks.index, stop)))
    return list(blocks.results)


def is_one_block(size: Index, step: int) -> bool:
    """True if `size` is static and at most one block."""
    return isinstance(size, int) and size <= step * BLOCK_STEPS
