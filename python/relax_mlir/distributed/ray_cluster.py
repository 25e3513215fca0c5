"""Ray as an engine: it re-runs the batches of a lost worker on another one, up to `max_retries` times."""

from __future__ import annotations

from typing import Any

from relax_mlir.distributed.worker import Done, Failed, LibraryFile, run_batch
from relax_mlir.error import ArgumentError


class RayCluster:
    """See `relax_mlir.distributed.engines.Engine`."""

    def __init__(self, ray: Any, threads: int, retries: int | None) -> None:  # noqa: ANN401 - the module
        if not ray.is_initialized():
            raise ArgumentError(
                "map_batches: 'engine' is ray without a connection, expected it after ray.init()"
            )
        self.ray = ray
        self.cpus = max(1, threads)
        options = (
            {"num_cpus": self.cpus} if retries is None else {"num_cpus": self.cpus, "max_retries": retries}
        )
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
