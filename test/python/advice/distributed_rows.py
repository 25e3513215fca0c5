"""`map_batches`: what it refuses, and what to do instead."""

from __future__ import annotations

import atexit
import contextlib
import functools
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import distributed_programs
import numpy as np
import pyarrow as pa
import relax_mlir as rx
from advice_rows import Rows
from relax_mlir.distributed import map_batches
from relax_mlir.script import parse

ADDS = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    return x + {number}
"""
X = np.float32([1, 2, 3])


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="relax-mlir-advice-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _export(name: str, number: float) -> Path:
    return rx.build(parse(ADDS.format(number=number))).export_library(_folder() / name)


@functools.cache
def _library() -> Path:
    return _export("adds.so", 1.0)


@functools.cache
def _pool() -> ProcessPoolExecutor:
    pool = _new_pool()
    atexit.register(pool.shutdown)
    return pool


def _new_pool() -> ProcessPoolExecutor:
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    with distributed_programs.hidden_torch():
        pool.submit(os.getpid).result()
    return pool


def _map(batch: object) -> list[object]:
    return list(map_batches(_library(), [batch], _pool()))


def _wrong(batch: object) -> Callable[[], object]:
    return lambda: _map(batch)


def _broken() -> object:
    with _new_pool() as pool:
        with contextlib.suppress(BrokenProcessPool):
            pool.submit(os._exit, 1).result()
        return next(map_batches(_library(), [X], pool))


def _replaced() -> object:
    path = _export("replaced.so", 1.0)
    results = map_batches(path, [X, X], _pool(), in_flight=1)
    next(results)
    _export("replaced.so", 2.0)
    return next(results)


MISSING = pa.array([1, None, 3], pa.float32())
CHUNKS = pa.chunked_array([pa.array(X[:1]), pa.array(X[1:])])
HALVES = pa.array([True, False])

TABLE = Rows(
    {
        "missing": (_wrong(MISSING), r"1 missing values; call fill_null\(\)"),
        "chunks": (_wrong(CHUNKS), r"2 chunks; call combine_chunks\(\)"),
        "bits": (_wrong(HALVES), "is a bool of Arrow: .*; give a NumPy array"),
        "retries": (
            lambda: map_batches(_library(), [X], _pool(), retries=3),
            "'retries' is 3, but a ProcessPoolExecutor runs nothing again; leave it out",
        ),
        "broken": (_broken, "batch 0: a process of the pool has ended abruptly .*make a new one"),
        "replaced": (_replaced, "batch 1: .*is another library than that of map_batches: copy it"),
    }
)
