"""cumsum and cumprod against NumPy: every dtype and axis, sizes round the vector width, NaN, infinities, overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import sweep
from harness import FLOATS, INTEGERS, NUMBERS, Suite, numbers
from reference import OPS
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

SIZES = ({"n": 1, "m": 1}, {"n": 0, "m": 3}, {"n": 3, "m": 0}, {"n": 7, "m": 33}, {"n": 18, "m": 5})
NAMES = ("cumsum", "cumprod")


def add(
    suite: Suite,
    name: str,
    dtype: str,
    shape: tuple[int | str, ...],
    axis: int | None,
    exclusive: bool = False,
) -> None:
    suite.add(
        f"{name}_{dtype}",
        lambda x: getattr(R, name)(x, axis, None, exclusive),
        lambda x: OPS[name](x, axis, None, exclusive),
        [Tensor(shape, dtype)],
        draw=numbers(-1.5, 1.5) if dtype in FLOATS else numbers(-3, 3),
        sizes=SIZES,
        tolerance={"float32": 2e-7, "float64": 1e-13, "float16": 6e-4, "bfloat16": 5e-3}.get(dtype),
    )


@pytest.mark.parametrize("name", NAMES)
def test_axes_of_size_one(name: str) -> None:
    """Along one of several of them, and with other axes: the loop reduces to one slice, which is the whole tensor."""
    suite = Suite()
    shapes = ((1, "n", 4, 1), ("n", 1), (1, "n"), (1, 1, "n", 1), (1,), (1, 1))
    cases = [(s, axis, exclusive) for s in shapes for axis in range(len(s)) for exclusive in (False, True)]
    types = ("float32", "bfloat16", "uint8", "int64")
    for dtype in types:
        for shape, axis, exclusive in sweep.turn(dtype, types, sweep.turn(name, NAMES, cases)):
            add(suite, name, dtype, shape, axis, exclusive)
    suite.run()


@pytest.mark.parametrize("name", NAMES)
def test_axes(name: str) -> None:
    """The two ops alternate."""
    suite = Suite((name, NAMES))
    for exclusive in (False, True):
        for axis in (0, 1, -1, None):
            add(suite, name, "float32", ("n", 4, "m"), axis, exclusive)
    add(suite, name, "float32", ("m", 5), 0)
    add(suite, name, "float32", ("n", 64), 0)
    add(suite, name, "float32", ("m", 1), 0)
    add(suite, name, "float32", ("n", 37), 1)
    for shape in ((3, 0), (0, 3), (2, 5), (1, 4), (2, 1030)):
        add(suite, name, "float32", shape, 0)
        add(suite, name, "float32", shape, 1)
    suite.run()


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str) -> None:
    """The two ops alternate."""
    suite = Suite((name, NAMES))
    for number, dtype in enumerate(NUMBERS):
        add(suite, name, dtype, ("n", "m"), 1, bool(number % 2))
        add(suite, name, dtype, ("n", "m"), 0, not number % 2)
    suite.run()


def test_dtype_of_the_result() -> None:
    suite = Suite()
    for source, target in (
        ("bool", "int32"),
        ("int8", "int64"),
        ("float16", "float32"),
        ("int32", "float32"),
    ):
        suite.add(
            source,
            lambda x, target=target: R.cumsum(x, 0, target),
            lambda x, target=target: OPS["cumsum"](x, 0, target),
            [Tensor(("n", "m"), source)],
            sizes=SIZES,
            tolerance=1e-6,
        )
    suite.run()


def test_a_vector_of_no_axes() -> None:
    suite = Suite()
    for exclusive in (False, True):
        suite.add(
            "scalar",
            lambda x, exclusive=exclusive: R.cumsum(x, None, None, exclusive),
            lambda x, exclusive=exclusive: OPS["cumsum"](x, None, None, exclusive),
            [Tensor((), "float32")],
        )
    suite.run()


def compiled(build: Callable[..., Any], *infos: Tensor) -> Callable[..., Any]:
    bb = rx.BlockBuilder()
    params = [rx.Var(f"x{i}", info) for i, info in enumerate(infos)]
    with bb.function("main", params):
        bb.emit_func_output(build(*params))
    return rx.build(bb.get())["main"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_special_values(dtype: str) -> None:
    """NaN and infinities affect only later elements, at each position of a vector."""
    sums = compiled(lambda x: R.cumsum(x, 1), Tensor(("n", "m"), dtype))
    products = compiled(lambda x: R.cumprod(x, 0), Tensor(("n", "m"), dtype))
    rng, numpy = np.random.default_rng(2), dtypes.dtype(dtype).numpy
    for special in (np.nan, np.inf, -np.inf, 0.0):
        x = rng.uniform(0.5, 2, (21, 21)).astype(numpy)
        np.fill_diagonal(x, special)
        x[3, 19] = -np.inf
        for function, compute, axis in ((sums, np.cumsum, 1), (products, np.cumprod, 0)):
            with np.errstate(all="ignore"):
                want = compute(x.astype(np.float64), axis=axis).astype(numpy)
            have = to_numpy(function(x))
            np.testing.assert_allclose(have.astype("f8"), want.astype("f8"), rtol=1e-2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_products_behind_a_zero_are_zero(dtype: str) -> None:
    """Products of later elements would overflow if they were computed first."""
    function = compiled(lambda x: R.cumprod(x, 1), Tensor(("n", "m"), dtype))
    numpy = dtypes.dtype(dtype).numpy
    x = np.full((3, 40), float(ml_dtypes.finfo(numpy).max), numpy)
    x[:, 0] = 0
    assert (to_numpy(function(x)).astype("f8") == 0).all()


def test_long_sums_of_float32() -> None:
    """Each result is the rounded float64 sum, except for ties that float64 cannot distinguish: within 0.51 ulp."""
    function = compiled(lambda x: R.cumsum(x), Tensor(("n",), "float32"))
    x = np.random.default_rng(5).normal(size=200_000, loc=0.1).astype(np.float32)
    want = np.cumsum(x.astype(np.longdouble))
    have = to_numpy(function(x))
    ulp = np.spacing(np.abs(want.astype(np.float32)))
    assert np.abs((have - want) / ulp).max() <= 0.51


def test_long_products_of_float32() -> None:
    function = compiled(lambda x: R.cumprod(x), Tensor(("n",), "float32"))
    x = np.random.default_rng(6).uniform(0.99, 1.01, 5001).astype(np.float32)
    want = np.cumprod(x.astype(np.longdouble))
    have = to_numpy(function(x))
    assert np.abs((have - want) / np.spacing(want.astype(np.float32))).max() <= 0.51


def test_memory_around_the_result() -> None:
    """Only the result is written, whatever the size; inputs need not be contiguous."""
    functions = {
        axis: compiled(lambda x, axis=axis: R.cumsum(x, axis), Tensor(("n", "m"), "float32"))
        for axis in (0, 1)
    }
    rng = np.random.default_rng(7)
    for shape in ((1, 1), (3, 9), (5, 31), (2, 70), (17, 3), (3, 1100)):
        x = rng.normal(size=(shape[1], 2 * shape[0])).astype(np.float32).T[::2]
        for axis, function in functions.items():
            guarded = np.full(x.size + 64, 7, np.float32)
            out = guarded[: x.size].reshape(x.shape)
            function.call_into(out, x)
            assert (guarded[x.size :] == 7).all()
            np.testing.assert_allclose(out, np.cumsum(x.astype("f8"), axis), rtol=1e-5, atol=1e-5)


def test_both_threads_give_the_same() -> None:
    x = np.random.default_rng(8).normal(size=(300, 4000)).astype(np.float32)
    for axis in (0, 1):
        results = []
        for threads in (1, 2):
            bb = rx.BlockBuilder()
            param = rx.Var("x", Tensor(("n", "m"), "float32"))
            with bb.function("main", [param]):
                bb.emit_func_output(R.cumsum(param, axis))
            executable = rx.build(bb.get(), f"cpu -num-threads={threads}")
            results.append(to_numpy(executable["main"](x)))
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("dtype", "arguments", "error", "message"),
    [
        ("float32", {"axis": 2}, ShapeError, "cumsum: axis 2 is out of range for a tensor of rank 2"),
        ("bool", {}, DTypeError, "cumsum: operand 'data' has dtype bool, expected a number; give a dtype"),
        ("int8", {"dtype": "bool"}, DTypeError, "cumsum: dtype is bool, expected a number"),
    ],
)
def test_refuses(dtype: str, arguments: dict[str, Any], error: type[RelaxError], message: str) -> None:
    x = rx.Var("x", Tensor(("n", 3), dtype))
    with pytest.raises(error, match=message), rx.BlockBuilder().function("main", [x]):
        R.cumsum(x, **arguments)


def test_integers_wrap_around() -> None:
    suite = Suite()
    for dtype in INTEGERS:
        limits = np.iinfo(dtypes.dtype(dtype).numpy)
        suite.add(
            dtype,
            lambda x: R.cumsum(x, 0),
            lambda x: OPS["cumsum"](x, 0),
            [Tensor(("n",), dtype)],
            sizes=(),
            inputs=[[np.full(41, limits.max, dtype=dtype)]],
        )
    suite.run()
