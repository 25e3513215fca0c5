"""Targets of this project only: the cost of a call, compilation in new processes, two threads against one."""

from __future__ import annotations

import atexit
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks import (
    cold_start,
    copying,
    generation,
    libraries,
    low_precision,
    real_models,
    recurrent,
    scaling,
    scheduled,
    single_ops,
    third_party,
    topi,
    tuning,
    virtual_machine,
    windows,
)
from benchmarks.measure import measure
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import EncoderLayer, MatMul, MiniLm, Workload

FFI_CALL, NUMPY_CALL = 0.15e-6, 0.7e-6
COMPILE, COMPILE_MODEL = 0.3, 2.0
CACHED, CACHED_MODEL = 0.05, 0.3
SPEEDUP, ENOUGH_WORK = 1.8, 100e-6
ROUNDS, CALLS, SECONDS = 15, 5000, 0.5
PROCESSES = 5

_BUILD = """
import sys, time
import relax_mlir as rx
from benchmarks.peers.relax_peer import relax_module
from benchmarks.workloads import WORKLOADS
import relax_mlir.mlir
import relax_mlir.runtime
module = relax_module(next(w for w in WORKLOADS if w.name == sys.argv[1]))
start = time.perf_counter()
rx.build(module, cache=sys.argv[2] == "cache")
print(time.perf_counter() - start)
"""


def rows(workloads: Sequence[Workload]) -> Iterator[Row]:
    """All rows, for these workloads."""
    for workload in workloads:
        if workload.name == "W0":
            yield from _calls(workload)
            yield from cold_start.rows()
            yield from virtual_machine.call_rows()
            yield from libraries.load_rows()
            yield from libraries.call_rows(workload)
            continue
        cold, cached = (COMPILE_MODEL, CACHED_MODEL) if isinstance(workload, MiniLm) else (COMPILE, CACHED)
        yield _at_most(workload.name, "cold compile", _compile_seconds(workload), cold)
        with tempfile.TemporaryDirectory() as folder:
            _compile_seconds(workload, folder, processes=1)  # fills it
            yield _at_most(workload.name, "from the cache", _compile_seconds(workload, folder), cached)
        yield _threads(workload)
        if isinstance(workload, MatMul):
            yield from low_precision.rows()
            yield from scheduled.rows()
            yield from third_party.rows()
            yield from topi.rows()
            yield from single_ops.rows()
            yield from recurrent.rows()
            yield from generation.rows()
            yield from tuning.rows()
            yield from windows.rows()
            yield from real_models.rows()
            yield from scaling.rows()
        if isinstance(workload, EncoderLayer):
            yield from virtual_machine.mode_rows(workload)
            yield from libraries.call_rows(workload)


def _at_most(subject: str, measure: str, seconds: float, limit: float) -> Row:
    return Row(subject, f"{measure}, limit / time", limit / seconds, 1.0, f"{duration(seconds)}")


def _calls(workload: Workload) -> Iterator[Row]:
    import relax_mlir as rx
    import tvm_ffi

    from benchmarks.peers.relax_peer import relax_module

    main = rx.build(relax_module(workload))["main"]
    x, y = workload.inputs(workload.sizes[0])
    given = [tvm_ffi.from_dlpack(array) for array in (x, y, np.empty_like(x))]
    yield _at_most("W0", "FFI tensors, given output", _seconds(main, *given), FFI_CALL)
    yield _at_most("W0", "NumPy arrays, new result", _seconds(main, x, y), NUMPY_CALL)


def _seconds(function: Callable[..., object], *arguments: object) -> float:
    """Seconds of an inlined call, since a function around it would take a third of the time."""
    names = {f"a{number}": argument for number, argument in enumerate(arguments)}
    timer = timeit.Timer(f"f({', '.join(names)})", globals={"f": function, **names})
    return statistics.median(timer.timeit(CALLS) / CALLS for _ in range(ROUNDS))


def _compile_seconds(workload: Workload, cache: str | None = None, processes: int = PROCESSES) -> float:
    """Seconds of `build`, the median of some processes, with the cache in a folder or without one.

    Python finds the bytecode of all modules, as after any first run, even if it is configured not to write any.
    """
    command = [sys.executable, "-c", _BUILD, workload.name, "cache" if cache else "none"]
    environment = os.environ | {"PYTHONPYCACHEPREFIX": _bytecode_folder(), "PYTHONDONTWRITEBYTECODE": ""}
    if cache:
        environment |= {"RELAX_MLIR_CACHE_DIR": cache, "RELAX_MLIR_CACHE": "1"}
    found = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment) for _ in range(processes)
    ]
    return statistics.median(float(each.stdout) for each in found)


@functools.cache
def _bytecode_folder() -> str:
    """A folder that is removed at the end of this process."""
    folder = tempfile.TemporaryDirectory(prefix="relax-mlir-bytecode-")
    atexit.register(folder.cleanup)
    return folder.name


def _threads(workload: Workload) -> Row:
    """One thread's time over that of two, at the largest size."""
    import relax_mlir as rx
    import tvm_ffi
    from relax_mlir.target import Target

    from benchmarks.peers.relax_peer import relax_module

    size = max(workload.sizes, key=lambda size: float(np.prod(size)))
    arrays = workload.inputs(size)
    inputs = [tvm_ffi.from_dlpack(array) for array in arrays]
    module = relax_module(workload)
    one, two = (rx.build(module, Target("cpu", num_threads=n))["main"] for n in (1, 2))
    contestants = {
        "one": Bound(lambda: one(*inputs), np.from_dlpack),
        "two": Bound(lambda: two(*inputs), np.from_dlpack),
    }
    timings = measure(contestants, dict.fromkeys(contestants, 0.0), SECONDS)
    pairs = list(zip(timings["one"].samples, timings["two"].samples, strict=True))
    least = SPEEDUP if statistics.median(first for first, _ in pairs) >= ENOUGH_WORK else 1.0
    ratio = statistics.median(first / second for first, second in pairs)
    subject = f"{workload.name} {workload.label(size)}"
    return Row(subject, "one thread / two threads", ratio, least, _gain_of_copies(workload, arrays))


def _gain_of_copies(workload: Workload, inputs: Sequence[Array]) -> str:
    """The gain of two threads for a copy of as many bytes, for work that reads and writes each byte about once."""
    if not copying.has_copy(workload, inputs[0].size):
        return ""
    moved = sum(each.nbytes for each in inputs) + inputs[0].nbytes
    return f"{copying.gain_of_two_threads(moved):.2f} for copies"
