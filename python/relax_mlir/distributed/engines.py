"""What `map_batches` asks of an engine, and which engines there are."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Protocol

from relax_mlir.distributed.worker import Done, Failed, LibraryFile
from relax_mlir.error import ArgumentError


class Engine(Protocol):
    """Runs `worker.run_batch` somewhere; it schedules, and runs again what it has lost, as it does by itself."""

    def workers(self) -> int:
        """How many batches run at a time, at least 1."""

    def submit(self, library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401 - a future of the engine
        """Begin a call of `run_batch`; gives what `result` takes."""

    def result(self, future: Any) -> Done | Failed:  # noqa: ANN401 - what `submit` gives
        """Wait for it. Raises whatever the engine raises where a worker is lost or cannot run the call."""

    def cancel(self, futures: list[Any]) -> None:
        """Begin none of these that has not begun."""

    def explain(self, error: Exception) -> str | None:
        """What an error that `result` has raised means, and what to do; None: it is no loss of a worker."""


def engine_for(engine: object, threads: int, retries: int | None) -> Engine:
    """The adapter of an engine.

    Raises ArgumentError: it is none, or cannot do what is asked.
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
