"""Python protocols that a value cannot support before the program runs, with errors that suggest alternatives."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from relax_mlir.error import ArgumentError, BoundsError

OTHER_NAMES = {
    "T": "op.permute_dims(x)",
    "mT": "op.permute_dims(x, axes)",
    "transpose": "op.permute_dims(x, axes)",
    "view": "op.reshape(x, shape)",
    "to": "op.astype(x, dtype)",
    "float": 'op.astype(x, "float32")',
    "int": 'op.astype(x, "int32")',
    **dict.fromkeys(
        ("item", "numpy", "tolist"), "return the value from the function: it has no elements before"
    ),
}
"""Attributes of NumPy and PyTorch tensors, each with the alternative to write."""


class PythonProtocols:
    """A base of `Value`: conversions to Python and NumPy objects, which raise errors."""

    def __bool__(self) -> bool:
        raise ArgumentError(
            "the truth of a Relax value is known at run time only; use op.if_then_else, and op.logical_and, "
            "op.logical_or and op.logical_not of conditions"
        )

    def __float__(self) -> float:
        self._is_no_number("op.astype(x, dtype) converts it")

    __int__ = __complex__ = __float__

    def __index__(self) -> int:
        self._is_no_number("op.for_loop counts to it, op.take takes the elements that it says")

    def __round__(self, digits: int | None = None) -> Any:  # noqa: ANN401 - a value
        if digits is None:
            return self._op("round")
        self._is_no_number(
            f"op.round rounds to integers, so write op.round(x * c) / c with c = 10.0**{digits}"
        )

    def __trunc__(self) -> Any:  # noqa: ANN401 - a value
        return self._op("trunc")

    def __floor__(self) -> Any:  # noqa: ANN401 - a value
        return self._op("floor")

    def __ceil__(self) -> Any:  # noqa: ANN401 - a value
        return self._op("ceil")

    def __contains__(self, item: object) -> bool:
        raise ArgumentError(
            f"what {self!r} contains is known at run time only: op.max(op.equal(x, item)) is a condition"
        )

    def __format__(self, specification: str) -> str:
        if specification:
            self._is_no_number(f"op.print shows it when the program runs; {specification!r} formats numbers")
        return str(self)

    def __setitem__(self, index: object, value: object) -> None:
        raise ArgumentError("values do not change; op.where and op.concat make new ones")

    def __delitem__(self, index: object) -> None:
        raise ArgumentError("values do not change; op.strided_slice and op.concat make new ones")

    def __array__(self, *arguments: object, **named: object) -> np.ndarray[Any, Any]:
        raise ArgumentError(
            f"{self!r} has no elements before it is run: use the functions of op, not NumPy's"
        )

    def __dlpack__(self, *arguments: object, **named: object) -> object:
        raise ArgumentError(f"{self!r} has no elements before it is run: return it from the function")

    def __dlpack_device__(self) -> tuple[int, int]:
        raise ArgumentError(f"{self!r} is on no device before it is run: return it from the function")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ArgumentError(
            f"{self!r} belongs to the function that is built: it cannot be copied or pickled; IRModule.save "
            "writes modules"
        )

    def _op(self, name: str) -> Any:  # noqa: ANN401 - a value
        from relax_mlir import op  # the ops use values

        return getattr(op, name)(self)

    def _is_no_number(self, advice: str) -> NoReturn:
        raise ArgumentError(f"{self!r} is known at run time only: it is no Python number; {advice}")


class Dims(tuple[Any, ...]):
    """The dimensions of a value, as in its `shape`: a tuple with a descriptive error for a wrong index."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:  # noqa: ANN401 - an int or a slice
        try:
            return super().__getitem__(index)
        except IndexError:
            raise BoundsError(f"no dimension {index}: the rank is {len(self)}") from None
        except TypeError:
            raise ArgumentError(f"a dimension has a number, not {index!r}") from None
