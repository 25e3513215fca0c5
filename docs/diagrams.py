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
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>')

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
            rows.append(["lowering:", *(f"{'→ ' if room != tests.ROOMS[0] else ''}{room}" for room in tests.ROOMS)])
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


LETTERS = {
    "relax": "R0",
    "calls": "R1",
    "tensors": "T",
    "memrefs": "M",
    "kernels": "V",
    "flat": "F",
    "llvm": "L",
}
STEPS = {
    "calls": "legalize-ops, fuse-ops",
    "tensors": "lower-symbolic-shapes",
    "memrefs": "one-shot-bufferize, plan-memory",
    "kernels": "kernels, loops, expand-math",
    "flat": "checks, entry points, jobs for threads",
    "llvm": "conversion, unit by unit",
}
"""What leads to a level, in short."""
BRANCH = ("explicit-memory", "vm")


def levels() -> Drawing:
    """The levels of the lowering, from the table of its pipelines."""
    from relax_mlir.lowering.pipeline import PIPELINES, PREFIX

    help_of = {
        name.removeprefix(PREFIX): str(cls.__doc__).removeprefix("Down to ").rstrip(".")
        for name, cls in PIPELINES.items()
    }
    chain = [level for level in help_of if level not in BRANCH]
    drawing = Drawing(
        "The levels of the lowering",
        f"{', '.join(f'{LETTERS[level]} {level}: {help_of[level]}' for level in chain)}. From {chain[1]} a branch "
        f"leads to the virtual machine: {', '.join(f'{level}: {help_of[level]}' for level in BRANCH)}, then bytecode.",
        760,
    )
    for number, level in enumerate(chain):
        y = 16 + 76 * number
        drawing.box(24, y, 300, [f"head:{LETTERS[level]}  {level}", f"quiet:{help_of[level]}"], "main")
        if level in STEPS:
            drawing.arrow((174, y - 30), (174, y), label=STEPS[level])
    for number, level in enumerate(BRANCH):
        y = 16 + 76 * (number + 1)
        lines = wrapped(help_of[level].split(), 42)
        drawing.box(436, y, 300, [f"head:{level}", *(f"quiet:{line}" for line in lines)])
        if number:
            drawing.arrow((586, y - 30), (586, y), label="vm-memory-lower")
    drawing.arrow((324, 115), (436, 115), label="call-tir-rewrite")
    drawing.box(436, 16 + 76 * 3, 300, ["head:bytecode", "quiet:prim funcs take the path from T to L"])
    drawing.arrow((586, 16 + 76 * 2 + 63), (586, 16 + 76 * 3))
    return drawing


def prim_funcs() -> Drawing:
    """A dense layer: three prim funcs, one after fusion, and its kernel."""
    drawing = Drawing(
        "Fusion of a dense layer",
        "Three prim funcs, matmul (out_fusable), add_f32 (broadcast) and nn_relu_f32 (elementwise), become one, "
        "matmul_add_f32_nn_relu_f32, with a linalg.matmul and a linalg.generic of add and maximum. At level kernels "
        "generated code replaces them: for each register tile of the result, multiply-adds over the depth, then the "
        "epilogue in registers, then one store.",
        760,
    )
    kinds = (("matmul", "out_fusable"), ("add_f32", "broadcast"), ("nn_relu_f32", "elementwise"))
    drawing.text(24, 28, "Prim funcs at level calls", "quiet")
    for number, (name, pattern) in enumerate(kinds):
        y = 40 + 76 * number
        drawing.box(24, y, 170, [f"code:{name}", f"quiet:{pattern}"])
        if number:
            drawing.arrow((109, y - 30), (109, y))
    drawing.arrow((194, 139), (266, 139), label="fuse-ops")
    drawing.rectangle(266, 40, 210, 198, "main")
    drawing.text(371, 62, "matmul_add_f32_nn_relu_f32", "code", "middle")
    for number, lines in enumerate(
        (["code:linalg.fill"], ["code:linalg.matmul"], ["code:linalg.generic", "quiet:add, maximum"])
    ):
        drawing.box(286, 76 + 46 * number, 170, lines)
        if number:
            drawing.arrow((371, 76 + 46 * number - 17), (371, 76 + 46 * number))
    drawing.arrow((476, 139), (548, 139), label="kernels")
    drawing.rectangle(548, 40, 190, 198, "good")
    drawing.text(643, 62, "for each register tile", "quiet", "middle")
    for number, line in enumerate(("multiply-adds over depth", "epilogue in registers", "one store")):
        drawing.box(560, 80 + 50 * number, 166, [f"quiet:{line}"])
        if number:
            drawing.arrow((643, 80 + 50 * number - 21), (643, 80 + 50 * number))
    return drawing


def memory() -> Drawing:
    """The plan of the example on the page: lifetimes of buffers over ops, by slot."""
    import relax_mlir as rx

    text = (DOCS / "architecture" / "memory.md").read_text(encoding="utf-8")
    source = text.partition('parse("""')[2].partition('"""')[0]
    plan = rx.build(rx.script.parse(source)).memory_plan("main")
    names = ("a", "b", "c", "d")
    rows = list(zip(names, plan.buffers, strict=True))
    drawing = Drawing(
        "Lifetimes of the buffers in a workspace",
        f"A workspace of {plan.formula} bytes. "
        + "; ".join(
            f"{name} ({buffer.op}) is in slot {buffer.slot} from op {buffer.first} to op {buffer.last}"
            for name, buffer in rows
        ),
        760,
    )
    first, last = min(b.first for _, b in rows), max(b.last for _, b in rows)

    def x(op: int) -> float:
        return 130 + (op - first) * 590 / (last - first)

    drawing.text(24, 28, f"Workspace of {plan.formula} bytes, over the ops of main", "quiet")
    for slot in sorted({buffer.slot for _, buffer in rows}):
        y = 42 + 58 * slot
        drawing.rectangle(16, y, 728, 50, "band")
        drawing.text(28, y + 30, f"slot {slot}", "head")
        for name, buffer in rows:
            if buffer.slot == slot:
                note = "in place" if buffer.in_place else buffer.op
                width = x(buffer.last) - x(buffer.first) - 6
                drawing.box(
                    x(buffer.first) + 3,
                    y + 8,
                    width,
                    [f"{name}: {note}"],
                    "good" if buffer.in_place else "main",
                )
    bottom = 42 + 58 * len({buffer.slot for _, buffer in rows})
    for op in range(first, last + 1):
        drawing.text(x(op), bottom + 12, str(op), "quiet", "middle")
    return drawing


def calls() -> Drawing:
    """A call, from Python to the prim funcs and back."""
    steps = (
        ("main(x, y)", "Python", ""),
        ("__call__", "generated code: arguments become values of the FFI", ""),
        ("__tvm_ffi_main", "number, kind, device, dtype, rank", "ArgumentError, DTypeError, DeviceError"),
        ("@main.shapes", "all dimensions; sizes of the results", "ShapeError"),
        ("results", "allocated from the pool", "OutOfMemoryError"),
        ("@main", "workspace from the pool; calls prim funcs", "BoundsError, PackedFunctionError"),
        ("@matmul, …", "kernels, on the thread pool for long loops", "BoundsError"),
    )
    drawing = Drawing(
        "A call of a compiled function",
        "; then ".join(
            f"{name}: {what}" + (f" (may fail with {errors})" if errors else "") for name, what, errors in steps
        )
        + ". An error returns status -1 through the callers, which free their memory, and Python raises it.",
        760,
    )
    for number, (name, what, errors) in enumerate(steps):
        y = 16 + 70 * number
        drawing.box(24, y, 400, [f"code:{name}", f"quiet:{what}"], "main" if number else "box")
        if number:
            drawing.arrow((224, y - 24), (224, y))
        if errors:
            drawing.box(500, y + 4, 236, [f"quiet:{errors}"], "bad", height=38)
            drawing.arrow((424, y + 23), (500, y + 23), label="-1")
    return drawing


def code() -> Drawing:
    """The units of a module and where their code comes from."""
    units = ("kernels of the library", "support functions", "entry points", "other functions")
    drawing = Drawing(
        "Units of code",
        f"A module at the levels kernels and flat is split into units: {', '.join(units)}. The code of a unit "
        "comes from this process if it has compiled an equal unit, else from the cache on disk, else from LLVM on all "
        "CPUs. Object files are relocated and loaded without a linker, and become an executable with its constants.",
        760,
    )
    drawing.box(24, 96, 140, ["head:module", "quiet:kernels, flat"])
    for number, unit in enumerate(units):
        y = 16 + 56 * number
        drawing.box(210, y, 180, [f"quiet:{unit}"], "main", height=38)
        drawing.arrow((164, 119), (187, 119), (187, y + 19), (210, y + 19))
        drawing.arrow((390, y + 19), (413, y + 19), (413, 119), (436, 119))
    drawing.rectangle(436, 16, 140, 206, "band")
    for number, (source, note) in enumerate(
        (("process", "equal unit"), ("disk", "shared entry"), ("LLVM", "on all CPUs"))
    ):
        y = 26 + 68 * number
        drawing.box(450, y, 112, [f"head:{source}", f"quiet:{note}"])
        if number:
            drawing.arrow((506, y - 22), (506, y), label="else")
    drawing.arrow((576, 119), (622, 119))
    drawing.box(622, 88, 116, ["head:executable", "quiet:objects, loaded", "quiet:by elf.py"], "good")
    return drawing


def drawings() -> dict[Path, Drawing]:
    """The diagrams by path."""
    pages = {
        "levels": levels(),
        "prim-funcs": prim_funcs(),
        "memory": memory(),
        "calls": calls(),
        "code": code(),
    }
    drawn = {DOCS / "architecture" / f"{name}.svg": drawing for name, drawing in pages.items()}
    return {DOCS / "packages.svg": package_map(), **drawn}


if __name__ == "__main__":
    for path, drawing in drawings().items():
        path.write_text(drawing.svg(), encoding="utf-8")
        print(path)
