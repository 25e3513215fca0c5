"""The documentation is up to date, its code runs, its links are valid."""

from __future__ import annotations

import importlib.util
import re
import textwrap
import xml.etree.ElementTree as ET
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

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
        *(f"docs/architecture/{n}.md" for n in ("levels", "prim-funcs", "memory", "calls", "code")),
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
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
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


def module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_description_on_an_index_page() -> None:
    """No link of the README is relative on that page."""
    setup = module_at(ROOT / "setup.py")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    with_address = setup.description(text, "https://example.org/relax")
    assert "](https://example.org/relax/blob/main/docs/tutorial.md)" in with_address
    assert "](https://example.org/relax/raw/main/docs/ratios.svg)" in with_address
    without = setup.description(text, setup.repository('[project]\nname = "x"\n'))
    assert "Tutorial" in without and "docs/" not in re.sub(r"`[^`]*`|<!--.*?-->", "", without)
    for found in (with_address, without):
        assert all(target.startswith("https://") for target in re.findall(r"\]\(([^)]*)\)", found))
    assert setup.repository('Repository = "https://example.org/relax/"\n') == "https://example.org/relax"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md"])
def test_quoted_sources_are_current(name: str) -> None:
    """A block that begins with the path of a file is in that file."""
    text = textwrap.dedent(re.sub(r"^   (?=\S| )", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE))
    quotes = re.findall(r"^```py\n# (\S+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert quotes
    for path, quote in quotes:
        assert quote in (ROOT / path).read_text(encoding="utf-8"), f"{name} quotes {path}:\n{quote}"


def test_diagrams_are_current() -> None:
    for path, drawing in module_at(ROOT / "docs" / "diagrams.py").drawings().items():
        assert path.read_text(encoding="utf-8") == drawing.svg(), f"{path.name} is out of date: run 'make docs'"
        root = ET.fromstring(drawing.svg())
        texts = [element.text for element in root if element.tag.endswith(("}title", "}desc"))]
        assert len(texts) == 2 and all(texts)


def table_rows(page: str) -> list[list[str]]:
    """The cells of each row of the tables of a page, without heads."""
    rows = re.findall(r"^\|(.*)\|$", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for row in rows]
    rules = [number for number, row in enumerate(cells) if all(re.fullmatch("-+", cell) for cell in row)]
    return [row for number, row in enumerate(cells) if number not in rules and number + 1 not in rules]


def test_tables_of_pages() -> None:
    """Cells of the page on performance are short, and limits are sorted by area."""
    performance = table_rows("performance.md")
    assert len(performance) > 10
    assert [cell for row in performance for cell in row if len(cell.split()) > 30] == []
    areas = [row[0] for row in table_rows("limits.md") if len(row) == 3]
    assert len(areas) > 50 and areas == sorted(areas)


def test_contributing_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_pages_on_the_architecture_are_short() -> None:
    for path in sorted((ROOT / "docs" / "architecture").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert len(text.split()) <= 1500, path.name
        assert f"]({path.stem}.svg)" in text and "```mlir\n" in text, path.name
