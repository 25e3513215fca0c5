"""Children that measure candidates of tuning, forked from the warm process: a new interpreter imports for a second."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

import warm_process
from relax_mlir.tuning.measure_process import MeasureProcess


class WarmMeasurer:
    """What `MeasureProcess` uses of `subprocess.Popen`."""

    def __init__(self) -> None:
        given, write = os.pipe()
        read, answers = os.pipe()
        self.stdin, self.stdout = os.fdopen(write, "wb"), os.fdopen(read, "rb")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        command = ["-m", "relax_mlir.tuning.measure_worker", str(warm_process.parent())]
        try:
            self._child = warm_process.start(command, (given, answers, nowhere), os.environ)
        finally:
            for descriptor in (given, answers, nowhere):
                os.close(descriptor)
        self.pid, self.kill, self.wait = self._child.pid, self._child.kill, self._child.wait

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self._child.returncode


def start(process: MeasureProcess) -> None:
    """In the place of `MeasureProcess._start`."""
    process.process = WarmMeasurer()  # type: ignore[assignment]
