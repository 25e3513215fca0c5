"""The reference that ``make docs`` builds is complete, and its links lead to files."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import relax_mlir as rx
from relax_mlir.dialects import dialect, types
from relax_mlir.transform.registry import PASSES

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(generator: ModuleType) -> dict[str, str]:
    pages: dict[str, str] = generator.pages()
    return pages


def headings(page: str) -> set[str]:
    return set(re.findall(r"^#+ `?(.*?)`?$", page, flags=re.MULTILINE))


def functions(module: ModuleType, prefix: str) -> Iterator[str]:
    """Yield the names of the functions of `module` and of the modules in it, as users write them."""
    for name, value in vars(module).items():
        is_builder = "dialects" in getattr(value, "__module__", "") or hasattr(value, "op_class")
        if inspect.isfunction(value) and not name.startswith("_") and is_builder:
            yield f"{prefix}.{name}"
        elif inspect.ismodule(value) and value.__name__ == f"{module.__name__}.{name}":
            yield from functions(value, f"{prefix}.{name}")


def test_every_builder_is_there(pages: dict[str, str]) -> None:
    others = re.findall(r"`(R\.[\w.]+)`", "".join(re.findall(r"^Also called .*$", pages["ops.md"], re.MULTILINE)))
    names = set(functions(rx.op, "R"))
    assert len(names) > 250
    assert names == {name for name in headings(pages["ops.md"]) | {*others} if name.startswith("R.")}


def test_every_op_is_there(pages: dict[str, str]) -> None:
    dialect.import_families()
    assert {cls.OPERATION_NAME for cls in dialect.Relax.operations} <= headings(pages["dialect.md"])


def test_every_pass_and_option_is_there(pages: dict[str, str]) -> None:
    assert set(PASSES) <= headings(pages["passes.md"])
    assert "| `max-depth` | int | 16 |" in pages["passes.md"]


def test_every_public_name_is_there(generator: ModuleType, pages: dict[str, str]) -> None:
    for name in generator.API:
        module = importlib.import_module(name)
        section = pages["api.md"].partition(f"\n## `{name}`\n")[2].partition("\n## ")[0]
        public = {each for each in getattr(module, "__all__", ()) if not each.startswith("_")}
        assert section and public <= headings(section), f"{name}: {public - headings(section)}"


def test_links_lead_to_files(pages: dict[str, str]) -> None:
    links = 0
    for name, text in pages.items():
        prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            links += 1
            found = target in pages or (DOCS / "reference" / target).resolve().exists()
            assert found, f"{name} links to {target}"
    assert links > 3


def test_examples_are_python(pages: dict[str, str]) -> None:
    """Examples in docstrings compile; many are parts of programs."""
    examples = [
        "\n".join(example.source for example in doctest.DocTestParser().get_examples(block))
        for text in pages.values()
        for block in re.findall(r"^ *```pycon\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)
    ]
    assert len(examples) > 25
    for example in examples:
        compile(example, "example", "exec")


def test_page_on_the_reference_names_its_pages(pages: dict[str, str]) -> None:
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+\.md)` ", text, flags=re.MULTILINE)) == set(pages)


def test_table_of_types() -> None:
    """Each struct info on the page on the language has the type next to it."""
    text = (DOCS / "language.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `((?:Tensor|Shape|Prim|Tuple|Object|Callable)\(.*?)`(?::.*)? \| `(.*)` \|$", text, re.MULTILINE
    )
    assert len(rows) == 13
    with dialect.context():
        for source, written in rows:
            info = eval(source, vars(types))
            assert str(info.to_type()) == written, source
