"""Convert batches to arguments that can be sent: arrays (of Arrow without a copy), shapes, numbers, and tuples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_numpy
from relax_mlir.distributed import arrow
from relax_mlir.distributed.worker import Sizes
from relax_mlir.error import ArgumentError


def arguments_of(batch: object, parameters: Sequence[str]) -> tuple[Any, ...]:
    """The arguments of a batch, in the form in which they are sent.

    Args:
        batch: a tuple of arguments; a mapping or an Arrow record batch, which give them by name; or else the only
            argument.
        parameters: the names of the function's parameters.

    Raises ArgumentError: an argument is missing, there is one too many, or a value cannot be sent.
    """
    if arrow.is_record_batch(batch):
        batch = arrow.columns_of(batch)
    if isinstance(batch, Mapping):
        if set(batch) != set(parameters):
            names = ", ".join(map(str, batch)) or "nothing"
            raise ArgumentError(f"the batch has {names}, but the function takes {', '.join(parameters)}")
        batch = tuple(batch[name] for name in parameters)
    elif type(batch) is not tuple:
        batch = (batch,)
    if len(batch) != len(parameters):
        counts = "1 argument" if len(batch) == 1 else f"{len(batch)} arguments"
        raise ArgumentError(
            f"the batch has {counts}, but the function takes {len(parameters)} ({', '.join(parameters)})"
        )
    return tuple(
        _traveller(value, f"argument '{name}'") for name, value in zip(parameters, batch, strict=True)
    )


def _traveller(value: Any, where: str) -> Any:  # noqa: ANN401 - any value of a user
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise ArgumentError(f"{where} is an array of Python objects, expected one of numbers")
        return value
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tvm_ffi.Shape):
        return Sizes(tuple(map(int, value)))
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return tuple(_traveller(item, f"{where}, element {index}") for index, item in enumerate(value))
    if arrow.is_array(value):
        return arrow.to_numpy(value, where)
    if hasattr(value, "__dlpack__"):
        try:
            return to_numpy(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise ArgumentError(f"{where} cannot be read through DLPack: {error}") from error
    raise ArgumentError(
        f"{where} is of type {type(value).__name__}, expected an array, a shape, a number, or a tuple of them"
    )


def received(value: Any) -> Any:  # noqa: ANN401 - any result
    """A result as users get it: shapes become shapes of the FFI."""
    if isinstance(value, Sizes):
        return tvm_ffi.Shape(value.values)
    if isinstance(value, tuple):
        return tuple(map(received, value))
    return value
