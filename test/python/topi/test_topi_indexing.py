"""Elements at positions given by other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, ShapeError
from topi_cases import check, random

N, M, K = te.var("n"), te.var("m"), te.var("k")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_take(dtype: str) -> None:
    x, i = te.placeholder((N, M, 2), name="x"), te.placeholder((K, 3), dtype, "i")
    b = te.placeholder((N, 3), dtype, "b")
    cases: dict[str, Any] = {
        "flat": (lambda x, i, b: topi.take(x, i), lambda x, i, b: np.take(x, i, mode="clip")),
        "axis": (lambda x, i, b: topi.take(x, i, 1), lambda x, i, b: np.take(x, i, 1, mode="clip")),
        "axis last": (lambda x, i, b: topi.take(x, i, -1), lambda x, i, b: np.take(x, i, 2, mode="clip")),
        "wrap": (
            lambda x, i, b: topi.take(x, i, 0, mode="wrap"),
            lambda x, i, b: np.take(x, i, 0, mode="wrap"),
        ),
        "batch": (
            lambda x, i, b: topi.take(x, b, 1, batch_dims=1),
            lambda x, i, b: np.take_along_axis(x, np.clip(b, 0, x.shape[1] - 1)[:, :, None], 1),
        ),
        "fast": (
            lambda x, i, b: topi.take(x, topi.clip(i, -1, 0), 1, mode="fast"),
            lambda x, i, b: np.take(x, np.clip(i, -1, 0), 1),
        ),
        "embedding": (
            lambda x, i, b: topi.embedding(x, topi.clip(i, 0, 0)),
            lambda x, i, b: np.take(x, np.clip(i, 0, 0), 0),
        ),
    }
    arrays = [
        [random((n, m, 2)), random((k, 3), dtype), random((n, 3), dtype, 1)]
        for n, m, k in ((4, 5, 2), (1, 1, 1), (7, 3, 0))
    ]
    check([x, i, b], cases, arrays)


def test_gather() -> None:
    x, i = te.placeholder((N, M, 2), name="x"), te.placeholder((N, K, 2), "int64", "i")
    p = te.placeholder((2, K), "int32", "p")
    cases: dict[str, Any] = {
        "gather": (lambda x, i, p: topi.gather(x, 1, i), lambda x, i, p: np.take_along_axis(x, i, 1)),
        "gather_nd": (lambda x, i, p: topi.gather_nd(x, p), lambda x, i, p: x[p[0], p[1]]),
        "gather_nd all": (
            lambda x, i, p: topi.gather_nd(x, topi.concatenate([p, topi.full((1, K), "int32", 1)])),
            lambda x, i, p: x[p[0], p[1], 1],
        ),
        "gather_nd batch": (
            lambda x, i, p: topi.gather_nd(x, topi.transpose(i, (2, 0, 1)) * 0, 1),
            lambda x, i, p: np.broadcast_to(x[:, :1, 0], i.shape[:2]),
        ),
    }
    arrays = []
    for n, m, k in ((4, 5, 2), (1, 1, 3), (3, 2, 0)):
        rng = np.random.default_rng(n)
        places = np.stack([rng.integers(-n, n, k), rng.integers(-m, m, k)]).astype("i4")
        arrays.append([random((n, m, 2)), rng.integers(-m, m, (n, k, 2)), places])
    check([x, i, p], cases, arrays)


def test_indices_out_of_range_are_errors() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((K,), "int32", "i")
    rows = te.placeholder((N, 1), "int32", "rows")
    makers: list[tuple[Any, te.Tensor, Any]] = [
        (lambda: topi.take(x, i, 0, mode="fast"), i, lambda bad: np.array([0, bad], "i4")),
        (lambda: topi.gather(x, 1, rows), rows, lambda bad: np.array([[0], [bad], [0]], "i4")),
        (lambda: topi.gather_nd(x, topi.reshape(i, (1, K))), i, lambda bad: np.array([bad], "i4")),
    ]
    data = np.zeros((3, 3), "f4")
    for make, index, array in makers:
        found = make()
        main = rx.build(te.create_prim_func([x, index, found]), opt_level=0)["main"]
        for bad in (3, -4):
            places = array(bad)
            shape = {"T_take": (len(places), 3), "T_gather": (3, 1), "T_gather_nd": (1, 3)}[found.name]
            with pytest.raises(BoundsError):
                main(data, places, np.zeros(shape, "f4"))


def test_mistakes() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((N, K), "int32", "i")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.take(x, x), DTypeError, "which does not hold integers"),
        (lambda: topi.take(x, i, mode="raise"), ArgumentError, "'mode' is 'raise'"),
        (lambda: topi.take(x, i, batch_dims=1), ArgumentError, "'batch_dims' needs an axis"),
        (lambda: topi.take(x, i, 0, batch_dims=1), ArgumentError, "'batch_dims' is 1, expected 0 to 0"),
        (
            lambda: topi.gather(x, 1, te.placeholder((N + 1, K), "int32", "i")),
            ShapeError,
            "dimension 0 of the indices is n \\+ 1, more than n",
        ),
        (
            lambda: topi.gather(x, 0, topi.arange(3, dtype="int32")),
            ShapeError,
            "different numbers of dimensions",
        ),
        (lambda: topi.gather_nd(x, i), ShapeError, "by a dimension of known size"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
