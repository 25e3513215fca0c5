"""Each entry in the list of equivalent mutants names a line of the source."""

from __future__ import annotations

from pathlib import Path

import pytest
from equivalent import EQUIVALENT

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("path", sorted({row.path for row in EQUIVALENT}))
def test_lines_are_there(path: str) -> None:
    lines = {line.strip() for line in (ROOT / path).read_text(encoding="utf-8").splitlines()}
    rows = [row for row in EQUIVALENT if row.path == path]
    assert [row.before for row in rows if row.before not in lines] == []
    assert all(row.before != row.after and row.reason for row in rows)
