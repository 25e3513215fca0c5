"""Every file is in its folder: folders are in the table of docs/folders.md, passes in files of their topics."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import figures
import prose
import pytest
from relax_mlir.dialects.base import op_classes
from relax_mlir.dialects.dialect import import_families
from relax_mlir.lowering.pipeline import PIPELINES
from relax_mlir.transform.registry import PASSES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("dialects", "passes", "lowering", "python/relax_mlir")
MAX_LINES = 1000


def modules() -> list[Path]:
    """All modules of the package; the links inside ``python/relax_mlir`` are not followed."""
    found = []
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT / folder).parts
            if not (ROOT / folder / inside[0]).is_symlink():
                found.append(path)
    return found


def room(path: Path) -> str:
    return path.parent.relative_to(ROOT).as_posix()


def test_every_room_is_in_the_table() -> None:
    table = (ROOT / "docs" / "folders.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([\w/]+)/` \|", table, re.M))
    assert rows == {room(path) for path in modules()}


TOPICS = frozenset(
    {
        *(
            "bufferize",
            "checks",
            "emit_lifecycle",
            "expand",
            "module_parts",
            "parallelize_loops",
            "pool_buffers",
        ),
        *("instruments", "library", "skip_empty_loops", "to_llvm", "unroll_loops", "vector_loops"),
        *(
            "bindings",
            "calls",
            "dataflow",
            "memory",
            "patterns",
            "shapes",
            "specialize_closures",
            "unused",
            "vm",
        ),
    }
)
"""Files that hold several small passes of one topic, or a topic with its pass."""


@pytest.mark.parametrize("folder", ["passes", "lowering"])
def test_only_named_files_at_the_top(folder: str) -> None:
    allowed = {name.replace("-", "_") for name in PASSES} | TOPICS | {"__init__", "estimate_memory"}
    if folder == "lowering":
        allowed = {"__init__", "bufferize", "checks", "expand", "legality", "pipeline"}
    assert {path.stem for path in (ROOT / folder).glob("*.py")} <= allowed


@pytest.mark.parametrize("name", sorted({*PASSES} - {*PIPELINES}))
def test_a_pass_stands_in_the_file_of_its_name_or_topic(name: str) -> None:
    module = PASSES[name].partition(":")[0].rpartition(".")[2]
    expected = "legality" if name == "check-legality" else name.replace("-", "_")
    assert module == expected or module in TOPICS


def test_named_pipelines_are_those_of_the_table() -> None:
    prefix = "relax_mlir.lowering.pipeline:"
    registered = {name: path for name, path in PASSES.items() if path.startswith(prefix)}
    assert registered == {name: f"{prefix}{cls.__name__}" for name, cls in PIPELINES.items()}


def test_modules_are_small() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    long = {str(path.relative_to(ROOT)): count for path, count in lengths.items() if count > MAX_LINES}
    assert not long


TABLES = {
    "passes/estimate_memory": "the two ops that it is about",
    "expr/bindings": "the ops of dataflow blocks, and the expression that each leaf is",
    "vm/codegen/generate": "instructions that are moves, and which registers hold memory of their own",
    "vm/codegen/outline_kernels": "the calls that it outlines, and the ops whose results nobody else has",
}
"""Modules that may list names of Relax ops, and why they do not use a trait."""


def listed_ops(path: Path) -> set[str]:
    """The names of Relax ops in tuples, lists and sets at the top level of a module; handlers by name do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
    lists = [v for v in values if isinstance(v, ast.Tuple | ast.List | ast.Set | ast.Call | ast.BinOp)]
    texts = {
        node.value
        for value in lists
        for node in ast.walk(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if text in op_classes()}


def test_ops_say_what_they_are() -> None:
    import_families()
    names = {
        path.relative_to(ROOT).with_suffix("").as_posix().removeprefix("python/relax_mlir/"): path for path in modules()
    }
    found = {name for name, path in names.items() if not name.startswith("dialects/") and listed_ops(path)}
    assert found == set(TABLES), "give the ops a trait (`dialects/traits.py`) and ask for it"


def test_lit_tests_name_files_that_there_are() -> None:
    known = {path.name for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
    for path in sorted((ROOT / "test" / "lit").rglob("*.mlir")):
        comments = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("//")]
        named = set(re.findall(r"\b[a-z_0-9]+\.py\b", "\n".join(line for line in comments if "CHECK" not in line)))
        assert named <= known, f"{path.relative_to(ROOT)}: {sorted(named - known)}"


def test_ignored_types_have_a_reason() -> None:
    for path in (*modules(), *(ROOT / "python" / "relax_mlir" / "mlir").glob("*.pyi")):
        for line in path.read_text(encoding="utf-8").splitlines():
            _, mark, rest = line.partition("  # type: ignore[")
            assert not mark or "]  # " in rest, f"{path.relative_to(ROOT)}: {line.strip()}"


def test_prose_is_plain() -> None:
    """At most one finding per 1,000 words; `prose.py` lists the words and the usual terms."""
    paths = figures.written()
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words}: {usual}"
        for path in paths
        for line, words, usual in prose.findings(path)
    ]
    assert len(found) <= sum(map(prose.words, paths)) / 1000, "\n".join(found)


def test_findings_are_found(tmp_path: Path) -> None:
    source = tmp_path / "sample.py"
    source.write_text('"""Whether it is told."""\n\n\ndef f() -> None:\n    """Return `behind`."""  # it lies behind\n')
    assert [words for _, words, _ in prose.findings(source)] == ["Whether", "is told", "behind"]


def test_readers_of_programs_parse_them() -> None:
    assert figures.READERS.keys() <= set(figures.program_readers())


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": set[str]()}
    assert figures.circles(edges) == [["a", "b", "c"], ["d", "e"]]
