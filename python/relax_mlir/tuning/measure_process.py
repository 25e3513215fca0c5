"""The parent's handle of a child process that measures candidates."""

from __future__ import annotations

import itertools
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any

_numbers = itertools.count()

_START = """
import gc, runpy, sys
gc.disable()
sys.modules["torch"] = None
runpy.run_module("relax_mlir.tuning.measure_worker", run_name="__main__", alter_sys=True)
"""
"""The FFI imports torch if it is installed, which takes longer than all other imports and is not needed. Garbage
collection is disabled during the imports.
"""


class MeasureProcess:
    """A child process that runs `measure_worker`, bound to `cpu` if that is given.

    It starts immediately. If it has ended, the next request starts another one.
    """

    def __init__(self, cpu: int | None = None) -> None:
        self.cpu = cpu
        self.deadline = 0.0
        self._start()

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C only interrupts this process
        )

    @property
    def output(self) -> Any:  # noqa: ANN401 - a file
        return self.process.stdout

    def ask(self, request: Mapping[str, Any], timeout: float) -> None:
        """Send a request, which must be answered within `timeout` seconds."""
        if self.process.poll() is not None:  # it has ended while idle
            self.end()
            self._start()
        self.deadline = monotonic() + timeout
        self.number = next(_numbers)
        line = json.dumps({"id": self.number, "cpu": self.cpu, **request}).encode() + b"\n"
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has died, which `answer` reports
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def answer(self) -> Mapping[str, Any]:
        """The answer of the process; an error if it has ended."""
        line = self.output.readline()
        if line:
            answer: Mapping[str, Any] = json.loads(line)
            return answer
        code = self.process.wait()
        what = f"signal {-code}" if code < 0 else f"status {code}"
        return {"error": f"WorkerError: the process that measured it ended with {what}"}

    def measure(self, request: Mapping[str, Any], timeout: float) -> Mapping[str, Any]:
        """Send a request and wait for the answer, up to `timeout` seconds."""
        self.ask(request, timeout)
        with selectors.DefaultSelector() as selector:
            selector.register(self.output, selectors.EVENT_READ)
            is_there = selector.select(max(0.0, self.deadline - monotonic()))
        return self.answer() if is_there else self.give_up(timeout)

    def give_up(self, timeout: float) -> Mapping[str, Any]:
        """End the process, which has not answered within `timeout` seconds; return an error that says so."""
        self.end()
        return {"error": f"TimeoutError: it took longer than {timeout:g} s"}

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):  # unread requests are dropped
                if stream is not None:
                    stream.close()
