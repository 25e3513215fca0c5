"""`unique` and `nonzero` against NumPy: the functions of the runtime on every dtype, and programs that call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from harness import ALL, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.runtime import to_ffi, to_numpy
from relax_mlir.script import parse

Array = np.ndarray[Any, Any]
SHAPES = ((0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 1, 2), ())


def runtime(name: str, *arguments: object) -> list[Array]:
    found = tvm_ffi.get_global_func(f"relax_mlir.run.{name}")(*map(to_ffi, arguments))
    return [to_numpy(t) for t in (found if isinstance(found, tuple | tvm_ffi.Array) else [found])]


def comparable(array: Array) -> Array:
    """bfloat16 as float32: NumPy does not recognise its NaNs."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def drawn(dtype: str, shape: tuple[int, ...]) -> Array:
    return numbers(-2, 2)(np.random.default_rng(1), Tensor(shape, dtype), shape)


@pytest.mark.parametrize("dtype", ALL)
def test_unique_of_elements(dtype: str) -> None:
    special = special_values(dtype)
    for x in (*(drawn(dtype, shape) for shape in SHAPES), np.concatenate([special, special[::-1]])):
        values, index, inverse, counts = runtime("unique", x, True, True, True, True, "here")
        expected = np.unique(x.reshape(-1).astype(np.float64) if x.dtype.kind in "fV" else x.reshape(-1))
        assert values.dtype == x.dtype
        np.testing.assert_array_equal(values.astype(expected.dtype), expected)
        flat, values = comparable(x.reshape(-1)), comparable(values)
        np.testing.assert_array_equal(flat[index], values)
        np.testing.assert_array_equal(values[inverse], flat)
        np.testing.assert_array_equal(np.bincount(inverse, minlength=len(values)), counts)
        assert all(not np.any(inverse[:first] == place) for place, first in enumerate(index))
        assert [part.dtype for part in (index, inverse, counts)] == [np.int64] * 3


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint64", "bool"])
def test_unique_in_order_of_appearance(dtype: str) -> None:
    for x in (drawn(dtype, (9,)), special_values(dtype)):
        values, index = runtime("unique", x, False, True, False, False, "here")
        assert list(index) == sorted(index)
        np.testing.assert_array_equal(comparable(x[index]), comparable(values))
        assert len(values) == len(runtime("unique", x, True, False, False, False, "here")[0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(6, 2), (2, 6), (0, 3), (3, 0), (4, 2, 3)])
def test_unique_of_slices(dtype: str, axis: int, shape: tuple[int, ...]) -> None:
    x = drawn(dtype, shape)
    values, index, inverse, counts = runtime("unique", x, True, True, True, True, "here", axis)
    slices = np.moveaxis(x, axis, 0)
    found = [tuple(map(float, row.reshape(-1))) for row in np.moveaxis(values, axis, 0)]
    assert found == sorted({tuple(map(float, row.reshape(-1))) for row in slices})
    np.testing.assert_array_equal(np.take(x, index, axis), values)
    np.testing.assert_array_equal(np.take(values, inverse, axis), x)
    np.testing.assert_array_equal(np.bincount(inverse, minlength=len(found)), counts)


def test_unique_takes_all_nans_for_one_and_both_zeros() -> None:
    x = np.array([np.nan, -0.0, 1.0, 0.0, np.nan, np.inf, -np.inf], np.float32)
    values, counts = runtime("unique", x, True, False, False, True, "here")
    np.testing.assert_array_equal(values, np.array([-np.inf, 0, 1, np.inf, np.nan], np.float32))
    assert np.signbit(values[1])
    assert list(counts) == [1, 2, 1, 1, 2]
    rows = np.array([[np.nan, 0.0], [np.nan, -0.0]], np.float32)
    assert runtime("unique", rows, True, False, False, False, "here", 0)[0].shape == (1, 2)


@pytest.mark.parametrize("dtype", ALL)
def test_nonzero(dtype: str) -> None:
    for x in (*(drawn(dtype, shape) for shape in SHAPES if shape), special_values(dtype)):
        (found,) = runtime("nonzero", x)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.stack(np.nonzero(np.asarray(x != 0))))


def test_nonzero_of_a_scalar() -> None:
    assert runtime("nonzero", np.array(3, np.int8))[0].shape == (0, 1)
    assert runtime("nonzero", np.array(0.0, np.float32))[0].shape == (0, 0)


def received(
    build: Callable[[rx.Var], rx.Value], dims: tuple[object, ...], *arrays: Array
) -> list[list[Array]]:
    """The fields of ``build(x)``, as received by a packed function, for each of `arrays`."""
    seen: list[Array] = []
    tvm_ffi.register_global_func("test.receive", lambda t: seen.append(to_numpy(t).copy()), override=True)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(dims, arrays[0].dtype))  # type: ignore[arg-type]  # dimensions
    with bb.function("main", [x]):
        found = build(x)
        for item in list(found) if isinstance(found.struct_info, rx.Tuple) else [found]:
            R.call_packed("test.receive", item)
        bb.emit_func_output(x)
    function, results = rx.build(bb.get())["main"], []
    for array in arrays:
        seen.clear()
        function(array)
        results.append(list(seen))
    return results


def test_programs() -> None:
    arrays = [drawn("float32", shape) for shape in ((3, 4), (0, 4), (1, 4))]
    for x, found in zip(
        arrays, received(lambda x: R.unique(x, True, True, True, True), ("n", 4), *arrays), strict=True
    ):
        for have, want in zip(found, np.unique(x, True, True, True), strict=True):
            np.testing.assert_array_equal(have, want.reshape(-1))
    for x, found in zip(arrays, received(lambda x: R.unique(x, axis=0), ("n", 4), *arrays), strict=True):
        np.testing.assert_array_equal(found[0], np.unique(x, axis=0))
    for x, found in zip(arrays, received(R.nonzero, ("n", 4), *arrays), strict=True):
        np.testing.assert_array_equal(found[0], np.stack(np.nonzero(x)))


def test_the_result_goes_on_after_match_shape() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            distinct = R.match_shape(R.unique(x), ("m",))
            y = bb.emit_output(R.sum(R.exp(distinct)))
        bb.emit_func_output(y)
    array = np.array([1, 2, 1, 0, 2], np.float32)
    found = to_numpy(rx.build(bb.get())["main"](array))
    np.testing.assert_allclose(found, np.exp(np.unique(array)).sum(), rtol=1e-6)


def test_script() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output((R.unique(x, False, True, axis=-1), R.unique(x), R.nonzero(x)))
        bb.emit_func_output(y)
    text = bb.get().script()
    assert parse(text, {}).script() == text


def test_bad_arguments() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with pytest.raises(ShapeError, match="unique: axis 2 is out of range for a tensor of rank 2"):
            R.unique(x, axis=2)
        with pytest.raises(ArgumentError, match=r"unique: .axis. is .0. \(str\), expected an int"):
            R.unique(x, axis="0")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match=r"unique: .sorted. is .yes. .*expected"):
            R.unique(x, sorted="yes")  # type: ignore[arg-type]
        bb.emit_func_output(x)
    with pytest.raises(ShapeError, match="unique: axis 2 is out of range for a tensor of rank 1"):
        runtime("unique", np.zeros(3, np.float32), True, False, False, False, "here", 2)
