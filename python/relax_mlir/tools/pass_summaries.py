"""The help of each pass as data: reading it from the classes would import the whole compiler.

``python -m relax_mlir.tools.pass_summaries`` regenerates the table; a test checks that it is up to date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from relax_mlir.transform import Pass

TABLE = Path(__file__).with_name("pass_summaries.json")


class PassSummary(NamedTuple):
    """The first paragraph of a pass's docstring, and name, type and default of each option."""

    help: str
    options: list[tuple[str, str, str]]
    is_pipeline: bool = False


def summaries() -> dict[str, PassSummary]:
    """The passes of the project by name, from the table."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    return {
        name: PassSummary(row["help"], [(*option,) for option in row["options"]], row["is_pipeline"])
        for name, row in table.items()
    }


def summary_of(cls: type[Pass]) -> PassSummary:
    """The help of a pass class."""
    import inspect

    from relax_mlir.transform import PipelinePass
    from relax_mlir.transform.options import describe_options

    text = (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ")
    return PassSummary(text, describe_options(cls), issubclass(cls, PipelinePass))


def table_text() -> str:
    """The table as generated from the classes of all passes of the project."""
    from relax_mlir.transform import registry

    rows = {name: summary_of(registry.pass_class(name))._asdict() for name in sorted(registry.PASSES)}
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table_text(), encoding="utf-8")
