"""Hooks that tests of `DaskWorkers` run in Dask workers, which import this module."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relax_mlir.tuning import dask_workers
from relax_mlir.tuning.measure import MeasureProcess
from worker_hooks import take_mark

_described = dask_workers.described


def register(marks: str) -> None:
    """Kill the Dask worker while its child measures, once per file of the folder `marks`, which it removes.

    The folder next to it gets a file named after the child's process id.
    """
    measure = MeasureProcess.measure

    def killing(self: MeasureProcess, request: Mapping[str, Any], timeout: float) -> Mapping[str, Any]:
        if take_mark(Path(marks)):
            self.ask(request, timeout)
            Path(f"{marks}-killed").mkdir(exist_ok=True)
            (Path(f"{marks}-killed") / str(self.process.pid)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return measure(self, request, timeout)

    setattr(MeasureProcess, "measure", killing)  # noqa: B010 - mypy takes no assignment to a method


def describe_as(**values: Any) -> None:
    """Make this process report another description of its machine."""
    setattr(dask_workers, "described", lambda: {**_described(), **values})  # noqa: B010 - as above
