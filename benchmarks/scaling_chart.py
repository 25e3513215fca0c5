"""The figure of ``python -m benchmarks.scaling --plot``: a panel per form of programs, a path per step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.scaling import Growth

DRAWN = 8
"""The number of steps per form, those that take longest per binding."""
COLUMNS = 3
WIDTH, HEIGHT = 300, 410
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 34, 150
"""Margins of a panel; the legend is below it."""
ROW = 14
STYLE = """<style>
  text { font: 11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 13px; font-weight: 600; } .quiet { fill: #59636e; }
  .page { fill: #ffffff; stroke: #d1d9e0; } .grid { stroke: #d1d9e0; fill: none; }
  .line { fill: none; stroke-width: 1.5; } .slope { stroke: #59636e; stroke-dasharray: 4 3; fill: none; }
  .s0 { stroke: #0969da; } .s1 { stroke: #cf4a22; } .s2 { stroke: #1a7f37; } .s3 { stroke: #8250df; }
  .s4 { stroke: #bf3989; } .s5 { stroke: #9a6700; } .s6 { stroke: #1b7c83; } .s7 { stroke: #57606a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9ba7b4; }
    .page { fill: #0d1117; stroke: #3d444d; } .grid { stroke: #30363d; } .slope { stroke: #9ba7b4; }
    .s0 { stroke: #58a6ff; } .s1 { stroke: #ff8c69; } .s2 { stroke: #56d364; } .s3 { stroke: #bc8cff; }
    .s4 { stroke: #f778ba; } .s5 { stroke: #e3b341; } .s6 { stroke: #56d4dd; } .s7 { stroke: #9ba7b4; }
  }
</style>"""


def chart(growths: Sequence[Growth]) -> str:
    """The figure as SVG, on logarithmic axes, with a dashed line of slope 1 in each panel."""
    panels = {form: longest(growths, form) for form in dict.fromkeys(growth.form for growth in growths)}
    shown = [growth for panel in panels.values() for growth in panel]
    sizes = [n for growth in shown for n in growth.seconds]
    seconds = [t for growth in shown for t in growth.seconds.values()]
    axes = Axes(min(sizes), max(sizes), min(seconds) / 2, max(seconds) * 1.3)
    columns = min(len(panels), COLUMNS)
    width, height = columns * WIDTH, -(-len(panels) // columns) * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title desc">',
        '<title id="title">CPU seconds of the longest steps over the number of bindings</title>',
        f'<desc id="desc">{escape(described(panels))}</desc>',
        STYLE,
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    for position, (form, panel) in enumerate(panels.items()):
        x, y = position % columns * WIDTH, position // columns * HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *axes.drawn(form, panel), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def longest(growths: Sequence[Growth], form: str) -> list[Growth]:
    """The steps of a form that take longest per binding."""
    own = [growth for growth in growths if growth.form == form]
    return sorted(own, key=lambda growth: -max(t / n for n, t in growth.seconds.items()))[:DRAWN]


def described(panels: Mapping[str, Sequence[Growth]]) -> str:
    """The longest step of each panel at its largest size, for readers who do not see the figure."""
    texts = []
    for form, panel in panels.items():
        n, growth = max((max(growth.seconds), growth) for growth in panel[:1])
        texts.append(f"{form}: {growth.step} takes {growth.seconds[n]:.1f} s at {n:,} bindings")
    return "; ".join(texts)


class Axes:
    """The logarithmic axes of all panels."""

    def __init__(self, first: float, last: float, bottom: float, top: float) -> None:
        self.first, self.last, self.bottom, self.top = first, last, bottom, top

    def x(self, n: float) -> float:
        share = math.log(n / self.first) / math.log(self.last / self.first)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, seconds: float) -> float:
        share = math.log(seconds / self.bottom) / math.log(self.top / self.bottom)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Mapping[int, float], kind: str, title: str) -> str:
        steps = " ".join(f"{self.x(n):.0f} {self.y(t):.1f}" for n, t in sorted(points.items()))
        return f'<path class="{kind}" d="M{steps}"><title>{escape(title)}</title></path>'

    def drawn(self, form: str, panel: Sequence[Growth]) -> Iterator[str]:
        """Yield the elements of a panel."""
        yield f'<text class="title" x="{LEFT}" y="22">{escape(form)}</text>'
        yield from self._grid()
        for number, growth in enumerate(panel):
            yield self.path(growth.seconds, f"line s{number}", growth.step)
        ends = {min(n for growth in panel for n in growth.seconds), max(n for g in panel for n in g.seconds)}
        base = 0.6 * min(t for growth in panel for t in growth.seconds.values())
        yield self.path({n: base * n / min(ends) for n in ends}, "slope", "slope 1")
        for number, growth in enumerate(panel):
            y = HEIGHT - BOTTOM + 36 + ROW * number
            yield f'<path class="line s{number}" d="M{LEFT + 8} {y - 4}h14"/>'
            yield f'<text x="{LEFT + 28}" y="{y}">{escape(growth.step)}</text>'

    def _grid(self) -> Iterator[str]:
        for power in range(math.ceil(math.log10(self.first)), math.floor(math.log10(self.last)) + 1):
            x, y = self.x(10**power), HEIGHT - BOTTOM
            yield f'<path class="grid" d="M{x:.0f} {TOP}V{y}"/>'
            yield f'<text class="quiet" x="{x:.0f}" y="{y + 15}" text-anchor="middle">{10**power:,}</text>'
        for power in range(math.ceil(math.log10(self.bottom)), math.floor(math.log10(self.top)) + 1):
            height = self.y(10.0**power)
            yield f'<path class="grid" d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}"/>'
            yield f'<text class="quiet" x="{LEFT - 5}" y="{height + 4:.1f}" text-anchor="end">{10.0**power:g} s</text>'
