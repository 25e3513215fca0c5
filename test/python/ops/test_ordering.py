"""Ops that compare elements of a tensor with each other: sorting, medians, searches, draws, and distinct elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Array, Suite, compiled, numbers, special_values, tensor
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, BoundsError, ShapeError
from relax_mlir.runtime import to_ffi, to_numpy
from relax_mlir.script import parse

SORTED = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool")


@pytest.mark.parametrize("dtype", SORTED)
def test_sorting(dtype: str) -> None:
    suite = Suite.of(dtype, SORTED)
    for axis, down in sweep.product((0, -1), (False, True)):
        suite.use("sort", "n m", axis=axis, descending=down)
        suite.use("argsort", "n m", axis=axis, descending=not down)
        suite.use("topk", "n m", k=3, axis=axis, ret_type="values", largest=down)
    suite.run(test_sorting)


def test_nan_and_both_results() -> None:
    def build(x: Any) -> Any:
        values, indices = R.topk(R.add(x, x), 2, dtype="int64")
        return values, indices, R.sort(x)

    given = np.array([1, np.nan, -np.inf, 7, np.inf], np.float32)
    values, indices, ordered = compiled(build, "n")(given)
    np.testing.assert_array_equal(values, [np.nan, np.inf])
    np.testing.assert_array_equal(indices, [1, 4])
    np.testing.assert_array_equal(ordered, np.sort(given))


@pytest.mark.parametrize("dtype", ALL)
def test_median(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    row, sizes = special_values(dtype), [{"n": n, "m": m} for n, m in ((1, 1), (3, 17), (64, 2), (5, 101))]
    for axis, keepdims in ((0, False), (1, True)):
        inputs = [[row[:, None]], [row[None]]]
        suite.use("median", "n m", axis=axis, keepdims=keepdims, sizes=sizes, inputs=inputs)
    for keepdims in (False, True):
        suite.use("median", "n m", keepdims=keepdims, sizes=sizes)
    suite.run(test_median)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sorted_vectors(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)

    def ascending(rng: np.random.Generator, info: Tensor, shape: tuple[int, ...]) -> Array:
        return np.sort(numbers()(rng, info, shape))

    for right in (False, True):
        suite.use("searchsorted", "k", "n m", right=right, dtype="int32", draw=[ascending, numbers()])
        suite.use("bucketize", "n m", "k", right=right, draw=[numbers(), ascending])
    suite.use("searchsorted", "0", "n m")
    suite.run(test_sorted_vectors)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_positions(dtype: str) -> None:
    suite = Suite.of(dtype, INTEGERS)
    inputs = [[np.array([-1, 0, 1], np.float32), np.array([-2, -1, 0.5, 3], np.float32)]]
    suite.use("searchsorted", "3 float32", "n float32", dtype=dtype, inputs=inputs)
    suite.run(test_dtypes_of_positions)


@pytest.mark.parametrize("dtype", FLOATS)
def test_draws(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    rng = np.random.default_rng(5)
    kind = dtypes.dtype(dtype).numpy
    inputs = []
    for rows, classes, samples in ((3, 5, 40), (1, 1, 7), (2, 3, 0)):
        prob = rng.integers(0, 5, (rows, classes)).astype(kind)  # sums are exact
        top = rng.uniform(-0.1, 1.2, (samples, 1)) * float(prob.astype("f8").sum(1).max())
        inputs.append([prob, top.astype(kind), rng.integers(0, rows, (samples, 1))])
    suite.use("multinomial_from_uniform", "n m", "k 1", "k 1 int64", inputs=inputs)
    given = [np.array([[1, 2], [3, 0.5]]).astype(kind), np.array([[1.5], [0.25]]).astype(kind)]
    suite.use("multinomial_from_uniform", "n m", "n 1", dtype="int32", inputs=[given])
    suite.run(test_draws)


def test_draws_and_medians_out_of_range() -> None:
    main = compiled(R.multinomial_from_uniform, "n m", "k 1", "k 1 int64")
    prob, sample = np.ones((2, 3), np.float32), np.ones((1, 1), np.float32)
    assert main(prob, sample, np.array([[1]])).tolist() == [[1]]
    with pytest.raises(
        BoundsError, match="multinomial_from_uniform: 'prob': index 2 is out of range for dimension 0 of"
    ):
        main(prob, sample, np.array([[2]]))
    with pytest.raises(BoundsError, match="index 0 is out of range for dimension 1 of size 0"):
        main(prob[:, :0], sample, np.array([[1]]))
    with pytest.raises(BoundsError, match="median"):
        compiled(lambda x: R.median(x), "n")(np.zeros(0, np.float32))


SHAPES = ((0,), (1,), (7,), (3, 5), (2, 0, 3), (4, 1, 2), ())


def runtime(name: str, *arguments: object) -> list[Array]:
    """The results of a function of the runtime."""
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


def received(build: Callable[..., rx.Value], *arrays: Array) -> list[list[Array]]:
    """The fields of ``build(x)``, as received by a packed function, for each of `arrays`."""
    seen: list[Array] = []
    tvm_ffi.register_global_func("test.receive", lambda t: seen.append(to_numpy(t).copy()), override=True)

    def send(x: rx.Value) -> rx.Value:
        found = build(x)
        for item in list(found) if isinstance(found.struct_info, rx.Tuple) else [found]:
            R.call_packed("test.receive", item)
        return x

    function, results = compiled(send, "n 4"), []
    for array in arrays:
        seen.clear()
        function(array)
        results.append(list(seen))
    return results


def test_programs() -> None:
    arrays = [drawn("float32", shape) for shape in ((3, 4), (0, 4), (1, 4))]
    for x, found in zip(arrays, received(lambda x: R.unique(x, True, True, True, True), *arrays), strict=True):
        for have, want in zip(found, np.unique(x, True, True, True), strict=True):
            np.testing.assert_array_equal(have, want.reshape(-1))
    for x, found in zip(arrays, received(lambda x: R.unique(x, axis=0), *arrays), strict=True):
        np.testing.assert_array_equal(found[0], np.unique(x, axis=0))
    for x, found in zip(arrays, received(R.nonzero, *arrays), strict=True):
        np.testing.assert_array_equal(found[0], np.stack(np.nonzero(x)))


def test_the_result_goes_on_after_match_shape() -> None:
    array = np.array([1, 2, 1, 0, 2], np.float32)
    found = compiled(lambda x: R.sum(R.exp(R.match_shape(R.unique(x), ("m",)))), "n")(array)
    np.testing.assert_allclose(found, np.exp(np.unique(array)).sum(), rtol=1e-6)


def test_script_and_bad_arguments_of_unique() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor("n 4"))
    with bb.function("main", [x]):
        with pytest.raises(ShapeError, match="unique: axis 2 is out of range for a tensor of rank 2"):
            R.unique(x, axis=2)
        with pytest.raises(ArgumentError, match=r"unique: .axis. is .0. \(str\), expected an int"):
            R.unique(x, axis="0")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match=r"unique: .sorted. is .yes. .*expected"):
            R.unique(x, sorted="yes")  # type: ignore[arg-type]
        with bb.dataflow():
            y = bb.emit_output((R.unique(x, False, True, axis=-1), R.unique(x), R.nonzero(x)))
        bb.emit_func_output(y)
    text = bb.get().script()
    assert parse(text, {}).script() == text
    with pytest.raises(ShapeError, match="unique: axis 2 is out of range for a tensor of rank 1"):
        runtime("unique", np.zeros(3, np.float32), True, False, False, False, "here", 2)
