"""The copy that work on large arrays is compared with: it moves as many bytes, and takes its turn in each round."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.base import Bound
from benchmarks.workloads import Elementwise, NormGelu, Softmax, Workload

MANY_ELEMENTS = 1_000_000


def has_copy(workload: Workload, elements: int) -> bool:
    """Whether a workload with so many elements in its result reads and writes each byte about once, and many."""
    return isinstance(workload, Softmax | NormGelu | Elementwise) and elements >= MANY_ELEMENTS


def copy_of(moved: int) -> Bound:
    """A copy that moves so many bytes, half of them to memory."""
    source = np.ones(moved // 8, np.float32)
    copy = np.empty_like(source)

    def call() -> None:
        np.copyto(copy, source)

    return Bound(call, lambda _: copy)
