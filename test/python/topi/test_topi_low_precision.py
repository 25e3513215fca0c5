"""Every family of operators on float16 and bfloat16, against float64: also in long sums, only the result is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from relax_mlir import te, topi
from topi_cases import check, random

N, M, K, H, W = (te.var(name) for name in ("n", "m", "k", "h", "w"))
F = torch.nn.functional
DTYPES = ("float16", "bfloat16")
LOOSE = {"float16": 4e-3, "bfloat16": 3e-2}


def of(function: Any, *args: Any, **options: Any) -> Any:
    """`function` of torch on float64."""

    def found(*arrays: Any) -> Any:
        tensors = [torch.tensor(a.astype("f8") if a.dtype.kind not in "iub" else a) for a in arrays]
        return function(*tensors, *args, **options).numpy()

    return found


@pytest.mark.parametrize("dtype", sweep.quick(DTYPES, "bfloat16"))
def test_elements(dtype: str) -> None:
    x, y = te.placeholder((N, M), dtype, "x"), te.placeholder((M,), dtype, "y")
    one: dict[str, Any] = {
        "abs": torch.abs, "atan": torch.atan, "ceil": torch.ceil, "cos": torch.cos, "erf": torch.erf, "exp": torch.exp,
        "floor": torch.floor, "negative": torch.neg, "round": torch.round, "sigmoid": torch.sigmoid, "sign": torch.sign,
        "sin": torch.sin, "tanh": torch.tanh, "trunc": torch.trunc, "isnan": torch.isnan, "isfinite": torch.isfinite,
        "asinh": torch.asinh, "sinh": torch.sinh, "cosh": torch.cosh,
    }  # fmt: skip
    two: dict[str, Any] = {
        "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "maximum": torch.maximum,
        "minimum": torch.minimum,
        "less": torch.less,
        "greater_equal": torch.ge, "atan2": torch.atan2, "log_add_exp": torch.logaddexp,
    }  # fmt: skip
    cases: dict[str, Any] = {
        name: (lambda x, y, name=name: getattr(topi, name)(x), lambda x, y, f=f: of(f)(x))
        for name, f in one.items()
    }
    cases |= {name: (lambda x, y, name=name: getattr(topi, name)(x, y), of(f)) for name, f in two.items()}
    cases |= {
        "log": (lambda x, y: topi.log(topi.abs(x) + 1), lambda x, y: np.log(np.abs(x.astype("f8")) + 1)),
        "sqrt": (lambda x, y: topi.sqrt(topi.abs(x)), lambda x, y: np.sqrt(np.abs(x.astype("f8")))),
        "clip": (lambda x, y: topi.clip(x, -0.5, 1), lambda x, y: np.clip(x.astype("f8"), -0.5, 1)),
        "where": (
            lambda x, y: topi.where(topi.greater(x, y), x, y),
            lambda x, y: np.maximum(x.astype("f8"), y.astype("f8")),
        ),
        "cast": (lambda x, y: topi.cast(x, "int32"), lambda x, y: x.astype("f8").astype("i4")),
    }
    arrays = [[random((n, m), dtype), random((m,), dtype, 1)] for n, m in ((3, 5), (1, 1), (0, 2), (2, 33))]
    check([x, y], cases, arrays, rtol=LOOSE[dtype], atol=LOOSE[dtype], turn=(dtype, DTYPES))


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_sums(dtype: str) -> None:
    """A sum of 16-bit numbers that is rounded at every step stops growing."""
    x = te.placeholder((N, M), dtype, "x")
    nn = topi.nn
    flat = te.placeholder((N, 1, M), dtype, "flat")
    cases: dict[str, Any] = {
        "sum": (lambda x, f: topi.sum(x, 1), lambda x, f: x.astype("f8").sum(1)),
        "sum of columns": (lambda x, f: topi.sum(x * 0 + 1, 0), lambda x, f: np.full(x.shape[1], len(x))),
        "mean": (lambda x, f: topi.mean(x, 1), lambda x, f: x.astype("f8").mean(1)),
        "mean of all": (lambda x, f: topi.mean(x), lambda x, f: x.astype("f8").mean()),
        "variance": (lambda x, f: topi.variance(x, 1), lambda x, f: x.astype("f8").var(1)),
        "logsumexp": (lambda x, f: topi.logsumexp(x, 1), lambda x, f: of(torch.logsumexp, 1)(x)),
        "softmax": (lambda x, f: nn.softmax(x), lambda x, f: of(torch.softmax, -1)(x)),
        "log_softmax": (lambda x, f: nn.log_softmax(x), lambda x, f: of(torch.log_softmax, -1)(x)),
        "rms": (
            lambda x, f: nn.rms_norm(x, topi.full((M,), dtype, 1), 1),
            lambda x, f: x.astype("f8") / np.sqrt((x.astype("f8") ** 2).mean(1, keepdims=True) + 1e-5),
        ),
        "layer norm": (
            lambda x, f: nn.layer_norm(x, topi.full((M,), dtype, 1), topi.full((M,), dtype, 0), 1),
            lambda x, f: of(F.layer_norm, x.shape[1:])(x),
        ),
        "product": (lambda x, f: topi.matmul(x, x, False, True), lambda x, f: x.astype("f8") @ x.astype("f8").T),
        "einsum": (lambda x, f: topi.einsum("ij,ij->i", x, x), lambda x, f: (x.astype("f8") ** 2).sum(1)),
        "tensordot": (
            lambda x, f: topi.tensordot(x, x, ((1,), (1,))),
            lambda x, f: x.astype("f8") @ x.astype("f8").T,
        ),
        "global pool": (
            lambda x, f: nn.global_pool(f, "avg", "NCW"),
            lambda x, f: f.astype("f8").mean(2, keepdims=True),
        ),
        "adaptive pool": (
            lambda x, f: nn.adaptive_pool1d(f, 1, "avg"),
            lambda x, f: f.astype("f8").mean(2, keepdims=True),
        ),
        "pool": (
            lambda x, f: nn.pool1d(f, 1024, 1024, 1, 0, "avg"),
            lambda x, f: of(F.avg_pool1d, 1024)(f),
        ),
        "convolution": (
            lambda x, f: nn.conv1d(f, topi.full((1, 1, 1024), dtype, 1), 512),
            lambda x, f: of(lambda t: F.conv1d(t, torch.ones(1, 1, 1024, dtype=torch.float64), None, 512))(f),
        ),
        "nll": (
            lambda x, f: nn.cross_entropy_with_logits(x, x),
            lambda x, f: -(x.astype("f8") ** 2).sum() / len(x),
        ),
    }  # fmt: skip
    rng = np.random.default_rng(0)
    kind = random((1,), dtype).dtype
    numbers = (rng.random((3, 2048)) * 0.5 + 0.25).astype(kind)
    check(
        [x, flat],
        cases,
        [[numbers, numbers[:, None]]],
        rtol=LOOSE[dtype],
        atol=LOOSE[dtype],
        turn=(dtype, DTYPES),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_images_and_places(dtype: str) -> None:
    x, i = te.placeholder((N, 2, H, W), dtype, "x"), te.placeholder((K,), "int64", "i")
    y, w = te.placeholder((N, M), dtype, "y"), te.placeholder((3, 2, 3, 3), dtype, "w")
    nn = topi.nn
    none = (0.0,) * 4

    def image(f: Any, *args: Any, **options: Any) -> Any:
        return lambda x, i, y, w: of(f, *args, **options)(x)

    cases: dict[str, Any] = {
        "conv2d": (
            lambda x, i, y, w: nn.conv2d(x, w, 1, 1, 1),
            lambda x, i, y, w: of(lambda a, b: F.conv2d(a, b, None, 1, 1))(x, w),
        ),
        "transposed": (
            lambda x, i, y, w: nn.conv_transpose(x, topi.transpose(w, (1, 0, 2, 3)), 2, 1, 1),
            lambda x, i, y, w: of(lambda a, b: F.conv_transpose2d(a, b.transpose(0, 1), None, 2, 1, 1))(x, w),
        ),
        "max pool": (lambda x, i, y, w: nn.pool2d(x, 3, 2, 1, 1, "max"), image(F.max_pool2d, 3, 2, 1)),
        "avg pool": (lambda x, i, y, w: nn.pool2d(x, 2, 1, 1, 0, "avg"), image(F.avg_pool2d, 2, 1)),
        "resize": (
            lambda x, i, y, w: topi.image.resize2d(x, none, (7, 5)),
            image(F.interpolate, (7, 5), mode="bilinear"),
        ),
        "pad": (lambda x, i, y, w: nn.pad(x, (0, 0, 1, 2)), image(F.pad, (2, 2, 1, 1))),
        "take": (lambda x, i, y, w: topi.take(y, i, 1), lambda x, i, y, w: np.take(y, i, 1, mode="clip")),
        "gather_nd": (
            lambda x, i, y, w: topi.gather_nd(y, topi.expand_dims(i * 0, 0)),
            lambda x, i, y, w: y[i * 0],
        ),
        "scatter": (
            lambda x, i, y, w: topi.scatter_nd(y, topi.expand_dims(i * 0, 0), topi.full((K, M), dtype, 0.5), "add"),
            lambda x, i, y, w: y.astype("f8") + 0.5 * len(i) * (np.arange(len(y)) == 0)[:, None],
        ),
        "concatenate": (lambda x, i, y, w: topi.concatenate([y, y], 1), lambda x, i, y, w: np.concatenate([y, y], 1)),
        "transpose": (lambda x, i, y, w: topi.transpose(y), lambda x, i, y, w: y.T),
        "trilu": (lambda x, i, y, w: topi.trilu(y, 0, True), lambda x, i, y, w: np.triu(y.astype("f8"))),
        "argmax": (lambda x, i, y, w: topi.argmax(y, 1), lambda x, i, y, w: y.astype("f8").argmax(1)),
        "max": (lambda x, i, y, w: topi.max(y, 1), lambda x, i, y, w: y.astype("f8").max(1)),
        "prod": (lambda x, i, y, w: topi.prod(y, 1), lambda x, i, y, w: y.astype("f8").prod(1)),
        "one_hot": (
            lambda x, i, y, w: topi.one_hot(i, 1, 0, 3, -1, dtype),
            lambda x, i, y, w: i[:, None] == np.arange(3),
        ),
        "group norm": (
            lambda x, i, y, w: nn.group_norm(x, topi.full((2,), dtype, 1), topi.full((2,), dtype, 0), 2, 1, [2, 3]),
            lambda x, i, y, w: of(F.group_norm, 2)(x),
        ),
    }  # fmt: skip
    arrays = [
        [random((n, 2, h, v), dtype), np.arange(k) - 1, random((n, m), dtype), random((3, 2, 3, 3), dtype, 1)]
        for n, h, v, k, m in ((2, 5, 7, 4, 6), (1, 3, 3, 1, 1))
    ]
    check([x, i, y, w], cases, arrays, rtol=LOOSE[dtype] * 2, atol=LOOSE[dtype] * 2, turn=(dtype, DTYPES))
