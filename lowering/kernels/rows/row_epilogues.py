"""Epilogues of row kernels in registers: work on the vectors that the last sweep over a row is about to store.

This saves storing the row and loading it again, and the epilogue's own loads of values that the kernel has in
registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.scalar_body import Body, Place
from relax_mlir.lowering.kernels.rows.row_loops import OnRow, RowFusion, RowLoop
from relax_mlir.lowering.kernels.rows.rows import Rows
from relax_mlir.mlir import ir

OnVector: TypeAlias = "Callable[[Rows, Index, Value | None, Value], Value]"
"""Emits the work on a vector of the row, given its length, position and mask, and the computed value."""


@dataclass(frozen=True)
class Stages:
    """The work before a row is read, in its last sweep, and after that; each gets the index of the row.

    `is_heavy`: the work in the last sweep has many operations.
    """

    before: OnRow
    last: Callable[[Value], OnVector]
    behind: OnRow
    is_heavy: bool = False


def prepare(fusion: RowFusion, out: Value, inner: int, may_be_heavy: bool = False) -> Stages:
    """Prologue and epilogue of each row, in registers if possible; loop-invariant code is emitted at once.

    An epilogue of many operations is done in registers only if the last sweep `may_be_heavy`.
    """
    before, behind = fusion.prepare(out, inner)
    loop = fusion.epilogue
    if loop is None or not _fits(loop, inner, may_be_heavy):
        return Stages(before, lambda _: _as_computed, behind)
    views_of, body = loop.prepare_views(out, inner), _body(loop)
    *_, written = operands = list(loop.operation.operands)

    def last(row: Value) -> OnVector:
        pairs = zip(operands, views_of(row), strict=True)
        known = [None if operand == written else _whole(view) for operand, view in pairs]

        def on_vector(part: Rows, at: Index, mask: Value | None, computed: Value) -> Value:
            own = simd.narrow(computed, part.stored or part.element)
            given = [_at(view, part.lanes, at, mask) if view is not None else own for view in known]
            (result,) = body.evaluate(given, _no_index, Place(at, part.lanes, mask))
            return result

        return on_vector

    return Stages(before, last, lambda _: None, is_heavy=not body.is_light)


def _as_computed(part: Rows, at: Index, mask: Value | None, computed: Value) -> Value:
    return computed


def _fits(loop: RowLoop, inner: int, may_be_heavy: bool) -> bool:
    """True if an epilogue works lane by lane on rows that are one axis, and on scalars, with few operations.

    An epilogue of many operations is usually faster in a separate sweep: with gelu in it, the last one took 1.07 times
    as long.
    """
    operation = loop.operation
    if operation.name != "linalg.generic" or inner != 1:
        return False
    body = _body(loop)
    if not (body.is_light or may_be_heavy):
        return False
    places = {"linalg.index", "memref.load"}
    if body.may_trap or any(op.name in places for op in body.operations):
        return False
    kinds = [loop.kind_of(number, inner) for number in range(len(operation.operands))]
    moved = [number for number, kind in enumerate(kinds) if kind == "row"]
    widths = {ir.MemRefType(operation.operands[number].type).element_type.width for number in moved}
    return "strided" not in kinds and min(widths) >= 16 and body.can_be_vectorised(None, moved)


def _body(loop: RowLoop) -> Body:
    return Body(entry_block(loop.operation))


def _whole(view: Value) -> Value:
    """Load a scalar; return a row unchanged."""
    is_number = isinstance(view.type, ir.MemRefType) and ir.MemRefType(view.type).rank == 0
    return emit.load(view) if is_number else view


def _at(view: Value, lanes: int, at: Index, mask: Value | None) -> Value:
    """Load a vector of a row; return a scalar unchanged."""
    is_row = isinstance(view.type, ir.MemRefType)
    return simd.load(lanes, view, at, where=mask) if is_row else view


def _no_index(loop: int) -> Index:
    raise AssertionError(f"the epilogue counts loop {loop}")
