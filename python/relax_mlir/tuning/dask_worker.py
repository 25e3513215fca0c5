"""Code that runs in the Dask workers: measure candidates in child processes."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from relax_mlir._version import version
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.target import Target
from relax_mlir.tuning.cpu_slots import reserved_cpu
from relax_mlir.tuning.measure_process import MeasureProcess

_lock = process_lock(Order.MEASURING)
_idle: list[MeasureProcess] = []


def measure_here(request: Mapping[str, Any], needs: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Measure a candidate in a child process, on a CPU reserved for it.

    `needs` is the result of `needs_of` for the target. The answer is that of `measure_worker`, or has the reason why
    this machine cannot measure the candidate under ``refused``; ``by`` is the address of the Dask worker.
    """
    from distributed import get_worker

    address = str(get_worker().address)
    unfit = against(needs, described())
    if unfit:
        return {"refused": unfit, "by": address}
    with reserved_cpu() as cpu:
        process = _take()
        process.cpu = cpu
        answer = process.measure(request, timeout)
        with _lock:
            _idle.append(process)
    return {**answer, "by": address}


def _take() -> MeasureProcess:
    with _lock:
        if _idle:
            return _idle.pop()
    return MeasureProcess()


def end_processes() -> None:
    """End the idle child processes."""
    with _lock:
        ended, _idle[:] = list(_idle), []
    for process in ended:
        process.end()


@cache
def described() -> dict[str, Any]:
    """The description of this machine: its CPU, and its version of relax-mlir."""
    host = Target.host()
    return {
        "version": f"{version()} ({_sources()})",
        "architecture": host.architecture,
        "features": sorted(host.features),
    }


def needs_of(target: Target) -> dict[str, Any]:
    """The requirements on a machine that measures candidates for a target: those of this machine, with other features.

    Code for the native CPU depends on all features of a machine, code for a named CPU only on those of the target.
    """
    return {
        **described(),
        "architecture": target.architecture,
        "features": sorted(target.features),
        "native": target.cpu == "native",
    }


def against(needs: Mapping[str, Any], has: Mapping[str, Any]) -> str:
    """The reason why a machine does not meet `needs`; empty if it does."""
    if needs["version"] != has["version"]:
        return f"it has relax-mlir {has['version']}, this process {needs['version']}: install the same there"
    if needs["architecture"] != has["architecture"]:
        return f"it is {has['architecture']}, the target is {needs['architecture']}"
    missing = sorted(set(needs["features"]) - set(has["features"]))
    if missing:
        return f"its CPU has no {', '.join(missing)}, which the target has"
    return ""


def explicit(target: Target) -> str:
    """The target as a string without defaults, so that it denotes the same target on all machines."""
    known = target.known_features
    changes = [f"-{name}" for name in sorted(known - target.features)]
    changes += [f"+{name}" for name in sorted(target.features)]
    options = {
        "mcpu": target.cpu,
        "mtriple": target.triple,
        **({"mattr": ",".join(changes)} if changes else {}),
        "num-threads": target.num_threads,
        "vector-bytes": target.vector_bytes,
        "vector-registers": target.num_vector_registers,
        "l1": target.l1_bytes,
        "l2": target.l2_bytes,
        "l3": target.l3_bytes,
    }
    return " ".join(["cpu", *(f"-{name}={value}" for name, value in options.items())])


@cache
def _sources() -> str:
    """A hash of the sources of relax-mlir."""
    folders = {Path(__file__).parents[1]}
    for name in ("dialects", "lowering", "passes"):
        folders |= {Path(folder) for folder in sys.modules[f"relax_mlir.{name}"].__path__}
    digest = hashlib.sha256()
    for folder in sorted(folders, key=lambda each: each.name):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
