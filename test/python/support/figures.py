"""The figures of the house: ``make figures`` prints how large, how tangled and how plain the project is.

Rules among them are tests (`test_layout.py`, `test_dependencies.py`).
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import prose

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "relax_mlir.dialects": "dialects",
    "relax_mlir.passes": "passes",
    "relax_mlir.lowering": "lowering",
    "relax_mlir": "python/relax_mlir",
}
"""Packages and their folders; the longest name first."""
LONG_FILE, LONG_FUNCTION = 1000, 60
GENERATED = ("dialects/relax.irdl.mlir",)
"""Committed text that a command of the project writes, in addition to stubs."""
PARSERS = ("ast.parse", "ir.Module.parse", "ir.Operation.parse", "IRModule.parse")
LANGUAGES = ("script/", "tir/", "symbolic/")
"""Packages that read the sources of users in the languages R and T, and formulas."""
READERS = {
    "analysis/structural": "only MLIR's parser knows the defaults of attributes; after a difference was found",
    "diagnostics": "the modules of users, and the lines of their sources in errors",
    "dialects/dialect": "the definition of the dialect in IRDL, a file",
    "dialects/rearrange": "index maps of users, an attribute that is text",
    "frontend/torch/archive_check": "a file of torch",
    "frontend/torch/sizes": "guards that torch gives as text",
    "frontend/torch/torch_mlir_fallback": "the output of torch-mlir, whose context is another one",
    "lowering/entry/emit_ffi_wrappers": "the source of a compilation unit, which has its own context, for inspection",
    "lowering/llvm/link_kernels": "kernels, which were emitted in other contexts",
    "mlir/generate_stubs": "the sources of the project",
    "mlir/torch_lowering": "the output of torch-mlir, whose context is another one",
    "mlir_text": "the run-time library and entry points, whose sources are MLIR",
    "module_file": "copies from one context to another",
    "runtime/process_codegen": "modules from another process",
    "tools/opt_help": "the sources of the project",
    "tools/plugins": "the sources of users",
    "tools/run_driver": "arguments of commands",
    "tuning/measure_worker": "modules from another process",
    "vm/kernel_library": "kernels in a file",
}
"""Other modules that parse programs from text, and what they read. No module prints a program to parse it."""


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository that match the patterns of ``git ls-files``."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def product() -> dict[str, Path]:
    """The modules of the package by dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in tracked(f"{folder}/**.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


def imports(tree: ast.AST, package: str, modules: Mapping[str, Path]) -> set[str]:
    """The modules that a module imports: at its top, inside functions, and for type checkers."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [node.module])])
            base = base if node.level else node.module or ""
            names |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base for alias in node.names}
    return names & modules.keys()


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components of more than one node, the largest first (Tarjan, 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            start = stack.index(node)
            component = stack[start:]
            del stack[start:]
            if len(component) > 1:
                found.append(sorted(component))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 4 * len(edges) + 1000))
    try:
        for node in edges:
            if node not in number:
                visit(node)
    finally:
        sys.setrecursionlimit(limit)
    return sorted(found, key=len, reverse=True)


def import_edges() -> dict[str, set[str]]:
    """The modules of the package and what each imports, lazy and typing imports included."""
    modules = product()
    edges = {}
    for name, path in modules.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        edges[name] = imports(ast.parse(path.read_text(encoding="utf-8")), package, modules) - {name}
    return edges


def rooms(edges: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The packages of `edges` and the other packages that each imports: ``lowering.kernels`` is one, ``te`` another."""
    found: dict[str, set[str]] = {}
    for name, others in edges.items():
        found.setdefault(_room(name), set()).update(map(_room, others))
    return {name: others - {name} for name, others in found.items()}


def _room(name: str) -> str:
    parts = name.split(".")[1:]
    return ".".join(parts[:2] if parts[:1] == ["lowering"] else parts[:1])


def long_functions(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the functions of more than `LONG_FUNCTION` lines with their places."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONG_FUNCTION:
                    yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def program_readers() -> list[str]:
    """Modules that parse programs from text, without those of `LANGUAGES`."""
    found = []
    for name, path in product().items():
        inside = name.removeprefix("relax_mlir.").replace(".", "/")
        if inside.startswith(LANGUAGES):
            continue
        calls = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
        if any(ast.unparse(call.func) in PARSERS for call in calls):
            found.append(inside)
    return sorted(found)


def lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def written() -> list[Path]:
    """Files with prose that people write: sources and Markdown, without generated ones."""
    generated = {ROOT / name for name in GENERATED}
    return [path for path in tracked("*.py", "*.md") if path not in generated]


def table() -> Iterator[tuple[str, str]]:
    """Yield each figure and its value."""
    modules = product()
    lengths = [lines([path]) for path in modules.values()]
    yield (
        "product files, lines of Python",
        f"{len(lengths)}, {sum(lengths):,} (median {statistics.median(lengths):.0f})",
    )
    yield f"files over {LONG_FILE} lines", str(sum(length > LONG_FILE for length in lengths))
    yield f"functions over {LONG_FUNCTION} lines", str(len(list(long_functions(modules.values()))))
    edges = import_edges()
    sizes = [len(circle) for circle in circles(edges)]
    yield "circles of imports, in files", ", ".join(map(str, sizes[:8])) or "none"
    yield "circles of packages", ", ".join(str(len(circle)) for circle in circles(rooms(edges))) or "none"
    yield "modules that parse programs, without readers", str(len(set(program_readers()) - READERS.keys()))
    texts = written()
    count = sum(prose.words(path) for path in texts)
    found = [finding for path in texts for finding in prose.findings(path)]
    yield "findings per 1,000 words of prose", f"{1000 * len(found) / count:.2f} ({len(found)} in {count:,})"
    yield (
        "docstrings that open with a relative clause",
        str(sum("imperative" in usual for _, _, usual in found)),
    )
    import relax_mlir

    yield "names in dir(relax_mlir)", str(len([name for name in dir(relax_mlir) if not name.startswith("_")]))
    yield (
        "lines of committed generated text",
        f"{lines([ROOT / name for name in GENERATED]) + lines(tracked('*.pyi')):,}",
    )
    yield "lines of tests", f"{lines(tracked('test/**.py', 'test/**.mlir', 'test/**.test')):,}"


if __name__ == "__main__":
    for what, value in table():
        print(f"{what:46} {value}")
