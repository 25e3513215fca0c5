"""What `fuse-ops` did, and why: the records, and the table of ``relax-opt --explain-fusion``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import StringIO

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table


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

    def render(self, width: int = 132) -> str:
        """The decisions as a table; equal ones of a function are one row, with their number."""
        rows: dict[tuple[str, ...], list[FusionDecision]] = {}
        for d in self.decisions:
            key = (d.function, d.producer, d.consumer, str(d.fused), d.reason, d.saved)
            rows.setdefault(key, []).append(d)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("", "times", "function", "computes", "for", "why", "bytes saved", "where"):
            table.add_column(name, overflow="fold", justify="right" if name == "times" else "left")
        for found in sorted(rows.values(), key=lambda found: not found[0].fused):
            d = found[0]
            ops = [
                f"{name} ({pattern})"
                for name, pattern in zip((d.producer, d.consumer), d.patterns, strict=True)
            ]
            mark = "fused" if d.fused else "apart"
            cells = (mark, str(len(found)), d.function, *ops, d.reason, d.saved, d.place)
            table.add_row(*map(escape, cells))
        out = StringIO()
        console = Console(file=out, width=width, highlight=False, color_system=None)
        console.print(table)
        fused = sum(d.fused for d in self.decisions)
        console.print(f"{fused} fused, {len(self.decisions) - fused} apart")
        return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


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
