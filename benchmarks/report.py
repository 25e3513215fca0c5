"""Results as tables and as JSON."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relax_mlir.terminal import report_table
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import environment
from benchmarks.measure import Timing
from benchmarks.workloads import Workload


@dataclass
class Cell:
    """One workload at one size: timings by peer, and the failures of the others.

    `elements`: elements of the result; `moved`: bytes of inputs and result together, which must be read or written;
    `copy`: the time of a copy of as many bytes, for work on large arrays (see `copying`).
    """

    workload: Workload
    size: tuple[int, ...]
    elements: int = 0
    moved: int = 0
    timings: dict[str, Timing] = field(default_factory=dict)
    copy: Timing | None = None
    failures: dict[str, str] = field(default_factory=dict)

    def ratio(self, peer: str, ours: str) -> float | None:
        """The peer's time over ours (median over the rounds), or None if either is missing."""
        if peer not in self.timings or ours not in self.timings:
            return None
        return _median_ratio(self.timings[peer], self.timings[ours])

    def share_of_copy(self, ours: str) -> float | None:
        """The time of the copy over ours (median over the rounds), or None if either is missing."""
        if self.copy is None or ours not in self.timings:
            return None
        return _median_ratio(self.copy, self.timings[ours])


def _median_ratio(some: Timing, others: Timing) -> float:
    return statistics.median(a / b for a, b in zip(some.samples, others.samples, strict=True))


def duration(seconds: float) -> str:
    """Three significant digits with a unit: ``1.23 µs``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds / scale < 1000 else f"{seconds / scale:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def entry(cell: Cell, peer: str, best: str | None) -> str:
    if peer in cell.failures:
        return "[red]failed[/red]"
    if peer not in cell.timings:
        return "[dim]-[/dim]"
    timing = cell.timings[peer]
    text = f"{duration(timing.median)}\n[dim]±{50 * timing.spread:.0f}%[/dim]"
    flops = cell.workload.flops(cell.size)
    if flops is not None:
        text += f"\n[dim]{flops / timing.median * 1e-9:.0f} GF/s[/dim]"
    return f"[bold green]{text}[/bold green]" if peer == best else text


def table(workload: Workload, cells: Sequence[Cell], peers: Sequence[str], ours: str) -> Table:
    """Sizes down, peers across, times with their spread and speed; the fastest is bold.

    ``ratio`` is the fastest other time over ours.
    """
    title = escape(f"{workload.name}: {workload.title}")
    found = report_table(title, (), (",".join(workload.symbols()), *peers, "ratio"))
    found.columns[0].justify = "left"
    for cell in cells:
        best = min(cell.timings, key=lambda p: cell.timings[p].median, default=None)
        ratios = [r for p in cell.timings if p != ours and (r := cell.ratio(p, ours)) is not None]
        shown = f"{min(ratios):.2f}" if ratios else "[dim]-[/dim]"
        found.add_row(workload.label(cell.size), *(entry(cell, p, best) for p in peers), shown)
    return found


def print_failures(console: Console, cells: Sequence[Cell]) -> None:
    for cell in cells:
        for peer, reason in cell.failures.items():
            place = f"{cell.workload.name} size {cell.workload.label(cell.size)}"
            console.print(f"[red]failed:[/red] {peer} on {place}: ", end="")
            console.print(reason, markup=False, highlight=False)


def as_json(
    cells: Sequence[Cell],
    machine: Mapping[str, Any],
    versions: Mapping[str, str],
    targets: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """All results of a run: a row per cell and peer, and one per target."""
    rows: list[dict[str, Any]] = []
    for cell in cells:
        place = {"workload": cell.workload.name, "size": list(cell.size)}
        rows += [place | {"peer": peer} | timing.as_dict() for peer, timing in cell.timings.items()]
        rows += [place | {"peer": peer, "failure": reason} for peer, reason in cell.failures.items()]
    return {
        "machine": dict(machine),
        "threads": environment.COUNT,
        "versions": dict(versions),
        "cells": rows,
        "targets": [dict(target) for target in targets],
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a temporary file and rename it, so that readers never see a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=1)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
