"""Imports inside the project point one way, and only one module imports MLIR's bindings."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import figures
import pytest
from relax_mlir.error import RelaxError
from relax_mlir.lazy import HOOKS, Hook

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {
    "relax_mlir": ROOT / "python" / "relax_mlir",
    "relax_mlir.dialects": ROOT / "dialects",
    "relax_mlir.lowering": ROOT / "lowering",
    "relax_mlir.passes": ROOT / "passes",
}

LAYERS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "mlir",
            "ffi",
            "highlight",
            "capi",
            "mlir_text",
            "_version",
            "terminal",
            "error",
            "files",
            "diagnostics",
            "ir_queries",
            "lazy",
            "fork_safety",
            "memory_left",
            "symbolic",
            "target",
            "torch_bridge",
        }
    ),
    frozenset({"dialects", "op", "scalars", "loops"}),
    frozenset(
        {
            "passes",
            "builder",
            "expr",
            "expr_functor",
            "ir",
            "ir_module",
            "module_file",
            "analysis",
            "dpl",
            "transform",
            "instrument",
            "script",
            "rewrite",
            "te",
            "tir",
            "topi",
        }
    ),
    frozenset({"lowering", "strategy"}),
    frozenset({"bytecode", "random", "runtime", "profiler", "vm", "export"}),
    frozenset({"tools", "frontend", "distributed", "contrib", "tuning", "tvm"}),
)
"""The parts of the package, lowest first: a part imports its own layer and those below it."""

MOST_FILES = 6
"""The maximum number of files of a package in one circle of imports."""

BINDINGS = frozenset({"torch_mlir", "mlir"})

LAZY = frozenset({"relax_mlir.lazy", "relax_mlir.transform.registry"})
"""Modules whose strings may name modules of higher layers: tables of hooks, libraries and passes."""

COMPUTED = frozenset(
    {
        *("relax_mlir", "relax_mlir.mlir", "relax_mlir.lazy"),
        *("relax_mlir.lowering.kernels.select_kernels", "relax_mlir.runtime.packed_functions"),
        *("relax_mlir.fork_safety", "relax_mlir.transform", *LAZY),
        *("relax_mlir.tvm", "relax_mlir.tvm.relax"),
    }
)
"""Modules that import by a computed name: from one of their tables, or the bindings."""


def module_files() -> Iterator[tuple[str, Path]]:
    """Dotted name and path of every module; the links inside the package folder are not followed."""
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if (folder / parts[0]).is_symlink():
                continue
            name = ".".join((package, *parts))
            yield name.removesuffix(".__init__"), path


MODULES = dict(module_files())


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes below ``tree``, with true if they run: code for type checkers does not."""
    waiting = [(tree, True)]
    while waiting:
        parent, runs = waiting.pop()
        for field in parent._fields:
            value = getattr(parent, field, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST) and child._fields:
                    below = child, runs and not is_type_checking(child)
                    yield below
                    waiting.append(below)


def named_in(node: ast.AST) -> set[str]:
    """The modules that a string names, alone or before a colon, or that an f-string begins with: ``f"a.b.{x}"``."""
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        head = str(node.values[0].value).rpartition(".")[0]
        return {head} & (set(MODULES) - {"relax_mlir"})
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value.partition(":")[0]} & set(MODULES) if "." in node.value else set()
    return set()


@dataclass(frozen=True)
class Imports:
    """The imports of a module, and its calls that import the module named by their first argument: lines and names."""

    names: frozenset[str]
    calls: tuple[tuple[int, frozenset[str]], ...]


@cache
def imports_of(name: str) -> Imports:
    """The dotted names that the module imports, relative ones made absolute: at its top, inside functions, or by name.

    The syntax tree is not kept: the garbage collector would traverse it repeatedly.
    """
    path = MODULES[name]
    names: set[str] = set()
    calls = []
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, runs in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            calls.append((node.lineno, frozenset(named_in(node.args[0]))))
        if not runs:
            continue
        if name not in LAZY:
            names |= named_in(node)
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parent = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parent, *([base] if base else [])])
            names |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in node.names}
    return Imports(frozenset(names), tuple(calls))


def called(node: ast.Call) -> str:
    """The last name of the called expression."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else str(getattr(node.func, "id", ""))


def part(name: str) -> str:
    """``relax_mlir.passes.cse`` belongs to ``passes``; the package itself is the empty name."""
    return name.split(".")[1] if "." in name else ""


def layer(name: str) -> int:
    found = [index for index, parts in enumerate(LAYERS) if part(name) in parts]
    assert found, f"{name} belongs to no layer: add {part(name)!r} to LAYERS"
    return found[0]


def upward(name: str) -> Iterator[str]:
    """Invalid imports of a module inside the project."""
    own = layer(name)
    for other in sorted(imports_of(name).names):
        if other.split(".")[0] != "relax_mlir" or other.split(".")[-1] == "":
            continue
        if not part(other):
            yield f"{name} imports the whole package: name the module it needs"
        elif layer(other) > own:
            yield f"{name} (layer {own}) imports {other} (layer {layer(other)})"


def test_no_circle_of_imports_spans_packages_or_many_files() -> None:
    """All imports count: lazy ones, and those for type checkers."""
    edges = figures.import_edges()
    assert figures.circles(figures.rooms(edges)) == []
    assert [circle for circle in figures.circles(edges) if len(circle) > MOST_FILES] == []


def test_imports_by_a_written_name_are_statements() -> None:
    """`figures.import_edges` sees import statements only."""
    found = [
        f"{name}, line {node.lineno}"
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and called(node) in ("import_module", "__import__")
        if isinstance(node.args[0], ast.Constant)
    ]
    assert found == []


def test_imports_point_down() -> None:
    names = [name for name in MODULES if part(name)]
    assert len(names) > 400
    assert [problem for name in names for problem in upward(name)] == []


ROOMS = (
    *("legality", "base", "analysis", "kernels", "strategy", "legalize", "shapes", "memory", "bufferize"),
    *("loops", "expand", "checks", "entry", "llvm", "runtime_lib", "pipeline"),
)
"""The rooms of `relax_mlir.lowering`, lowest first: a room imports itself and those before it."""


def test_rooms_of_the_lowering_are_a_chain() -> None:
    prefix = "relax_mlir.lowering."
    place = {room: number for number, room in enumerate(ROOMS)}
    rooms = {name: name.removeprefix(prefix).split(".")[0] for name in MODULES if name.startswith(prefix)}
    assert set(rooms.values()) == set(ROOMS)
    upward = [
        f"{name} imports {other}"
        for name, room in rooms.items()
        for other in sorted(imports_of(name).names)
        if other in rooms and place[rooms[other]] > place[room]
    ]
    assert upward == []


def test_hooks_are_functions_and_each_is_called_by_one_module() -> None:
    callers = [
        str(node.args[0].value)
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and called(node) == "Hook" and isinstance(node.args[0], ast.Constant)
    ]
    assert sorted(callers) == sorted(HOOKS)
    for target in HOOKS.values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function)), target


def test_unknown_and_missing_hooks_name_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RelaxError, match=r"relax_mlir\.lazy\.HOOKS has no hook 'f'"):
        Hook("f")
    monkeypatch.setitem(HOOKS, "f", "relax_mlir.error:no_such_function")
    with pytest.raises(RelaxError, match=r"hook 'f' cannot be loaded from relax_mlir\.error:no_such_function"):
        Hook[[], None]("f")()


def test_imports_by_name_can_be_read() -> None:
    unread = [
        f"{name}, line {line}: write the name of the module out, or begin it with its package's"
        for name in MODULES
        if name not in COMPUTED
        for line, named in imports_of(name).calls
        if not named
    ]
    assert unread == []


def test_imports_by_name_are_seen() -> None:
    assert {name for name in MODULES if imports_of(name).calls} >= COMPUTED | {"relax_mlir.dialects.dialect"}
    texts = ('"relax_mlir.lowering.legality:CheckLegality"', 'f"relax_mlir.dialects.{family}"')
    named = [named_in(ast.parse(text, mode="eval").body) for text in texts]
    assert named == [{"relax_mlir.lowering.legality"}, {"relax_mlir.dialects"}]


def test_only_one_module_imports_the_bindings() -> None:
    roots = {name: {other.split(".")[0] for other in imports_of(name).names} for name in MODULES}
    found = [name for name in MODULES if roots[name] & BINDINGS]
    assert found == [], "these must import MLIR through relax_mlir.mlir"


def test_every_module_is_seen() -> None:
    assert {"relax_mlir", "relax_mlir.mlir", "relax_mlir.error", "relax_mlir.dialects"} <= set(MODULES)
    assert len(set(MODULES.values())) == len(MODULES)
