"""What `fuse-ops` did, and why: the records, and the text of ``relax-opt --explain-fusion``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from relax_mlir import terminal


@dataclass(frozen=True)
class FusionDecision:
    """Whether the call of `producer` became one with the call of `consumer`, in function `function`, and why.

    `patterns` are those of both prim funcs; `saved`: the bytes that are neither written nor read again, as a
    formula of the function's symbols ("" where nothing fused); `place`: where the producer comes from.
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
        """The decisions as text of `width` columns (that of the terminal if not given).

        Equal ones of a function are one, with their number; those that fused come first.
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
"""Of further lines of what stands behind the mark."""


def _lines(decision: FusionDecision, times: int, width: int) -> Iterator[str]:
    """What was decided, why, and where the producer comes from."""
    d = decision
    mark, link = ("fused", "into") if d.fused else ("apart", "from")
    producer, consumer = (f"{n} ({p})" for n, p in zip((d.producer, d.consumer), d.patterns, strict=True))
    count = f" ({times} times)" if times > 1 else ""
    saved = f"; saves {d.saved} bytes" if d.saved else ""
    yield from terminal.wrapped(
        f"{mark}  ", f"{d.function}: {producer} {link} {consumer}{count}", width, INDENT
    )
    yield from terminal.wrapped("       ", f"{d.reason}{saved}", width, INDENT)
    yield from terminal.wrapped("       ", f"at {d.place}", width, INDENT)


_report: ContextVar[FusionReport | None] = ContextVar("fusion_report", default=None)


@contextmanager
def explain_fusion() -> Iterator[FusionReport]:
    """The decisions of every `fuse-ops` that runs within, `build` included.

    Example: ``with explain_fusion() as report: rx.build(module)``, then ``print(report.render())``.
    """
    report = FusionReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def current_report() -> FusionReport | None:
    """The report that is being made; None if nobody asked for one."""
    return _report.get()
