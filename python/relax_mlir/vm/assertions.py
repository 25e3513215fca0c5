"""Packed functions that bytecode calls when an assertion or a run-time check fails."""

from __future__ import annotations

import tvm_ffi

from relax_mlir.arrays import to_numpy
from relax_mlir.dialects.effects import message_pieces
from relax_mlir.error import ShapeError

FAIL = "relax.vm.fail_assertion"
"""The packed function that raises the error of a failed assertion. Arguments: the message, then the values in it."""


FAIL_DIVISION = "relax.vm.fail_division"
"""The packed function that raises the error of a division. Arguments: the location, then the divisor."""


FAIL_LOOP = "relax.vm.fail_loop"
"""The packed function that raises the error of a loop that cannot end. Arguments: location, step, upper bound."""


def register_assertions() -> None:
    """Register these packed functions."""
    tvm_ffi.register_global_func(FAIL, fail_assertion, override=True)
    tvm_ffi.register_global_func(FAIL_DIVISION, fail_division, override=True)
    tvm_ffi.register_global_func(FAIL_LOOP, fail_loop, override=True)


def fail_division(where: str, divisor: int) -> None:
    """Raise ShapeError for a division by a divisor that is not positive, as native code does."""
    raise ShapeError(f"{where}: division by {divisor}; divisors of integers are positive")


def fail_loop(where: str, step: int, upper: int) -> None:
    """Raise ShapeError for a loop whose step is not positive or whose variable would overflow, as native code does."""
    if step <= 0:
        raise ShapeError(f"{where}: the loop has the step {step}; loops count upwards")
    raise ShapeError(f"{where}: the loop ends at {upper}: in steps of {step} its variable would pass 64 bits")


def fail_assertion(message: str, *values: object) -> None:
    """Raise AssertionError with `message`, whose ``{}`` are replaced by `values` (tensors of rank 0, numbers)."""
    shown = [to_numpy(value).item() if isinstance(value, tvm_ffi.Tensor) else value for value in values]
    pieces = message_pieces("assert_op", str(message), len(shown))
    raise AssertionError(
        "".join(piece if isinstance(piece, str) else _text(shown[piece]) for piece in pieces)
    )


def _text(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
