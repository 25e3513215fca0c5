"""``RELAX_MLIR_BINDINGS``: another complete package of MLIR's bindings works; an error names what others lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cold_process
import pytest
from relax_mlir import mlir

IMPORT = "import relax_mlir.mlir"
ALIAS = f"""
import importlib, sys
for name in {mlir.MODULES!r}:
    sys.modules[f"mlir.{{name}}"] = importlib.import_module(f"torch_mlir.{{name}}")
"""
"""A complete package: the default one under the other name."""
USE = """
import numpy as np
import relax_mlir as rx
from relax_mlir import mlir

N = 'tensor<?xf32, #relax.shape<["n"]>>'
module = rx.IRModule.parse(
    f'func.func @main(%x: {N}) -> {N} {{ %0 = "relax.add"(%x, %x) : ({N}, {N}) -> {N} return %0 : {N} }}', trusted=True
)
assert mlir.provider == "mlir" and mlir.ir.Context.__module__.startswith("torch_mlir")
print(np.from_dlpack(rx.build(module)["main"](np.arange(3, dtype=np.float32))))
"""


def run(script: str, folder: Path, provider: str = "mlir") -> subprocess.CompletedProcess[str]:
    """A new interpreter that finds the packages in `folder` first."""
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    env = cold_process.cached({**os.environ, "PYTHONPATH": path, "RELAX_MLIR_BINDINGS": provider})
    return subprocess.run(
        [sys.executable, "-c", script],
        env=cold_process.environment(env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in {"__init__.py": "", **files}.items():
        path = folder / "mlir" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_complete_package_builds_and_runs(tmp_path: Path) -> None:
    done = run(USE, package(tmp_path, {"__init__.py": ALIAS}))
    assert (done.returncode, done.stdout) == (0, "[0. 2. 4.]\n"), done.stderr


NEWEST = {"ir.py": "".join(f"class {name}: pass\n" for name in mlir.NAMES)}
FILES = {f"{name.replace('.', '/')}.py": "" for name in mlir.MODULES}
PLACE = "package 'mlir' at {folder}/mlir (mlir, from no wheel)"


def without(part: str) -> dict[str, str]:
    return {name: text for name, text in FILES.items() if part not in name}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, f"{PLACE} does not hold MLIR's bindings"),
        (without("ext"), f"{PLACE} lacks dialects.ext, {', '.join(f'ir.{name}' for name in mlir.NAMES)}"),
        (without("scf") | NEWEST, f"{PLACE} lacks dialects.scf"),
        (FILES | NEWEST, "cannot be loaded: module 'mlir.passmanager' has no attribute 'PassManager'"),
        (
            FILES | {"ir.py": "raise ImportError('libLLVM.so: cannot open shared object file')"},
            "cannot be loaded: libLLVM.so: cannot open shared object file",
        ),
        (None, "no package 'mlir' is installed"),
    ],
    ids=["empty", "before version 23", "without a dialect", "of another kind", "without a library", "absent"],
)
def test_errors_name_what_is_missing(tmp_path: Path, files: dict[str, str] | None, reason: str) -> None:
    done = run(IMPORT, tmp_path if files is None else package(tmp_path, files))
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError: RELAX_MLIR_BINDINGS=mlir: ")
    assert reason.format(folder=tmp_path) in last
    assert "needs the complete Python bindings of MLIR 23 or newer" in last and "torch-mlir" in last


def test_unknown_names(tmp_path: Path) -> None:
    done = run(IMPORT, tmp_path, provider="mlyr")
    assert "RELAX_MLIR_BINDINGS is 'mlyr'; known providers: torch_mlir, mlir" in done.stderr
