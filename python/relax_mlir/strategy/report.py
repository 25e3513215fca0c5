"""The considered and the selected implementations of each call: the text of ``--explain-strategy``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from relax_mlir import terminal
from relax_mlir.strategy.selection import Candidate, Selection


@dataclass(frozen=True)
class StrategyDecision:
    """The choice for one call: `op` in `function`, called on `operands`, at source location `place`.

    `notes` list the values of the knobs of its schedules, and their origin.
    """

    function: str
    op: str
    operands: str
    place: str
    selection: Selection
    notes: list[str] = field(default_factory=list)


@dataclass
class StrategyReport:
    """The choices of `legalize-ops`, in order."""

    decisions: list[StrategyDecision] = field(default_factory=list)

    def render(self, width: int | None = None) -> str:
        """A table per call, wrapped to `width` columns (by default the terminal's); equal calls are merged."""
        columns = width or terminal.width()
        groups: dict[tuple[str, ...], list[StrategyDecision]] = {}
        for decision in self.decisions:
            rows = [_row(c, decision.selection) for c in decision.selection.candidates]
            texts = [" ".join(row) for row in rows]
            key = (decision.function, decision.op, decision.operands, *texts, *decision.notes)
            groups.setdefault(key, []).append(decision)
        lines = [line for group in groups.values() for line in _table(group[0], len(group), columns)]
        return "\n".join([*lines, f"{len(self.decisions)} calls"])


INDENT = 10
"""Indentation of continuation lines."""


def _table(decision: StrategyDecision, times: int, width: int) -> Iterator[str]:
    count = f" ({times} times)" if times > 1 else ""
    call = f"{decision.function}: {decision.op}({decision.operands}){count}"
    yield from terminal.wrapped("", call, width, INDENT)
    yield from terminal.wrapped("  ", f"at {decision.place}", width, INDENT)
    rows = [_row(c, decision.selection) for c in decision.selection.candidates]
    name_width = max(len(row[1]) for row in rows)
    for mark, name, plevel, reason in rows:
        row = f"{mark:8}{name:{name_width}}  {plevel:>3}  {reason}".rstrip()
        yield from terminal.wrapped("  ", row, width, INDENT)
    for note in decision.notes:
        yield from terminal.wrapped("          ", note, width, INDENT)


def _row(candidate: Candidate, selection: Selection) -> tuple[str, str, str, str]:
    """The mark, the name, the priority and the reason."""
    implementation, reason = candidate.implementation, candidate.reason
    if candidate in selection.taken:
        mark = "taken"
        if len(selection.taken) > 1 and candidate is selection.taken[-1]:
            reason = "otherwise"
    elif candidate.verdict is False:
        mark = "no"
    else:
        mark, reason = "lower", reason or "holds, at a lower priority"
    return mark, implementation.name, str(implementation.plevel), reason


_report: ContextVar[StrategyReport | None] = ContextVar("strategy_report", default=None)


@contextmanager
def explain_strategy() -> Iterator[StrategyReport]:
    """Record the choices of every `legalize-ops` in the block, `build` included.

    Example: ``with explain_strategy() as report: rx.build(module, cache=False)``, then ``print(report.render())``.
    """
    report = StrategyReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def current_report() -> StrategyReport | None:
    """The active report; None if there is none."""
    return _report.get()
