"""Children that measure candidates of tuning, forked from a tool, which has imported the compiler: see `CODE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from relax_mlir.tuning import measure_worker
from relax_mlir.tuning.measure import MeasureProcess

CODE = f"""
import runpy, sys
sys.path.insert(1, {str(Path(__file__).parent)!r})
import forked_measuring
forked_measuring.install()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""Code that runs a module (its name is the first argument) and forks its measuring child processes."""


class ForkedMeasurer:
    """The subset of `subprocess.Popen` that `MeasureProcess` uses."""

    def __init__(self) -> None:
        given, write = os.pipe()
        read, answers = os.pipe()
        parent = os.getpid()
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _measure(given, answers, parent)
        os.close(given)
        os.close(answers)
        self.stdin, self.stdout = os.fdopen(write, "wb", 0), os.fdopen(read, "rb", 0)

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._ended(os.WNOHANG)

    def wait(self) -> int:
        """The exit code; that of a signal is negative."""
        code = self._ended(0)
        assert code is not None
        return code

    def kill(self) -> None:
        """End it, if it has not ended."""
        if self.poll() is None:
            os.kill(self.pid, 9)

    def _ended(self, how: int) -> int | None:
        if self.code is None:
            child, status = os.waitpid(self.pid, how)
            self.code = os.waitstatus_to_exitcode(status) if child else None
        return self.code


def _measure(given: int, answers: int, parent: int) -> NoReturn:
    try:
        os.setsid()
        for target, descriptor in enumerate((given, answers, os.open(os.devnull, os.O_WRONLY))):
            os.dup2(descriptor, target)
        os.closerange(3, 256)  # so that pipes end with their processes
        sys.argv[:] = ["measure_worker", str(parent)]
        sys.stdin = os.fdopen(0)
        measure_worker.serve()
    finally:
        os._exit(1)


def _start(process: MeasureProcess) -> None:
    process.process = ForkedMeasurer()  # type: ignore[assignment]  # has the used subset of Popen


def install() -> None:
    """Fork all child processes of this process that measure."""
    setattr(MeasureProcess, "_start", _start)  # noqa: B010 - mypy takes no assignment to a method
