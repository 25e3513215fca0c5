"""Arrays and record batches of Arrow as batches of `map_batches`: the same memory, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import distributed_programs
import numpy as np
import pyarrow as pa
import pytest
from relax_mlir.distributed import map_batches
from relax_mlir.distributed.map_batches import arguments_of
from relax_mlir.error import ArgumentError

Array = np.ndarray[Any, Any]


def one(batch: object) -> Array:
    """The only argument of a batch."""
    (found,) = arguments_of(batch, ["x"])
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_arrays_share_memory(dtype: str, size: int) -> None:
    values = np.arange(size).astype(dtype)
    array = pa.array(values)
    for given in (array, pa.chunked_array([array])):
        found = one(given)
        np.testing.assert_array_equal(found, values, strict=True)
        assert size == 0 or found.ctypes.data == array.buffers()[1].address
    np.testing.assert_array_equal(one(array.slice(size // 2)), values[size // 2 :], strict=True)


def test_lists_of_fixed_size_and_tensors_have_more_dimensions() -> None:
    values = np.arange(24, dtype=np.float32)
    flat = pa.array(values)
    matrix = pa.FixedSizeListArray.from_arrays(flat, 4)
    nested = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(flat, 4), 3)
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(values.reshape(2, 3, 4))
    for array, shape in ((matrix, (6, 4)), (nested, (2, 3, 4)), (tensors, (2, 3, 4))):
        found = one(array)
        np.testing.assert_array_equal(found, values.reshape(shape), strict=True)
        assert np.shares_memory(found, flat.to_numpy()) or array is tensors
    np.testing.assert_array_equal(one(matrix[2:5]), values.reshape(6, 4)[2:5], strict=True)
    np.testing.assert_array_equal(one(tensors[1:]), values.reshape(2, 3, 4)[1:], strict=True)
    assert np.shares_memory(one(tensors), values)
    assert one(matrix[:0]).shape == (0, 4)


def test_columns_are_arguments_by_name() -> None:
    x, y = pa.array([1, 2]), pa.array([0.5, 1.5])
    for batch in (pa.record_batch([y, x], ["y", "x"]), pa.table([y, x], ["y", "x"])):
        first, second = arguments_of(batch, ["x", "y"])
        assert first.tolist() == [1, 2] and second.tolist() == [0.5, 1.5]
    with pytest.raises(ArgumentError, match=r"the batch has y, x, but the function takes x$"):
        arguments_of(pa.record_batch([y, x], ["y", "x"]), ["x"])
    with pytest.raises(ArgumentError, match="two columns of the batch have one name: x, x"):
        arguments_of(pa.record_batch([y, x], ["x", "x"]), ["x"])


REFUSED = {
    r"argument 'x' has 2 missing values; call fill_null\(\)": pa.array([1, None, None]),
    r"argument 'x' has 2 chunks; call combine_chunks\(\)": pa.chunked_array([[1], [2]]),
    r"argument 'x' has 0 chunks": pa.chunked_array([], pa.int64()),
    r"argument 'x' is a bool of Arrow: .*; give a NumPy array": pa.array([True, False]),
    r"argument 'x' is a string of Arrow": pa.array(["a"]),
    r"argument 'x' has 1 missing values": pa.FixedSizeListArray.from_arrays(pa.array([1, None]), 2),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_needs_a_copy_is_refused(message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        one(REFUSED[message])


@pytest.mark.slow
def test_a_pool_takes_record_batches(library: Path, marks: Path) -> None:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((rows, 64), np.float32) for rows in (3, 0, 1)]
    batches = [pa.record_batch([pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), 64)], ["x"]) for x in given]
    with distributed_programs.make_pool(marks, workers=1) as pool:
        found = list(map_batches(library, batches, pool, function="layer"))
    for x, result in zip(given, found, strict=True):
        np.testing.assert_allclose(result, np.maximum(x @ distributed_programs.WEIGHT, 0), rtol=1e-4, atol=1e-4)
