"""Products, activations, padding and norms against NumPy, SciPy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from topi_cases import check, random

N, M, K = te.var("n"), te.var("m"), te.var("k")
F = torch.nn.functional


def torch_of(function: Any) -> Any:
    """`function` of torch tensors, of arrays."""

    def found(*arrays: Any) -> Any:
        return function(*map(torch.tensor, arrays)).numpy()

    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_products(dtype: str) -> None:
    a, b = te.placeholder((N, K), dtype, "a"), te.placeholder((K, M), dtype, "b")
    x, y = te.placeholder((3, N, K), dtype, "x"), te.placeholder((1, K, M), dtype, "y")
    s = te.placeholder((M,), dtype, "s")
    cases: dict[str, Any] = {
        "matmul": (lambda a, b, x, y, s: topi.matmul(a, b), lambda a, b, x, y, s: a @ b),
        "matmul of transposed": (
            lambda a, b, x, y, s: topi.matmul(b, a, True, True),
            lambda a, b, x, y, s: (a @ b).T,
        ),
        "matmul of batches": (lambda a, b, x, y, s: topi.nn.matmul(x, b), lambda a, b, x, y, s: x @ b),
        "matmul of one batch": (lambda a, b, x, y, s: topi.nn.matmul(x, y), lambda a, b, x, y, s: x @ y),
        "batch_matmul": (
            lambda a, b, x, y, s: topi.nn.batch_matmul(x, topi.transpose(x, (0, 1, 2))),
            lambda a, b, x, y, s: x @ x.swapaxes(1, 2),
        ),
        "dense": (
            lambda a, b, x, y, s: topi.nn.dense(a, topi.transpose(b), s),
            lambda a, b, x, y, s: a @ b + s,
        ),
        "dense of float64": (
            lambda a, b, x, y, s: topi.nn.dense(a, b, out_dtype="float64", transpose_b=False),
            lambda a, b, x, y, s: a.astype("f8") @ b.astype("f8"),
        ),
    }
    arrays = [
        [
            *(
                random(shape, dtype, seed)
                for seed, shape in enumerate(((n, k), (k, m), (3, n, k), (1, k, m), (m,)))
            ),
        ]
        for n, m, k in ((3, 4, 5), (1, 1, 1), (0, 2, 3), (2, 3, 0), (17, 9, 33))
    ]
    check([a, b, x, y, s], cases, arrays, rtol=1e-4, atol=1e-4, turn=(dtype, ("float32", "float64")))


@pytest.mark.parametrize("dtype", sweep.quick(["float32", "float64"], "float32"))
def test_activations(dtype: str) -> None:
    x, p = te.placeholder((N, 3, M), dtype, "x"), te.placeholder((3,), dtype, "p")
    cases: dict[str, Any] = {
        "relu": (lambda x, p: topi.nn.relu(x), lambda x, p: np.maximum(x, 0)),
        "leaky_relu": (lambda x, p: topi.nn.leaky_relu(x, 0.1), lambda x, p: np.where(x > 0, x, x * 0.1)),
        "prelu": (lambda x, p: topi.nn.prelu(x, p), lambda x, p: np.where(x > 0, x, x * p[:, None])),
    }
    for axis in (-1, 0, 1):
        cases[f"softmax {axis}"] = (
            lambda x, p, axis=axis: topi.nn.softmax(x, axis),
            lambda x, p, axis=axis: scipy.special.softmax(x, axis),
        )
        cases[f"log_softmax {axis}"] = (
            lambda x, p, axis=axis: topi.nn.log_softmax(x, axis),
            lambda x, p, axis=axis: scipy.special.log_softmax(x, axis),
        )
    arrays = [[random((n, 3, m), dtype), random((3,), dtype)] for n, m in ((2, 5), (1, 1), (0, 4), (4, 0))]
    large = random((2, 3, 4), dtype) * 1000
    check(
        [x, p],
        cases,
        [*arrays, [large, arrays[0][1]]],
        rtol=1e-5,
        atol=1e-5,
        turn=(dtype, ("float16", "bfloat16")),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda x, g: topi.nn.softmax(x),
        lambda x, g: topi.nn.log_softmax(x),
        lambda x, g: topi.logsumexp(x, 1),
        lambda x, g: topi.nn.layer_norm(x, g, g, 1),
    ],
    ids=["softmax", "log_softmax", "logsumexp", "layer_norm"],
)
def test_rows_run_on_the_kernels_of_rows(make: Any) -> None:
    """Dimensions of 1 that are kept, added or removed do not prevent it."""
    x, g = te.placeholder((N, M), "float32", "x"), te.placeholder((M,), "float32", "g")
    text = str(te.create_prim_func([x, g, make(x, g)]))
    assert text.count('"reduction"]') == 2 and "memref" not in text


def test_padding() -> None:
    x = te.placeholder((N, 3, M), "int32", "x")
    widths = ((1, 0, 2), (0, 1, 3))
    numpy_widths = tuple(zip(*widths, strict=True))
    cases: dict[str, Any] = {
        "pad": (lambda t: topi.nn.pad(t, *widths, 7), lambda a: np.pad(a, numpy_widths, constant_values=7)),
        "pad both": (lambda t: topi.nn.pad(t, (0, 1, 0)), lambda a: np.pad(a, ((0, 0), (1, 1), (0, 0)))),
        "pad none": (lambda t: topi.nn.pad(t, (0, 0, 0)), lambda a: a),
        "pad n": (
            lambda t: topi.nn.pad(t, (0, 0, N), (0, 0, 0)),
            lambda a: np.pad(a, ((0, 0), (0, 0), (len(a), 0))),
        ),
        "cut": (
            lambda t: topi.nn.pad(t, (0, -1, 1), (0, -1, 0)),
            lambda a: np.pad(a, ((0, 0), (0, 0), (1, 0)))[:, 1:-1],
        ),
    }
    check([x], cases, [[random((n, 3, m), "int32")] for n, m in ((2, 5), (1, 1), (0, 4), (4, 0))])
    moved: dict[str, Any] = {
        "symmetric": (
            lambda t: topi.nn.mirror_pad(t, *widths),
            lambda a: np.pad(a, numpy_widths, "symmetric"),
        ),
        "edge": (lambda t: topi.nn.edge_pad(t, *widths), lambda a: np.pad(a, numpy_widths, "edge")),
        "wrap": (lambda t: topi.nn.wrap_pad(t, *widths), lambda a: np.pad(a, numpy_widths, "wrap")),
        "reflect": (
            lambda t: topi.nn.mirror_pad(t, *widths, "REFLECT"),
            lambda a: np.pad(a, numpy_widths, "reflect"),
        ),
    }
    check([x], moved, [[random((n, 3, m), "int32")] for n, m in ((2, 5), (1, 1), (4, 2), (3, 3))])


def test_norms() -> None:
    x, c = te.placeholder((N, 6, M, K), name="x"), te.placeholder((6,), name="c")
    d, v = te.placeholder((6,), name="d"), te.placeholder((6,), name="v")
    w = te.placeholder((M, K), name="w")

    def batch(x: Any, c: Any, d: Any, v: Any, w: Any) -> Any:
        mean, variance = torch.tensor(d), torch.tensor(v)
        return [F.batch_norm(torch.tensor(x), mean, variance, torch.tensor(c), torch.tensor(d)).numpy(), d, v]

    def training(x: Any, c: Any, d: Any, v: Any, w: Any) -> Any:
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        at = (None, slice(None), None, None)
        out = (x - mean[at]) / np.sqrt(variance[at] + 1e-3)
        return [out, d * 0.75 + mean * 0.25, v * 0.75 + variance * 0.25]

    cases: dict[str, Any] = {
        "batch_norm": (lambda x, c, d, v, w: topi.nn.batch_norm(x, c, d, d, v), batch),
        "training": (
            lambda x, c, d, v, w: topi.nn.batch_norm(x, c, d, d, v, 1, 1e-3, False, False, True, 0.25),
            training,
        ),
        "layer_norm": (
            lambda x, c, d, v, w: topi.nn.layer_norm(x, w, w, (-1, -2)),
            torch_of(lambda x, c, d, v, w: F.layer_norm(x, w.shape, w, w)),
        ),
        "rms_norm": (
            lambda x, c, d, v, w: topi.nn.rms_norm(x, w, (2, 3)),
            torch_of(lambda x, c, d, v, w: F.rms_norm(x, w.shape, w, 1e-5)),
        ),
        "group_norm": (
            lambda x, c, d, v, w: topi.nn.group_norm(x, c, d, 3, 1, (2, 3)),
            torch_of(lambda x, c, d, v, w: F.group_norm(x, 3, c, d)),
        ),
        "instance_norm": (
            lambda x, c, d, v, w: topi.nn.instance_norm(x, c, d, 1, (2, 3)),
            torch_of(lambda x, c, d, v, w: F.group_norm(x, 6, c, d)),
        ),
    }
    arrays = [
        [
            random((n, 6, m, k)),
            *(random((6,), seed=seed) for seed in (1, 2)),
            np.abs(random((6,), seed=3)),
            random((m, k), seed=4),
        ]
        for n, m, k in ((2, 3, 4), (1, 1, 5), (3, 7, 2))
    ]
    check([x, c, d, v, w], cases, arrays, rtol=1e-4, atol=1e-4)


def test_mistakes() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((N, M), "int32", "i")
    w = te.placeholder((M,), name="w")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.matmul(x, x), ShapeError, "are combined along m and n, not known to be equal"),
        (lambda: topi.matmul(x, w), ShapeError, "are not both of two dimensions"),
        (lambda: topi.nn.batch_matmul(x, x), ShapeError, "is not of three dimensions"),
        (lambda: topi.nn.softmax(i), DTypeError, "does not hold floats"),
        (lambda: topi.nn.prelu(x, w, 0), ShapeError, r"the shapes \(m\) and \(n\) are not known to be equal"),
        (lambda: topi.nn.pad(x, (1,)), ShapeError, "1 and 1 amounts for"),
        (lambda: topi.nn.mirror_pad(x, (1, 1), mode="x"), ArgumentError, "'mode' is 'x'"),
        (
            lambda: topi.nn.batch_norm(x, w, w, w, w, 0),
            ShapeError,
            r"batch_norm: 'gamma': the shapes \(m\) and \(n\)",
        ),
        (
            lambda: topi.nn.group_norm(x, None, None, 2, 1, (0,)),
            ShapeError,
            "m channels are not known to be divisible",
        ),
        (lambda: topi.nn.group_norm(x, None, None, 1, 1, (1,)), ArgumentError, "'axes' names the channels"),
        (lambda: topi.nn.layer_norm(x, x, None, 1), ShapeError, "are not known to be equal"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
