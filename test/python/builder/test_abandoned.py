"""Abandoned builds do not corrupt memory: run in a child process, which memory errors would crash."""

from __future__ import annotations

from pathlib import Path

import cold_process


def test_no_way_to_give_up_a_function_corrupts_memory() -> None:
    program = Path(__file__).with_name("abandoned_programs.py")
    done = cold_process.run(["-X", "dev", str(program), "5", "6"], timeout=600)
    assert (done.returncode, done.stdout.strip()) == (0, "survived"), done.stdout + done.stderr[-2000:]
