"""`map_batches` on Ray: values, errors, and workers that are killed while they work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import distributed_programs
import numpy as np
import pytest
import relax_mlir as rx
import worker_hooks
from relax_mlir.distributed import map_batches
from relax_mlir.error import ArgumentError, BatchError, ShapeError
from relax_mlir.runtime import to_numpy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""Some versions of Ray leave objects of processes that have ended to the garbage collector, which warns."""


@pytest.fixture(scope="module")
def disconnected() -> ModuleType:
    return pytest.importorskip("ray", reason="the extra 'ray' is not installed")


@pytest.fixture(scope="module")
def ray(disconnected: ModuleType, marks: Path) -> Iterator[ModuleType]:
    environment = {
        "env_vars": {"PYTHONPATH": os.pathsep.join(distributed_programs.worker_path())},
        "worker_process_setup_hook": "worker_hooks.register_by_environment",
    }
    environment["env_vars"][worker_hooks.MARKS_VARIABLE] = str(marks)
    disconnected.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env=environment,
    )
    yield disconnected
    disconnected.shutdown()


def test_ray_must_be_connected(disconnected: ModuleType, library: Path) -> None:
    with pytest.raises(ArgumentError, match=r"expected it after ray\.init\(\)"):
        map_batches(library, [], disconnected, function="layer")


def test_results_are_those_of_one_process(executable: rx.Executable, library: Path, ray: ModuleType) -> None:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((number % 7, 64), np.float32) for number in range(40)]
    for x, result in zip(given, map_batches(library, iter(given), ray, function="layer"), strict=True):
        np.testing.assert_array_equal(result, to_numpy(executable["layer"](x)), strict=True)
    large = rng.standard_normal((300, 400))  # in the object store
    (product,) = map_batches(library, [(large, large.T)], ray, function="product", threads=2)
    np.testing.assert_allclose(product, large @ large.T, rtol=1e-10)


def test_errors_of_the_model(library: Path, ray: ModuleType) -> None:
    given = [np.zeros((2, 64), np.float32), np.zeros((2, 63), np.float32)]
    with pytest.raises(ShapeError, match=r"^batch 1: layer: parameter 'x' dimension 1 is 63") as caught:
        list(map_batches(library, given, ray, function="layer"))
    assert caught.value.batch == 1
    with pytest.raises(BatchError, match=r"^batch 0: ZeroDivisionError: the hook fails$"):
        next(map_batches(library, [np.float32([worker_hooks.FAILS])], ray, function="asks"))


def test_batches_of_a_killed_worker_run_on_another(library: Path, ray: ModuleType, marks: Path) -> None:
    worker_hooks.leave_marks(marks, 1)
    given = [np.full(3, number, np.float32) for number in range(8)]
    given[4][0] = worker_hooks.KILLS
    found = list(map_batches(library, given, ray, function="asks"))
    assert not list(marks.iterdir()), "nothing has been killed"
    for x, result in zip(given, found, strict=True):
        np.testing.assert_array_equal(result, 2 * x)


def test_a_batch_that_kills_its_worker_without_retries(library: Path, ray: ModuleType, marks: Path) -> None:
    worker_hooks.leave_marks(marks, 1)
    given = [np.float32([1]), np.float32([worker_hooks.KILLS])]
    with pytest.raises(BatchError, match=r"^batch 1: every worker that ran it has ended .*'retries'") as caught:
        list(map_batches(library, given, ray, function="asks", retries=0))
    assert caught.value.batch == 1


def test_a_library_that_is_not_there(executable: rx.Executable, ray: ModuleType, tmp_path: Path) -> None:
    path = executable.export_library(tmp_path / "model.so")
    results = map_batches(path, [np.zeros((1, 64), np.float32)], ray, function="layer")
    path.unlink()
    with pytest.raises(BatchError, match=r"^batch 0: it has not been run: FileNotFoundError: [^\n]*$"):
        next(results)
