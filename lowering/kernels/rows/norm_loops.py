"""The loops of norms over rows: sums of a row, statistics from the sums, and the normalisation of each vector.

By default one row follows the other. If the last sweep has an epilogue of many operations, it also computes the sums of
the row after the next one: its loads overlap with arithmetic, and nothing waits for the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.rows.pipelined_rows import MIN_ROWS
from relax_mlir.lowering.kernels.rows.row_epilogues import Stages, prepare
from relax_mlir.lowering.kernels.rows.row_loops import RowFusion
from relax_mlir.lowering.kernels.rows.rows import Rows, Steps, Work, row_sums
from relax_mlir.target import Target

Normalise: TypeAlias = "Callable[[Index, Value | None], Value]"
"""Emits the normalised vector at a position, given its mask."""


class Norm(Protocol):
    """A norm over rows, in three steps."""

    @property
    def rows(self) -> Rows:
        """The rows that are normalised."""

    @property
    def count(self) -> int:
        """The number of sums over a row."""

    def sums(self, row: Index) -> Steps:
        """The step of a sweep over a row that accumulates the sums."""

    def numbers(self, row: Index, sums: Sequence[Value]) -> list[Value]:
        """The statistics of a row (scalars), from its sums (scalars)."""

    def normalise(self, part: Rows, row: Value, numbers: Sequence[Value]) -> Normalise:
        """The normalisation of a row by its statistics, in vectors of the length of `part`."""


def emit_norm(target: Target, norm: Norm, out: Value, inner: int, fusion: RowFusion) -> None:
    """Write the normalised rows to `out`, whose last `inner` axes form a row, with prologue and epilogue of each."""
    sink = norm.rows.matrix(out)
    stages = prepare(fusion, out, inner, may_be_heavy=norm.rows.avx512)
    emit_rows = _two_ahead if stages.is_heavy else _one_by_one
    emit_rows(target, norm, sink, stages)


def _one_by_one(target: Target, norm: Norm, sink: Value, stages: Stages) -> None:
    rows = norm.rows
    with parallel_loop(0, rows.count, 1, rows.cost) as row:
        stages.before(row)
        numbers = norm.numbers(row, row_sums(rows, norm.sums(row), norm.count))
        last = stages.last(row)
        normalise = norm.normalise(rows, row, numbers)

        def write(at: Index, mask: Value | None, _: Value) -> None:
            rows.store(last(rows, at, mask, normalise(at, mask)), sink, row, at, mask=mask)

        rows.sweep(write)
        stages.behind(row)


def _two_ahead(target: Target, norm: Norm, sink: Value, stages: Stages) -> None:
    rows = norm.rows
    part = part_size(rows.count, 1, target.num_threads, rows.cost, least=MIN_ROWS)
    with parallel_loop(0, rows.count, part, rows.cost) as first:
        end = emit.sub(emit.minimum(emit.add(first, part), rows.count), 1)

        def begin(row: Index) -> list[Value]:
            stages.before(row)
            return rows.sums(norm.sums(row), norm.count)

        def nothing() -> list[Value]:
            return [rows.scalar.const(0.0)] * norm.count

        numbers = norm.numbers(first, begin(first))
        second = emit.add(first, 1)
        types = [rows.element] * norm.count
        sums = emit.choose(emit.compare("le", second, end), types, lambda: begin(second), nothing)
        with emit.carrying_loop(first, emit.add(end, 1), 1, [*numbers, *sums], unroll=False) as loop:
            row = loop.index
            numbers, sums = loop.values[: len(numbers)], loop.values[len(numbers) :]
            # After the last row it is repeated: its results are not used.
            following = norm.numbers(emit.minimum(emit.add(row, 1), end), sums)
            third = emit.add(row, 2)
            with emit.when(emit.compare("le", third, end)):
                stages.before(third)
            last = stages.last(row)

            def work(part: Rows) -> Work:
                normalise = norm.normalise(part, row, numbers)

                def write(at: Index, mask: Value | None, made: Sequence[Value]) -> None:
                    part.store(last(part, at, mask, made[0]), sink, row, at, mask=mask)

                return Work(lambda at, mask: [normalise(at, mask)], write)

            sums = rows.sums(norm.sums(emit.minimum(third, end)), norm.count, work)
            stages.behind(row)
            loop.give([*following, *sums])
