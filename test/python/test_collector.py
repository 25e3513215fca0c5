"""`collector_paused`: imports run without the garbage collector, and leave their objects in its oldest generation."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPTS = {
    "objects are old and collectable": """
with collector_paused():
    assert not gc.isenabled()
    made = [[number] for number in range(5000)]
assert gc.isenabled() and not gc.get_freeze_count()
assert any(item is made for item in gc.get_objects(generation=2))
""",
    "off stays off": """
gc.disable()
with collector_paused():
    pass
assert not gc.isenabled()
""",
    "frozen stays frozen": """
gc.freeze()
frozen = gc.get_freeze_count()
with collector_paused():
    pass
assert gc.isenabled() and gc.get_freeze_count() == frozen > 0
""",
    "on again after an error": """
try:
    with collector_paused():
        raise ImportError
except ImportError:
    assert gc.isenabled()
""",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_the_collector_after_a_pause(script: str) -> None:  # conftest.py freezes objects of this process
    script = f"import gc\nfrom relax_mlir.lazy import collector_paused\n{script}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
