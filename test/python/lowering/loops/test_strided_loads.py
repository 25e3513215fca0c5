"""Elements with small strides are loaded as vectors, and only memory that the loop reads is accessed."""

from __future__ import annotations

from pathlib import Path

import pytest
import sweep
from guard_pages import run_apart

SUPPORT = Path(__file__).parents[2] / "support"


@pytest.mark.parametrize("target", sweep.quick(["cpu", "cpu -mcpu=haswell", "cpu -mcpu=x86-64"], "cpu"))
def test_every_second_third_and_fourth_element(target: str) -> None:
    run_apart(SUPPORT / "guarded_strides.py", [target])
