"""Records for `explain_loops` how annotated loops run, and notes it at those that run serially."""

from __future__ import annotations

from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX
from relax_mlir.ir_queries import function_of
from relax_mlir.lowering.loops.annotated_loops import kind_of, note
from relax_mlir.mlir import ir
from relax_mlir.transform.loop_report import LoopDecision, open_report


def honoured(loop: ir.Operation, how: str) -> None:
    """Record that a loop runs as annotated; to be called before the loop changes."""
    _record(loop, True, how)


def serial(loop: ir.Operation, reason: str) -> None:
    """Record that a loop runs serially, and note the reason at the loop."""
    _record(loop, False, reason)
    note(loop, reason)


def _record(loop: ir.Operation, as_written: bool, reason: str) -> None:
    report = open_report()
    if report is None:
        return
    name = ir.StringAttr(function_of(loop).attributes["sym_name"]).value.removesuffix(EXPOSED_SUFFIX)
    report.decisions.append(LoopDecision(name, where(loop), str(kind_of(loop)), as_written, reason))
