"""`map_batches` on local workers of Dask: values, and workers that are killed while they work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dask
import distributed_programs
import numpy as np
import pytest
import relax_mlir as rx
import worker_hooks
from distributed import Client, LocalCluster
from relax_mlir.distributed import map_batches
from relax_mlir.error import ArgumentError, BatchError, ShapeError
from relax_mlir.runtime import to_numpy


@pytest.fixture(scope="module")
def client(marks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed_programs.hidden_torch(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=folder) as cluster,
        Client(cluster) as client,
    ):
        client.register_worker_callbacks(partial(worker_hooks.register, str(marks)))
        yield client


@pytest.mark.slow
def test_results_are_those_of_one_process(executable: rx.Executable, library: Path, client: Client) -> None:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((number % 7, 64), np.float32) for number in range(40)]
    for x, result in zip(given, map_batches(library, iter(given), client, function="layer"), strict=True):
        np.testing.assert_array_equal(result, to_numpy(executable["layer"](x)), strict=True)
    assert list(map_batches(library, [], client, function="layer")) == []
    large = rng.standard_normal((300, 400))
    (product,) = map_batches(library, [(large, large.T)], client, function="product")
    np.testing.assert_allclose(product, large @ large.T, rtol=1e-10)
    imported = client.run(worker_hooks.loaded_modules, {"relax_mlir", "torch_mlir", "rich"})
    assert set(map(tuple, imported.values())) == {("relax_mlir",)}


def test_errors_of_the_model_are_not_tried_again(library: Path, client: Client) -> None:
    given = [np.zeros((2, 64), np.float32), np.zeros((2, 63), np.float32)]
    with pytest.raises(ShapeError, match=r"^batch 1: layer: parameter 'x' dimension 1 is 63") as caught:
        list(map_batches(library, given, client, function="layer", retries=5))
    assert caught.value.batch == 1
    with pytest.raises(BatchError, match=r"^batch 0: ZeroDivisionError: the hook fails$"):
        next(map_batches(library, [np.float32([worker_hooks.FAILS])], client, function="asks", retries=5))


def test_what_fails_in_a_worker_is_tried_again(executable: rx.Executable, client: Client, tmp_path: Path) -> None:
    """A missing library is not an error of the model; `retries` is Dask's."""
    path = executable.export_library(tmp_path / "model.so")
    results = map_batches(path, [np.zeros((1, 64), np.float32)], client, function="layer", retries=2)
    path.unlink()
    with pytest.raises(BatchError, match=r"^batch 0: it has not been run: FileNotFoundError"):
        next(results)


def test_closing_cancels(library: Path, client: Client) -> None:
    before = set(client.futures)
    results = map_batches(library, [np.zeros((1, 64), np.float32)] * 50, client, function="layer", in_flight=8)
    next(results)
    results.close()  # type: ignore[attr-defined]  # a generator, declared an iterator
    deadline = time.monotonic() + 30
    while set(client.futures) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(client.futures) <= before, "some are still with the scheduler"


def another(client: Client) -> Client:
    """A second client. Dask asserts that the scheduler's greeting comes alone; sometimes more arrives with it."""
    for _ in range(5):
        with contextlib.suppress(AssertionError):
            return Client(client.scheduler.address, set_as_default=False)
    return Client(client.scheduler.address, set_as_default=False)


def test_a_client_that_is_closed_meanwhile(library: Path, client: Client) -> None:
    other = another(client)
    results = map_batches(library, [np.zeros((1, 64), np.float32)] * 9, other, function="layer", in_flight=2)
    next(results)
    other.close()
    with pytest.raises(BatchError, match=r"^batch [12]: (it has not been run|the engine does not take it): "):
        list(results)


def test_asynchronous_clients_are_refused(library: Path, client: Client) -> None:
    async def ask() -> None:
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            with pytest.raises(ArgumentError, match="asynchronous=False"):
                map_batches(library, [], other, function="layer")

    asyncio.run(ask())


def test_batches_of_a_killed_worker_run_on_another(library: Path, client: Client, marks: Path) -> None:
    worker_hooks.leave_marks(marks, 1)
    given = [np.full(3, number, np.float32) for number in range(12)]
    given[4][0] = worker_hooks.KILLS
    found = list(map_batches(library, given, client, function="asks"))
    assert not list(marks.iterdir()), "nothing has been killed"
    for x, result in zip(given, found, strict=True):
        np.testing.assert_array_equal(result, 2 * x)


@pytest.mark.slow
def test_a_batch_that_kills_every_worker(library: Path, client: Client, marks: Path) -> None:
    client.wait_for_workers(2, timeout=120)
    worker_hooks.leave_marks(marks, 2)
    given = [np.float32([1]), np.float32([worker_hooks.KILLS]), np.float32([2])]
    results = map_batches(library, given, client, function="asks", in_flight=1)
    np.testing.assert_array_equal(next(results), [2])
    with pytest.raises(BatchError, match=r"^batch 1: 2 workers have ended .*allowed-failures") as caught:
        next(results)
    assert caught.value.batch == 1
