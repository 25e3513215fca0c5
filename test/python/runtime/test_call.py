"""Calling compiled functions: arguments, checks, results."""

from __future__ import annotations

import gc

import ml_dtypes
import modules
import numpy as np
import pytest
import tvm_ffi
from lowered import compile_module
from relax_mlir import error
from relax_mlir.runtime import Executable, to_numpy

BIAS = np.arange(4, dtype=np.float32)


@pytest.fixture(scope="module")
def add() -> Executable:
    return compile_module(modules.ADD, [BIAS])


def inputs(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.random((n, 4), np.float32), rng.random((n, 4), np.float32)


@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_numpy_in_numpy_out(add: Executable, n: int) -> None:
    x, y = inputs(n)
    result = add["main"](x, y)
    assert type(result) is np.ndarray and result.flags.writeable
    np.testing.assert_allclose(result, x + y + BIAS, rtol=1e-6)


def test_ffi_tensors_and_given_result(add: Executable) -> None:
    x, y = inputs(5)
    out = np.zeros((5, 4), np.float32)
    assert add["main"](tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y), tvm_ffi.from_dlpack(out)) is None
    np.testing.assert_allclose(out, x + y + BIAS, rtol=1e-6)


def test_result_is_aligned_and_outlives_everything() -> None:
    executable = compile_module(modules.ADD, [BIAS])
    x, y = inputs(7)
    function = executable["main"]
    result = function(x, y)
    array = np.from_dlpack(result)
    assert array.ctypes.data % 64 == 0
    assert array.flags.c_contiguous
    del executable, function, result
    gc.collect()
    np.testing.assert_allclose(array, x + y + BIAS, rtol=1e-6)
    del array
    gc.collect()


def test_function_outlives_executable() -> None:
    function = compile_module(modules.ADD, [BIAS.copy()])["main"]
    gc.collect()
    x, y = inputs(2)
    np.testing.assert_allclose(np.from_dlpack(function(x, y)), x + y + BIAS, rtol=1e-6)


def test_strides(add: Executable) -> None:
    big = np.random.default_rng(0).random((12, 8), np.float32)
    x, y = inputs(6)
    for view in (big[:6, :4], big[::2, ::2], big[6::-1, 3::-1][:6], big.T[:6, 8:12], np.asfortranarray(x)):
        np.testing.assert_allclose(np.from_dlpack(add["main"](view, y)), view + y + BIAS, rtol=1e-6)
        np.testing.assert_allclose(np.from_dlpack(add["main"](y, view)), view + y + BIAS, rtol=1e-6)


def test_broadcast_view(add: Executable) -> None:
    x, y = np.broadcast_to(np.float32(3), (6, 4)), inputs(6)[1]
    np.testing.assert_allclose(np.from_dlpack(add["main"](x, y)), x + y + BIAS, rtol=1e-6)


def test_unaligned_data(add: Executable) -> None:
    x, y = inputs(9)
    memory = np.zeros(x.nbytes + 1, np.uint8)
    odd = memory[1:].view(np.float32).reshape(x.shape)
    odd[...] = x
    np.testing.assert_allclose(np.from_dlpack(add["main"](odd, y)), x + y + BIAS, rtol=1e-6)


def test_torch(add: Executable) -> None:
    import torch  # takes a second: only this test needs it

    x, y = inputs(3)
    result = add["main"](torch.from_numpy(x), torch.from_numpy(y).T.contiguous().T)
    np.testing.assert_allclose(torch.from_dlpack(result).numpy(), x + y + BIAS, rtol=1e-6)
    assert torch.from_dlpack(add["main"](x, y)).shape == (3, 4)


def test_read_only(add: Executable) -> None:
    x, y = inputs(3)
    x.flags.writeable = False
    np.testing.assert_allclose(np.from_dlpack(add["main"](x, y)), x + y + BIAS, rtol=1e-6)


TYPE = 'Tensor((n, 4), "float32")'


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        (
            lambda x, y: (x,),
            error.ArgumentError,
            "takes 2 arguments (x, y), or 3 with the results to write to; got 1",
        ),
        (
            lambda x, y: (),
            error.ArgumentError,
            "takes 2 arguments (x, y), or 3 with the results to write to; got 0",
        ),
        (
            lambda x, y: (x, y.astype("float64")),
            error.DTypeError,
            f"parameter 'y' has dtype float64, expected float32 (y: {TYPE})",
        ),
        (
            lambda x, y: (x.astype(bool), y),
            error.DTypeError,
            f"parameter 'x' has dtype bool, expected float32 (x: {TYPE})",
        ),
        (
            lambda x, y: (x, y.astype(ml_dtypes.bfloat16)),
            error.DTypeError,
            f"parameter 'y' has dtype bfloat16, expected float32 (y: {TYPE})",
        ),
        (lambda x, y: (x, y[0]), error.ShapeError, f"parameter 'y' has rank 1, expected rank 2 (y: {TYPE})"),
        (
            lambda x, y: (x, y[:2]),
            error.ShapeError,
            "parameter 'y' dimension 0 is 2, but n = 3, taken from parameter 'x' dimension 0 "
            f"(expected y: {TYPE}, got (2, 4))",
        ),
        (lambda x, y: (x.T.copy(), y), error.ShapeError, "parameter 'x' dimension 1 is 3, expected 4"),
        (lambda x, y: (1, y), error.ArgumentError, f"parameter 'x' is of type int, expected x: {TYPE}"),
        (lambda x, y: (x, None), error.ArgumentError, f"parameter 'y' is of type None, expected y: {TYPE}"),
        (
            lambda x, y: (x, [1, 2]),
            error.ArgumentError,
            f"parameter 'y' is of type ffi.Array, expected y: {TYPE}",
        ),
        (
            lambda x, y: (x, y, y[:2].copy()),
            error.ShapeError,
            "the given result 0 has dimension 0 of 2, but the call gives 3",
        ),
        (
            lambda x, y: (x, y, np.zeros((3, 8), np.float32)[:, ::2]),
            error.ArgumentError,
            "the given result 0 is not contiguous, so it cannot be written to",
        ),
    ],
)
def test_wrong_arguments(add: Executable, args, kind, message) -> None:
    with pytest.raises(kind) as caught:
        add["main"](*args(*inputs(3)))
    assert str(caught.value) == f"main: {message}"


def test_read_only_result_is_refused(add: Executable) -> None:
    out = np.zeros((3, 4), np.float32)
    out.flags.writeable = False
    with pytest.raises(error.ArgumentError, match="read-only"):
        add["main"](*inputs(3), out)


DTYPES = [
    *((f"i{b}", f"{sign}int{b}") for b in (8, 16, 32, 64) for sign in ("", "u")),
    *((f"f{b}", f"float{b}") for b in (16, 32, 64)),
    ("bf16", "bfloat16"),
    ("i1", "bool"),
]


@pytest.fixture(scope="module")
def copies() -> Executable:
    """A function of each element type, called like it."""
    texts = [modules.copying(mlir, dtype, 2).replace("main", dtype) for mlir, dtype in DTYPES]
    return compile_module("\n".join(texts))


@pytest.mark.parametrize("dtype", [dtype for _, dtype in DTYPES])
def test_dtypes(copies: Executable, dtype: str) -> None:
    function = copies[dtype]
    array = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 100, (3, 5)).astype(dtype)
    result = to_numpy(function(array))
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)
    np.testing.assert_array_equal(to_numpy(function(array[::2, ::-1])), array[::2, ::-1])


@pytest.mark.parametrize("rank", [0, 1, 2, 3, 5])
def test_ranks(rank: int) -> None:
    function = compile_module(modules.copying("f32", "float32", rank))["main"]
    for shape in ((1,) * rank, tuple(range(2, 2 + rank)), (0,) * rank):
        array = np.random.default_rng(1).random(shape, np.float32)
        result = np.from_dlpack(function(array))
        assert result.shape == array.shape
        np.testing.assert_array_equal(result, array)
        np.testing.assert_array_equal(np.from_dlpack(function(array.T)), array.T)


def test_shapes_ints_tuples() -> None:
    function = compile_module(modules.MIXED)["main"]
    x, y = np.arange(3, dtype=np.int32), np.arange(5, dtype=np.int64)
    for pair in ((x, y), [x, y], (tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))):
        table, shape, k, twice = function(tvm_ffi.Shape((2, 7)), 4, pair)
        np.testing.assert_array_equal(np.from_dlpack(table), np.broadcast_to(x, (6, 3)))
        assert (tuple(shape), k) == ((2, 7), 4)
        np.testing.assert_array_equal(np.from_dlpack(twice), 2 * y)
    assert tuple(function((2, 7), 4, (x, y))[1]) == (2, 7)
    with pytest.raises(error.ArgumentError, match="'s' has an element 1 of type float, expected an int"):
        function((2, 7.0), 4, (x, y))
    shape_error = "main: parameter 's' has 3 elements, expected 2 (s: Shape((a, b)))"
    with pytest.raises(error.ShapeError) as caught:
        function(tvm_ffi.Shape((2, 7, 1)), 4, (x, y))
    assert str(caught.value) == shape_error
    with pytest.raises(error.ArgumentError, match="'k' is of type float, expected k: int"):
        function(tvm_ffi.Shape((2, 7)), 4.0, (x, y))
    with pytest.raises(error.ArgumentError, match="'t' has 1 elements, expected 2"):
        function(tvm_ffi.Shape((2, 7)), 4, (x,))
    with pytest.raises(error.DTypeError, match=r"parameter 't\[1\]' has dtype int32, expected int64"):
        function(tvm_ffi.Shape((2, 7)), 4, (x, x))


def test_result_too_large() -> None:
    function = compile_module(modules.MIXED)["main"]
    x, y = np.arange(3, dtype=np.int32), np.arange(5, dtype=np.int64)
    for size in (2**62, 2**40, -(2**40), -5):
        with pytest.raises((MemoryError, error.ShapeError)):
            function(tvm_ffi.Shape((size, 7)), 4, (x, y))


def test_names(add: Executable) -> None:
    assert list(add) == ["main"]
    assert "main" in add
    assert "mian" not in add
    with pytest.raises(error.UnknownNameError, match="did you mean 'main'"):
        add["mian"]


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.ones(3, ">f4"), np.array(["2020"], "M8[D]")])
def test_arrays_of_foreign_dtypes(add: Executable, array: np.ndarray) -> None:
    with pytest.raises(error.DTypeError, match="compiled functions take no NumPy arrays of dtype"):
        add["main"](array, inputs(3)[1])
