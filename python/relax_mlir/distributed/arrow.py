"""Arrays and record batches of Arrow as NumPy arrays over the same memory.

Nothing is copied: arrays with another memory layout (missing values, bits, several chunks) are an error.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

from relax_mlir.error import ArgumentError


def _pyarrow() -> ModuleType | None:
    """The module pyarrow if it has been imported; without it no Arrow value can exist."""
    return sys.modules.get("pyarrow")


def is_record_batch(value: object) -> bool:
    """True if the value is a record batch or table of Arrow."""
    pyarrow = _pyarrow()
    return pyarrow is not None and isinstance(value, pyarrow.RecordBatch | pyarrow.Table)


def is_array(value: object) -> bool:
    """True if the value is an Arrow array, in one or several chunks."""
    pyarrow = _pyarrow()
    return pyarrow is not None and isinstance(value, pyarrow.Array | pyarrow.ChunkedArray)


def columns_of(batch: Any) -> dict[str, Any]:  # noqa: ANN401 - a class of Arrow, which is optional
    """The columns of a record batch or table by name."""
    if len(set(batch.schema.names)) < len(batch.schema.names):
        raise ArgumentError(f"two columns of the batch have one name: {', '.join(batch.schema.names)}")
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def to_numpy(array: Any, where: str) -> np.ndarray[Any, Any]:  # noqa: ANN401 - a class of Arrow
    """An array of numbers; fixed-size lists and fixed-shape tensors of numbers add dimensions.

    Raises ArgumentError, which cites `where`, if a copy would be needed.
    """
    pyarrow = _pyarrow()
    assert pyarrow is not None
    if isinstance(array, pyarrow.ChunkedArray):
        if array.num_chunks != 1:
            raise ArgumentError(f"{where} has {array.num_chunks} chunks; call combine_chunks() first")
        array = array.chunk(0)
    if array.null_count:
        raise ArgumentError(f"{where} has {array.null_count} missing values; call fill_null() first")
    if isinstance(array, pyarrow.FixedShapeTensorArray):
        return np.asarray(array.to_numpy_ndarray())
    if pyarrow.types.is_fixed_size_list(array.type):
        return to_numpy(array.flatten(), where).reshape(len(array), array.type.list_size, *_inner(array.type))
    try:
        return np.asarray(array.to_numpy(zero_copy_only=True))
    except pyarrow.ArrowInvalid as error:
        raise ArgumentError(f"{where} is a {array.type} of Arrow: {error}; give a NumPy array") from None


def _inner(type_: Any) -> tuple[int, ...]:  # noqa: ANN401 - a class of Arrow
    """The lengths of the fixed-size lists nested in a fixed-size list."""
    pyarrow = _pyarrow()
    assert pyarrow is not None
    inner = type_.value_type
    return (inner.list_size, *_inner(inner)) if pyarrow.types.is_fixed_size_list(inner) else ()
