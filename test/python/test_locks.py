"""Every lock of the process is known to `relax_mlir.fork_safety`: a fork leaves none locked by a lost thread."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path for folder in ("python/relax_mlir", "dialects", "lowering", "passes") for path in (ROOT / folder).rglob("*.py")
)
MAKERS = {"Lock", "RLock", "Condition", "Event", "Semaphore", "BoundedSemaphore", "Barrier", "allocate_lock"}
"""Constructors of locks in `threading` and `multiprocessing`."""
POOLS = {"ThreadPoolExecutor": {"runtime/compile_units.py"}, "Thread": set(), "Timer": set()}
"""Thread classes, with the files that may use some: these handle forks."""
REGISTRY = "fork_safety.py"


def names_used(tree: ast.Module) -> set[str]:
    """The names that a file uses from the modules of threads, and from `functools` and `os`."""
    modules = {"threading", "_thread", "multiprocessing", "concurrent.futures", "functools", "os"}
    aliases = {
        each.asname or each.name: each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for each in node.names
        if each.name in modules
    }
    found = {
        each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in modules
        for each in node.names
    }
    return found | {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases
    }


def faults(path: Path) -> list[str]:
    if path.name == REGISTRY:
        return []
    used = names_used(ast.parse(path.read_text()))
    found = [f"{name}: `process_lock` or `RenewedLock` of fork_safety" for name in sorted(used & MAKERS)]
    found += [
        f"{name}: a thread that no child of a fork has"
        for name, places in POOLS.items()
        if name in used and not any(path.as_posix().endswith(place) for place in places)
    ]
    if "cached_property" in used:
        found.append("cached_property: that of relax_mlir.fork_safety has no lock")
    if "register_at_fork" in used:
        found.append("register_at_fork: `before_fork` and `after_fork_in_child` of fork_safety keep an order")
    return found


def test_all_locks_come_from_the_registry() -> None:
    assert len(FILES) > 400
    assert {str(path.relative_to(ROOT)): found for path in FILES if (found := faults(path))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import threading\n_lock = threading.Lock()\n",
        "import threading as t\n_lock = t.RLock()\n",
        "from threading import Condition\n",
        "from multiprocessing import Event\n",
        "from functools import cached_property\n",
        "import functools\nclass A:\n    @functools.cached_property\n    def b(self): ...\n",
        "import os\nos.register_at_fork(before=print)\n",
        "from concurrent.futures import ThreadPoolExecutor\n",
        "import threading\nthreading.Thread(target=print).start()\n",
    ],
)
def test_others_are_found(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.py"
    path.write_text(text)
    assert len(faults(path)) == 1
