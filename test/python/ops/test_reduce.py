"""Reductions and scans: any axes, symbolic shapes, every dtype, NaN, infinities, no elements, long sums."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import sweep
from harness import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SHORT_FLOATS,
    SIZES,
    Suite,
    compiled,
    numbers,
    special_values,
)
from reference import OPS, REDUCTIONS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes

NON_EMPTY = ({"n": 1, "m": 1, "k": 1}, {"n": 3, "m": 17, "k": 5}, {"n": 33, "m": 2, "k": 9})
NAMES = [name for name in REDUCTIONS if not name.startswith("logical")]
FLOAT_ONLY = ("mean", "std", "variance")
POSITIONS = ("argmax", "argmin")
NO_EMPTY = ("max", "min", *POSITIONS)
ALIKE = (("sum", "mean", "prod"), ("max", "min"), ("std", "variance"), POSITIONS)


def reduce(suite: Suite, name: str, shape: str, sizes: Any = (), **axes: Any) -> None:
    """One reduction on shapes where NumPy allows it."""
    suite.use(
        name,
        shape,
        draw=numbers(-2, 2) if name == "prod" else numbers(),
        tolerance={"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5}.get(suite.dtype),
        sizes=sizes or (NON_EMPTY if name in NO_EMPTY else SIZES),
        **axes,
    )


@pytest.mark.parametrize("dtype", ALL)
def test_dtypes(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for name in (*NAMES, *POSITIONS):
        if not (name in FLOAT_ONLY and dtype not in FLOATS) and (name in NO_EMPTY or dtype != "bool"):
            reduce(suite, name, "n m", axis=1)
    suite.run(test_dtypes)


@pytest.mark.parametrize("name", [*NAMES, *POSITIONS])
def test_axes(name: str) -> None:
    """Axes that are computed in the same way alternate in `make test`."""
    suite = Suite((name, next(alike for alike in ALIKE if name in alike)))
    choices: list[int | list[int] | None] = [None, 0, -1]
    if name in NAMES:
        choices += [[0, 2], [1, -1], []]
    for index, axis in enumerate(choices):
        reduce(suite, name, "n m k", axis=axis, keepdims=index % 2 == 1)
    reduce(suite, name, "n m k", axis=None, keepdims=True)
    reduce(suite, name, "3 m", axis=0)
    reduce(suite, name, "", axis=None)
    suite.run()


def test_special_values() -> None:
    """NaN takes precedence; the first of equal elements is chosen; infinities; a variance is not cancelled."""
    suite = Suite()
    for dtype in FLOATS:
        values = special_values(dtype)
        finite = values[np.isfinite(values.astype(np.float64))]
        inputs = [[values], [finite], [np.repeat(finite, 3)], [np.full(5, -np.inf).astype(values.dtype)]]
        for name in NO_EMPTY:
            suite.use(name, f"n {dtype}", inputs=inputs, sizes=NON_EMPTY)
    suite.use("variance", "n", inputs=[[np.float32(10000) + np.arange(64, dtype=np.float32) / 64]])
    suite.run()


COLUMNS = ("float16", "float32", "int8", "int64")


@pytest.mark.parametrize("dtype", COLUMNS)
def test_columns_of_long_rows(dtype: str) -> None:
    """Rows that are added interleaved: any number of them, and partial rows."""
    suite = Suite.of(dtype, COLUMNS)
    sizes = [{"k": k, "n": n, "m": m} for k, n, m in ((1, 1, 512), (2, 4, 517), (3, 7, 2051))]
    for name in ("max", "sum"):
        for shape, axis in (("n m", 0), ("3 n m", 1), ("k n m", [0, 1])):
            reduce(suite, name, shape, sizes, axis=axis)
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
    names = ("sum", "mean", "variance")
    function = compiled(
        lambda x: tuple(getattr(R, name)(x, axis=axis, keepdims=True) for name in names),
        "n0 n1 n2"[: 3 * len(shape)],
    )
    values = np.random.default_rng(13).random(shape, dtype=np.float32)
    for name, result in zip(names, function(values), strict=True):
        (expected,) = plain(OPS[name](values.astype(np.float64), axis, True))
        ulp = np.spacing(expected.astype(np.float32)).astype(np.float64)
        assert np.max(np.abs(result - expected) / ulp) < 40


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_positions_in_long_rows(dtype: str) -> None:
    """Rows over several blocks of the kernel: ties, NaN anywhere, only the worst value."""
    function = compiled(lambda x: [getattr(R, name)(x, axis=1) for name in POSITIONS], f"n m {dtype}")
    rng = np.random.default_rng(12)
    for length in (1, 7, 8, 127, 128, 129, 256, 257, 1000, 4099):
        x = rng.integers(-60, 60, size=(9, length)).astype(dtype)
        if dtype.startswith("float"):
            x[0], x[1], x[2, rng.integers(length)], x[3, -1] = np.inf, -np.inf, np.nan, -np.nan
            x[4, [0, -1]] = np.nan
            x[5] *= 0.0
        else:
            x[0], x[1] = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        for name, found in zip(POSITIONS, function(x), strict=True):
            np.testing.assert_array_equal(found, OPS[name](x, 1), err_msg=f"{name} of {length}")


@pytest.mark.parametrize("name", NO_EMPTY)
def test_no_elements(name: str) -> None:
    """Like NumPy's argmax: an error, unless the result has no elements either."""
    function = compiled(lambda x: getattr(R, name)(x, axis=1), "n m")
    with pytest.raises(Exception, match=f"{name}: no elements to reduce: dimension 1 of the tensor is 0"):
        function(np.zeros((2, 0), np.float32))
    assert function(np.zeros((0, 0), np.float32)).shape == (0,)
    assert function(np.zeros((0, 3), np.float32)).shape == (0,)


@pytest.mark.parametrize("dtype", ALL)
def test_truth(dtype: str) -> None:
    """NaN is true; `all` of no elements is true, `any` is false."""
    suite = Suite.of(dtype, ALL)
    draw = numbers(0, 1.01) if dtype != "bool" else numbers()
    row = special_values(dtype)
    for name in ("all", "any"):
        for axis, keepdims in ((None, False), (0, False), (-1, True), ([0, 2], False)):
            suite.use(name, "n m k", axis=axis, keepdims=keepdims, draw=draw)
        suite.use(name, "n m", axis=1, inputs=[[row[:, None]], [row[None]]], sizes=SIZES)
        suite.use(name, "")
    suite.run(test_truth)


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float32", "bfloat16"))
def test_logsumexp(dtype: str) -> None:
    suite = Suite.of(dtype, SHORT_FLOATS)
    kind, large = dtypes.dtype(dtype).numpy, 200 if dtype == "float16" else 2000
    rows = [[np.full((3, 2), value).astype(kind)] for value in (-np.inf, np.inf, np.nan)]
    for axis, keepdims in ((0, False), (-1, True), (None, False), ([0, 1], True)):
        options = {"inputs": rows, "sizes": SIZES, "draw": numbers(-large, large)}
        suite.use("logsumexp", "n m", axis=axis, keepdims=keepdims, **options)
    suite.use("logsumexp", "")
    suite.run(test_logsumexp)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums_that_undo_a_broadcast(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    options = {"tolerance": {"float16": 1e-2, "bfloat16": 4e-2, "float32": 2e-5}.get(dtype)}
    for target in ("m", "n 1", "2 n m", "1 1", ""):
        shape = tuple(int(word) if word.isdecimal() else word for word in target.split())
        suite.use("collapse_sum_to", "2 n m", shape=shape, **options)
        suite.use("collapse_sum_like", "2 n m", f"{target} int8", **options)
    suite.run(test_sums_that_undo_a_broadcast)


SCANS = ("cumsum", "cumprod")
SCAN_SIZES = ({"n": 1, "m": 1}, {"n": 0, "m": 3}, {"n": 3, "m": 0}, {"n": 7, "m": 33}, {"n": 18, "m": 5})


def scan(
    suite: Suite, name: str, shape: str, axis: int | None, exclusive: bool = False, dtype: str = "float32"
) -> None:
    suite.use(
        name,
        f"{shape} {dtype}",
        axis=axis,
        exclusive=exclusive,
        draw=numbers(-1.5, 1.5) if dtype in FLOATS else numbers(-3, 3),
        sizes=SCAN_SIZES,
        tolerance={"float32": 2e-7, "float64": 1e-13, "float16": 6e-4, "bfloat16": 5e-3}.get(dtype),
    )


@pytest.mark.parametrize("name", SCANS)
def test_scans_along_axes_of_size_one(name: str) -> None:
    """Along one of several of them, and with other axes: the loop reduces to one slice, which is the whole tensor."""
    suite = Suite()
    shapes = ("1 n 4 1", "n 1", "1 n", "1 1 n 1", "1", "1 1")
    cases = [(s, axis, e) for s in shapes for axis in range(len(s.split())) for e in (False, True)]
    types = ("float32", "bfloat16", "uint8", "int64")
    for dtype in types:
        for case in sweep.turn(dtype, types, sweep.turn(name, SCANS, cases)):
            scan(suite, name, *case, dtype)
    suite.run()


@pytest.mark.parametrize("name", SCANS)
def test_scans(name: str) -> None:
    """The two ops alternate."""
    suite = Suite((name, SCANS))
    for exclusive in (False, True):
        for axis in (0, 1, -1, None):
            scan(suite, name, "n 4 m", axis, exclusive)
    for shape, axis in (("m 5", 0), ("n 64", 0), ("m 1", 0), ("n 37", 1)):
        scan(suite, name, shape, axis)
    for shape in ("3 0", "0 3", "2 5", "1 4", "2 1030"):
        scan(suite, name, shape, 0)
        scan(suite, name, shape, 1)
    for number, dtype in enumerate(NUMBERS):
        scan(suite, name, "n m", 1, bool(number % 2), dtype)
        scan(suite, name, "n m", 0, not number % 2, dtype)
    suite.run()


def test_dtypes_of_scans() -> None:
    """The dtype of the result is given; integers wrap around; a scalar has one element."""
    suite = Suite()
    for source, target in (
        ("bool", "int32"),
        ("int8", "int64"),
        ("float16", "float32"),
        ("int32", "float32"),
    ):
        suite.use("cumsum", f"n m {source}", axis=0, dtype=target, sizes=SCAN_SIZES, tolerance=1e-6)
    for dtype in INTEGERS:
        suite.use("cumsum", f"n {dtype}", axis=0, inputs=[[np.full(41, np.iinfo(dtype).max, dtype)]])
    for exclusive in (False, True):
        suite.use("cumsum", "", exclusive=exclusive)
    suite.run()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scans_from_the_end(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    options = {"draw": numbers(0, 1.01), "tolerance": 2e-2 if dtype.endswith("16") else None}
    for exclusive in (False, True):
        for axis in (0, 1, None):
            suite.use("cumsum", "n m", axis=axis, exclusive=exclusive, reverse=True, **options)
    suite.run(test_scans_from_the_end)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_special_values_in_scans(dtype: str) -> None:
    """NaN and infinities affect only later elements, at each position of a vector; products after a zero are zero."""
    sums, products, rows = (
        compiled(lambda x, f=f, axis=axis: f(x, axis), f"n m {dtype}")
        for f, axis in ((R.cumsum, 1), (R.cumprod, 0), (R.cumprod, 1))
    )
    rng, kind = np.random.default_rng(2), dtypes.dtype(dtype).numpy
    for special in (np.nan, np.inf, -np.inf, 0.0):
        x = rng.uniform(0.5, 2, (21, 21)).astype(kind)
        np.fill_diagonal(x, special)
        x[3, 19] = -np.inf
        for function, compute, axis in ((sums, np.cumsum, 1), (products, np.cumprod, 0)):
            with np.errstate(all="ignore"):
                want = compute(x.astype(np.float64), axis=axis).astype(kind)
            np.testing.assert_allclose(function(x).astype("f8"), want.astype("f8"), rtol=1e-2)
    # Products of later elements would overflow if they were computed first.
    x = np.full((3, 40), float(ml_dtypes.finfo(kind).max), kind)
    x[:, 0] = 0
    assert (rows(x).astype("f8") == 0).all()


def test_long_scans_of_float32() -> None:
    """Each result is the rounded float64 one, except for ties that float64 cannot distinguish: within 0.51 ulp."""
    sums = np.random.default_rng(5).normal(size=200_000, loc=0.1).astype(np.float32)
    products = np.random.default_rng(6).uniform(0.99, 1.01, 5001).astype(np.float32)
    for name, x in (("cumsum", sums), ("cumprod", products)):
        want = getattr(np, name)(x.astype(np.longdouble))
        have = compiled(lambda x, name=name: getattr(R, name)(x), "n")(x)
        assert np.abs((have - want) / np.spacing(np.abs(want.astype(np.float32)))).max() <= 0.51


def test_memory_around_a_scan() -> None:
    """Only the result is written, whatever the size; inputs need not be contiguous."""
    both = [compiled(lambda x, axis=axis: R.cumsum(x, axis), "n m", finish=False) for axis in (0, 1)]
    rng = np.random.default_rng(7)
    for shape in ((1, 1), (3, 9), (5, 31), (2, 70), (17, 3), (3, 1100)):
        x = rng.normal(size=(shape[1], 2 * shape[0])).astype(np.float32).T[::2]
        for axis, function in enumerate(both):
            guarded = np.full(x.size + 64, 7, np.float32)
            out = guarded[: x.size].reshape(x.shape)
            function.call_into(out, x)
            assert (guarded[x.size :] == 7).all()
            np.testing.assert_allclose(out, np.cumsum(x.astype("f8"), axis), rtol=1e-5, atol=1e-5)


def test_scans_on_two_threads() -> None:
    x = np.random.default_rng(8).normal(size=(300, 4000)).astype(np.float32)
    for axis in (0, 1):
        build = lambda x, axis=axis: R.cumsum(x, axis)  # noqa: E731
        one, two = (compiled(build, "n m", target=f"cpu -num-threads={count}")(x) for count in (1, 2))
        np.testing.assert_array_equal(one, two)
