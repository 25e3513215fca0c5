"""Children that measure candidates of tuning, forked from the warm process, as imports take a second."""

from __future__ import annotations

import os

import warm_process
from relax_mlir.tuning.measure import MeasureProcess


def start(process: MeasureProcess) -> None:
    """The replacement of `MeasureProcess._start`."""
    command = ["-m", "relax_mlir.tuning.measure_worker", str(warm_process.parent())]
    with open(os.devnull, "wb") as errors:
        child = warm_process.PipedChild(command, errors.fileno(), os.environ)
    process.process = child  # type: ignore[assignment]  # has the used subset of Popen
