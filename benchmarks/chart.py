"""The ratios of ``docs/figures.md`` as a chart: ``python -m benchmarks.chart docs/figures.md docs/ratios.svg``.

A row per workload, a mark per peer: its time over ours, as geometric mean over the sizes of the workload.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from relax_mlir.module_file import write_atomically

from benchmarks.peers import OURS

SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_ENTRY = re.compile(r"\**([\d.]+) (ns|µs|ms|s)\**")
ALL = "all sizes of W1 to MiniLM"
LABELS = {
    "W0": "a call: x + y of 4 elements",
    "W1": "matrix product, sizes dynamic",
    "W1t": "… with a transposed matrix",
    "W1c": "… with a constant matrix",
    "W2": "multi-layer perceptron",
    "W3": "softmax",
    "W4": "layer norm, GELU, residual sum",
    "W5": "transformer encoder layer",
    "W6": "exp(2x + 1) / (1 + |y|)",
    "MiniLM": "sentence encoder MiniLM",
}
"""Short titles of the workloads, in order."""

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 236, 92, 92, 30
TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
SHAPES: Mapping[str, tuple[str, str]] = {
    "numpy": ("numpy", '<circle cx="{x}" cy="{y}" r="5"/>'),
    "torch": ("torch", '<path d="M{x} {y}m0 -6l6 10.5h-12z"/>'),
    "onnxruntime": ("ort", '<path d="M{x} {y}m-5 -5h10v10h-10z"/>'),
    "openvino": ("ov", '<path d="M{x} {y}m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z"/>'),
}
"""Class and mark of each peer; marks also differ in shape, for readers who do not see the colours."""

STYLE = """\
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; } .quiet { fill: #59636e; font-size: 12px; }
  .strong { font-weight: 600; }
  .page { fill: #ffffff; stroke: #d1d9e0; } .grid { stroke: #d1d9e0; } .one { stroke: #1f2328; stroke-width: 1.5; }
  .band { fill: #f3f5f8; } .span { stroke: #c3ccd6; stroke-width: 2; }
  .numpy, .torch, .ort, .ov { stroke: #ffffff; }
  .numpy { fill: #0969da; } .torch { fill: #cf4a22; } .ort { fill: #1a7f37; } .ov { fill: #8250df; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9ba7b4; }
    .page { fill: #0d1117; stroke: #3d444d; } .grid { stroke: #30363d; } .one { stroke: #e6edf3; }
    .band { fill: #161b22; } .span { stroke: #484f58; }
    .numpy, .torch, .ort, .ov { stroke: #0d1117; }
    .numpy { fill: #58a6ff; } .torch { fill: #ff8c69; } .ort { fill: #56d364; } .ov { fill: #bc8cff; }
  }
"""


@dataclass(frozen=True)
class Ratios:
    """The time of each peer over ours, as geometric mean over `cells` sizes."""

    workload: str
    label: str
    cells: int
    by_peer: Mapping[str, float]


def of_page(page: str) -> list[Ratios]:
    """The ratios of a page of `benchmarks.figures`, with a last row for all sizes; empty if it has none."""
    found = []
    every: dict[str, list[float]] = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        name = section.partition(":")[0]
        if name in LABELS:
            cells = _cells(section)
            if not cells:
                continue
            found.append(Ratios(name, LABELS[name], *_means(cells)))
            for peer, ratios in cells.items() if name != "W0" else ():
                every.setdefault(peer, []).extend(ratios)
    if every:
        found.append(Ratios("", ALL, *_means(every)))
    return found


def _cells(section: str) -> dict[str, list[float]]:
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    names = [cell.strip() for cell in rows[0]]
    ratios: dict[str, list[float]] = {}
    for row in rows[1:]:
        seconds = {name: s for name, cell in zip(names, row, strict=True) if (s := _seconds(cell)) is not None}
        for peer in seconds.keys() - {OURS} if OURS in seconds else ():
            ratios.setdefault(peer, []).append(seconds[peer] / seconds[OURS])
    return {name: ratios[name] for name in names if name in ratios}


def _seconds(cell: str) -> float | None:
    entry = _ENTRY.match(cell.strip())
    return None if entry is None else float(entry[1]) * SECONDS[entry[2]]


def _means(ratios: Mapping[str, Sequence[float]]) -> tuple[int, dict[str, float]]:
    means = {peer: math.exp(sum(map(math.log, some)) / len(some)) for peer, some in ratios.items()}
    return max(map(len, ratios.values()), default=0), means


def chart(page: str) -> str:
    """The chart of a page of `benchmarks.figures` as SVG, for light and for dark pages.

    Raises ``ValueError`` for a page without ratios.
    """
    rows = of_page(page)
    if not rows:
        raise ValueError("the page has no times of ours beside those of others")
    machine = re.search(r"^(.*?) \(.*?\), (\d+) thread", page, flags=re.MULTILINE)
    place = f"{machine[1]}, {machine[2]} thread, f32" if machine else "one thread, f32"
    bottom = TOP + ROW * len(rows)
    largest = max(value for row in rows for value in row.by_peer.values())
    ticks = [t for t in TICKS if t <= largest * 1.3 and (t >= 1 or _smallest(rows) < 1)]
    low, high = math.log(min(ticks[0], _smallest(rows)) / 1.08), math.log(max(ticks[-1], largest) * 1.1)

    def x_of(ratio: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (math.log(ratio) - low) / (high - low), 1)

    body = [
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 63}" rx="8"/>',
        '<text class="title" x="20" y="28">Time of others over that of relax-mlir: '
        "to the right of 1×, relax-mlir is faster</text>",
        *_legend(),
        *(line for number, row in enumerate(rows) for line in _band(number, row)),
        f'<text class="quiet" x="{WIDTH - 24}" y="{TOP - 7}" text-anchor="end">nearest</text>',
        *(line for tick in ticks for line in _tick(tick, x_of(tick), bottom)),
        *(line for number, row in enumerate(rows) for line in _marks(number, row, x_of)),
        f'<text class="quiet" x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{bottom + 38}" text-anchor="middle">'
        "median time over ours (log scale), geometric mean over the sizes of a row</text>",
        f'<text class="quiet" x="20" y="{bottom + 55}">{escape(place)}; all rows: docs/figures.md</text>',
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 64}" width="{WIDTH}" '
        f'height="{bottom + 64}" role="img" aria-labelledby="title">'
    )
    summary = ", ".join(f"{peer} {value:.2f}" for peer, value in rows[-1].by_peer.items())
    told = f"Time over that of relax-mlir, geometric means ({rows[-1].label}): {summary}"
    title = f'<title id="title">{escape(told)}</title>'
    return "\n".join([head, title, f"<style>\n{STYLE}</style>", *body, "</svg>"]) + "\n"


def _smallest(rows: Sequence[Ratios]) -> float:
    return min(value for row in rows for value in row.by_peer.values())


def _y(number: int) -> int:
    return TOP + ROW * number + ROW // 2


def _legend() -> Iterator[str]:
    x = 20.0
    for peer, (style, mark) in SHAPES.items():
        yield f'<g class="{style}">{mark.format(x=f"{x + 6:g}", y=52)}</g>'
        yield f'<text x="{x + 18:g}" y="56">{peer}</text>'
        x += 40 + 7.2 * len(peer)


def _band(number: int, row: Ratios) -> Iterator[str]:
    if number % 2 == 0:
        yield f'<rect class="band" x="12" y="{TOP + ROW * number}" width="{WIDTH - 24}" height="{ROW}" rx="4"/>'
    style = ' class="strong"' if not row.workload else ""
    yield f'<text{style} x="20" y="{_y(number) + 4}">{escape(row.label)}</text>'
    nearest = min(row.by_peer.values())
    yield f'<text{style} x="{WIDTH - 24}" y="{_y(number) + 4}" text-anchor="end">{nearest:.2f}×</text>'


def _tick(ratio: float, x: float, bottom: int) -> Iterator[str]:
    yield f'<line class="{"one" if ratio == 1 else "grid"}" x1="{x:g}" y1="{TOP}" x2="{x:g}" y2="{bottom}"/>'
    for y in (TOP - 7, bottom + 18):
        yield f'<text class="quiet" x="{x:g}" y="{y}" text-anchor="middle">{ratio:g}×</text>'


def _marks(number: int, row: Ratios, x_of: object) -> Iterator[str]:
    assert callable(x_of)
    places = {peer: x_of(value) for peer, value in row.by_peer.items()}
    y = _y(number)
    yield f'<line class="span" x1="{min(places.values()):g}" y1="{y}" x2="{max(places.values()):g}" y2="{y}"/>'
    for peer, x in places.items():
        style, mark = SHAPES[peer]
        told = f"{peer}: {row.by_peer[peer]:.2f} × ({row.label}, {row.cells} sizes)"
        yield f'<g class="{style}"><title>{escape(told)}</title>{mark.format(x=f"{x:g}", y=y)}</g>'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chart", description=__doc__)
    parser.add_argument("page", type=Path, help="the page of figures")
    parser.add_argument("chart", type=Path, help="the SVG file to write")
    options = parser.parse_args(arguments)
    write_atomically(options.chart, chart(options.page.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
