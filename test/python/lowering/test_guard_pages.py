"""All kernels on arrays between inaccessible pages; see `guarded_programs`.

For all cases at other sizes: ``python test/python/support/guarded_programs.py GROUP TARGET SEED ROUNDS``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guard_pages import run_apart
from guarded_programs import GROUPS

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_is_touched_out_of_bounds(group: str) -> None:
    run_apart(SUPPORT / "guarded_programs.py", [group, "cpu", "1", "8", "3"])


def test_kernels_without_masked_loads() -> None:
    run_apart(SUPPORT / "guarded_programs.py", ["rows", "cpu -mcpu=x86-64", "2", "8", "4"])


@pytest.mark.parametrize(("place", "index"), [("True", "16"), ("False", "-1")])
@pytest.mark.parametrize("action", ["_ = memory[at]", "memory[at] = 1.0"], ids=["read", "write"])
def test_a_crash_is_an_error(tmp_path: Path, place: str, index: str, action: str) -> None:
    script = tmp_path / "beyond.py"
    script.write_text(f"""
import ctypes, faulthandler, sys
faulthandler.enable()
sys.path.insert(0, {str(SUPPORT)!r})
import numpy as np
from guard_pages import GuardedMemory
array = GuardedMemory().place(np.ones(16, np.float32), {place})
memory = ctypes.cast(array.ctypes.data, ctypes.POINTER(ctypes.c_float))
print("inside", memory[0], memory[15], flush=True)
at = {index}
{action}
""")
    with pytest.raises(AssertionError, match=r"exit code -11 after\ninside 1\.0 1\.0"):
        run_apart(script, [])
