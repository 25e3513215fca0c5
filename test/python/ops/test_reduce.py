"""Reductions against NumPy: any axes, symbolic shapes, every dtype, NaN, no elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, FLOATS, Array, Suite, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

TRUTHS = {"all": (R.all, np.all), "any": (R.any, np.any)}
NON_EMPTY = ({"n": 1, "m": 1, "k": 1}, {"n": 3, "m": 17, "k": 5}, {"n": 33, "m": 2, "k": 9})


def keeping_dtype(reference: Callable[..., Any]) -> Callable[..., Array]:
    """NumPy widens small integers; Relax keeps their dtype."""
    return lambda x, **axes: np.asarray(reference(x, dtype=x.dtype, **axes))


REDUCTIONS = {
    "max": (R.max, np.max),
    "mean": (R.mean, np.mean),
    "min": (R.min, np.min),
    "prod": (R.prod, keeping_dtype(np.prod)),
    "std": (R.std, np.std),
    "sum": (R.sum, keeping_dtype(np.sum)),
    "variance": (R.variance, np.var),
}
FLOAT_ONLY = ("mean", "std", "variance")
NO_EMPTY = ("max", "min")
ALIKE = (("sum", "mean", "prod"), ("max", "min"), ("std", "variance"), ("argmax", "argmin"))
POSITIONS = {"argmax": (R.argmax, np.argmax), "argmin": (R.argmin, np.argmin)}


def add_case(
    suite: Suite,
    name: str,
    dtype: str,
    shape: tuple[int | str, ...],
    sizes: Sequence[Mapping[str, int]] = (),
    **kwargs: Any,
) -> None:
    """One reduction with the axis and keepdims of `kwargs`, on shapes where NumPy allows it."""
    build, reference = {**REDUCTIONS, **POSITIONS}[name]
    axes = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
    allows_empty = name not in NO_EMPTY and name not in POSITIONS
    more = {"sizes": sizes or NON_EMPTY} if sizes or not allows_empty else {}
    suite.add(
        name,
        lambda x: build(x, **kwargs),
        lambda x: reference(x, **axes),
        [Tensor(shape, dtype)],
        draw=numbers(-2, 2) if name == "prod" else numbers(),
        tolerance={"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5}.get(dtype),
        **more,
    )


@pytest.mark.parametrize("dtype", ALL)
def test_dtypes(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for name in REDUCTIONS:
        if (name in FLOAT_ONLY and dtype not in FLOATS) or (name not in NO_EMPTY and dtype == "bool"):
            continue
        add_case(suite, name, dtype, ("n", "m"), axis=1)
    for name in POSITIONS:
        add_case(suite, name, dtype, ("n", "m"), axis=1)
    suite.run(test_dtypes)


@pytest.mark.parametrize("name", [*REDUCTIONS, *POSITIONS])
def test_axes(name: str) -> None:
    """Axes that are computed in the same way alternate in `make test`."""
    suite = Suite((name, next(alike for alike in ALIKE if name in alike)))
    shape = ("n", "m", "k")
    choices: list[int | list[int] | None] = [None, 0, -1]
    if name in REDUCTIONS:
        choices += [[0, 2], [1, -1], []]
    for index, axis in enumerate(choices):
        add_case(suite, name, "float32", shape, axis=axis, keepdims=index % 2 == 1)
    add_case(suite, name, "float32", shape, axis=None, keepdims=True)
    add_case(suite, name, "float32", (3, "m"), axis=0)
    add_case(suite, name, "float32", (), axis=None)
    suite.run()


def test_special_values() -> None:
    """NaN takes precedence; the first of equal elements is chosen; infinities."""
    suite = Suite()
    for dtype in FLOATS:
        values = special_values(dtype)
        finite = values[np.isfinite(values.astype(np.float64))]
        inputs = [[values], [finite], [np.repeat(finite, 3)], [np.full(5, -np.inf).astype(values.dtype)]]
        for name in ("max", "min", "argmax", "argmin"):
            build, reference = {**REDUCTIONS, **POSITIONS}[name]
            suite.add(name, build, reference, [Tensor(("n",), dtype)], inputs=inputs, sizes=NON_EMPTY)
    suite.run()


def test_variance_is_not_cancelled() -> None:
    suite = Suite()
    values = np.float32(10000) + np.arange(64, dtype=np.float32) / 64
    suite.add("variance", R.variance, np.var, [Tensor(("n",), "float32")], inputs=[[values]], sizes=())
    suite.run()


COLUMNS = ("float16", "float32", "int8", "int64")


@pytest.mark.parametrize("dtype", COLUMNS)
def test_columns_of_long_rows(dtype: str) -> None:
    """Rows that are added interleaved: any number of them, and partial rows."""
    suite = Suite.of(dtype, COLUMNS)
    sizes = [{"k": k, "n": n, "m": m} for k, n, m in ((1, 1, 512), (2, 4, 517), (3, 7, 2051))]
    for name in ("max", "sum"):
        for shape, axis in ((("n", "m"), 0), ((3, "n", "m"), 1), (("k", "n", "m"), [0, 1])):
            add_case(suite, name, dtype, shape, sizes, axis=axis)
    suite.run(test_columns_of_long_rows)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((131_072, 33), 0),
        ((2, 65_537, 16), 1),
        ((20_001, 1100), 0),
        ((3, 40_000, 7), (0, 1)),
        ((131_071,), 0),
    ],
)
def test_long_sums_lose_few_digits(shape: tuple[int, ...], axis: int | tuple[int, ...]) -> None:
    """Sums along any axis are computed in blocks: the plain order is 70 to 200 ulp off."""
    bb, x = rx.BlockBuilder(), rx.Var("x", Tensor([f"n{i}" for i in range(len(shape))], "float32"))
    with bb.function("main", [x]):
        names = ("sum", "mean", "variance")
        results = [bb.emit(REDUCTIONS[name][0](x, axis=axis, keepdims=True)) for name in names]
        bb.emit_func_output(tuple(results))
    values = np.random.default_rng(13).random(shape, dtype=np.float32)
    for name, result in zip(names, rx.build(bb.get())["main"](values), strict=True):
        expected = REDUCTIONS[name][1](values.astype(np.float64), axis=axis, keepdims=True)
        ulp = np.spacing(expected.astype(np.float32)).astype(np.float64)
        assert np.max(np.abs(to_numpy(result) - expected) / ulp) < 40


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_positions_in_long_rows(dtype: str) -> None:
    """Rows over several blocks of the kernel: ties, NaN anywhere, only the worst value."""
    suite = Suite()
    for name in POSITIONS:
        suite.add(name, lambda x, f=POSITIONS[name][0]: f(x, axis=1), np.copy, [Tensor(("n", "m"), dtype)])
    functions = rx.build(suite.module())
    rng = np.random.default_rng(12)
    for length in (1, 7, 8, 127, 128, 129, 256, 257, 1000, 4099):
        x = rng.integers(-60, 60, size=(9, length)).astype(dtype)
        if dtype.startswith("float"):
            x[0], x[1], x[2, rng.integers(length)], x[3, -1] = np.inf, -np.inf, np.nan, -np.nan
            x[4, [0, -1]] = np.nan
            x[5] *= 0.0
        else:
            x[0], x[1] = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        for index, (name, (_, reference)) in enumerate(POSITIONS.items()):
            got = np.from_dlpack(functions[f"{name}_{index}"](x))
            np.testing.assert_array_equal(got, reference(x, axis=1), err_msg=f"{name} of {length}")


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_no_elements(name: str) -> None:
    """Like NumPy's argmax: an error, unless the result has no elements either."""
    build, _ = {**REDUCTIONS, **POSITIONS}[name]
    suite = Suite()
    suite.add(name, lambda x: build(x, axis=1), np.copy, [Tensor(("n", "m"), "float32")])
    function = rx.build(suite.module())[f"{name}_0"]
    with pytest.raises(Exception, match=f"{name}: no elements to reduce: dimension 1 of the tensor is 0"):
        function(np.zeros((2, 0), np.float32))
    assert tuple(function(np.zeros((0, 0), np.float32)).shape) == (0,)
    assert tuple(function(np.zeros((0, 3), np.float32)).shape) == (0,)


@pytest.mark.parametrize(
    ("build", "dtype", "error", "message"),
    [
        (lambda x: R.mean(x), "int32", DTypeError, "mean: operand 'x' has dtype int32, expected a float"),
        (lambda x: R.sum(x), "bool", DTypeError, "sum: operand 'x' has dtype bool, expected a number"),
        (
            lambda x: R.sum(x, axis=2),
            "float32",
            ShapeError,
            "sum: axis 2 is out of range for a tensor of rank 2",
        ),
        (lambda x: R.sum(x, axis=[0, -2]), "float32", ShapeError, "name a dimension twice"),
        (lambda x: R.argmax(x, axis=[0]), "float32", RelaxError, "argmax: 'axis' is .*, expected an int"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], dtype: str, error: type[Exception], message: str) -> None:
    suite = Suite()
    suite.add("wrong", build, np.copy, [Tensor(("n", "m"), dtype)], sizes=())
    with pytest.raises(error, match=message):
        suite.module()


@pytest.mark.parametrize("dtype", ALL)
def test_truth(dtype: str) -> None:
    """NaN is true; `all` of no elements is true, `any` is false."""
    suite = Suite.of(dtype, ALL)
    for name, (build, reference) in TRUTHS.items():
        for axis, keepdims in ((None, False), (0, False), (-1, True), ([0, 2], False)):
            axes = tuple(axis) if isinstance(axis, list) else axis
            suite.add(
                name,
                lambda x, b=build, a=axis, k=keepdims: b(x, a, k),
                lambda x, r=reference, a=axes, k=keepdims: np.asarray(r(x, axis=a, keepdims=k)),
                [Tensor(("n", "m", "k"), dtype)],
                draw=numbers(0, 1.01) if dtype != "bool" else numbers(),
            )
        row = special_values(dtype)
        suite.add(
            name,
            lambda x, b=build: b(x, 1),
            lambda x, r=reference: r(x, 1),
            [Tensor(("n", "m"), dtype)],
            inputs=[[row[:, None]], [row[None]]],
        )
        suite.add(name, build, lambda x, r=reference: np.asarray(r(x)), [Tensor((), dtype)])
    suite.run(test_truth)
