"""Random bytecode in the machine and in an interpreter, in a separate process; `make fuzz` runs more."""

from __future__ import annotations

import cold_process
import random_bytecode
import sweep

COUNT = 1500 if sweep.ALL else 250


def test_random_programs_against_an_interpreter() -> None:
    made = cold_process.run([random_bytecode.__file__, "--seed", "0", "--count", str(COUNT)], timeout=600)
    assert made.returncode == 0, made.stderr[-3000:]
    counts = {what: int(count) for count, what in map(str.split, made.stdout.splitlines()[-1].split(", "))}
    assert counts["result"] > COUNT // 10
    assert counts["error"] > COUNT // 5
