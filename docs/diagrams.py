"""Draw the diagrams of the documentation: ``python docs/diagrams.py``. A test checks that they are current."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parent
STYLE = """<style>
  text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .head { font-weight: 600; } .quiet { fill: #59636e; font-size: 12px; }
  .code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px; }
  .page { fill: #ffffff; stroke: #d1d9e0; } .band { fill: #f3f5f8; stroke: #d1d9e0; }
  .box { fill: #ffffff; stroke: #8c959f; } .main { fill: #ddf4ff; stroke: #0969da; }
  .good { fill: #dafbe1; stroke: #1a7f37; } .bad { fill: #ffebe9; stroke: #cf222e; }
  .arrow { stroke: #59636e; fill: none; } .tip { fill: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .quiet { fill: #9ba7b4; }
    .page { fill: #0d1117; stroke: #3d444d; } .band { fill: #161b22; stroke: #30363d; }
    .box { fill: #0d1117; stroke: #6e7681; } .main { fill: #0c2d6b; stroke: #58a6ff; }
    .good { fill: #033a16; stroke: #3fb950; } .bad { fill: #67060c; stroke: #ff7b72; }
    .arrow { stroke: #9ba7b4; } .tip { fill: #9ba7b4; }
  }
</style>"""
LINE = 17
"""Height of a line of text."""


class Drawing:
    """An SVG with a title and a description for screen readers, for light and dark pages."""

    def __init__(self, title: str, description: str, width: int) -> None:
        self.title, self.description, self.width = title, description, width
        self.height = 0
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        self.height = max(self.height, round(y) + 8)
        shown = f' class="{kind}"' if kind else ""
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(f'<text{shown} x="{x:g}" y="{y:g}"{where}>{escape(text)}</text>')

    def rectangle(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        self.height = max(self.height, round(y + height))
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'
        )

    def box(
        self, x: float, y: float, width: float, lines: Sequence[str], kind: str = "box", *, height: float = 0
    ) -> tuple[float, float, float, float]:
        """Draw lines of text in a box; a line may begin with its class and a colon. Return x, y, width, height."""
        height = max(height, LINE * len(lines) + 12)
        self.rectangle(x, y, width, height, kind)
        top = y + (height - LINE * len(lines)) / 2
        for number, line in enumerate(lines):
            head, colon, rest = line.partition(":")
            style, text = (head, rest) if colon and head in ("head", "quiet", "code") else ("", line)
            self.text(x + width / 2, top + LINE * number + 13, text, style, "middle")
        return x, y, width, height

    def arrow(self, *points: tuple[float, float], label: str = "") -> None:
        """Draw an arrow along `points`, with a label to the right of the middle of its last stretch."""
        (x0, y0), (x1, y1) = points[-2:]
        self.height = max([self.height, *(round(y) for _, y in points)])
        path = " ".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path class="arrow" d="M{path}"/>')
        if x0 == x1:
            back = y1 - 6 if y1 > y0 else y1 + 6
            tip = f"M{x1:g} {y1:g}L{x1 - 4:g} {back:g}H{x1 + 4:g}z"
        else:
            back = x1 - 6 if x1 > x0 else x1 + 6
            tip = f"M{x1:g} {y1:g}L{back:g} {y1 - 4:g}V{y1 + 4:g}z"
        self.parts.append(f'<path class="tip" d="{tip}"/>')
        if label:
            vertical = x0 == x1
            x, y = (x0 + 8, (y0 + y1) / 2 + 4) if vertical else ((x0 + x1) / 2, y1 - 6)
            self.text(x, y, label, "quiet", "start" if vertical else "middle")

    def svg(self) -> str:
        width, height = self.width, self.height + 12
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                f'height="{height}" role="img" aria-labelledby="title desc">',
                f'<title id="title">{escape(self.title)}</title>',
                f'<desc id="desc">{escape(self.description)}</desc>',
                STYLE,
                f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


LAYER_TITLES = (
    ("Foundations", "bindings, errors, algebra of dimensions"),
    ("Ops", "the dialect and its builders"),
    ("Programs", "writing, reading and rewriting them"),
    ("Lowering", "from Relax to the LLVM dialect"),
    ("Running", "calls, libraries, the virtual machine"),
    ("Tools", "commands and importers"),
)
"""Title and contents of each layer of `LAYERS` in ``test/python/test_dependencies.py``, lowest first."""


def dependencies() -> ModuleType:
    """The test that holds the chain of packages."""
    folder = DOCS.parent / "test" / "python"
    sys.path[:0] = [str(folder / "support")]
    spec = importlib.util.spec_from_file_location("test_dependencies", folder / "test_dependencies.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("test_dependencies", module)
    spec.loader.exec_module(module)
    return module


def package_map() -> Drawing:
    """The layers of the package, highest first, and the rooms of the lowering."""
    tests = dependencies()
    names = [title for title, _ in LAYER_TITLES]
    drawing = Drawing(
        "The packages of relax-mlir in layers",
        "Each layer imports itself and those below. From top to bottom: "
        + "; ".join(
            f"{title}: {', '.join(sorted(parts))}"
            for title, parts in reversed(list(zip(names, tests.LAYERS, strict=True)))
        )
        + f". The rooms of lowering, each of which imports those before it: {', '.join(tests.ROOMS)}.",
        840,
    )
    drawing.text(20, 26, "A layer imports itself and those below it", "quiet")
    y = 38.0
    for (title, contents), parts in reversed(list(zip(LAYER_TITLES, tests.LAYERS, strict=True))):
        rows = [sorted(parts)]
        if "lowering" in parts:
            rows.append(
                ["lowering:", *(f"{'→ ' if room != tests.ROOMS[0] else ''}{room}" for room in tests.ROOMS)]
            )
        lines = [line for row in rows for line in wrapped(row, 66)]
        height = max(LINE * len(lines), 2 * LINE) + 14
        drawing.rectangle(16, y, 808, height, "band")
        drawing.text(28, y + 20, title, "head")
        drawing.text(28, y + 20 + LINE, contents, "quiet")
        for number, line in enumerate(lines):
            drawing.text(300, y + 20 + LINE * number, line, "code")
        y += height + 6
    return drawing


def wrapped(words: Iterable[str], width: int) -> list[str]:
    """Lines of at most `width` characters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def drawings() -> dict[Path, Drawing]:
    """The diagrams by path."""
    return {DOCS / "packages.svg": package_map()}


if __name__ == "__main__":
    for path, drawing in drawings().items():
        path.write_text(drawing.svg(), encoding="utf-8")
        print(path)
