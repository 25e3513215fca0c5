"""Measure candidates in child processes, each on its own CPU, one candidate at a time."""

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
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar

from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.lowering.strategy.tuned import Values
from relax_mlir.tuning.search import require_seed
from relax_mlir.tuning.task import Sizes, Task

# The parent's handle of a child process that measures candidates.

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


Objective = Literal["mean", "worst"]

BETTER = 1.03
"""The speedup above which a candidate counts as better; less is noise."""


@dataclass(frozen=True)
class SizeTime:
    """The time of a candidate for one set of sizes.

    Attributes:
        ratio: the speedup over the baseline, from the lower quartiles of the times in interleaved rounds.
        low, high: the quartiles of the ratios of the rounds.
        seconds: time per call, in seconds.
    """

    ratio: float
    low: float
    high: float
    seconds: float


@dataclass(frozen=True)
class Measurement:
    """A candidate and its times for each of the sizes; `error` is the reason if there are no times."""

    values: Values
    times: tuple[SizeTime, ...] = ()
    error: str = ""

    def score(self, objective: Objective = "mean") -> float:
        """The geometric mean of the ratios, or the minimum; 0 for a candidate that failed."""
        if self.error or not self.times:
            return 0.0
        ratios = [time.ratio for time in self.times]
        return min(ratios) if objective == "worst" else exp(sum(map(log, ratios)) / len(ratios))


WorkersT = TypeVar("WorkersT", bound="Workers")


class Workers(Protocol):
    """The interface of `LocalWorkers` and `DaskWorkers`, which measure candidates in a ``with`` block."""

    rounds: int
    least: float
    seed: int

    @property
    def count(self) -> int:
        """The number of candidates measured at a time."""
        ...

    def __enter__(self: WorkersT) -> WorkersT: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def measure(
        self, task: Task, sizes: Sequence[Sizes], candidates: Sequence[Values], baseline: str | None = None
    ) -> Iterator[Measurement]:
        """Measure candidates, in order of completion; see `LocalWorkers.measure`."""
        ...


@dataclass
class LocalWorkers:
    """Child processes of this machine, as a context manager.

    Inside a ``with`` block, `tune` uses its processes: they end with the outermost block.

    Args:
        count: the number of processes; if there are enough CPUs, each is bound to a different one.
        timeout: seconds for a candidate, building included; a process that exceeds it is ended and restarted.
        rounds: the number of interleaved runs of candidate and baseline for each of the sizes; fewer if calls take
            long.
        least: the minimum seconds of the calls in a round.
    """

    count: int = 1
    timeout: float = 60.0
    rounds: int = 30
    least: float = 0.0005
    seed: int = 0
    _workers: list[MeasureProcess] = field(default_factory=list)
    _entered: int = 0

    def __post_init__(self) -> None:
        require_seed("LocalWorkers", self.seed)
        for name in ("count", "rounds"):
            expect(f"LocalWorkers: '{name}'", getattr(self, name), int, "a number")
            if getattr(self, name) < 1:
                raise ArgumentError(f"LocalWorkers: '{name}' is {getattr(self, name)}, expected at least 1")

    def __enter__(self) -> LocalWorkers:
        if not self._entered:
            cpus = sorted(os.sched_getaffinity(0))
            own = cpus if len(cpus) >= self.count else [None] * self.count
            self._workers = [MeasureProcess(cpu) for cpu in own[: self.count]]
        self._entered += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._entered -= 1
        if self._entered:
            return
        for worker in self._workers:
            worker.end()
        self._workers = []

    def measure(
        self, task: Task, sizes: Sequence[Sizes], candidates: Sequence[Values], baseline: str | None = None
    ) -> Iterator[Measurement]:
        """Measure candidates as workers become free; yields the measurements in order of completion.

        `baseline`: the text of the module that they are compared with; None: the computation without a schedule.
        """
        if not self._workers:
            raise ArgumentError("LocalWorkers: use it in a `with` block")
        common = request_of(self, task, sizes, baseline)
        waiting = iter(candidates)
        busy: dict[MeasureProcess, Values] = {}
        try:
            with selectors.DefaultSelector() as selector:
                while True:
                    for worker in self._workers:
                        if worker in busy:
                            continue
                        for values in waiting:
                            try:
                                text = task.scheduled(values)
                            except RelaxError as error:
                                yield refused_by_schedule(values, error)
                                continue
                            worker.ask({**common, "candidate": text}, self.timeout)
                            selector.register(worker.output, selectors.EVENT_READ, worker)
                            busy[worker] = values
                            break
                    if not busy:
                        return
                    soonest = min(worker.deadline for worker in busy)
                    ready = [key.data for key, _ in selector.select(max(0.0, soonest - monotonic()))]
                    late = [w for w in busy if w not in ready and w.deadline <= monotonic()]
                    for worker in [*ready, *late]:
                        selector.unregister(worker.output)
                        answer = worker.give_up(self.timeout) if worker in late else worker.answer()
                        yield measurement_of(busy.pop(worker), answer)
        finally:
            for worker in busy:  # the caller has stopped early
                worker.end()


def request_of(workers: Workers, task: Task, sizes: Sequence[Sizes], baseline: str | None) -> dict[str, Any]:
    """The part of a request that is the same for all candidates of a task."""
    return {
        "baseline": task.plain() if baseline is None else baseline,
        "target": str(task.target),
        "calls": [[vars(argument) for argument in task.arguments(each)] for each in sizes],
        "integers": [task.integers(each) for each in sizes],
        "rounds": workers.rounds,
        "least": workers.least,
        "seed": workers.seed,
    }


def measurement_of(values: Values, answer: Mapping[str, Any]) -> Measurement:
    """The measurement in a child process's answer."""
    if "error" in answer:
        return Measurement(values, error=str(answer["error"]))
    return Measurement(values, tuple(SizeTime(**each) for each in answer["times"]))


def refused_by_schedule(values: Values, error: RelaxError) -> Measurement:
    """The failed measurement of values that do not give a valid schedule."""
    return Measurement(values, error=f"{type(error).__name__}: {error}")
