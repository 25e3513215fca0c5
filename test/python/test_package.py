"""The package before anything is built: version, names, start-up."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir import _version

ROOT = Path(__file__).resolve().parents[2]


def test_version_is_that_of_the_source_tree() -> None:
    (stated,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert rx.__version__ == stated


def test_version_without_a_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_version, "__file__", "/nowhere/a/b/c/_version.py")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"version of {name}")
    assert _version.version.__wrapped__() == "version of relax-mlir"

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert _version.version.__wrapped__() == "unknown"


def test_dir_names_what_there_is_and_nothing_else() -> None:
    shown = [name for name in dir(rx) if not name.startswith("_")]
    assert {"build", "IRModule", "op", "te", "error", "analysis"} <= set(shown)
    assert not {"Any", "TYPE_CHECKING", "importlib", "annotations"} & set(shown)
    for name in (*shown, *rx.__all__):
        assert getattr(rx, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'bild'"):
        _ = rx.bild


def test_names_are_imported_when_they_are_asked_for() -> None:
    code = """
import sys
import relax_mlir as rx
rx.__version__, dir(rx)
heavy = [name for name in ("numpy", "tvm_ffi", "relax_mlir.mlir", "relax_mlir.op") if name in sys.modules]
assert not heavy, heavy
assert rx.error.RelaxError
assert rx.op.add
"""
    subprocess.run([sys.executable, "-c", code], check=True)
