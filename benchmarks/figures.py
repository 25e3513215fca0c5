"""Results of a run as a page of Markdown: ``python -m benchmarks.figures RESULTS.json docs/figures.md``.

The ratios are also drawn as `CHART`, in the folder of the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from relax_mlir.module_file import write_atomically

from benchmarks.chart import chart, of_page
from benchmarks.peers import OURS, PEERS
from benchmarks.report import duration
from benchmarks.workloads import WORKLOADS, Workload

CHART = "ratios.svg"
Row = Mapping[str, Any]


def page(results: Mapping[str, Any]) -> str:
    """The whole page."""
    machine, versions = results["machine"], results["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    head = [
        "# Figures",
        "",
        f"{machine['cpu']} ({machine['features']}), {results['threads']} thread; Python {machine['python']}, "
        f"{packages}.",
        "Times are medians, with the range from the 10th to the 90th percentile; a ratio is the best other median over "
        "ours.",
        "",
        "Made by `make bench`, then `python -m benchmarks.figures benchmarks/results/TIME.json docs/figures.md`, "
        "which also makes [the chart](ratios.svg) beside it.",
    ]
    tables = [line for workload in WORKLOADS for line in _table(workload, results["cells"])]
    return "\n".join([*head, *tables, *_targets(results.get("targets", ()))]) + "\n"


def _table(workload: Workload, rows: Sequence[Row]) -> Iterator[str]:
    cells: dict[tuple[int, ...], dict[str, Row]] = {}
    for row in rows:
        if row["workload"] == workload.name and "median" in row:
            cells.setdefault(tuple(row["size"]), {})[row["peer"]] = row
    if not cells:
        return
    peers = [peer.name for peer in PEERS if any(peer.name in cell for cell in cells.values())]
    yield from ("", f"## {workload.name}: {workload.title}", "")
    yield f"| {','.join(workload.symbols())} | {' | '.join(peers)} | ratio |"
    yield "|" + "---|" * (len(peers) + 2)
    for size, cell in cells.items():
        best = min(cell, key=lambda peer: cell[peer]["median"])
        shown = [_entry(cell[peer], peer == best) if peer in cell else "-" for peer in peers]
        others = [row["median"] for peer, row in cell.items() if peer != OURS]
        ratio = f"{min(others) / cell[OURS]['median']:.2f}" if others and OURS in cell else "-"
        yield f"| {workload.label(size)} | {' | '.join(shown)} | {ratio} |"


def _entry(row: Row, best: bool) -> str:
    text = duration(row["median"])
    return f"{f'**{text}**' if best else text} ({duration(row['low'])} – {duration(row['high'])})"


def _targets(targets: Sequence[Row]) -> Iterator[str]:
    if not targets:
        return
    yield from (
        "",
        "## Targets",
        "",
        "| | subject | measure | value | target | against |",
        "|---|---|---|---|---|---|",
    )
    for target in targets:
        mark = {True: "PASS", False: "**FAIL**", None: "n/a"}[target["passed"]]
        value = "-" if target["value"] is None else f"{target['value']:.2f}"
        least = f"≥ {target['target']:.2f}"
        yield f"| {mark} | {target['subject']} | {target['measure']} | {value} | {least} | {target['note']} |"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("results", type=Path, help="JSON of a run of the benchmarks")
    parser.add_argument("page", type=Path, help="the page to write")
    options = parser.parse_args(arguments)
    text = page(json.loads(options.results.read_text(encoding="utf-8")))
    write_atomically(options.page, text)
    if of_page(text):
        write_atomically(options.page.with_name(CHART), chart(text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
