"""Loops whose iterations may run on several threads.

A generator marks such a loop with the total cost of its iterations; the pass `outline-parallel-loops` does the rest.
Iterations must be independent: none reads or writes memory that another one writes. Scratch memory that an iteration
writes is allocated inside the loop. The body must not raise errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.ir_queries import FUNCTION, ancestors, entry_block
from relax_mlir.lowering.base.support import PARTS_PER_THREAD
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.mlir import func, ir

MARK = "relax.parallel_cost"
"""The function whose call at the start of a loop marks the loop; its argument is the cost."""

PARALLEL = "relax.parallel"
"""Attribute of a marked loop. A loop of one iteration may be folded before outlining, so that its call is in an outer
loop."""

THRESHOLD = 100_000
"""Loops that cost less run on the calling thread (in cycles, see `parallel_loop`): some 30 microseconds."""


def part_size(size: e.Index, unit: int, threads: int, cost: e.Index, least: int | None = None) -> e.Index:
    """The chunk size that splits `size` evenly over the threads, one part per thread, in multiples of `unit`.

    It is all of `size` for one thread, or if the cost is below the threshold. With `least`, each thread gets the same
    number of parts, up to `PARTS_PER_THREAD`, as long as no part is smaller than that.
    """
    whole = e.maximum(size, 1)
    if threads == 1:
        return whole
    parts: e.Index = threads
    if least is not None:
        each = e.minimum(e.maximum(e.div(size, threads * least), 1), PARTS_PER_THREAD)
        parts = e.mul(each, threads)
    share = e.maximum(e.round_up(e.ceildiv(size, parts), unit), unit)
    return e.select(e.compare("ge", cost, THRESHOLD), share, whole)


@contextmanager
def parallel_loop(
    lower: e.Index, upper: e.Index, step: e.Index, cost: e.Index, unroll: bool = False
) -> Iterator[e.Value]:
    """``for i in range(lower, upper, step)`` on as many threads as the cost justifies; yields i.

    `cost`: the approximate cycles of all iterations on one thread (any ``index`` defined outside of the loop).
    A loop nested in a parallel loop is sequential.
    """
    if _is_in_parallel_loop():
        with e.loop(lower, upper, step) as i:
            yield i
        return
    amount = e.index(cost)
    with e.loop(lower, upper, step, unroll) as i:
        _declare()
        func.call([], MARK, [amount])
        i.owner.owner.attributes[PARALLEL] = ir.UnitAttr.get()
        yield i


def mark(loop: ir.Operation, cost: e.Index) -> None:
    """Mark an existing loop that is not nested in a marked one."""
    with ir.InsertionPoint(loop), loop.location:
        _declare()
        amount = e.index(cost)
    with ir.InsertionPoint.at_block_begin(entry_block(loop)), loop.location:
        func.call([], MARK, [amount])
    with loop.context:
        loop.attributes[PARALLEL] = ir.UnitAttr.get()


def _is_in_parallel_loop() -> bool:
    owner = ir.InsertionPoint.current.block.owner.operation
    around = itertools.takewhile(lambda op: op.name != FUNCTION, (owner, *ancestors(owner)))
    return any(PARALLEL in op.attributes for op in around)


def _declare() -> None:
    owner = ir.InsertionPoint.current.block.owner.operation
    body = entry_block(next(op for op in (owner, *ancestors(owner)) if op.name == "builtin.module"))
    if e.is_defined(body, MARK):
        return
    with ir.InsertionPoint(body):
        func.FuncOp(MARK, ([ir.IndexType.get()], []), visibility="private")
