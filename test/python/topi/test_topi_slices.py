"""Advanced indexing, slices that are data or are written to, sequences and diagonals, against NumPy and torch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, ShapeError
from topi_cases import check, random

N, M, K, L = te.var("n"), te.var("m"), te.var("k"), te.var("l")
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_index_tensor_and_put(dtype: str) -> None:
    x = te.placeholder((N, M, 3), dtype, "x")
    i, j = te.placeholder((K, 1), "int64", "i"), te.placeholder((L,), "int32", "j")
    v = te.placeholder((K, L, 3), dtype, "v")
    cases: dict[str, Any] = {
        "adv_index": (lambda x, i, j, v: topi.adv_index(x, [i, j]), lambda x, i, j, v: x[i, j]),
        "one": (lambda x, i, j, v: topi.index_tensor(x, [j]), lambda x, i, j, v: x[j]),
        "all": (
            lambda x, i, j, v: topi.index_tensor(x, [i, j, topi.full((), "int32", -1)]),
            lambda x, i, j, v: x[i, j, -1],
        ),
        "put": (lambda x, i, j, v: topi.index_put(x, [i, j], v), _put),
        "put of one row": (
            lambda x, i, j, v: topi.index_put(x, [i, j], topi.full((3,), dtype, 1)),
            lambda x, i, j, v: _put(x, i, j, np.ones(3, x.dtype)),
        ),
    }
    if dtype != "bool":
        cases["accumulate"] = (
            lambda x, i, j, v: topi.index_put(x, [i, j], v, accumulate=True),
            lambda x, i, j, v: _accumulated(x, i, j, v),
        )
    arrays = []
    for n, m, k, width in ((4, 5, 2, 3), (1, 1, 1, 1), (3, 2, 0, 2), (2, 7, 5, 1)):
        rng = np.random.default_rng(n)
        arrays.append(
            [
                random((n, m, 3), dtype),
                (np.arange(k) % n - n * (np.arange(k) % 2)).reshape(k, 1),
                rng.integers(-n if n < m else -m, min(n, m), width).astype("i4"),
                random((k, width, 3), dtype, 1),
            ]
        )
    check(
        [x, i, j, v],
        cases,
        arrays,
        rtol=2e-2 if dtype in ("float16", "bfloat16") else 1e-5,
        atol=5e-2 if dtype == "bfloat16" else 1e-2,
        turn=(dtype, DTYPES),
    )


def _put(x: Any, i: Any, j: Any, v: Any) -> Any:
    """Updates in order, so that the last one wins."""
    found = x.copy()
    for a, b in itertools.product(range(len(i)), range(len(j))):
        found[i[a, 0], j[b]] = np.broadcast_to(v, (len(i), len(j), 3))[a, b]
    return found


def _accumulated(x: Any, i: Any, j: Any, v: Any) -> Any:
    found = x.copy()
    for a, b in itertools.product(range(len(i)), range(len(j))):
        found[i[a, 0], j[b]] += v[a, b]
    return found


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int16"])
def test_slices_that_are_data(dtype: str) -> None:
    x = te.placeholder((N, M), dtype, "x")
    parts = [
        te.placeholder((2,), kind, name) for name, kind in (("b", "int64"), ("e", "int32"), ("s", "int64"))
    ]
    found = topi.dynamic_strided_slice(x, *parts, (K, L))
    assert found.op.tag == topi.tag.INJECTIVE
    main = rx.build(te.create_prim_func([x, *parts, found]), opt_level=0)["main"]
    rng = np.random.default_rng(0)
    for n, m in ((5, 7), (1, 1), (0, 3), (6, 1)):
        a = random((n, m), dtype)
        for _ in range(60):
            begin, end = rng.integers(-9, 10, 2), rng.integers(-9, 10, 2)
            step = rng.choice([-3, -2, -1, 1, 2, 3], 2)
            want = a[
                tuple(slice(*of) for of in zip(begin.tolist(), end.tolist(), step.tolist(), strict=True))
            ]
            out = np.zeros(want.shape, want.dtype)
            main(a, begin, end.astype("i4"), step, out)
            np.testing.assert_array_equal(out, want, err_msg=f"{begin} {end} {step} of {a.shape}")
    whole = np.zeros(2, "i8"), np.array([3, 3], "i4"), np.ones(2, "i8")
    out = np.zeros((2, 1), random((1,), dtype).dtype)
    main(random((5, 7), dtype), *whole, out)  # the first elements
    np.testing.assert_array_equal(out, random((5, 7), dtype)[:2, :1])
    with pytest.raises(BoundsError):  # more than there are
        main(random((5, 7), dtype), *whole, np.zeros((4, 1), out.dtype))


def test_slices_that_are_written_to() -> None:
    x, s, t = (
        te.placeholder(shape, name=name) for name, shape in (("x", (N, 8)), ("s", (N, 3)), ("t", (2, 3)))
    )
    y, u = te.placeholder((M + 2, 2), name="y"), te.placeholder((M, 2), name="u")
    cases: dict[str, Any] = {
        "slice_scatter": (
            lambda x, s, t, y, u: topi.slice_scatter(x, s, 1, -2, 2, 1),
            lambda x, s, t, y, u: torch.slice_scatter(torch.tensor(x), torch.tensor(s), 1, 1, -2, 2).numpy(),
        ),
        "all": (lambda x, s, t, y, u: topi.slice_scatter(x, x * 2, 0, 99, 1, 1), lambda x, s, t, y, u: x * 2),
        "nothing": (
            lambda x, s, t, y, u: topi.slice_scatter(x, topi.full((N, 0), "float32", 1), 5, 3, 1, -1),
            lambda x, s, t, y, u: x,
        ),
        "symbols": (
            lambda x, s, t, y, u: topi.slice_scatter(y, u, 1, M + 1, 1, 0),
            lambda x, s, t, y, u: np.concatenate([y[:1], u, y[-1:]]),
        ),
        "strided_set": (
            lambda x, s, t, y, u: topi.strided_set(topi.reshape(x, (N, 4, 2)), s_(s, N), (0, 1), (N, 4)),
            lambda x, s, t, y, u: np.concatenate(
                [x.reshape(-1, 4, 2)[:, :1], np.repeat(s[:, :, None], 2, 2)], 1
            ),
        ),
        "strided_set steps": (
            lambda x, s, t, y, u: topi.strided_set(
                topi.full((4, 6), "float32", 7), t, (0, 1), (4, 6), (2, 2)
            ),
            lambda x, s, t, y, u: _set(t),
        ),
    }
    arrays = [
        [random((n, 8)), random((n, 3), seed=1), random((2, 3)), random((m + 2, 2)), random((m, 2), seed=2)]
        for n, m in ((3, 4), (1, 1), (0, 0))
    ]
    check([x, s, t, y, u], cases, arrays)


def s_(tensor: Any, rows: Any) -> Any:
    """``(n, 3)`` as ``(n, 3, 2)``."""
    return topi.broadcast_to(topi.expand_dims(tensor, 2), (rows, 3, 2))


def _set(t: Any) -> Any:
    found = np.full((4, 6), 7, "f4")
    found[::2, 1::2] = t
    return found


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_sequences(dtype: str) -> None:
    x, lengths = te.placeholder((N, M, 2), dtype, "x"), te.placeholder((N,), "int32", "lengths")
    other = te.placeholder((M,), "int64", "other")
    cases: dict[str, Any] = {
        "reverse": (
            lambda x, i, j: topi.reverse_sequence(x, i),
            lambda x, i, j: (
                np.stack([_reversed(row, length) for row, length in zip(x, i, strict=True)]) if len(x) else x
            ),
        ),
        "reverse of columns": (
            lambda x, i, j: topi.reverse_sequence(x, j, 0, 1),
            lambda x, i, j: (
                np.stack([_reversed(x[:, n], length) for n, length in enumerate(j)], 1) if len(j) else x
            ),
        ),
        "mask": (
            lambda x, i, j: topi.sequence_mask(x, i, -7, 1),
            lambda x, i, j: np.where(
                np.arange(x.shape[1])[None, :, None] < i[:, None, None], x, x.dtype.type(-7)
            ),
        ),
        "mask of columns": (
            lambda x, i, j: topi.sequence_mask(x, j),
            lambda x, i, j: np.where(np.arange(len(x))[:, None, None] < j[None, :, None], x, x.dtype.type(0)),
        ),
    }
    arrays = []
    for n, m in ((3, 5), (1, 1), (4, 0), (0, 3)):
        rng = np.random.default_rng(n)
        arrays.append(
            [random((n, m, 2), dtype), rng.integers(0, m + 3, n).astype("i4"), rng.integers(0, n + 2, m)]
        )
    check([x, lengths, other], cases, arrays)


def _reversed(row: Any, length: int) -> Any:
    return np.concatenate([row[:length][::-1], row[length:]])


def test_diagonals() -> None:
    x, d = te.placeholder((2, N, M), name="x"), te.placeholder((2, K), name="d")
    cases: dict[str, Any] = {
        "eye": (lambda x: topi.eye(N, M, 1, "int32"), lambda x: np.eye(x.shape[1], x.shape[2], 1)),
        "eye below": (lambda x: topi.eye(N, dtype="float16", k=-1), lambda x: np.eye(x.shape[1], k=-1)),
    }
    check([x], cases, [[random((2, n, m))] for n, m in ((3, 4), (1, 1), (0, 2), (5, 2))])
    del d
    for rows, columns in ((3, 4), (4, 3), (5, 5), (1, 2)):
        y = te.placeholder((N, rows, columns), name="y")
        made: dict[str, Any] = {}
        bands = ((0, 0), (1, 1), (-1, 1), (-2, 0), (0, 2), (-1, -1))
        within = [(low, high) for low, high in bands if low > -rows and high < columns]
        sides = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")
        for (low, high), align in sweep.product(within, sides):
            longest = min(rows + min(high, 0), columns - max(low, 0))
            several = (high - low + 1,) if low != high else ()
            values = np.arange(1.0, 1 + np.prod([*several, longest])).reshape(*several, longest)
            made[f"{low} {high} {align}"] = (
                lambda y, v=values, k=(low, high), a=align, s=several: topi.matrix_set_diag(
                    y, _constant(v, (N, *v.shape)), k if s else k[0], a
                ),
                lambda y, v=values, k=(low, high), a=align: _with_diagonals(y, v, *k, a),
            )
        check([y], made, [[random((n, rows, columns))] for n in (2, 0)])


def _constant(values: Any, shape: Any) -> Any:
    """1, 2, … in row-major order, for every matrix."""
    if values.ndim == 1:
        return te.compute(shape, lambda n, i: (i + 1).astype("float32"))
    return te.compute(shape, lambda n, d, i: (d * values.shape[1] + i + 1).astype("float32"))


def _with_diagonals(y: Any, values: Any, low: int, high: int, align: str) -> Any:
    """According to TensorFlow's specification of MatrixSetDiagV3."""
    found = y.copy()
    rows, columns = y.shape[1:]
    bands = values if values.ndim == 2 else values[None]
    above, below = align.split("_")
    for number, k in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(k, 0), columns - max(k, 0))
        side = above if k >= 0 else below
        band = bands[number][len(bands[number]) - length :] if side == "RIGHT" else bands[number][:length]
        for n in range(length):
            found[:, n - min(k, 0), n + max(k, 0)] = band[n]
    return found


def test_out_of_range() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((K,), "int64", "i")
    for found, shape in (
        (topi.index_tensor(x, [i, i]), (1,)),
        (topi.index_put(x, [i], topi.full((M,), "float32", 1)), (3, 4)),
    ):
        main = rx.build(te.create_prim_func([x, i, found]), opt_level=0)["main"]
        for bad in (3, -4, 2**40):
            with pytest.raises(BoundsError):
                main(np.zeros((3, 4), "f4"), np.array([bad]), np.zeros(shape, "f4"))


def test_mistakes() -> None:
    x, i, f = (
        te.placeholder((N, M), name="x"),
        te.placeholder((K,), "int64", "i"),
        te.placeholder((K,), name="f"),
    )
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.adv_index(x, []), ShapeError, "0 indices for"),
        (lambda: topi.adv_index(x, [i, i, i]), ShapeError, "3 indices for"),
        (lambda: topi.index_tensor(x, [f]), DTypeError, "does not hold integers"),
        (lambda: topi.index_tensor(x, i), ArgumentError, "a list of tensors"),
        (lambda: topi.index_put(x, [i], i), DTypeError, "the values have dtype int64"),
        (lambda: topi.index_put(x, [i, i], x), ShapeError, "do not broadcast to|not known to be equal"),
        (lambda: topi.dynamic_strided_slice(x, i, i, i, (1, 1)), ShapeError, "takes 2 sizes"),
        (lambda: topi.slice_scatter(x, x, 0, 1, 1, 0), ShapeError, "the slice has the shape"),
        (lambda: topi.slice_scatter(x, x, 0, 1, 0, 0), ArgumentError, "'step' is 0"),
        (lambda: topi.slice_scatter(x, topi.cast(x, "int32"), 0, N, 1, 0), DTypeError, "have dtype int32"),
        (lambda: topi.strided_set(x, x, (0,), (1, 2)), ShapeError, "1 begins, 2 ends"),
        (lambda: topi.reverse_sequence(x, i), ShapeError, "'seq_lengths': the shapes"),
        (lambda: topi.reverse_sequence(x, i, 0, 0), ShapeError, "are both 0"),
        (lambda: topi.sequence_mask(x, i, axis=2), ShapeError, "axis 2"),
        (lambda: topi.matrix_set_diag(x, f), ShapeError, "not known to have the shape"),
        (lambda: topi.matrix_set_diag(x, f, (1, 0)), ArgumentError, "'k' is"),
        (lambda: topi.matrix_set_diag(x, f, 0, "UP"), ArgumentError, "'align' is 'UP'"),
        (lambda: topi.eye(1.5), ArgumentError, "is no integer and no size"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
