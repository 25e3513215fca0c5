"""Mutated ONNX files neither crash the process nor raise anything but `RelaxError`s; `make fuzz` runs 500."""

from __future__ import annotations

from pathlib import Path

import cold_process

SCRIPT = Path(__file__).with_name("mutated_models.py")


def test_mutated_models() -> None:
    done = cold_process.run([str(SCRIPT), "--count", "60", "--seed", "1"])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "60 mutants, 0 bad" in done.stdout
