"""Help of passes, read from their sources: importing the classes would import the whole compiler."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir.transform import registry

if TYPE_CHECKING:
    from relax_mlir.transform import Pass

PACKAGE = Path(__file__).resolve().parents[1]


class PassSummary(NamedTuple):
    """The first paragraph of a pass's docstring, and name, type and default of each option."""

    help: str
    options: list[tuple[str, str, str]]
    is_pipeline: bool = False


def summary_of(cls: type[Pass]) -> PassSummary:
    """The help of a pass class."""
    import inspect

    from relax_mlir.transform import PipelinePass
    from relax_mlir.transform.pipeline_text import describe_options

    return PassSummary(
        first_paragraph(inspect.getdoc(cls)), describe_options(cls), issubclass(cls, PipelinePass)
    )


def summaries() -> dict[str, PassSummary]:
    """The passes of the project by name."""
    places = {name: target.split(":") for name, target in registry.PASSES.items()}
    return {
        name: _summary(module, cls)
        for name, (module, cls) in places.items()
        if module.startswith("relax_mlir.")
    }


def first_paragraph(docstring: str | None) -> str:
    return (docstring or "").partition("\n\n")[0].replace("\n", " ")


def _summary(module: str, name: str) -> PassSummary:
    lineage = list(_lineage(module, name))
    options = [option for node in reversed(lineage) for option in _options(module, node)]
    is_pipeline = "PipelinePass" in _bases(lineage[-1])
    return PassSummary(first_paragraph(ast.get_docstring(lineage[0])), options, is_pipeline)


def _lineage(module: str, name: str) -> Iterator[ast.ClassDef]:
    """Yield a class, then its base class if that is in the same file, and so on."""
    node: ast.ClassDef | None = _class(module, name)
    while node is not None:
        yield node
        inner = [base for base in _bases(node) if re.search(rf"^class {base}\b", _text(module), re.MULTILINE)]
        node = _class(module, inner[0]) if inner else None


def _bases(node: ast.ClassDef) -> list[str]:
    return [base.id for base in node.bases if isinstance(base, ast.Name)]


def _class(module: str, name: str) -> ast.ClassDef:
    """The definition of a class; only its lines are parsed, since the files are long."""
    lines = re.search(rf"^class {name}\b.*?(?=^[^\s)]|\Z)", _text(module), re.MULTILINE | re.DOTALL)
    assert lines is not None, f"{module} defines no class {name}"
    (node,) = ast.parse(lines[0]).body
    assert isinstance(node, ast.ClassDef)
    return node


@cache
def _text(module: str) -> str:
    path = PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    return path.read_text(encoding="utf-8")


def _options(module: str, node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and default of the fields of a dataclass that its constructor takes."""
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            kind = ast.unparse(field.annotation)
            is_attribute = isinstance(field.value, ast.Call)  # field(init=False)
            if not kind.startswith("ClassVar") and not is_attribute:
                yield field.target.id.replace("_", "-"), kind, _default(module, field.value)


def _default(module: str, value: ast.expr | None) -> str:
    from relax_mlir.transform.pipeline_text import REQUIRED, format_value

    if value is None:
        return REQUIRED
    if isinstance(value, ast.Name):  # a constant of the file
        assigned = re.search(rf"^{value.id}\b[^=\n]*= *(.*)$", _text(module), re.MULTILINE)
        assert assigned is not None, f"{module} defines no {value.id}"
        value = ast.parse(assigned[1], mode="eval").body
    return format_value(ast.literal_eval(value))
