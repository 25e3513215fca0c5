"""A process that runs mutants, forked again from one that has imported the compiler after it crashes or hangs."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import paths  # noqa: F401 - the next imports need it
from cold_process import environment
from warm_process import PipedChild

START_SECONDS = 300
RECYCLE = 500
"""The number of mutants after which a new process is started, so that memory stays small."""


@dataclass
class Answer:
    """The outcome of a job: the worker's `report`, or its stage when it crashed or hung."""

    mutant: dict[str, Any] | None = None
    stage: str = ""
    report: dict[str, Any] | None = None
    failure: str = ""
    stages: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """``crash``, ``hang``, ``internal``, ``difference`` or nothing."""
        return self.failure.replace("internal: difference", "difference").partition(":")[0].partition(" ")[0]


class Worker:
    """One child process."""

    def __init__(self, seconds: float, compile_only: bool = False) -> None:
        self.seconds, self.compile_only = seconds, compile_only
        self.process: PipedChild | None = None
        self.count = 0
        self.buffer = b""
        self.errors: IO[bytes] | None = None

    def run(self, job: dict[str, Any]) -> Answer:
        """Run one job; a crash or hang ends the process."""
        if self.process is None or self.count >= RECYCLE:
            self._start()
        assert self.process is not None
        self.count += 1
        answer = Answer()
        line = json.dumps({**job, "compile_only": self.compile_only}).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):  # its output before it exited follows
            self.process.stdin.write(line)
        while True:
            said = self._line(self.seconds)
            if said is None:
                self._dead(answer)
                return answer
            kind, _, text = said.partition(" ")
            if kind == "stage":
                answer.stage = text
                answer.stages.append(text)
            elif kind == "mutant":
                answer.mutant = json.loads(text)
            elif kind == "report":
                answer.report = json.loads(text)
                answer.failure = str(answer.report["failure"])
                return answer

    def _dead(self, answer: Answer) -> None:
        assert self.process is not None
        try:
            code = self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            answer.failure = f"hang in {answer.stage}"
        else:
            name = signal.Signals(-code).name if code < 0 else f"exit {code}"
            answer.failure = f"crash ({name}) in {answer.stage}: {self._last_words()}"
        self.stop()

    def _last_words(self) -> str:
        assert self.errors is not None
        size = self.errors.seek(0, os.SEEK_END)
        self.errors.seek(max(size - 1500, 0))
        return self.errors.read().decode(errors="replace").replace("\n", " | ")

    def _line(self, seconds: float) -> str | None:
        """The next line, or None if the process is silent for this long, or has exited."""
        assert self.process is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode(errors="replace")

    def _start(self) -> None:
        self.stop()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        script = Path(__file__).with_name("mutant_worker.py")
        self.process = PipedChild([str(script)], self.errors.fileno(), environment())
        line = self._line(START_SECONDS)
        if line is None or not line.startswith("ready"):
            raise RuntimeError(f"the worker does not start: {self._last_words()}")

    def stop(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.stdin.close()
            self.process.stdout.close()
        if self.errors is not None:
            self.errors.close()
        self.errors = None
        self.process, self.count, self.buffer = None, 0, b""
