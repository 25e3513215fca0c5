"""Targets of exported libraries: load time, and calls compared with those in the compiler's process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import beside
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import Workload

LOAD = 5e-3
"""Seconds to load a library with `LARGE` bytes of weights."""
LARGE = 200 << 20
CALLS = 0.97
"""Minimum of the time of a call in the compiler's process over that of the library."""
PROCESSES, SECONDS = 7, 0.5

_LOAD = """
import sys, time
import tvm_ffi
start = time.perf_counter()
function = tvm_ffi.load_module(sys.argv[1]).main
print(time.perf_counter() - start)
"""

_TABLE = """
@R.function
def main(i: R.Tensor(("n",), "int64")):
    return R.take(constants["W"], i, axis=0)
"""


def load_rows() -> Iterator[Row]:
    """A library with embedded weights, and one with a separate weights file, loaded by new processes."""
    import relax_mlir as rx
    from relax_mlir.script import parse

    table = np.ones((LARGE // 4096, 1024), np.float32)
    executable = rx.build(parse(_TABLE, constants={"W": table}), cache=False)
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("embed", "beside"):
            path = executable.export_library(Path(folder) / f"{weights}.so", weights=weights)
            seconds = statistics.median(_load_seconds(path) for _ in range(PROCESSES))
            subject = f"load 200 MB of weights ({weights}), limit / time"
            yield Row("library", subject, LOAD / seconds, 1.0, duration(seconds))


def call_rows(workload: Workload) -> Iterator[Row]:
    """Calls of a library, and of the same function in the compiler's process, measured alternately."""
    import relax_mlir as rx
    import tvm_ffi

    from benchmarks.peers.relax_peer import relax_module

    executable = rx.build(relax_module(workload))
    with tempfile.TemporaryDirectory() as folder:
        path = executable.export_library(Path(folder) / "model.so")
        native, library = executable["main"].ffi, tvm_ffi.load_module(str(path)).main
        for size in workload.sizes:
            inputs = [tvm_ffi.from_dlpack(array) for array in workload.inputs(size)]
            ratio, seconds = beside(native, library, inputs, SECONDS)
            note = f"{duration(seconds)}, {1 / seconds:,.0f}/s; {path.stat().st_size:,} bytes"
            yield Row(f"{workload.name} {workload.label(size)}", "native / library", ratio, CALLS, note)


def _load_seconds(path: Path) -> float:
    done = subprocess.run([sys.executable, "-c", _LOAD, str(path)], capture_output=True, text=True, check=True)
    return float(done.stdout)
