"""The state of random numbers during conversion, which draws use and update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value

NAME = "generator"
"""The name of the parameter with the generator's state."""
_SEEDED = 0x4F4E4E58 << 32
"""Distinguishes keys derived from seeds from those of generators."""


class NumbersDrawnError(Exception):
    """The model draws random numbers, so its function needs a generator state."""


class RandomState:
    """The current state of a function, a branch or a loop iteration, and its initial state.

    Nodes with a seed have a separate generator, as in ONNX Runtime: its key is the seed, its counter that of the
    initial state. Their numbers are therefore independent of other nodes, and two nodes with the same seed draw equal
    numbers. Each draw also advances the counter of the current state, so that the next call or iteration draws other
    numbers.
    """

    def __init__(self, state: Value) -> None:
        self.now = state
        self._start = state

    def begin(self, state: Value) -> None:
        """Enter a loop iteration, which carries `state`."""
        self.now = self._start = state

    def kept(self) -> tuple[Value, Value]:
        return self.now, self._start

    def restore(self, kept: tuple[Value, Value]) -> None:
        """Restore the result of `kept`, for example after a branch."""
        self.now, self._start = kept

    def draw(
        self, bb: BlockBuilder, function: Callable[[Value], tuple[Value, Value]], seed: float | None
    ) -> Value:
        """Draw numbers with `function`, which maps a state to numbers and the next state."""
        if seed is None:
            found, self.now = function(self.now)
            return found
        key = np.asarray([int(np.float64(seed).view(np.uint64)) ^ _SEEDED], np.uint64)
        own = R.concat([R.const(key), R.strided_slice(self._start, [0], [1], [3])], 0)
        found, after = function(own)
        self.now = bb.emit_te(_moved, self.now, own, after)
        return found


def _moved(state: Any, before: Any, after: Any) -> Any:  # noqa: ANN401 - tensors of te
    """Advance the counter of `state` by the difference between two other states."""
    none, one = te.const(0, "uint64"), te.const(1, "uint64")

    def word(i: Any) -> Any:  # noqa: ANN401 - expressions of te
        low = state[1] + after[1] - before[1]
        high = state[2] + te.select(low < state[1], one, none)
        return te.select(i < 1, state[0], te.select(i < 2, low, high))

    return te.compute((3,), word, name="moved")
