"""The state of random numbers of a program that is being converted: what draws take, and leave for the next ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value

NAME = "generator"
"""The name of the parameter that random numbers are drawn from."""
_SEEDED = 0x4F4E4E58 << 32
"""What sets keys of seeds apart from those of generators."""


class NumbersDrawnError(Exception):
    """The model draws random numbers, so that its function takes a state."""


class RandomState:
    """The state that a function, a branch or a round of a loop is at, and the one that it began with.

    Nodes with a seed have a generator of their own, as in ONNX Runtime: its key is the seed, its counter that of the
    beginning. So their numbers depend on no other node, and two nodes of one seed give equal ones. The counter moves on
    by what they draw, so that the next call, or round, gives others.
    """

    def __init__(self, state: Value) -> None:
        self.now = state
        self._start = state

    def begin(self, state: Value) -> None:
        """Enter a round of a loop, which carries `state`."""
        self.now = self._start = state

    def kept(self) -> tuple[Value, Value]:
        return self.now, self._start

    def restore(self, kept: tuple[Value, Value]) -> None:
        """Go back to what `kept` gave, as when a branch has been converted."""
        self.now, self._start = kept

    def draw(
        self, bb: BlockBuilder, function: Callable[[Value], tuple[Value, Value]], seed: float | None
    ) -> Value:
        """Numbers that `function` draws of a state, which gives the state behind them, too."""
        if seed is None:
            found, self.now = function(self.now)
            return found
        key = np.asarray([int(np.float64(seed).view(np.uint64)) ^ _SEEDED], np.uint64)
        own = R.concat([R.const(key), R.strided_slice(self._start, [0], [1], [3])], 0)
        found, after = function(own)
        self.now = bb.emit_te(_moved, self.now, own, after)
        return found


def _moved(state: Any, before: Any, after: Any) -> Any:  # noqa: ANN401 - tensors of te
    """`state` with a counter that is further by what was drawn between two other states."""
    none, one = te.const(0, "uint64"), te.const(1, "uint64")

    def word(i: Any) -> Any:  # noqa: ANN401 - expressions of te
        low = state[1] + after[1] - before[1]
        high = state[2] + te.select(low < state[1], one, none)
        return te.select(i < 1, state[0], te.select(i < 2, low, high))

    return te.compute((3,), word, name="moved")
