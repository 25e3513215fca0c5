"""The documentation is up to date, its code runs, its links are valid."""

from __future__ import annotations

import importlib.util
import re
from contextlib import nullcontext
from pathlib import Path

import distributed_programs
import pytest
import warm_process

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
DOCS = sorted(path for path in (ROOT / "docs").rglob("*.md") if REFERENCE not in path.parents)
PAGES = [
    *(ROOT / f"{n}.md" for n in ("README", "CHANGELOG", "CONTRIBUTING")),
    *DOCS,
    *sorted((ROOT / ".github").rglob("*.md")),
]


@pytest.mark.usefixtures("warm_measurers")
@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        *(
            f"docs/{n}.md"
            for n in (
                "tutorial",
                "writing-passes",
                "effects",
                "te",
                "topi",
                "tir",
                "from-tvm",
            )
        ),
        *(pytest.param(f"docs/{n}.md", marks=pytest.mark.slow) for n in ("tuning", "torch")),
    ],
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


@pytest.mark.parametrize(
    "name",
    [
        *(f"docs/{n}.md" for n in ("vm", "deploy", "strategies", "third-party-libraries", "language")),
        *(pytest.param(f"docs/{n}.md", marks=pytest.mark.slow) for n in ("schedules", "onnx", "distributed")),
    ],
)
def test_examples_print_what_stands_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A block of text or IR after code is the output of the code."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text|mlir)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert len({language for language, _ in blocks}) > 1
    names: dict[str, object] = {"__name__": "example"}
    printed = ""
    for language, content in blocks:
        if language != "python":
            assert printed.strip() == content.strip()
            printed = ""
        else:
            assert not printed, f"{name} does not show what this prints:\n{printed}"
            with distributed_programs.hidden_torch() if "Pool" in content else nullcontext():
                exec(compile(content, name, "exec", dont_inherit=True), names)
            printed = capsys.readouterr().out
    assert not printed


def test_lit_test_of_the_page_on_passes(tmp_path: Path) -> None:
    """The pass and the test on the page match."""
    text = (ROOT / "docs" / "writing-passes.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
    (mlir,) = re.findall(r"^```mlir\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "page.py").write_text(f"{code}\nfrom relax_mlir.tools.opt import main\nmain()\n")
    test = tmp_path / "test.mlir"
    test.write_text(mlir)
    made = warm_process.run([str(tmp_path / "page.py"), str(test), "--fuse-multiply-add"])
    made.check_returncode()
    warm_process.run(["-m", "filecheck", str(test)], made.stdout).check_returncode()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_is_linked_from_the_index() -> None:
    for start, prefix in (("README.md", "docs/"), ("docs/index.md", "")):
        text = (ROOT / start).read_text(encoding="utf-8")
        names = [path.relative_to(ROOT / "docs").as_posix() for path in DOCS]
        missing = [name for name in names if f"]({prefix}{name})" not in text]
        assert missing in ([], ["index.md"]), f"{start} has no link to {missing}"


def test_links_to_headings_lead_there() -> None:
    for page in PAGES:
        for target, heading in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
            text = (page.parent / target if target else page).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert heading in anchors, f"{page.name} links to {target}#{heading}"


def test_description_on_an_index_page() -> None:
    """No link of the README is relative on that page."""
    spec = importlib.util.spec_from_file_location("setup_of_the_package", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    with_address = setup.description(text, "https://example.org/relax")
    assert "](https://example.org/relax/blob/main/docs/tutorial.md)" in with_address
    assert "](https://example.org/relax/raw/main/docs/ratios.svg)" in with_address
    without = setup.description(text, setup.repository('[project]\nname = "x"\n'))
    assert "Tutorial" in without and "docs/" not in re.sub(r"`[^`]*`|<!--.*?-->", "", without)
    for found in (with_address, without):
        assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)]*)\)", found))
    assert setup.repository('Repository = "https://example.org/relax/"\n') == "https://example.org/relax"
