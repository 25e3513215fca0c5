"""Random bytecode in the machine and in an interpreter, in a process of its own; `make fuzz` takes more."""

from __future__ import annotations

import subprocess
import sys

import random_bytecode


def test_random_programs_against_an_interpreter() -> None:
    command = [sys.executable, random_bytecode.__file__, "--seed", "0", "--count", "1500"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr[-3000:]
    counts = {what: int(count) for count, what in map(str.split, made.stdout.splitlines()[-1].split(", "))}
    assert counts["result"] > 150
    assert counts["error"] > 300
