"""Candidates measured on local workers of Dask: crashes, hangs, killed workers, mismatched machines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import distributed_programs
import pytest
import relax_mlir as rx
import tuning_hooks
from distributed import Client, LocalCluster
from relax_mlir import te, tuning
from relax_mlir.dialects.prim_funcs import seal
from relax_mlir.error import ArgumentError
from relax_mlir.lowering.strategy.tuned import Values
from relax_mlir.tuning import DaskWorkers, Database, Task, create_task
from relax_mlir.tuning.dask_workers import against, described, explicit, needs_of
from worker_hooks import leave_marks

QUICK: dict[str, Any] = {"rounds": 1, "least": 1e-5}
SIZES = [{"n": 3}, {"n": 0}]
PLAIN, FAST, CRASHES, HANGS = ({"how": how} for how in ("plain", "fast", "crashes", "hangs"))

X = te.placeholder(("n",), name="x")
Y = te.compute(X.shape, lambda i: te.exp(X[i]), "y")


def schedule(outs: list[te.Tensor]) -> te.Schedule:
    knob = tuning.get_config().define_knob("how", ["plain", "fast", "crashes", "hangs"])
    s = te.create_schedule(outs[0].op)
    if knob.val == "fast":
        s[outs[0]].vectorize(s[outs[0]].split(outs[0].op.axis[0], factor=8)[1])
    return s


STORE = "memref.store %1, %arg1[%arg2] : memref<?xf32>"
FAR = """%far = arith.constant 1099511627776 : index
      %there = arith.addi %arg2, %far : index
      memref.store %1, %arg1[%there] : memref<?xf32>"""
LONG = """%zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %long = arith.constant 1000000000000000 : index
      memref.store %0, %arg1[%arg2] : memref<?xf32>
      scf.for %again = %zero to %long step %one {
        %old = memref.load %arg1[%arg2] : memref<?xf32>
        %new = math.sin %old : f32
        memref.store %new, %arg1[%arg2] : memref<?xf32>
      }"""


@dataclass(frozen=True)
class Faulty(Task):
    """A task with a candidate that writes to unmapped memory, and one that takes years.

    Both claim to be schedules, so their bounds are not checked.
    """

    def scheduled(self, values: Values) -> str:
        text = super().scheduled(values)
        if values not in (CRASHES, HANGS):
            return text
        assert STORE in text
        module = rx.IRModule.parse(text.replace(STORE, FAR if values == CRASHES else LONG))
        with module.context:
            seal(module["main"])
        return str(module)


def make(target: str | rx.Target = "cpu") -> Task:
    made = create_task(schedule, [X, Y], "exponentials", target)
    return Faulty(made.name, made.key, made.inputs, made.outputs, made.make, made.target)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `tuning_hooks.register`."""
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def client(marks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed_programs.hidden_torch(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=folder) as cluster,
        Client(cluster) as client,
    ):
        client.register_worker_callbacks(partial(tuning_hooks.register, str(marks)))
        yield client


def test_crashes_and_hangs_are_errors_of_candidates(client: Client) -> None:
    """They end a child; the Dask workers continue, each candidate has one result."""
    pids = client.run(os.getpid)
    with DaskWorkers(client, timeout=300, **QUICK) as workers:
        assert workers.count == 2
        unknown = {"how": "else"}
        found = {str(m.values): m for m in workers.measure(make(), SIZES, [CRASHES, PLAIN, unknown, FAST])}
        workers.timeout = 2.0
        (late,) = workers.measure(make(), SIZES, [HANGS])
    assert len(found) == 4
    assert found[str(CRASHES)].error == "WorkerError: the process that measured it ended with signal 11"
    assert "which is none of its 4 candidates" in found[str(unknown)].error
    assert late.error == "TimeoutError: it took longer than 2 s"
    for values in (PLAIN, FAST):
        assert not found[str(values)].error and len(found[str(values)].times) == 2
    assert client.run(os.getpid) == pids


def test_tuning_by_address(client: Client, tmp_path: Path) -> None:
    database = Database(tmp_path / "tuned.json")
    with DaskWorkers(client.scheduler.address, **QUICK) as workers:
        assert list(workers.measure(make(), SIZES, [])) == []
    workers = DaskWorkers(client.scheduler.address, timeout=300, **QUICK)
    plain = create_task(schedule, [X, Y], "exponentials")
    result = tuning.tune(plain, SIZES, budget=None, trials=3, workers=workers, database=database)
    assert result.measured == 3 and result.failed == 0
    records = Database(tmp_path / "tuned.json").of(plain)
    assert len({record.measurement.values["how"] for record in records}) == 3
    assert client.status == "running" and len(client.nthreads()) == 2


def test_machines_that_do_not_fit(client: Client) -> None:
    first, second = sorted(client.nthreads())
    missing = sorted(rx.Target.host().features)[:1]
    fewer = sorted(rx.Target.host().features - set(missing))
    client.run(tuning_hooks.describe_as, features=fewer, workers=[first])
    with DaskWorkers(client, timeout=300, **QUICK) as workers:
        found = list(workers.measure(make(), SIZES, [PLAIN, FAST, PLAIN]))
        assert [m.error for m in found] == [""] * 3  # the other one has measured all
        client.run(tuning_hooks.describe_as, features=fewer, workers=[second])
        with pytest.raises(ArgumentError, match=rf"no worker can measure.*has no {missing[0]}, which the"):
            list(workers.measure(make(), SIZES, [PLAIN]))
        other = "neoverse-n1" if rx.Target.host().architecture == "x86_64" else "haswell"
        with pytest.raises(ArgumentError, match=r"no worker can measure for this target: .* the target is"):
            list(workers.measure(make(f"cpu -mcpu={other}"), SIZES, [PLAIN]))
    client.run(tuning_hooks.describe_as, version="0.0.7", workers=[second])
    message = rf"the worker {second}: it has relax-mlir 0.0.7, this process .*install the same"
    with pytest.raises(ArgumentError, match=message):
        DaskWorkers(client).__enter__()
    client.run(tuning_hooks.describe_as)


def test_wrong_arguments(client: Client) -> None:
    with pytest.raises(ArgumentError, match=r"'client' is 3 \(int\), expected a distributed.Client, or an address"):
        DaskWorkers(3)  # type: ignore[arg-type]  # tested here
    with pytest.raises(ArgumentError, match="'rounds' is 0, expected at least 1"):
        DaskWorkers(client, rounds=0)
    with pytest.raises(ArgumentError, match="no scheduler at 'nowhere'"):
        DaskWorkers("nowhere").__enter__()
    with pytest.raises(ArgumentError, match="use it in a `with` block"):
        next(DaskWorkers(client).measure(make(), SIZES, [PLAIN]))
    with LocalCluster(n_workers=0, dashboard_address=":0", processes=False) as empty:
        workers = DaskWorkers(empty.scheduler_address, patience=0.1)
        with pytest.raises(ArgumentError, match=r"has no workers after 0.1 s: start some"):
            workers.__enter__()


@pytest.mark.parametrize("text", ["cpu", "cpu -mcpu=haswell -num-threads=3", "cpu -mcpu=cortex-a72", "cpu -mattr=-avx"])
def test_targets_mean_the_same_everywhere(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        target = rx.Target(text)
    except rx.error.UnknownNameError:
        assert rx.Target.host().architecture != "x86_64" and "avx" in text
        return
    monkeypatch.setenv("RELAX_MLIR_NUM_THREADS", "7")
    assert rx.Target(explicit(target)) == target
    assert bool(against(needs_of(target), described())) == (target.architecture != rx.Target.host().architecture)


def test_a_worker_that_is_killed_loses_nothing(client: Client, marks: Path) -> None:
    """Its candidate is measured by another worker; the measuring child ends with the killed one."""
    leave_marks(marks, 1)
    with DaskWorkers(client, timeout=300, **QUICK) as workers:
        found = list(workers.measure(make(), SIZES, [PLAIN, FAST, PLAIN, FAST]))
    assert not list(marks.iterdir()), "nothing was killed"
    assert [m.error for m in found] == [""] * 4
    assert sorted(m.values["how"] for m in found) == ["fast", "fast", "plain", "plain"]
    (child,) = Path(f"{marks}-killed").iterdir()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{child.name}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child.name}").exists()


def test_a_candidate_that_every_worker_is_lost_with(client: Client, marks: Path) -> None:
    client.wait_for_workers(2, timeout=120)
    leave_marks(marks, 2)
    with DaskWorkers(client, timeout=300, **QUICK) as workers:
        (lost,) = workers.measure(make(), SIZES, [PLAIN])
    assert lost.error.startswith("WorkerError: 2 Dask workers have ended while they measured it")
