"""What the printer prints reads back as the same module: over the lit corpus, the examples and random modules."""

from __future__ import annotations

from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir.analysis.structural_equal import find_difference
from relax_mlir.error import ParseError
from relax_mlir.script import parse, script_constants

ROOT = Path(__file__).resolve().parents[3]
CORPUS = sorted((ROOT / "test" / "lit").rglob("*.mlir"))


def chunks(path: Path) -> list[str]:
    return path.read_text().split("// -----")


def check_round_trip(module: rx.IRModule) -> str:
    """Print, read, compare; then print again, which gives the same text but for the names of constants."""
    text = module.script()
    again = parse(text, script_constants(module.mlir))
    difference = find_difference(module, again)
    assert difference is None, f"{difference}\n{text}\n{again.script()}"
    return text


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: str(p.relative_to(ROOT / "test" / "lit")))
def test_lit_files(path: Path) -> None:
    for chunk in chunks(path):
        try:
            module = rx.IRModule.parse(chunk, path.name)
            module.verify()
        except (ParseError, rx.error.VerifyError):
            continue  # a chunk that tests a message
        check_round_trip(module)
