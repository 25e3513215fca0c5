"""Measure candidates on the workers of a Dask cluster, on any number of machines."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any

from relax_mlir._version import version
from relax_mlir.error import ArgumentError, RelaxError, UnsupportedError, expect
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.lowering.strategy.tuned import Values
from relax_mlir.target import Target
from relax_mlir.tuning.measure import (
    Measurement,
    MeasureProcess,
    measurement_of,
    refused_by_schedule,
    request_of,
)
from relax_mlir.tuning.search import require_seed
from relax_mlir.tuning.task import Sizes, Task

if TYPE_CHECKING:
    from distributed import Client, Future


# Reserve CPUs of a machine for measurements, one measurement per CPU across all processes.

CPU_POLL = 0.02
"""Seconds between two attempts to find a free CPU."""


@contextmanager
def reserved_cpu() -> Iterator[int]:
    """Reserve a CPU that no other process has reserved; wait until one is free.

    Reservations are file locks, which the system releases when the process ends, in whatever way.
    """
    folder = Path(tempfile.gettempdir()) / f"relax-mlir-cpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    while True:
        for cpu in sorted(os.sched_getaffinity(0)):
            with open(folder / f"{cpu}.lock", "w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield cpu
                return
        sleep(CPU_POLL)


# Code that runs in the Dask workers: measure candidates in child processes.

_lock = process_lock(Order.MEASURING)
_idle: list[MeasureProcess] = []


def measure_here(request: Mapping[str, Any], needs: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Measure a candidate in a child process, on a CPU reserved for it.

    `needs` is the result of `needs_of` for the target. The answer is that of `measure_worker`, or has the reason why
    this machine cannot measure the candidate under ``refused``; ``by`` is the address of the Dask worker.
    """
    from distributed import get_worker

    address = str(get_worker().address)
    unfit = against(needs, described())
    if unfit:
        return {"refused": unfit, "by": address}
    with reserved_cpu() as cpu:
        process = _take()
        process.cpu = cpu
        answer = process.measure(request, timeout)
        with _lock:
            _idle.append(process)
    return {**answer, "by": address}


def _take() -> MeasureProcess:
    with _lock:
        if _idle:
            return _idle.pop()
    return MeasureProcess()


def end_processes() -> None:
    """End the idle child processes."""
    with _lock:
        ended, _idle[:] = list(_idle), []
    for process in ended:
        process.end()


@cache
def described() -> dict[str, Any]:
    """The description of this machine: its CPU, and its version of relax-mlir."""
    host = Target.host()
    return {
        "version": f"{version()} ({_sources()})",
        "architecture": host.architecture,
        "features": sorted(host.features),
    }


def needs_of(target: Target) -> dict[str, Any]:
    """The requirements on a machine that measures candidates for a target: those of this machine, with other features.

    Code for the native CPU depends on all features of a machine, code for a named CPU only on those of the target.
    """
    return {
        **described(),
        "architecture": target.architecture,
        "features": sorted(target.features),
        "native": target.cpu == "native",
    }


def against(needs: Mapping[str, Any], has: Mapping[str, Any]) -> str:
    """The reason why a machine does not meet `needs`; empty if it does."""
    if needs["version"] != has["version"]:
        return f"it has relax-mlir {has['version']}, this process {needs['version']}: install the same there"
    if needs["architecture"] != has["architecture"]:
        return f"it is {has['architecture']}, the target is {needs['architecture']}"
    missing = sorted(set(needs["features"]) - set(has["features"]))
    if missing:
        return f"its CPU has no {', '.join(missing)}, which the target has"
    return ""


def explicit(target: Target) -> str:
    """The target as a string without defaults, so that it denotes the same target on all machines."""
    known = target.known_features
    changes = [f"-{name}" for name in sorted(known - target.features)]
    changes += [f"+{name}" for name in sorted(target.features)]
    options = {
        "mcpu": target.cpu,
        "mtriple": target.triple,
        **({"mattr": ",".join(changes)} if changes else {}),
        "num-threads": target.num_threads,
        "vector-bytes": target.vector_bytes,
        "vector-registers": target.num_vector_registers,
        "l1": target.l1_bytes,
        "l2": target.l2_bytes,
        "l3": target.l3_bytes,
    }
    return " ".join(["cpu", *(f"-{name}={value}" for name, value in options.items())])


@cache
def _sources() -> str:
    """A hash of the sources of relax-mlir."""
    folders = {Path(__file__).parents[1]}
    for name in ("dialects", "lowering", "passes"):
        folders |= {Path(folder) for folder in sys.modules[f"relax_mlir.{name}"].__path__}
    digest = hashlib.sha256()
    for folder in sorted(folders, key=lambda each: each.name):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


POLL = 1.0
"""Seconds between checks that workers exist."""

GREETINGS = 5
"""The maximum number of attempts to create a client: Dask asserts that the scheduler's greeting comes alone."""


@dataclass
class DaskWorkers:
    """The workers of a Dask cluster, as a context manager, which `tune` may also use inside a ``with`` block.

    A Dask worker measures each candidate in a child process on a reserved CPU, one candidate at a time per CPU of a
    machine. A candidate that crashes or times out only ends the child process. If its Dask worker is lost, a candidate
    is measured on another one, until it has been lost with more than ``distributed.scheduler.allowed-failures`` (3) of
    them; finished measurements are kept.

    Args:
        client: a `distributed.Client`, or the address of a scheduler (``"tcp://10.0.0.1:8786"``).
        timeout: seconds for a candidate, building included.
        rounds, least, seed: as for `LocalWorkers`.
        retries: how often a candidate is submitted again after another failure of Dask.
        patience: seconds to wait for Dask workers, at the start and when all are lost.

    Raises:
        ArgumentError: on entering the block, there is no Dask worker, or one with another relax-mlir; when a task is
            measured, no Dask worker's CPU has the features of its target.
        UnsupportedError: Dask is not installed.
    """

    client: Client | str
    timeout: float = 60.0
    rounds: int = 30
    least: float = 0.0005
    seed: int = 0
    retries: int = 3
    patience: float = 60.0
    _running: Client | None = None
    _entered: int = 0

    def __post_init__(self) -> None:
        require_seed("DaskWorkers", self.seed)
        for name, at_least in (("rounds", 1), ("retries", 0)):
            expect(f"DaskWorkers: '{name}'", getattr(self, name), int, "a number")
            if getattr(self, name) < at_least:
                raise ArgumentError(f"DaskWorkers: '{name}' is {getattr(self, name)}, expected at least {at_least}")
        try:
            from distributed import Client
        except ImportError:
            raise UnsupportedError("DaskWorkers: Dask is not installed: pip install relax-mlir[distributed]") from None
        expect("DaskWorkers: 'client'", self.client, Client | str, "a distributed.Client, or an address")
        if isinstance(self.client, Client) and self.client.asynchronous:
            raise ArgumentError("DaskWorkers: 'client' is an asynchronous client, expected one with asynchronous=False")

    @property
    def count(self) -> int:
        """The number of candidates measured at a time: the threads of all Dask workers, 1 or more."""
        threads: dict[str, int] = self._connected().nthreads()
        return max(1, sum(threads.values()))

    def __enter__(self) -> DaskWorkers:
        if not self._entered:
            self._running = _connect(self.client) if isinstance(self.client, str) else self.client
            try:
                self._require_workers(self._running)
            except BaseException:
                self._close()
                raise
        self._entered += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered -= 1
        if self._entered:
            return
        if self._connected().status == "running":
            self._connected().run(end_processes, on_error="ignore")
        self._close()

    def _close(self) -> None:
        if isinstance(self.client, str) and self._running is not None:
            self._running.close()
        self._running = None

    def _connected(self) -> Client:
        if self._running is None:
            raise ArgumentError("DaskWorkers: use it in a `with` block")
        return self._running

    def _require_workers(self, client: Client) -> None:
        """Raise `ArgumentError` unless there are Dask workers, and all of them have this relax-mlir."""
        with suppress(TimeoutError):
            client.wait_for_workers(1, timeout=self.patience)
        answers = client.run(described, on_error="return")
        if not answers:
            raise ArgumentError(
                f"DaskWorkers: {client.scheduler.address} has no workers after {self.patience:g} s: start some by "
                "`dask worker ADDRESS`"
            )
        for address, answer in answers.items():
            if isinstance(answer, Exception):
                raise ArgumentError(
                    f"DaskWorkers: the worker {address} does not run relax_mlir.tuning: {type(answer).__name__}: "
                    f"{answer}"
                )
            unfit = against({**described(), "architecture": answer["architecture"], "features": []}, answer)
            if unfit:
                raise ArgumentError(f"DaskWorkers: the worker {address}: {unfit}")

    def measure(
        self, task: Task, sizes: Sequence[Sizes], candidates: Sequence[Values], baseline: str | None = None
    ) -> Iterator[Measurement]:
        """Measure candidates; see `LocalWorkers.measure`.

        Raises:
            ArgumentError: no Dask worker can measure the task.
        """
        client = self._connected()
        common = {**request_of(self, task, sizes, baseline), "target": explicit(task.target)}
        run = _Run(self, client, common, needs_of(task.target))
        waiting = iter(candidates)
        try:
            while True:
                for values in waiting:
                    try:
                        text = task.scheduled(values)
                    except RelaxError as error:
                        yield refused_by_schedule(values, error)
                        continue
                    run.begin(values, text)
                    if len(run.pending) >= self.count:
                        break
                if not run.pending:
                    return
                found = run.next()
                if found is not None:
                    yield found
        finally:
            run.cancel()


@dataclass
class _Pending:
    """A candidate that is being measured: its values, its text, and the number of submissions."""

    values: Values
    text: str
    begun: int = 0
    future: Future | None = None
    allowed: frozenset[str] | None = None
    """The addresses of the Dask workers that may measure the candidate; None: all."""


@dataclass
class _Run:
    """The candidates of one `measure` that are submitted to the scheduler."""

    workers: DaskWorkers
    client: Client
    common: dict[str, Any]
    needs: dict[str, Any]
    pending: dict[str, _Pending] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """The reasons why Dask workers cannot measure the task, by address."""
    done: Queue[Future] = field(default_factory=Queue)
    alone_since: float | None = None
    """The time since when there has been no Dask worker."""

    def begin(self, values: Values, text: str) -> None:
        """Submit a candidate to Dask."""
        self._submit(_Pending(values, text))

    def _submit(self, item: _Pending) -> None:
        fit = [address for address in self.client.nthreads() if address not in self.refused]
        if self.refused and not fit:
            reasons = ", ".join(f"{address}: {reason}" for address, reason in self.refused.items())
            raise ArgumentError(f"DaskWorkers: no worker can measure for this target: {reasons}")
        item.begun += 1
        item.allowed = frozenset(fit) if self.refused else None
        item.future = self.client.submit(
            measure_here,
            {**self.common, "candidate": item.text},
            self.needs,
            self.workers.timeout,
            pure=False,
            workers=None if item.allowed is None else sorted(item.allowed),
        )
        self.pending[item.future.key] = item
        item.future.add_done_callback(self.done.put)

    def next(self) -> Measurement | None:
        """Wait for a measurement; None if a candidate was submitted again, or the wait timed out."""
        try:
            future = self.done.get(timeout=POLL)
        except Empty:
            self._look_after()
            return None
        item = self.pending.pop(future.key, None)
        if item is None:  # it has been submitted again
            return None
        try:
            answer = future.result()
        except Exception as error:  # any error of Dask
            return self._lost(item, error)
        if "refused" in answer:
            self.refused[answer["by"]] = answer["refused"]
            item.begun -= 1  # at most once per worker, so it is not counted
            self._submit(item)
            return None
        return measurement_of(item.values, answer)

    def _lost(self, item: _Pending, error: Exception) -> Measurement | None:
        from distributed import KilledWorker

        self._require_running()
        if isinstance(error, KilledWorker):  # Dask has already retried it on other workers
            count = error.allowed_failures + 1
            what = f"{count} Dask workers have ended while they measured it, the last one at"
            return Measurement(item.values, error=f"WorkerError: {what} {error.last_worker.address}")
        if item.begun <= self.workers.retries:
            self._submit(item)
            return None
        what = f"{type(error).__name__}: {error}"
        return Measurement(item.values, error=f"WorkerError: begun {item.begun} times, the last time: {what}")

    def _look_after(self) -> None:
        """Raise if no worker is left to wait for; resubmit candidates whose Dask workers are gone."""
        self._require_running()
        alive = self.client.nthreads()
        if alive:
            self.alone_since = None
        elif self.alone_since is None:
            self.alone_since = monotonic()
        elif monotonic() - self.alone_since > self.workers.patience:
            raise ArgumentError(
                f"DaskWorkers: all workers are lost, and none has come for {self.workers.patience:g} s; "
                f"{len(self.pending)} candidates are not measured"
            )
        for key, item in list(self.pending.items()):
            if item.allowed is not None and alive and not item.allowed & alive.keys():
                del self.pending[key]
                assert item.future is not None
                item.future.cancel()
                self._submit(item)

    def _require_running(self) -> None:
        if self.client.status != "running":
            raise ArgumentError(f"DaskWorkers: the client is {self.client.status}: its scheduler is lost")

    def cancel(self) -> None:
        """Cancel the unfinished candidates."""
        futures = [item.future for item in self.pending.values() if item.future is not None]
        if futures and self.client.status == "running":
            self.client.cancel(futures)


def _connect(address: str) -> Client:
    """Connect to a scheduler.

    Raises:
        ArgumentError: there is no scheduler at the address.
    """
    from distributed import Client

    for attempt in range(GREETINGS):
        try:
            return Client(address, set_as_default=False)
        except AssertionError:
            if attempt == GREETINGS - 1:
                raise
        except (OSError, ValueError) as error:
            raise ArgumentError(f"DaskWorkers: no scheduler at {address!r}: {error}") from None
    raise AssertionError("unreachable")
