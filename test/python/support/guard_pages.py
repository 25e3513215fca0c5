"""Arrays that end right before a page that nobody may touch, or begin right after one; runs in processes of their own.

What is read or written beyond such an array ends the process: `run_apart` makes an error of that.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
_NO_ACCESS = 0
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

Array = np.ndarray[Any, Any]


class GuardedMemory:
    """Keeps the memory of the arrays that `place` makes; it is never given back, since pages stay forbidden."""

    def __init__(self) -> None:
        self._free: dict[int, list[Array]] = {}
        self._used: list[tuple[int, Array]] = []

    def place(self, source: Array, at_end: bool) -> Array:
        """A copy of `source` with a forbidden page right behind it, or right before it."""
        pages = max(1, -(-source.nbytes // PAGE))
        free = self._free.setdefault(pages, [])
        block = free.pop() if free else _block(pages)
        self._used.append((pages, block))
        start = PAGE + (pages * PAGE - source.nbytes if at_end else 0)
        placed = block[start : start + source.nbytes].view(source.dtype).reshape(source.shape)
        placed[...] = source
        return placed

    def release(self) -> None:
        """The memory of all arrays may be used for new ones."""
        for pages, block in self._used:
            self._free[pages].append(block)
        self._used.clear()


def _block(pages: int) -> Array:
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    block = np.frombuffer(memory, np.uint8)
    for page in (0, pages + 1):
        if _LIBC.mprotect(block.ctypes.data + page * PAGE, PAGE, _NO_ACCESS) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    return block


def run_apart(script: Path, arguments: Sequence[str]) -> None:
    """Run a script in a process of its own.

    Raises:
        AssertionError: it failed or crashed; with the last lines that it printed, which say what it did.
    """
    command = [sys.executable, "-X", "faulthandler", str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-3:])
        raise AssertionError(f"exit code {done.returncode} after\n{last}\n{done.stderr[-3000:]}")
