"""Items that names of an ONNX graph denote: tensors, whose elements may be known, sequences and optionals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.symbolic import Dim, Expr

MAX_FOLDED = 4096
"""The maximum number of elements computed at import; longer constants are left to the program."""


@dataclass(frozen=True, eq=False)
class TensorItem:
    """A tensor with a value, known elements, or both.

    `known` holds the elements: numbers, or an object array of integers and symbolic expressions. A value is created
    from them when an op needs one.
    """

    dtype: str
    value: Value | None = None
    known: np.ndarray[Any, Any] | None = None
    name: str | None = None
    """The name of a constant in the model."""

    @property
    def shape(self) -> tuple[Dim | None, ...] | None:
        if self.value is not None:
            info = self.value.struct_info
            return info.shape if isinstance(info, Tensor) else None
        assert self.known is not None
        dims: tuple[int, ...] = self.known.shape
        return dims

    @property
    def is_symbolic(self) -> bool:
        """True if elements are symbolic expressions."""
        return self.known is not None and self.known.dtype == object


@dataclass(frozen=True, eq=False)
class SequenceItem:
    """A sequence whose length is known at import."""

    items: tuple[Item, ...]


@dataclass(frozen=True, eq=False)
class OptionalItem:
    """An optional that contains `item` or is empty."""

    item: Item | None


Item = Union[TensorItem, SequenceItem, OptionalItem]  # noqa: UP007 - a forward reference has no operator |


def of_value(value: Value) -> TensorItem:
    """Return the item of a value with a known dtype."""
    info = value.struct_info
    assert isinstance(info, Tensor) and info.dtype is not None
    return TensorItem(info.dtype.name, value)


def of_array(array: np.ndarray[Any, Any], dtype: str | None = None, name: str | None = None) -> TensorItem:
    """Return the item of a constant."""
    return TensorItem(dtype or array.dtype.name, None, array, name)


def of_dims(dims: Sequence[Dim], dtype: str = "int64") -> TensorItem:
    """Return the item of a vector of integers and expressions."""
    return TensorItem(dtype, None, elements(dims, (len(dims),)))


def elements(dims: Sequence[Any], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return an array of `shape`: int64 if all entries are integers, else objects."""
    if any(isinstance(dim, Expr) for dim in dims):
        array = np.empty(len(dims), object)
        array[:] = list(dims)
        return array.reshape(tuple(shape))
    return np.asarray(list(dims), np.int64).reshape(tuple(shape))
