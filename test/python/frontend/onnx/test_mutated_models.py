"""Mutated ONNX files neither crash the process nor raise anything but `RelaxError`s; `make fuzz` takes 500."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("mutated_models.py")


def test_mutated_models() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--count", "60", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "60 mutants, 0 bad" in done.stdout
