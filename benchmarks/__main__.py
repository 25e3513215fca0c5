"""Measure everything, or only some cells: ``python -m benchmarks --workload W3 --size 64 --peer torch``."""

from __future__ import annotations

from benchmarks import environment  # isort: skip - before anything that imports NumPy

import argparse
import difflib
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from relax_mlir import terminal
from relax_mlir.module_file import write_atomically
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from benchmarks import eager, figures, machine, report, self_targets, targets
from benchmarks.chart import chart, of_page
from benchmarks.copying import copy_of, has_copy
from benchmarks.measure import check, measure
from benchmarks.peers import OURS, PEERS, Peer
from benchmarks.peers.base import Bound, Prepared
from benchmarks.peers.numpy_peer import reference
from benchmarks.report import Cell
from benchmarks.workloads import WORKLOADS, Workload

T = TypeVar("T")

RESULTS = Path(__file__).parent / "results"
COPY = "copy"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--workload", action="append", metavar="NAME", help="only this one (may be repeated)")
    parser.add_argument("--size", action="append", metavar="N[,N...]", help="only this size (may be repeated)")
    parser.add_argument("--peer", action="append", metavar="NAME", help="only this one (may be repeated)")
    parser.add_argument("--seconds", type=float, default=1.5, help="time per cell, all peers together (1.5)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="where results go (benchmarks/results/TIME.json)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed, too")
    parser.add_argument("--list", action="store_true", help="list workloads, sizes and peers, and exit")
    options = parser.parse_args(arguments)
    try:
        options.workloads = chosen(options.workload, {w.name: w for w in WORKLOADS}, "workload")
        options.peers = chosen(options.peer, {p.name: p for p in PEERS}, "peer")
        labels = {w.label(s): w.label(s) for w in options.workloads for s in w.sizes}
        options.labels = chosen(options.size, labels, "size")
    except LookupError as error:
        parser.error(str(error.args[0]))
    return options


def chosen(names: Sequence[str] | None, known: dict[str, T], what: str) -> list[T]:
    """The items with these names, or all if `names` is empty; raises ``LookupError`` for unknown names."""
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or list(known)
            raise LookupError(f"unknown {what} {name!r}; did you mean {' or '.join(near)}?")
    return [thing for name, thing in known.items() if not names or name in names]


def list_everything(console: Console) -> None:
    for workload in WORKLOADS:
        sizes = "  ".join(workload.label(s) for s in workload.sizes)
        console.print(f"[bold]{workload.name:7}[/bold] {escape(workload.title)}", highlight=False)
        console.print(f"        {','.join(workload.symbols())}: {sizes}", highlight=False, soft_wrap=True)
    for peer in PEERS:
        console.print(f"[bold]{peer.name:12}[/bold] {peer.available() or 'not installed'}", highlight=False)


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def run_cell(cell: Cell, prepared: dict[str, Prepared], seconds: float) -> None:
    """Check every peer's output, then time the correct ones."""
    inputs = cell.workload.inputs(cell.size)
    expected = reference(cell.workload, inputs)
    cell.elements = expected.size
    cell.moved = sum(x.nbytes for x in inputs) + 4 * expected.size
    contestants: dict[str, Bound] = {}
    errors: dict[str, float] = {}
    for name, prepare in prepared.items():
        try:
            bound = prepare(inputs)
            errors[name] = check(bound, expected)
            contestants[name] = bound
        except Exception as error:
            cell.failures[name] = first_line(error)
    if not contestants:
        return
    if has_copy(cell.workload, cell.elements):
        contestants[COPY], errors[COPY] = copy_of(cell.moved), 0.0
    cell.timings = measure(contestants, errors, seconds)
    cell.copy = cell.timings.pop(COPY, None)


def prepare_all(workload: Workload, peers: Iterable[Peer], failures: dict[str, str]) -> dict[str, Prepared]:
    prepared = {}
    for peer in peers:
        try:
            prepared[peer.name] = peer.prepare(workload)
        except Exception as error:
            failures[peer.name] = first_line(error)
    return prepared


def run(options: argparse.Namespace, peers: Sequence[Peer], console: Console) -> list[Cell]:
    wanted = [(w, [s for s in w.sizes if w.label(s) in options.labels]) for w in options.workloads]
    columns = (SpinnerColumn(), TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn())
    cells: list[Cell] = []
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=sum(len(sizes) for _, sizes in wanted))
        for workload, sizes in wanted:
            if not sizes:
                continue
            progress.update(task, description=f"{workload.name}: preparing")
            failures: dict[str, str] = {}
            prepared = prepare_all(workload, peers, failures)
            done = []
            for size in sizes:
                progress.update(task, description=f"{workload.name} {workload.label(size)}")
                done.append(Cell(workload, size, failures=dict(failures)))
                run_cell(done[-1], prepared, options.seconds)
                progress.advance(task)
            terminal.print_table(report.table(workload, done, [p.name for p in peers], OURS), console)
            cells += done
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    console = Console(width=terminal.width())
    if options.list:
        list_everything(console)
        return 0
    versions = {peer.name: found for peer in options.peers if (found := peer.available()) is not None}
    missing = [peer.name for peer in options.peers if peer.name not in versions]
    peers = [peer for peer in options.peers if peer.name in versions]
    if missing:
        console.print(f"not installed: {', '.join(missing)} ('make bench' installs all)")
    described = machine.describe()
    console.print(f"{described['cpu']} ({described['features']}), {environment.COUNT} thread", highlight=False)
    console.print(", ".join(f"{name} {found}" for name, found in versions.items()), highlight=False)
    cells = run(options, peers, console)
    report.print_failures(console, cells)
    path = options.json or RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    report.write_json(path, report.as_json(cells, described, versions))
    console.print(f"results: {path}", highlight=False)
    if OURS in versions:
        rows = [*targets.of_cells(cells, OURS), *self_targets.rows(options.workloads)]
        if {"numpy", "torch"} <= versions.keys():
            rows += eager.rows(options.workloads)
        terminal.print_table(targets.table(rows), console)
        console.print(targets.summary(rows), highlight=False)
        found = [row.as_dict() for row in rows]
        content = report.as_json(cells, described, versions, found)
        report.write_json(path, content)
        page = figures.page(content)
        if of_page(page):
            write_atomically(path.with_suffix(".svg"), chart(page))
            console.print(f"chart: {path.with_suffix('.svg')}", highlight=False)
        if options.strict and any(row.passed is False for row in rows):
            return 1
    return 1 if any(OURS in cell.failures for cell in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
