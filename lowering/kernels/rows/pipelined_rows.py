"""Pipelined rows: the last sweep over a row also does the first one over the next row.

The last sweep writes results, and has spare arithmetic; this saves one sweep, and one wait for its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.rows.row_loops import OnRow
from relax_mlir.lowering.kernels.rows.rows import Rows
from relax_mlir.target import Target

MIN_ROWS = 8
"""The minimum number of rows of a part for a thread, if there are more parts than threads."""


@dataclass(frozen=True)
class Turn:
    """A row, and the scalar that was `found` in it."""

    row: Value
    found: Value
    finish: Callable[[Callable[[Index], Value], Callable[[], None]], None]
    """Emits the last sweep: the first function, given the next row, returns the scalar that it finds there meanwhile;
    the second one is for rows without a next one."""


@contextmanager
def in_turn(target: Target, rows: Rows, before: OnRow, find: Callable[[Index], Value]) -> Iterator[Turn]:
    """Loop over all rows, on as many threads as the cost justifies; each gets parts of consecutive rows.

    `before` emits the prologue of a row (see `RowFusion`); `find` emits the sweep that finds the scalar in a row, if
    the last sweep over the previous row has not. Call `Turn.finish` after everything except the epilogue.
    """
    part = part_size(rows.count, 1, target.num_threads, rows.cost, least=MIN_ROWS)
    with parallel_loop(0, rows.count, part, rows.cost) as first:
        stop = emit.minimum(emit.add(first, part), rows.count)
        nothing = rows.scalar.const(0.0)
        with emit.carrying_loop(first, stop, 1, [nothing], unroll=False) as loop:
            row = loop.index
            results: list[Value] = []

            def begin() -> list[Value]:
                before(row)
                return [find(row)]

            def finish(with_next: Callable[[Index], Value], alone: Callable[[], None]) -> None:
                following = emit.add(row, 1)

                def more() -> list[Value]:
                    before(following)
                    return [with_next(following)]

                def last() -> list[Value]:
                    alone()
                    return [nothing]

                has_next = emit.compare("lt", following, stop)
                results.extend(emit.choose(has_next, [rows.element], more, last))

            is_first = emit.compare("eq", row, first)
            (found,) = emit.choose(is_first, [rows.element], begin, lambda: loop.values)
            yield Turn(row, found, finish)
            loop.give(results)
