"""Arrays that end right before an inaccessible page, or begin right after one; used in separate processes.

Any access outside of such an array crashes the process: `run_apart` converts this to an error.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import warm_process

PAGE = mmap.PAGESIZE
_NO_ACCESS = 0
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

Array = np.ndarray[Any, Any]


class GuardedMemory:
    """The owner of the memory of the arrays that `place` creates; it is never freed, since pages stay protected."""

    def __init__(self) -> None:
        self._free: dict[int, list[Array]] = {}
        self._used: list[tuple[int, Array]] = []

    def place(self, source: Array, at_end: bool) -> Array:
        """A copy of `source` with a protected page right after it, or right before it."""
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
    """Run a script in a separate process.

    Raises:
        AssertionError: it failed or crashed; with the last lines of its output, which name the current case.
    """
    done = warm_process.run([str(script), *arguments], timeout=300)
    if done.returncode != 0:
        last = "\n".join(done.stdout.decode().splitlines()[-3:])
        raise AssertionError(f"exit code {done.returncode} after\n{last}\n{done.stderr.decode()[-3000:]}")
