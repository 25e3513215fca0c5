"""The decisions of `fuse-ops` with their reasons, and the text of ``relax-opt --explain-fusion``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from relax_mlir import terminal


@dataclass(frozen=True)
class FusionDecision:
    """One decision: the calls of `producer` and `consumer` in `function` fused or not, and why.

    `patterns` are the patterns of both prim funcs. `saved` is the memory traffic saved in bytes, as a formula of the
    function's symbols ("" if not fused). `place` is the location of the producer.
    """

    function: str
    place: str
    producer: str
    consumer: str
    patterns: tuple[str, str]
    fused: bool
    reason: str
    saved: str = ""


@dataclass
class FusionReport:
    """The decisions of `fuse-ops`, in order."""

    decisions: list[FusionDecision] = field(default_factory=list)

    def render(self, width: int | None = None) -> str:
        """The decisions as text of `width` columns (default: the width of the terminal).

        Equal decisions in a function are shown once, with their count; fused calls come first.
        """
        columns = width or terminal.width()
        groups: dict[tuple[str, ...], list[FusionDecision]] = {}
        for d in self.decisions:
            key = (d.function, d.producer, d.consumer, str(d.fused), d.reason, d.saved)
            groups.setdefault(key, []).append(d)
        found = sorted(groups.values(), key=lambda group: not group[0].fused)
        lines = [line for group in found for line in _lines(group[0], len(group), columns)]
        fused = sum(d.fused for d in self.decisions)
        return "\n".join([*lines, f"{fused} fused, {len(self.decisions) - fused} apart"])


INDENT = 9
"""Indentation of continuation lines."""


def _lines(decision: FusionDecision, times: int, width: int) -> Iterator[str]:
    """The lines of one decision: the result, the reason, and the location of the producer."""
    d = decision
    mark, link = ("fused", "into") if d.fused else ("apart", "from")
    producer, consumer = (f"{n} ({p})" for n, p in zip((d.producer, d.consumer), d.patterns, strict=True))
    count = f" ({times} times)" if times > 1 else ""
    saved = f"; saves {d.saved} bytes" if d.saved else ""
    yield from terminal.wrapped(f"{mark}  ", f"{d.function}: {producer} {link} {consumer}{count}", width, INDENT)
    yield from terminal.wrapped("       ", f"{d.reason}{saved}", width, INDENT)
    yield from terminal.wrapped("       ", f"at {d.place}", width, INDENT)


_report: ContextVar[FusionReport | None] = ContextVar("fusion_report", default=None)


@contextmanager
def explain_fusion() -> Iterator[FusionReport]:
    """Record the decisions of every `fuse-ops` run in the context, including those of `build`.

    Example: ``with explain_fusion() as report: rx.build(module)``, then ``print(report.render())``.
    """
    report = FusionReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def current_report() -> FusionReport | None:
    """The report that is being recorded, or None."""
    return _report.get()
