"""The library that the tests of `map_batches` run, and pools of processes that have its packed function."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import relax_mlir as rx
import worker_hooks
from relax_mlir.script import parse

WEIGHT = np.random.default_rng(1).standard_normal((64, 96), np.float32)

TABLE = np.arange(256 * 1024, dtype=np.float32).reshape(256, 1024)

PROGRAM = f"""
@R.function
def layer(x: R.Tensor(("n", 64), "float32")):
    return R.nn.relu(R.matmul(x, constants["W"]))

@R.function
def several(
    x: R.Tensor(("n",), "int32"), s: R.Shape(("a", "b")), t: R.Tuple(R.Tensor(("n",), "int32"), R.Prim("int64"))
):
    return x + t[0], s, R.reshape(R.arange(0, 6, 1, dtype="float32"), (2, 3)), t[1]

@R.function
def twice(x: R.Tensor(("n", "m"), "bfloat16")):
    return x + x

@R.function
def scalar(x: R.Tensor((), "float64")):
    return x + 1.0

@R.function
def product(x: R.Tensor(("n", "k"), "float64"), y: R.Tensor(("k", "m"), "float64")):
    return R.matmul(x, y)

@R.function
def entries(i: R.Tensor(("n",), "int64")):
    return R.take(constants["T"], i, axis=0)

@R.function
def asks(x: R.Tensor(("n",), "float32")):
    return R.call_pure_packed("{worker_hooks.HOOK}", x, out=R.Tensor(("n",), "float32"))
"""


def build(scale: float = 1.0) -> rx.Executable:
    """`PROGRAM`, for two threads; its weights times `scale`."""
    module = parse(PROGRAM, constants={"W": np.float32(scale) * WEIGHT, "T": TABLE})
    return rx.build(module, rx.Target(num_threads=2))


def make_pool(marks: Path, workers: int = 2) -> ProcessPoolExecutor:
    """A pool of processes that start as new interpreters, and import this project on demand."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=worker_hooks.register, initargs=(str(marks),))
    with hidden_torch():
        wait([pool.submit(worker_hooks.running_threads) for _ in range(workers)])  # starts all
    return pool


def worker_path() -> list[str]:
    """The module search path of workers in a separate environment: no torch, this project, the hooks."""
    folder = Path(worker_hooks.__file__).parent
    return [str(folder / "no_torch"), str(folder), *sys.path]


@contextmanager
def hidden_torch() -> Iterator[None]:
    """Processes spawned in this context do not import torch, which takes longest; the FFI would if it is installed."""
    folder = str(Path(worker_hooks.__file__).with_name("no_torch"))
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
