"""A Dask client as an engine: its scheduler re-runs the batches of a lost worker on another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.distributed.worker import Done, Failed, LibraryFile, run_batch
from relax_mlir.error import ArgumentError

if TYPE_CHECKING:
    from distributed import Client, Future


class DaskClient:
    """See `relax_mlir.distributed.engines.Engine`."""

    def __init__(self, client: Client, retries: int | None) -> None:
        if client.asynchronous:
            raise ArgumentError(
                "map_batches: 'engine' is an asynchronous client, expected one with asynchronous=False"
            )
        self.client = client
        self.retries = retries

    def workers(self) -> int:
        threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def submit(self, library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]) -> Future:
        return self.client.submit(
            run_batch, library, function, threads, arguments, pure=False, retries=self.retries
        )

    def result(self, future: Future) -> Done | Failed:
        found: Done | Failed = future.result()
        return found

    def cancel(self, futures: list[Future]) -> None:
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
