"""The interface of `map_batches` to engines, and the choice of the adapter."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Protocol

from relax_mlir.distributed.worker import Done, Failed, LibraryFile
from relax_mlir.error import ArgumentError


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
        from relax_mlir.distributed.process_pool import ProcessPool

        return ProcessPool(engine, retries)
    dask = sys.modules.get("distributed")
    if dask is not None and isinstance(engine, dask.Client):
        from relax_mlir.distributed.dask_client import DaskClient

        return DaskClient(engine, retries)
    if engine is not None and engine is sys.modules.get("ray"):
        from relax_mlir.distributed.ray_cluster import RayCluster

        return RayCluster(engine, threads, retries)
    raise ArgumentError(
        f"map_batches: 'engine' is {engine!r} ({type(engine).__name__}), expected a "
        "concurrent.futures.ProcessPoolExecutor, a dask.distributed.Client, or the module ray after ray.init()"
    )
