"""Expected results of ONNX's node suite that are computed when their case runs.

ONNX creates the data of all cases when the suite is imported. Most of that time is spent on a few poolings, which loop
over windows in Python, and on reading the sources of the cases for its documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx.backend.test.case.base as exporters
import onnx.backend.test.case.node as node
import onnx.reference.ops.op_pool_common as pools

_left: dict[int, tuple[np.ndarray, Callable[[], np.ndarray]]] = {}
"""Arrays whose elements are still to be computed, by identity, and how."""


@contextmanager
def deferred() -> Iterator[None]:
    """While the suite is imported: results of poolings have only a shape, and sources are not read."""
    pool, snippet = pools.pool, exporters.process_snippet

    def later(
        padded: np.ndarray,
        x_shape: Sequence[int],
        kernel: Sequence[int],
        strides: Sequence[int],
        out_shape: Sequence[int],
        *others: Any,
        **named: Any,
    ) -> np.ndarray:
        result = np.zeros([*x_shape[:2], *out_shape], padded.dtype)
        _left[id(result)] = (
            result,
            lambda: pool(padded, x_shape, kernel, strides, out_shape, *others, **named),
        )
        return result

    pools.pool, exporters.process_snippet = later, lambda op, name, export: (name, "")
    try:
        yield
    finally:
        pools.pool, exporters.process_snippet = pool, snippet


def compute(name: str) -> None:
    """Compute the deferred results of a case of the node suite."""
    for case in node._NodeTestCases:
        if case.name == name:
            for result in (array for _, outputs in case.data_sets for array in outputs):
                if id(result) in _left:
                    array, computed = _left.pop(id(result))
                    array[...] = computed()
