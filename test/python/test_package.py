"""The package before anything is built: version, names, start-up."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir import _version, tvm

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


def test_few_names_are_listed_and_one_page_describes_all() -> None:
    shown = {name for name in dir(rx) if not name.startswith("_")}
    assert len(shown) <= 30
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("## Names")[2]
    described = [
        name for row in page.splitlines() if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(described) == sorted(shown)


def test_names_of_tvm_are_those_of_its_package() -> None:
    assert sorted(tvm.HOMES) == sorted(tvm.__all__)
    for name in tvm.__all__:
        assert getattr(tvm, name) is not None
        if name[0].isupper():
            assert getattr(rx, name) is getattr(tvm, name)
            assert name not in dir(rx)


@pytest.mark.parametrize(
    ("name", "near"), [("bild", "'build'"), ("SeqExp", "'SeqExpr'"), ("topy", "'topi'"), ("xyz", None)]
)
def test_an_unknown_name_suggests_the_nearest(name: str, near: str | None) -> None:
    with pytest.raises(AttributeError, match=f"module 'relax_mlir' has no attribute '{name}'") as raised:
        getattr(rx, name)
    assert ("did you mean" in str(raised.value)) == (near is not None)
    assert near is None or near in str(raised.value)
    assert not hasattr(rx, name)


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
