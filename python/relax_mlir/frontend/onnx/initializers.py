"""Constants of a model as arrays that share the model's bytes or map external data files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from relax_mlir import files
from relax_mlir.error import ParseError, UnsupportedError
from relax_mlir.frontend.onnx.dtypes import dtype_name, numpy_dtype
from relax_mlir.frontend.onnx.items import TensorItem
from relax_mlir.frontend.onnx.narrow import NARROW


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
            return TensorItem(
                name, None, NARROW[name].stored(array) if name in NARROW else array, tensor.name
            )
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
            raise ParseError(
                f"{what}: offset or length of its external data is no number: {error}"
            ) from error
        if length != wanted:
            raise ParseError(
                f"{what} of shape {shape} and dtype {dtype} has {wanted} bytes, but {length} are stored"
            )
        size = path.stat().st_size
        if offset < 0 or offset + wanted > size:
            raise ParseError(
                f"{what} is bytes {offset} to {offset + wanted} of {path}, which has only {size} bytes"
            )
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
            raise ParseError(
                f"{what}: the file of its external data, {location!r}, is not below the model's folder"
            )
        path = self._folder / location
        if why := files.why_unreadable(path):
            raise ParseError(f"{what} is stored in {path}: {why}; copy it beside the model")
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise ParseError(f"{what}: {path} leads out of the model's folder")
        return path
