"""What became of loops with a kind, and why: the records, and the text of ``relax-opt --explain-loops``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX
from relax_mlir.ir_queries import function_of
from relax_mlir.lowering.loops.annotated_loops import kind_of, note
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class LoopDecision:
    """Whether a loop of prim func `function` runs as its `kind` says, and what that means, or why not."""

    function: str
    place: str
    kind: str
    honoured: bool
    reason: str


@dataclass
class LoopReport:
    """The decisions of the passes about kinds of loops, in order."""

    decisions: list[LoopDecision] = field(default_factory=list)

    def render(self) -> str:
        """The decisions as text; copies of a loop that fare alike are one."""
        decisions = dict.fromkeys(self.decisions)
        lines = [
            f"{d.kind if d.honoured else 'serial':<11}{d.function}: "
            f"{'' if d.honoured else f'T.{d.kind}, but '}{d.reason}, at {d.place}"
            for d in decisions
        ]
        honoured = sum(d.honoured for d in decisions)
        return "\n".join([*lines, f"{honoured} as their kind says, {len(decisions) - honoured} serial"])


_report: ContextVar[LoopReport | None] = ContextVar("loop_report", default=None)


@contextmanager
def explain_loops() -> Iterator[LoopReport]:
    """Collect what the passes about kinds of loops decide in the ``with`` block."""
    report = LoopReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def honoured(loop: ir.Operation, how: str) -> None:
    """Record that a loop runs as its kind says; before it is changed."""
    _record(loop, True, how)


def serial(loop: ir.Operation, reason: str) -> None:
    """Record that a loop runs serially, and note it at the loop."""
    _record(loop, False, reason)
    note(loop, reason)


def _record(loop: ir.Operation, as_written: bool, reason: str) -> None:
    report = _report.get()
    if report is None:
        return
    name = ir.StringAttr(function_of(loop).attributes["sym_name"]).value.removesuffix(EXPOSED_SUFFIX)
    report.decisions.append(LoopDecision(name, where(loop), str(kind_of(loop)), as_written, reason))
