"""The targets, and the measured cells that reach or miss them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_mlir.runtime import profile
from relax_mlir.terminal import report_table
from rich.table import Table

from benchmarks.copying import has_copy
from benchmarks.report import Cell
from benchmarks.workloads import Add, MatMul, MiniLm

MODEL_PEERS = ("onnxruntime", "torch", "openvino")
RATIO, MEAN_RATIO, PEAK_SHARE, COPY_SHARE = 1.0, 1.25, 0.80, 0.85
LARGE_MATRIX = 512


@dataclass(frozen=True)
class Row:
    """A target: its name, the value, and the minimum value that reaches it (None: not measured here)."""

    subject: str
    measure: str
    value: float | None
    least: float
    note: str = ""

    @property
    def passed(self) -> bool | None:
        return None if self.value is None else self.value >= self.least

    def as_dict(self) -> dict[str, str | float | bool | None]:
        return {
            "subject": self.subject,
            "measure": self.measure,
            "value": self.value,
            "target": self.least,
            "passed": self.passed,
            "note": self.note,
        }


def of_cells(cells: Sequence[Cell], ours: str) -> Iterator[Row]:
    """Targets of single cells, then of all of them together."""
    best_ratios = []
    for cell in cells:
        ratios = {p: r for p in cell.timings if p != ours and (r := cell.ratio(p, ours)) is not None}
        subject = f"{cell.workload.name} {cell.workload.label(cell.size)}"
        if isinstance(cell.workload, MiniLm):
            for peer in MODEL_PEERS:
                yield Row(subject, f"{peer} / ours", ratios.get(peer), RATIO)
            continue
        best = min(ratios, key=lambda p: ratios[p], default=None)
        ratio = None if best is None else ratios[best]
        yield Row(subject, "best other / ours", ratio, RATIO, best or "")
        if ratio is not None and not isinstance(cell.workload, Add):
            best_ratios.append(ratio)
        yield from _of_the_machine(cell, subject, ours)
    if best_ratios:
        mean = math.exp(sum(map(math.log, best_ratios)) / len(best_ratios))
        yield Row("W1 to W6", "best other / ours, geometric mean", mean, MEAN_RATIO)


def _of_the_machine(cell: Cell, subject: str, ours: str) -> Iterator[Row]:
    """Shares of the machine's peak and bandwidth."""
    timing = cell.timings.get(ours)
    if isinstance(cell.workload, MatMul) and min(cell.size) >= LARGE_MATRIX:
        flops = cell.workload.flops(cell.size)
        share = None if timing is None else flops / timing.median / profile.fma_peak()
        yield Row(subject, "share of the peak of one core", share, PEAK_SHARE, _giga(profile.fma_peak(), "FLOP/s"))
    if has_copy(cell.workload, cell.elements):
        speed = None if cell.copy is None else cell.moved / cell.copy.median
        note = "" if speed is None else _giga(speed, "B/s")
        yield Row(subject, "share of the bandwidth of a copy as large", cell.share_of_copy(ours), COPY_SHARE, note)
        memory = profile.copy_bandwidth(profile.LARGE)
        share = None if timing is None else cell.moved / timing.median / memory
        yield Row(subject, "share of the copy bandwidth of memory", share, COPY_SHARE, _giga(memory, "B/s"))


def _giga(value: float, unit: str) -> str:
    return f"{value * 1e-9:.0f} G{unit}"


def table(rows: Sequence[Row]) -> Table:
    """All targets with PASS or FAIL."""
    found = report_table("Targets", (), ("", "subject", "value", "target"))
    for column in found.columns[:2]:
        column.justify = "left"
    found.add_column("measure", min_width=20)
    found.add_column("against", style="dim", min_width=11)
    marks = {
        True: "[bold green]PASS[/bold green]",
        False: "[bold red]FAIL[/bold red]",
        None: "[dim]n/a[/dim]",
    }
    for row in rows:
        value = "-" if row.value is None else f"{row.value:.2f}"
        found.add_row(marks[row.passed], row.subject, value, f"≥ {row.least:.2f}", row.measure, row.note)
    return found


def summary(rows: Sequence[Row]) -> str:
    """The number of missed targets."""
    measured = [row for row in rows if row.passed is not None]
    missed = [row for row in measured if not row.passed]
    return f"{len(missed)} of {len(measured)} targets missed"
