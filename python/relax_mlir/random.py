"""Generators of random numbers: the state that programs draw from and return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.error import ArgumentError, expect

State = np.ndarray[Any, np.dtype[np.uint64]]


class Generator:
    """A state of random numbers (`relax_mlir.op.random`): equal seeds give equal numbers on all machines.

    A program takes the state as its last argument, and returns the next one as its last result; `draw` calls it like
    this.
    """

    def __init__(self, seed: int, counter: int = 0) -> None:
        expect("Generator: 'seed'", seed, int, "an integer")
        expect("Generator: 'counter'", counter, int, "an integer")
        if not 0 <= seed < 2**64 or not 0 <= counter < 2**128:
            raise ArgumentError(
                f"Generator: the seed is {seed} and the counter {counter}, expected 64 and 128 bits, not negative"
            )
        self._state = np.array([seed, counter % 2**64, counter >> 64], np.uint64)

    @property
    def state(self) -> State:
        """The key and the counter, three 64-bit words (a copy)."""
        found: State = self._state.copy()
        return found

    @state.setter
    def state(self, value: object) -> None:
        found = np.asarray(value)
        if found.shape != (3,) or found.dtype != np.uint64:
            raise ArgumentError(f"Generator: a state is {found.dtype} of shape {found.shape}, expected three uint64")
        self._state = found.copy()

    @property
    def counter(self) -> int:
        """The number of blocks of four words drawn so far."""
        return int(self._state[1]) + (int(self._state[2]) << 64)

    def draw(self, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 - those of the function
        """Call `function` with `arguments` and the state; store the next state and return the other results.

        The state does not change if the call fails.

        Raises:
            ArgumentError: the function does not return a next state after its results.
        """
        found = function(*arguments, self._state)
        parts = tuple(found) if isinstance(found, tuple | list) else ()
        if len(parts) < 2:
            raise ArgumentError("Generator.draw: the function returns no tuple of results and the next state")
        self.state = _array(parts[-1])
        return parts[0] if len(parts) == 2 else parts[:-1]


def _array(value: object) -> object:
    from relax_mlir.runtime import to_numpy  # the runtime takes long to import

    return value if isinstance(value, np.ndarray) else to_numpy(value)
