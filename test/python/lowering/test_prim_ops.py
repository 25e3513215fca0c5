"""Every scalar op that prim funcs may hold, on every type, compiled and compared with NumPy, on all kinds of numbers.

The forms come from the legality tables, so that a newly allowed op is tested automatically: it needs a reference here.
All run in child processes, which may crash without affecting the tests.
"""

from __future__ import annotations

from pathlib import Path

import cold_process
import pytest
import sweep
from prim_op_forms import SCALARS
from prim_op_references import REFERENCES

PARTS = 64
"""Number of parts of the table: all of them take minutes."""


def test_every_op_has_a_reference() -> None:
    assert sorted(REFERENCES) == SCALARS


@pytest.mark.parametrize("chunk", sweep.every(range(PARTS), PARTS))
def test_ops(chunk: int) -> None:
    """As `linalg.generic`, and in vectorised loops."""
    script = Path(__file__).with_name("prim_op_references.py")
    done = cold_process.run([str(script), str(chunk), str(PARTS), "linalg", "loops"], timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "forms agree\n" in done.stdout and "forms agree in loops\n" in done.stdout
