"""The files of a pass, the lit files that test it, and the modules that import a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from relax_mlir.transform.registry import PASSES

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = {
    "relax_mlir.passes": ROOT / "passes",
    "relax_mlir.lowering": ROOT / "lowering",
    "relax_mlir": ROOT / "python" / "relax_mlir",
}
PIPELINES = "relax_mlir.lowering.pipeline:"
ELSEWHERE = {
    "explicit-effects": ("relax_mlir.rewrite.effects",),
}
"""Modules that do the work of a pass and are not in its room, since others call them too."""


def pass_names() -> list[str]:
    """The registered passes, without the named pipelines."""
    return sorted(name for name, target in PASSES.items() if not target.startswith(PIPELINES))


@cache
def module_paths() -> dict[str, Path]:
    """Dotted names and paths of the modules; links inside the package are not followed."""
    paths = {}
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if not (folder / parts[0]).is_symlink():
                paths[".".join((package, *parts)).removesuffix(".__init__")] = path
    return paths


@cache
def imports(module: str) -> frozenset[str]:
    """The modules of the project that a module imports when it is imported itself."""
    tree = ast.parse(module_paths()[module].read_text(encoding="utf-8"))
    return frozenset(name for name in _imported_names(tree) if name in module_paths())


def _imported_names(tree: ast.AST) -> Iterator[str]:
    """The names in import statements outside of functions, and of what type checkers alone see."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not isinstance(node, ast.FunctionDef) and not _is_for_type_checkers(node):
            yield from _imported_names(node)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


@cache
def importers(module: str) -> frozenset[str]:
    """The module and all that import it, directly or not."""
    found, waiting = {module}, [module]
    while waiting:
        name = waiting.pop()
        direct = {other for other in module_paths() if name in imports(other)} - found
        found |= direct
        waiting += direct
    return frozenset(found)


def modules_of(name: str) -> list[str]:
    """The module of a pass; in a subfolder of ``passes/`` also the modules there that it imports, but for passes."""
    first = PASSES[name].partition(":")[0]
    room = first.rpartition(".")[0]
    passes = {target.partition(":")[0] for target in PASSES.values()}
    found, waiting = [first, *ELSEWHERE.get(name, ())], [first]
    while waiting and room.startswith("relax_mlir.passes."):
        inside = {other for other in imports(waiting.pop()) if other.rpartition(".")[0] == room}
        new = sorted(inside - passes - {*found})
        found += new
        waiting += new
    return found


def lines_of(name: str) -> frozenset[int]:
    """The lines of a pass in its module: its class, and the top-level names that it uses, directly or not.

    A module may hold several passes.
    """
    module, _, first = PASSES[name].partition(":")
    tree = ast.parse(module_paths()[module].read_text(encoding="utf-8"))
    defined: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for target in _bound_names(node):
            defined.setdefault(target, []).append(node)
    found, waiting = {first}, [first]
    while waiting:
        for node in defined.get(waiting.pop(), []):
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & defined.keys() - found
            found |= used
            waiting += used
    nodes = [node for target in found for node in defined.get(target, [])]
    starts = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) for n in nodes]
    return frozenset(
        line for node, start in zip(nodes, starts, strict=True) for line in range(start, (node.end_lineno or start) + 1)
    )


def _bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module binds, but for imports."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def lit_files(name: str) -> list[Path]:
    """The lit files whose RUN lines have the pass as an option, those named after it first."""
    option = re.compile(rf"^\S+ RUN: .*--{name}(?![\w-])", re.M)
    files = [*(ROOT / "test" / "lit").rglob("*.mlir"), *(ROOT / "test" / "lit").rglob("*.test")]
    found = [path for path in sorted(files) if option.search(path.read_text(encoding="utf-8"))]
    return sorted(found, key=lambda path: not path.stem.startswith(name))
