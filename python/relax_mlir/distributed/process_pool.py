"""A `concurrent.futures.ProcessPoolExecutor` as an engine. It does not replace a process that has ended."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import Any

from relax_mlir.distributed.worker import Done, Failed, LibraryFile, run_batch
from relax_mlir.error import ArgumentError


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
