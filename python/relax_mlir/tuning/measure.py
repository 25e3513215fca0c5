"""Measuring candidates in child processes: one at a time each, on a CPU of its own."""

from __future__ import annotations

import itertools
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import exp, log
from time import monotonic
from typing import Any, Literal

from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.strategy.knobs import Values
from relax_mlir.tuning.task import Sizes, Task

Objective = Literal["mean", "worst"]


@dataclass(frozen=True)
class SizeTime:
    """How a candidate did for some sizes.

    Attributes:
        ratio: how many times as fast as what it is compared with: the median of rounds in which both were run in turns.
        low, high: the quartiles of the rounds.
        seconds: of a call.
    """

    ratio: float
    low: float
    high: float
    seconds: float


@dataclass(frozen=True)
class Measurement:
    """A candidate, and how it did for each of the sizes; `error` says why there are no times."""

    values: Values
    times: tuple[SizeTime, ...] = ()
    error: str = ""

    def score(self, objective: Objective = "mean") -> float:
        """The geometric mean of the ratios, or the worst one; 0 for a candidate that failed."""
        if self.error or not self.times:
            return 0.0
        ratios = [time.ratio for time in self.times]
        return min(ratios) if objective == "worst" else exp(sum(map(log, ratios)) / len(ratios))


@dataclass
class LocalWorkers:
    """Child processes of this machine, as a context manager.

    Args:
        count: how many; each is bound to a CPU of its own, if there are as many.
        timeout: seconds for a candidate, building included; a worker that takes longer is ended, and started anew.
        rounds: how often a candidate and what it is compared with are run in turns, for each of the sizes.
        least: seconds that the calls of a round take at least.
    """

    count: int = 1
    timeout: float = 60.0
    rounds: int = 7
    least: float = 0.002
    seed: int = 0
    _workers: list[_Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("count", "rounds"):
            expect(f"LocalWorkers: '{name}'", getattr(self, name), int, "a number")
            if getattr(self, name) < 1:
                raise ArgumentError(f"LocalWorkers: '{name}' is {getattr(self, name)}, expected at least 1")

    def __enter__(self) -> LocalWorkers:
        cpus = sorted(os.sched_getaffinity(0))
        own = cpus if len(cpus) >= self.count else [None] * self.count
        self._workers = [_Worker(cpu) for cpu in own[: self.count]]
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []

    def measure(
        self, task: Task, sizes: Sequence[Sizes], candidates: Sequence[Values], baseline: str | None = None
    ) -> Iterator[Measurement]:
        """Measure candidates, each as soon as a worker is free; in the order in which they are done.

        `baseline`: the text of the module that they are compared with; None: the computation without a schedule.
        """
        if not self._workers:
            raise ArgumentError("LocalWorkers: use it in a `with` block")
        calls = [[vars(argument) for argument in task.arguments(each)] for each in sizes]
        common = {
            "baseline": task.plain() if baseline is None else baseline,
            "target": str(task.target),
            "calls": calls,
            "integers": [task.integers(each) for each in sizes],
            "rounds": self.rounds,
            "least": self.least,
            "seed": self.seed,
        }
        waiting = iter(candidates)
        busy: dict[_Worker, Values] = {}
        with selectors.DefaultSelector() as selector:
            while True:
                for worker in self._workers:
                    if worker in busy:
                        continue
                    for values in waiting:
                        try:
                            text = task.scheduled(values)
                        except RelaxError as error:
                            yield Measurement(values, error=f"{type(error).__name__}: {error}")
                            continue
                        worker.ask({**common, "candidate": text}, self.timeout)
                        selector.register(worker.output, selectors.EVENT_READ, worker)
                        busy[worker] = values
                        break
                if not busy:
                    return
                soonest = min(worker.deadline for worker in busy)
                ready = [key.data for key, _ in selector.select(max(0.0, soonest - monotonic()))]
                late = [worker for worker in busy if worker not in ready and worker.deadline <= monotonic()]
                for worker in [*ready, *late]:
                    selector.unregister(worker.output)
                    values = busy.pop(worker)
                    yield _measurement(
                        values, worker.restart(self.timeout) if worker in late else worker.answer()
                    )


def _measurement(values: Values, answer: Mapping[str, Any]) -> Measurement:
    if "error" in answer:
        return Measurement(values, error=str(answer["error"]))
    return Measurement(values, tuple(SizeTime(**each) for each in answer["times"]))


_numbers = itertools.count()


class _Worker:
    """A child process."""

    def __init__(self, cpu: int | None) -> None:
        self.cpu = cpu
        self.deadline = 0.0
        self._start()

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "relax_mlir.tuning.measure_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for this process alone
        )

    @property
    def output(self) -> Any:  # noqa: ANN401 - a file
        return self.process.stdout

    def ask(self, request: Mapping[str, Any], timeout: float) -> None:
        self.deadline = monotonic() + timeout
        self.number = next(_numbers)
        line = json.dumps({"id": self.number, "cpu": self.cpu, **request}).encode() + b"\n"
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died: so says its output

    def answer(self) -> Mapping[str, Any]:
        """What it has said; an error if it has ended."""
        line = self.output.readline()
        if line:
            answer: Mapping[str, Any] = json.loads(line)
            return answer
        code = self.process.wait()
        self.end()
        self._start()
        what = f"signal {-code}" if code < 0 else f"status {code}"
        return {"error": f"WorkerError: the process that measured it ended with {what}"}

    def restart(self, timeout: float) -> Mapping[str, Any]:
        """End it, and start another one."""
        self.end()
        self._start()
        return {"error": f"TimeoutError: it took longer than {timeout:g} s"}

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):  # what was not read is of no use any more
                if stream is not None:
                    stream.close()
