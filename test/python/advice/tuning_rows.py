"""Tuning on many machines: what is refused, and what to do instead."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import distributed_programs
import tuning_hooks
from advice_rows import Rows
from distributed import Client, LocalCluster
from relax_mlir import te, tuning
from relax_mlir.tuning import DaskWorkers

QUICK: dict[str, Any] = {"rounds": 1, "least": 1e-6}


def task() -> tuning.Task:
    x = te.placeholder(("n",), name="x")
    y = te.compute(x.shape, lambda i: te.exp(x[i]), "y")

    def schedule(outs: list[te.Tensor]) -> te.Schedule:
        tuning.get_config().define_knob("unused", [1, 2])
        return te.create_schedule(outs[0].op)

    return tuning.create_task(schedule, [x, y])


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=":0") as made:
        yield made.scheduler_address


@functools.cache
def measured(workers: int = 1, **more: Any) -> None:
    """The advice of several rows, followed once."""
    with cluster(workers) as address, DaskWorkers(address, **QUICK, **more) as entered:
        (found,) = entered.measure(task(), [{"n": 5}], [{"unused": 1}])
    assert not found.error


def without_block() -> None:
    with cluster(1) as address:
        list(DaskWorkers(address).measure(task(), [{"n": 5}], [{"unused": 1}]))


def of_another_version() -> None:
    with (
        distributed_programs.hidden_torch(),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.run(tuning_hooks.describe_as, version="0.0.7")
        DaskWorkers(client).__enter__()


def not_installed() -> None:
    known = sys.modules.pop("distributed")
    sys.modules["distributed"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        DaskWorkers("tcp://127.0.0.1:1")
    finally:
        sys.modules["distributed"] = known


TABLE = Rows(
    {
        "block": (without_block, "DaskWorkers: use it in a `with` block"),
        "no-workers": (lambda: measured(0, patience=0.1), "has no workers after 0.1 s: start some by"),
        "version": (of_another_version, "it has relax-mlir 0.0.7, .*: install the same there"),
        "not-installed": (not_installed, r"pip install relax-mlir\[distributed\]"),
    }
)
