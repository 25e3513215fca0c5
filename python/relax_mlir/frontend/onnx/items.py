"""Items that names of an ONNX graph denote: tensors, sequences, optionals, initializers; and their scopes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from relax_mlir import files
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import ParseError, UnsupportedError
from relax_mlir.frontend.onnx.dtypes import NARROW, dtype_name, numpy_dtype
from relax_mlir.symbolic import Dim, Expr

# Items that names of an ONNX graph denote: tensors, whose elements may be known, sequences and optionals.


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


# Constants of a model as arrays that share the model's bytes or map external data files.


class Arrays:
    """Reads the constants of one model; `folder` contains its external data files."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def of_tensor(self, tensor: TensorProto) -> TensorItem:
        """Return the item of an initializer or a constant."""
        what = f"the constant '{tensor.name}'"
        name = dtype_name(tensor.data_type, what)
        shape = tuple(tensor.dims)
        if any(dim < 0 for dim in shape):
            raise ParseError(f"{what} has the shape {shape}: a dimension is negative")
        if tensor.data_location == TensorProto.EXTERNAL:
            if name in NARROW and NARROW[name].bits < 8:
                raise UnsupportedError(f"{what} of {name} in a file of external data is not supported")
            array = self._mapped(tensor, numpy_dtype(name), what)
            return TensorItem(name, None, NARROW[name].stored(array) if name in NARROW else array, tensor.name)
        if tensor.HasField("segment"):
            raise ParseError(f"{what} is stored in segments, which ONNX does not define further")
        try:
            array = numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise ParseError(f"{what} cannot be read: {error}") from error
        return TensorItem(name, None, NARROW[name].stored(array) if name in NARROW else array, tensor.name)

    def of_sparse(self, sparse: SparseTensorProto) -> TensorItem:
        """Return the item of a sparse initializer, converted to dense."""
        what = f"the sparse constant '{sparse.values.name}'"
        values = self.of_tensor(sparse.values)
        shape = tuple(sparse.dims)
        assert values.known is not None
        dense = np.zeros(shape, values.known.dtype)
        places = numpy_helper.to_array(sparse.indices)
        try:
            if places.ndim == 1:
                dense.reshape(-1)[places] = values.known
            else:
                dense[tuple(places.T)] = values.known
        except (IndexError, ValueError) as error:
            raise ParseError(f"{what} cannot be read: {error}") from error
        return TensorItem(values.dtype, None, dense, sparse.values.name)

    def _mapped(self, tensor: TensorProto, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
        """Map the elements of an initializer in an external data file into memory."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = self._file(entries.get("location", ""), what)
        shape = tuple(tensor.dims)
        wanted = int(np.prod(shape, dtype=object)) * dtype.itemsize if shape else dtype.itemsize
        try:
            offset = int(entries.get("offset", "0") or "0")
            length = int(entries.get("length", "") or wanted)
        except ValueError as error:
            raise ParseError(f"{what}: offset or length of its external data is no number: {error}") from error
        if length != wanted:
            raise ParseError(f"{what} of shape {shape} and dtype {dtype} has {wanted} bytes, but {length} are stored")
        size = path.stat().st_size
        if offset < 0 or offset + wanted > size:
            raise ParseError(f"{what} is bytes {offset} to {offset + wanted} of {path}, which has only {size} bytes")
        if wanted == 0:
            return np.zeros(shape, dtype)
        if offset % dtype.itemsize:
            with files.open_regular(path) as file:
                file.seek(offset)
                return np.frombuffer(file.read(wanted), dtype).reshape(shape)
        return np.memmap(path, dtype, mode="r", offset=offset, shape=shape)

    def _file(self, location: str, what: str) -> Path:
        if self._folder is None:
            raise ParseError(
                f"{what} is stored in the file {location!r}: give the path of the model, not the model itself, "
                "or load it with onnx.load, which reads that file"
            )
        if not location or os.path.isabs(location) or ".." in Path(location).parts:
            raise ParseError(f"{what}: the file of its external data, {location!r}, is not below the model's folder")
        path = self._folder / location
        if why := files.why_unreadable(path):
            raise ParseError(f"{what} is stored in {path}: {why}; copy it beside the model")
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise ParseError(f"{what}: {path} leads out of the model's folder")
        return path


# The names of a graph during conversion.


class Scope:
    """The names of a graph or function; names of enclosing graphs are visible."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self._items: dict[str, Item | None] = {}
        self._sources: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> Item | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._items:
                return scope._items[name]
            scope = scope._outer
        raise ParseError(f"the name '{name}' is used before anything defines it")

    def sources(self, name: str) -> tuple[str, ...]:
        """Return the inputs of the model from which `name` is computed."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._sources:
                return scope._sources[name]
            scope = scope._outer
        return ()

    def bind(self, name: str, item: Item | None, sources: Iterable[str] = ()) -> None:
        self._items[name] = item
        self._sources[name] = tuple(dict.fromkeys(sources))
