"""What became of loops with a kind, and why: the records, and the text of ``relax-opt --explain-loops``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoopDecision:
    """Whether a loop of prim func `function` runs as its `kind` says, and what that means, or why not: `reason`.

    `place` is the line of the loop.
    """

    function: str
    place: str
    kind: str
    honoured: bool
    reason: str


@dataclass
class LoopReport:
    """What the passes about kinds of loops did: `decisions`, in order."""

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
    """Collect what becomes of loops written as `T.vectorized`, `T.unroll` and `T.parallel` in the ``with`` block.

    Example: `with explain_loops() as report: rx.build(module, cache=False)`, then `print(report.render())`. Of a module
    that comes from the cache nothing is decided.
    """
    report = LoopReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def open_report() -> LoopReport | None:
    """The report of the innermost `explain_loops` around; None outside of any."""
    return _report.get()
