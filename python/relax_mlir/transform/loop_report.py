"""Decisions about loop annotations, and their reasons: the records, and the text of ``relax-opt --explain-loops``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoopDecision:
    """The decision about a loop of prim func `function`: `honoured` if it runs as `kind` requests, and the `reason`.

    `place` is the source line of the loop. The `reason` of an honoured loop says what its kind amounts to.
    """

    function: str
    place: str
    kind: str
    honoured: bool
    reason: str


@dataclass
class LoopReport:
    """The decisions about annotated loops, in order."""

    decisions: list[LoopDecision] = field(default_factory=list)

    def render(self) -> str:
        """The decisions as text; copies of a loop with equal decisions are merged."""
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
    """Collect the decisions about `T.vectorized`, `T.unroll` and `T.parallel` loops in the ``with`` block.

    Example: `with explain_loops() as report: rx.build(module, cache=False)`, then `print(report.render())`. A module
    from the cache has no decisions.
    """
    report = LoopReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def open_report() -> LoopReport | None:
    """The report of the innermost active `explain_loops`; None if there is none."""
    return _report.get()
