"""Capture the output of C++ to file descriptor 2: MLIR reports some option errors only there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from relax_mlir.fork_safety import Order, process_lock

_lock = process_lock(Order.STANDARD_ERROR)


class Captured:
    """The text written so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def text(self) -> str:
        self._file.seek(0)
        return self._file.read().decode(errors="replace").strip()


@contextmanager
def captured_stderr() -> Iterator[Captured]:
    """Redirect descriptor 2 of this process to a file, for the microseconds that a parse takes.

    The descriptor is shared by the whole process: use it in one thread at a time, for short calls only.
    """
    with _lock, tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield Captured(file)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
