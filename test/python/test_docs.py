"""The documentation is current, its code runs, its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / f"{n}.md" for n in ("README", "CHANGELOG", "CONTRIBUTING")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_current() -> None:
    for path, text in generator().pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run 'make docs'"


@pytest.mark.parametrize(
    "name", ["README.md", "docs/tutorial.md", "docs/writing-passes.md", "docs/effects.md", "docs/te.md"]
)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    source = tmp_path / "example.py"
    source.write_text("\n".join(blocks), encoding="utf-8")
    code = compile(source.read_text(encoding="utf-8"), str(source), "exec", dont_inherit=True)
    exec(code, {"__name__": "example"})


def test_lit_test_of_the_page_on_passes(tmp_path: Path) -> None:
    """The pass and the test on the page fit each other."""
    text = (ROOT / "docs" / "writing-passes.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
    (mlir,) = re.findall(r"^```mlir\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "page.py").write_text(f"{code}\nfrom relax_mlir.tools.opt import main\nmain()\n")
    test = tmp_path / "test.mlir"
    test.write_text(mlir)
    made = subprocess.run(
        [sys.executable, tmp_path / "page.py", test, "--fuse-multiply-add"],
        capture_output=True,
        text=True,
        check=True,
    )
    subprocess.run([sys.executable, "-m", "filecheck", test], input=made.stdout, text=True, check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
