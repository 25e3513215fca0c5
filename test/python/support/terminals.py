"""Commands on a pseudo terminal: their output, and their reaction to Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import time
from collections.abc import Callable, Mapping

import warm_process

TIMEOUT = 120
PLAIN = {"NO_COLOR": None, "FORCE_COLOR": None, "TERM": "xterm-256color", "COLUMNS": "100"}
"""The environment, except for variables set by a test."""


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """The environment with `PLAIN` and `changes`; None removes a variable."""
    values = {**os.environ, **PLAIN, **changes}
    return {name: value for name, value in values.items() if value is not None}


def run_on_terminal(
    arguments: list[str],
    changes: Mapping[str, str | None] | None = None,
    interrupt_when: Callable[[str], bool] | None = None,
) -> tuple[int, str]:
    """Run Python with these arguments on a separate terminal; return the exit code and the output.

    `interrupt_when` gets the output so far: when it returns true, Ctrl-C is pressed, once.
    """
    master, slave = pty.openpty()
    process = warm_process.start(arguments, (slave, slave, slave), environment(changes or {}))
    os.close(slave)
    written = b""
    deadline = time.monotonic() + TIMEOUT
    try:
        while time.monotonic() < deadline:
            if interrupt_when is not None and interrupt_when(written.decode(errors="replace")):
                os.killpg(process.pid, signal.SIGINT)
                interrupt_when = None
            if not select.select([master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:  # the last process has closed the terminal
                break
            if not data:
                break
            written += data
        code = process.wait(timeout=TIMEOUT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.returncode is None:
                os.kill(process.pid, signal.SIGKILL)
        os.close(master)
    return code, written.decode(errors="replace").replace("\r\n", "\n")
