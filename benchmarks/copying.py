"""The copy that workloads on large arrays are compared with: it moves as many bytes, and runs in each round."""

from __future__ import annotations

import statistics
import threading
import time

import numpy as np

from benchmarks.peers.base import Bound
from benchmarks.workloads import Elementwise, NormGelu, Softmax, Workload

MANY_ELEMENTS = 1_000_000
ROUNDS = 30


def has_copy(workload: Workload, elements: int) -> bool:
    """True if a workload with a result of `elements` elements is large, and reads and writes each byte about once."""
    return isinstance(workload, Softmax | NormGelu | Elementwise) and elements >= MANY_ELEMENTS


def copy_of(moved: int) -> Bound:
    """A copy that moves `moved` bytes, half of them to memory."""
    source = np.ones(moved // 8, np.float32)
    copy = np.empty_like(source)

    def call() -> None:
        np.copyto(copy, source)

    return Bound(call, lambda _: copy)


def gain_of_two_threads(moved: int) -> float:
    """The speed-up of a copy by two threads over one: the limit that memory bandwidth sets for a second thread.

    The copy moves `moved` bytes, half of them to memory. The result is the median of rounds, each of which measures
    one thread and two.
    """
    source = np.ones(moved // 8, np.float32)
    copy = np.empty_like(source)
    half = source.size // 2
    turn = threading.Barrier(2)

    def second() -> None:
        for _ in range(ROUNDS):
            turn.wait()
            np.copyto(copy[half:], source[half:])
            turn.wait()

    helper = threading.Thread(target=second)
    helper.start()
    ratios = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        np.copyto(copy, source)
        alone = time.perf_counter() - start
        turn.wait()
        start = time.perf_counter()
        np.copyto(copy[:half], source[:half])
        turn.wait()
        ratios.append(alone / (time.perf_counter() - start))
    helper.join()
    return statistics.median(ratios)
