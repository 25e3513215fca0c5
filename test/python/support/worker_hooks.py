"""Packed functions that the workers of `map_batches` register, in tests; workers import this module."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi

HOOK = "distributed.hook"
MARKS_VARIABLE = "RELAX_MLIR_TEST_MARKS"
KILLS, FAILS = -1.0, -2.0
"""First elements of an argument at which `register` makes the hook kill or fail; otherwise it doubles the argument."""


def register(marks: str) -> None:
    """Register the hook: `KILLS` kills the process, once per file of the folder `marks`, which it removes."""

    def hook(x: tvm_ffi.Tensor) -> tvm_ffi.Tensor:
        array = np.from_dlpack(x)
        first = float(array.flat[0]) if array.size else 0.0
        if first == KILLS and take_mark(Path(marks)):
            os.kill(os.getpid(), signal.SIGKILL)
        if first == FAILS:
            raise ZeroDivisionError("the hook fails")
        return tvm_ffi.from_dlpack(2 * array)

    tvm_ffi.register_global_func(HOOK, hook, override=True)


def register_by_environment() -> None:
    """`register`, for the folder that the environment names."""
    register(os.environ[MARKS_VARIABLE])


def take_mark(folder: Path) -> bool:
    """Remove a file of a folder; False if there is none."""
    for mark in folder.iterdir():
        try:
            mark.unlink()
        except FileNotFoundError:
            continue
        return True
    return False


def leave_marks(folder: Path, count: int) -> None:
    """Create marks for `count` calls that kill their process."""
    for number in range(count):
        (folder / str(number)).touch()


def running_threads() -> int:
    """The number of threads of the process."""
    return len(os.listdir("/proc/self/task"))


def loaded_modules(names: Any) -> list[str]:
    """The packages among these that the process has imported."""
    import sys

    return sorted({module.partition(".")[0] for module in sys.modules} & set(names))


def mapped_privately(path: str) -> int:
    """The private (dirty) bytes of this process in a library's mapping; -1 if it is not mapped."""
    total, inside, seen = 0, False, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        if "-" in key and " " in line and not line[0].isupper():
            inside = line.endswith(path)
            seen |= inside
        elif inside and key == "Private_Dirty":
            total += 1024 * int(rest.split()[0])
    return total if seen else -1
