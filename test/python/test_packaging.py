"""The contents of an installed copy: every package, the generated IRDL file, the type marker, working commands."""

from __future__ import annotations

import importlib
import itertools
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import cold_process
import pytest
import relax_mlir
from relax_mlir import tvm

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("python", "dialects", "lowering", "passes")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def package_folders() -> dict[str, Path]:
    """Every importable package of the tree by its dotted name."""
    roots = {"relax_mlir": ROOT / "python" / "relax_mlir"}
    roots |= {f"relax_mlir.{name}": ROOT / name for name in ("dialects", "lowering", "passes")}
    found = {}
    for package, root in roots.items():
        for marker in root.rglob("__init__.py"):
            parts = marker.parent.relative_to(root).parts
            if not (parts and (root / parts[0]).is_symlink()):
                found[".".join((package, *parts))] = marker.parent
    return found


def test_every_package_is_declared(project: dict[str, Any]) -> None:
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(package_folders())


def test_bindings_are_pinned_and_the_rest_bounded_below(project: dict[str, Any]) -> None:
    metadata = project["project"]
    requirements = [*metadata["dependencies"], *itertools.chain(*metadata["optional-dependencies"].values())]
    pinned = [r for r in requirements if "==" in r]
    assert [r.split("==")[0] for r in pinned] == ["torch-mlir"]
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", r) for r in requirements if r not in pinned)


def test_extras(project: dict[str, Any]) -> None:
    assert {"test", "demo", "dev", "bench"} <= set(project["project"]["optional-dependencies"])


def test_commands_can_be_imported(project: dict[str, Any]) -> None:
    for entry in project["project"]["scripts"].values():
        module, _, function = entry.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


PUBLIC = [*relax_mlir.__all__, *(name for name in tvm.__all__ if name[0].isupper())]
"""The names of the package, and those of TVM."""

FIRST_IMPORTS = """
import json, os, sys, tempfile, traceback
import ml_dtypes, numpy, torch_mlir.ir, tvm_ffi
assert not any(name.startswith("relax_mlir") for name in sys.modules)
found = {}
for names in sys.argv[1:]:
    with tempfile.TemporaryFile("w+") as told:
        child = os.fork()
        if not child:
            try:
                import relax_mlir
                for name in names.split():
                    getattr(relax_mlir, name)
            except BaseException:
                traceback.print_exc(file=told)
                told.flush()
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        told.seek(0)
        text = told.read()
        found |= {name: [status, text] for name in names.split()}
print(json.dumps(found))
"""
"""Forks of a process with the third-party imports, which import each module's names separately."""


@pytest.fixture(scope="module")
def first_imports() -> dict[str, tuple[int, str]]:
    """By public name: the exit status of a process that uses this name of the package first, and its output."""
    homes: dict[str, list[str]] = {}
    for name in PUBLIC:
        homes.setdefault({**tvm.HOMES, **relax_mlir._HOMES}.get(name, name), []).append(name)
    done = cold_process.run(["-c", FIRST_IMPORTS, *map(" ".join, homes.values())])
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_can_be_the_first_thing_imported(name: str, first_imports: dict[str, tuple[int, str]]) -> None:
    status, told = first_imports[name]
    assert status == 0, told


@pytest.mark.slow
def test_a_new_interpreter_builds() -> None:
    """With all installed packages, including torch."""
    command = [sys.executable, "-c", "import relax_mlir; relax_mlir.build"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_licence_is_apache_with_llvm_exceptions(project: dict[str, Any]) -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert project["project"]["license"] == "Apache-2.0 WITH LLVM-exception"
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "LLVM Exceptions to the Apache 2.0 License" in text
    assert "BSD" not in text


def test_wheel_holds_the_whole_tree(project: dict[str, Any], tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    command = [sys.executable, "-W", "ignore", "-c", build, str(tmp_path)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {n for n in archive.namelist() if n.startswith("relax_mlir/")}
        (metadata,) = (archive.read(n).decode() for n in archive.namelist() if n.endswith("/METADATA"))
    assert "Description-Content-Type: text/markdown" in metadata and "# relax-mlir" in metadata
    assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)]*)\)", metadata))
    expected = {
        "relax_mlir/py.typed",
        "relax_mlir/dialects/relax.irdl.mlir",
        "relax_mlir/lowering/strategy/shipped.json",
    }
    templates = (ROOT / "lowering" / "templates").glob("*.mlir")
    expected |= {f"relax_mlir/lowering/templates/{path.name}" for path in templates}
    for package, folder in package_folders().items():
        files = [*folder.glob("*.py"), *folder.glob("*.pyi")]
        expected |= {f"{package.replace('.', '/')}/{path.name}" for path in files}
    assert held == expected
