"""A thousand sentences embedded by several processes: the encoder of `examples.minilm` as a library.

    python -m examples.minilm_workers                           # two processes, then two workers of Dask
    python -m examples.minilm_workers --engines ray --count 5000

Workers load the library, whose weights they share; they import neither the compiler nor the tokenizer, which is why
both are imported in functions here.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle, islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from relax_mlir.distributed import map_batches

Array = NDArray[Any]
Batch = tuple[Array, Array]
"""Token ids and mask, both int64 ``[b, s]``."""


@dataclass(frozen=True)
class Work:
    """Batches of sentences of similar length; `positions` are the indices of their sentences."""

    batches: list[Batch]
    positions: list[list[int]]

    @staticmethod
    def of(sentences: Sequence[str], batch_size: int) -> Work:
        """Tokens of sentences."""
        from examples import minilm

        tokenizer = minilm.load_tokenizer()
        positions = minilm.batches([len(tokenizer.encode(each).ids) for each in sentences], batch_size)
        batches = [minilm.tokenize(tokenizer, [sentences[i] for i in batch]) for batch in positions]
        return Work(batches, positions)

    def embed(self, run: Callable[[list[Batch]], Iterable[Array]]) -> Array:
        """The vectors of all sentences, in their order: float32 ``[count, hidden]``."""
        found = list(run(self.batches))
        rows = np.empty((sum(map(len, self.positions)), found[0].shape[1]), np.float32)
        for batch, vectors in zip(self.positions, found, strict=True):
            rows[batch] = vectors
        return rows


def make_sentences(count: int) -> list[str]:
    """`count` sentences: those of the file, then pairs of them."""
    lines = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    pairs = (f"{first} {second}" for first, second in product(lines, repeat=2))
    return list(islice(cycle(chain(lines, pairs)), count))


def export(path: Path) -> Path:
    """Compile the encoder, and write it to a library."""
    import relax_mlir as rx

    from examples import minilm

    module = minilm.build_encoder(minilm.load_weights(), minilm.load_config())
    return rx.build(module).export_library(path)


def in_this_process(library: Path, batches: Iterable[Batch]) -> Iterator[Array]:
    """The results of `map_batches`, without workers."""
    import tvm_ffi

    encode = tvm_ffi.load_module(str(library)).main
    for ids, mask in batches:
        yield np.from_dlpack(encode(tvm_ffi.from_dlpack(ids), tvm_ffi.from_dlpack(mask)))


@contextlib.contextmanager
def processes(workers: int) -> Iterator[object]:
    """A pool of spawned processes: this process has threads, which a fork would lose."""
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@contextlib.contextmanager
def dask(workers: int) -> Iterator[object]:
    """A client of Dask with workers on this machine."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def ray(workers: int) -> Iterator[object]:
    """Ray on this machine."""
    import ray

    ray.init(num_cpus=workers, include_dashboard=False)
    try:
        yield ray
    finally:
        ray.shutdown()


ENGINES = {"processes": processes, "dask": dask, "ray": ray}


def timed(work: Work, repeat: int, run: Callable[[list[Batch]], Iterable[Array]]) -> tuple[Array, float]:
    """The vectors, and sentences per second: the median of the runs after a warm-up of a few batches."""
    list(run(work.batches[:8]))
    rates = []
    for _ in range(repeat):
        started = time.perf_counter()
        vectors = work.embed(run)
        rates.append(len(vectors) / (time.perf_counter() - started))
    return vectors, statistics.median(rates)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="minilm_workers", description="Embed sentences by several processes.")
    parser.add_argument("--count", type=int, default=1000, help="how many sentences (default: 1000)")
    parser.add_argument("--batch-size", type=int, default=8, help="sentences per call (default: 8)")
    parser.add_argument("--workers", type=int, default=2, help="processes of each engine (default: 2)")
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=["processes", "dask"])
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which the median is shown (default: 1)")
    parser.add_argument("--library", type=Path, help="the encoder, where it has been exported before")
    options = parser.parse_args(arguments)
    for name in ("count", "batch_size", "workers", "repeat"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, not {getattr(options, name)}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Embed the sentences in this process and by each engine; 1 if the vectors differ."""
    options = parse_arguments(arguments)
    with tempfile.TemporaryDirectory() as folder:
        library = options.library or export(Path(folder) / "encoder.so")
        work = Work.of(make_sentences(options.count), options.batch_size)
        expected, alone = timed(work, options.repeat, partial(in_this_process, library))
        print(f"{options.count} sentences in {len(work.batches)} batches of up to {options.batch_size}")
        print(f"{'this process':<24}{alone:8.0f} sentences/s")
        largest = 0.0
        for name in options.engines:
            with ENGINES[name](options.workers) as engine:
                run = partial(map_batches, library, engine=engine)
                vectors, rate = timed(work, options.repeat, run)
            difference = float(np.abs(vectors - expected).max())
            largest = max(largest, difference)
            print(
                f"{f'{name}, {options.workers} workers':<24}{rate:8.0f} sentences/s, {rate / alone:.2f} times as many; "
                f"largest difference {difference:.1e}"
            )
    return int(largest > 0)


if __name__ == "__main__":
    sys.exit(main())
