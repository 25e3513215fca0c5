"""Engines of `map_batches`: the interface, and the adapters of process pools, Dask clients and Ray."""

from __future__ import annotations

import sys
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from relax_mlir.distributed.worker import Done, Failed, LibraryFile, run_batch
from relax_mlir.error import ArgumentError

if TYPE_CHECKING:
    from distributed import Client
    from distributed import Future as DaskFuture


class Engine(Protocol):
    """Runs `worker.run_batch` on workers; scheduling, and retries after a lost worker, are up to the engine."""

    def workers(self) -> int:
        """The number of batches that run at a time, 1 or more."""

    def submit(self, library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a future of the engine
        """Begin a call of `run_batch`; return the argument of `result`."""

    def result(self, future: Any) -> Done | Failed:  # noqa: ANN401 - the result of `submit`
        """Wait for the result. Raises the engine's own exception if a worker is lost or cannot run the call."""

    def cancel(self, futures: list[Any]) -> None:
        """Cancel those of the calls that have not begun."""

    def explain(self, error: Exception) -> str | None:
        """The cause of an exception of `result`, and what to do; None if it is not the loss of a worker."""


def engine_for(engine: object, threads: int, retries: int | None) -> Engine:
    """The adapter of an engine.

    Raises ArgumentError: it is not an engine, or does not support the arguments.
    """
    if isinstance(engine, ProcessPoolExecutor):
        return ProcessPool(engine, retries)
    dask = sys.modules.get("distributed")
    if dask is not None and isinstance(engine, dask.Client):
        return DaskClient(engine, retries)
    if engine is not None and engine is sys.modules.get("ray"):
        return RayCluster(engine, threads, retries)
    raise ArgumentError(
        f"map_batches: 'engine' is {engine!r} ({type(engine).__name__}), expected a "
        "concurrent.futures.ProcessPoolExecutor, a dask.distributed.Client, or the module ray after ray.init()"
    )


# A Dask client as an engine: its scheduler re-runs the batches of a lost worker on another one.


class DaskClient:
    """See `relax_mlir.distributed.engines.Engine`."""

    def __init__(self, client: Client, retries: int | None) -> None:
        if client.asynchronous:
            raise ArgumentError("map_batches: 'engine' is an asynchronous client, expected one with asynchronous=False")
        self.client = client
        self.retries = retries

    def workers(self) -> int:
        threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def submit(self, library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]) -> DaskFuture:
        return self.client.submit(run_batch, library, function, threads, arguments, pure=False, retries=self.retries)

    def result(self, future: DaskFuture) -> Done | Failed:
        found: Done | Failed = future.result()
        return found

    def cancel(self, futures: list[DaskFuture]) -> None:
        if self.client.status == "running":
            self.client.cancel(futures)

    def explain(self, error: Exception) -> str | None:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return (
                f"{error.allowed_failures + 1} workers have ended while they ran it, one more than Dask's setting "
                f"distributed.scheduler.allowed-failures permits, the last one at {error.last_worker.address}. "
                "Their logs may say why"
            )
        return None


# A `concurrent.futures.ProcessPoolExecutor` as an engine. It does not replace a process that has ended.


class ProcessPool:
    """See `relax_mlir.distributed.engines.Engine`."""

    def __init__(self, pool: ProcessPoolExecutor, retries: int | None) -> None:
        if retries is not None:
            raise ArgumentError(
                f"map_batches: 'retries' is {retries}, but a ProcessPoolExecutor runs nothing again; "
                "leave it out, or use a Dask client or Ray"
            )
        self.pool = pool

    def workers(self) -> int:
        count: int = getattr(self.pool, "_max_workers")  # noqa: B009 - it has no public name
        return count

    def submit(
        self, library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]
    ) -> Future[Done | Failed]:
        try:
            return self.pool.submit(run_batch, library, function, threads, arguments)
        except BrokenExecutor as error:  # as in `result`
            future: Future[Done | Failed] = Future()
            future.set_exception(error)
            return future

    def result(self, future: Future[Done | Failed]) -> Done | Failed:
        return future.result()

    def cancel(self, futures: list[Future[Done | Failed]]) -> None:
        for future in futures:
            future.cancel()

    def explain(self, error: Exception) -> str | None:
        if isinstance(error, BrokenExecutor):
            return (
                "a process of the pool has ended abruptly (it crashed, was killed, or could not start) while it ran "
                "this batch or one of the next; the pool is of no use any more: make a new one, and go on with "
                "this batch"
            )
        return None


# Ray as an engine: it re-runs the batches of a lost worker on another one, up to `max_retries` times.


class RayCluster:
    """See `relax_mlir.distributed.engines.Engine`."""

    def __init__(self, ray: Any, threads: int, retries: int | None) -> None:  # noqa: ANN401 - the module
        if not ray.is_initialized():
            raise ArgumentError("map_batches: 'engine' is ray without a connection, expected it after ray.init()")
        self.ray = ray
        self.cpus = max(1, threads)
        options = {"num_cpus": self.cpus} if retries is None else {"num_cpus": self.cpus, "max_retries": retries}
        self.remote = ray.remote(**options)(run_batch)

    def workers(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 0)) // self.cpus)

    def submit(self, library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - Ray is untyped
        return self.remote.remote(library, function, threads, arguments)

    def result(self, future: Any) -> Done | Failed:  # noqa: ANN401 - Ray is untyped
        try:
            found: Done | Failed = self.ray.get(future)
        except self.ray.exceptions.RayTaskError as error:  # its message is a whole traceback
            raise error.cause from error
        return found

    def cancel(self, futures: list[Any]) -> None:
        if self.ray.is_initialized():
            for future in futures:
                self.ray.cancel(future)

    def explain(self, error: Exception) -> str | None:
        if isinstance(error, self.ray.exceptions.WorkerCrashedError | self.ray.exceptions.NodeDiedError):
            return (
                "every worker that ran it has ended (it crashed or was killed), as often as 'retries' allows. "
                "The logs of the workers may say why"
            )
        if isinstance(error, self.ray.exceptions.OutOfMemoryError):
            return "the machine ran out of memory, and Ray has ended its worker. Smaller batches need less"
        return None
