"""Einsum, layouts as dimensions, places as numbers, statistics and quantization, against NumPy, torch and ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, ShapeError
from topi_cases import check, random

N, M, K, H = te.var("n"), te.var("m"), te.var("k"), te.var("h")
FLOATS = ("float32", "float64", "float16", "bfloat16")
LOOSE = {"float16": 2e-2, "bfloat16": 1e-1}


def test_einsum() -> None:
    a, b = te.placeholder((N, N, M), name="a"), te.placeholder((1, M, N), name="b")
    c = te.placeholder((K, M), name="c")
    texts = {
        "diagonal": ("iij->ij", 1), "trace": ("iij->j", 1), "trace implicit": ("iij", 1), "no sum": ("iij->ji", 1),
        "ellipsis": ("...j->...", 1), "in front": ("...ij->...ji", 1), "all": ("...->...", 1), "gone": ("i...->i", 1),
        "broadcast": ("...ij,...jk->...ik", 2), "implicit": ("...ij,...jk", 2), "middle": ("i...j,kj->k...i", 3),
        "diagonal and rest": ("...ii->...i", 4),
    }  # fmt: skip
    cases: dict[str, Any] = {}
    for name, (text, kind) in texts.items():
        pick: Any = {
            1: lambda a, b, c: (a,),
            2: lambda a, b, c: (a, b),
            3: lambda a, b, c: (a, c),
            4: lambda a, b, c: (_last_first(a),),
        }[kind]
        cases[name] = (
            lambda a, b, c, t=text, p=pick: topi.einsum(t, *p(a, b, c)),
            lambda a, b, c, t=text, p=pick: np.einsum(t, *p(a, b, c)),
        )
    arrays = [
        [random((n, n, m)), random((1, m, n), seed=1), random((k, m))]
        for n, m, k in ((3, 4, 2), (1, 1, 1), (2, 0, 3), (0, 2, 1))
    ]
    check([a, b, c], cases, arrays, rtol=1e-4, atol=1e-4)


def _last_first(a: Any) -> Any:
    return topi.transpose(a, (2, 0, 1)) if isinstance(a, te.Tensor) else a.transpose(2, 0, 1)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_tensordot(dtype: str) -> None:
    a, b = te.placeholder((N, M, 3), dtype, "a"), te.placeholder((M, 3, K), dtype, "b")
    axes = (2, 0, ((1, 2), (0, 1)), (2, 1), ((2,), (1,)))
    cases: dict[str, Any] = {
        str(of): (
            lambda a, b, of=of: topi.tensordot(a, b, of),
            lambda a, b, of=of: np.tensordot(a.astype("f8"), b.astype("f8"), of),
        )
        for of in axes
    }
    arrays = [
        [random((n, m, 3), dtype), random((m, 3, k), dtype, 1)]
        for n, m, k in ((2, 4, 3), (1, 1, 1), (0, 2, 2), (2, 0, 1))
    ]
    check(
        [a, b],
        cases,
        arrays,
        rtol=LOOSE.get(dtype, 1e-4),
        atol=LOOSE.get(dtype, 1e-4) * 4,
        turn=(dtype, ("float16", "bfloat16")),
    )


def test_places() -> None:
    i, s = te.placeholder((N, 2), "int32", "i"), te.placeholder((3,), "int64", "s")
    x, z = te.placeholder((K, 5, M), name="x"), te.placeholder((2, M), name="z")
    cases: dict[str, Any] = {
        "unravel": (
            lambda i, s, x, z: topi.unravel_index(i, s),
            lambda i, s, x, z: np.stack(np.unravel_index(i, s)),
        ),
        "unravel sizes": (
            lambda i, s, x, z: topi.unravel_index(i, (9, K + 1, M + 1)),
            lambda i, s, x, z: np.stack(np.unravel_index(i, (9, len(x) + 1, x.shape[2] + 1))),
        ),
        "windows": (
            lambda i, s, x, z: topi.sliding_window(x, 1, (2, 3), (2, 1)),
            lambda i, s, x, z: (
                np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))[:, ::2]
                if x.shape[2] > 2
                else np.zeros((len(x), 2, 0, 2, 3))
            ),
        ),
        "expand_like": (
            lambda i, s, x, z: topi.expand_like(z, topi.full((2, N, M, 3), "float32", 0), (1, 3)),
            lambda i, s, x, z: np.broadcast_to(z[:, None, :, None], (2, len(i), z.shape[1], 3)),
        ),
        "sum of tensors": (lambda i, s, x, z: topi.elemwise_sum([z, z, z]), lambda i, s, x, z: 3 * z),
        "shape": (lambda i, s, x, z: topi.shape(x), lambda i, s, x, z: np.array(x.shape)),
        "size": (lambda i, s, x, z: topi.tensor_size(x, "int64"), lambda i, s, x, z: np.array(x.size)),
        "fixed point": (
            lambda i, s, x, z: topi.fixed_point_multiply(i - 8, 3 * 2**29, -1),
            lambda i, s, x, z: np.floor((i - 8.0) * 0.375 + 0.5),
        ),
        "fixed point up": (
            lambda i, s, x, z: topi.fixed_point_multiply(i, 2**30, 3),
            lambda i, s, x, z: i * 4,
        ),
        "collapse": (
            lambda i, s, x, z: topi.collapse_sum(x, (5, 1)),
            lambda i, s, x, z: x.sum((0, 2)).reshape(5, 1),
        ),
        "collapse of nothing": (lambda i, s, x, z: topi.collapse_sum(x, (K, 5, M)), lambda i, s, x, z: x),
    }
    arrays = []
    for n, k, m in ((4, 2, 6), (1, 1, 1), (0, 3, 4)):
        rng = np.random.default_rng(n)
        arrays.append(
            [rng.integers(0, 20, (n, 2)).astype("i4"), np.array([9, 3, 2]), random((k, 5, m)), random((2, m))]
        )
    check([i, s, x, z], cases, arrays, rtol=1e-4, atol=1e-5)


def test_layouts_with_blocks() -> None:
    x = te.placeholder((N, 8, H, 3), name="x")
    cases: dict[str, Any] = {
        "NCHW4c": (
            lambda x: topi.layout_transform(x, "NCHW", "NCHW4c"),
            lambda x: x.reshape(len(x), 2, 4, *x.shape[2:]).transpose(0, 1, 3, 4, 2),
        ),
        "and back": (
            lambda x: topi.layout_transform(topi.layout_transform(x, "NCHW", "NHWC2c"), "NHWC2c", "NCHW"),
            lambda x: x,
        ),
        "other blocks": (
            lambda x: topi.layout_transform(topi.layout_transform(x, "NCHW", "NCHW2c"), "NCHW2c", "NHW4cC"),
            lambda x: x.reshape(len(x), 2, 4, *x.shape[2:]).transpose(0, 3, 4, 2, 1),
        ),
        "plain": (lambda x: topi.layout_transform(x, "NCHW", "HWNC"), lambda x: x.transpose(2, 3, 0, 1)),
    }
    check([x], cases, [[random((n, 8, h, 3))] for n, h in ((2, 3), (1, 1), (0, 2))])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_sparse(dtype: str) -> None:
    v, p = te.placeholder((K,), dtype, "v"), te.placeholder((K, 2), "int64", "p")
    i, s = te.placeholder((K,), "int32", "i"), te.placeholder((), dtype, "s")
    z = te.placeholder((N, M), name="z")
    cases: dict[str, Any] = {
        "rows": (
            lambda v, p, i, s, z: topi.sparse_to_dense(p, (N, M), v, 1),
            lambda v, p, i, s, z: _dense(p, z.shape, v),
        ),
        "one dimension": (
            lambda v, p, i, s, z: topi.sparse_to_dense(i, (N,), v, 1),
            lambda v, p, i, s, z: _dense(i[:, None], z.shape[:1], v),
        ),
        "one value": (
            lambda v, p, i, s, z: topi.sparse_to_dense(i, (N,), s, 1),
            lambda v, p, i, s, z: _dense(i[:, None], z.shape[:1], np.repeat(s, len(i))),
        ),
        "one place": (
            lambda v, p, i, s, z: topi.sparse_to_dense(topi.full((), "int32", -1), (N,), s, 1),
            lambda v, p, i, s, z: _dense(np.array([[-1]]), z.shape[:1], s.reshape(1)),
        ),
    }
    arrays = []
    for k, n, m in ((4, 3, 5), (1, 1, 1), (0, 2, 2)):
        rng = np.random.default_rng(k)
        places = np.stack([rng.integers(-n, n, k), rng.integers(-m, m, k)], 1)
        arrays.append(
            [
                random((k,), dtype),
                places,
                rng.integers(-n, n, k).astype("i4"),
                random((), dtype),
                random((n, m)),
            ]
        )
    check([v, p, i, s, z], cases, arrays)


def _dense(places: Any, shape: Any, values: Any) -> Any:
    found = np.ones(shape, values.dtype)
    for place, value in zip(places, values, strict=True):
        found[tuple(place)] = value
    return found


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float64", "bfloat16"))
def test_statistics(dtype: str) -> None:
    x = te.placeholder((N, M, 2), dtype, "x")

    def of(function: Any, *args: Any, **options: Any) -> Any:
        return lambda x: [
            np.asarray(part) for part in _parts(function(torch.tensor(x.astype("f8")), *args, **options))
        ]

    cases: dict[str, Any] = {
        "median": (lambda x: topi.median(x, 1), of(torch.median, 1)),
        "median kept": (lambda x: topi.median(x, 0, True), of(torch.median, 0, keepdim=True)),
        "median of all": (lambda x: topi.median(x), of(torch.median)),
        "median of all kept": (
            lambda x: topi.median(x, keepdims=True),
            lambda x: np.asarray(torch.median(torch.tensor(x.astype("f8")))).reshape(1, 1, 1),
        ),
        "variance": (lambda x: topi.variance(x, (0, 2)), of(torch.var, (0, 2), correction=0)),
        "std": (lambda x: topi.std(x, 1, True), of(torch.std, 1, correction=0, keepdim=True)),
        "logsumexp": (lambda x: topi.logsumexp(x, (1, 2)), of(torch.logsumexp, (1, 2))),
        "logsumexp kept": (
            lambda x: topi.logsumexp(x * 40, 0, True),
            lambda x: torch.logsumexp(torch.tensor((x * x.dtype.type(40)).astype("f8")), 0, True).numpy(),
        ),
    }
    arrays = [[random(shape, dtype)] for shape in ((3, 4, 2), (1, 1, 2), (2, 7, 2))]
    special = random((3, 5, 2), dtype)
    special[0, 2, 1], special[1, 1, 0], special[1, 3, 0], special[2, :, :] = np.nan, np.inf, np.nan, -np.inf
    loose = {"float16": 4e-2, "bfloat16": 2e-1}.get(dtype, 1e-5)
    check([x], cases, arrays, rtol=loose, atol=loose, turn=(dtype, FLOATS))
    with_nan = {
        name: case
        for name, case in cases.items()
        if name in ("median", "median kept", "median of all", "logsumexp")
    }
    check([x], with_nan, [[special]], rtol=loose, atol=loose, turn=(dtype, FLOATS))


def _parts(found: Any) -> Any:
    return [part.numpy() for part in found] if isinstance(found, tuple) else [found.numpy()]


def test_median_of_integers_and_of_nothing() -> None:
    x = te.placeholder((N, M), "int32", "x")
    check(
        [x],
        {"median": (lambda x: topi.median(x, 1), lambda x: _stable_median(x))},
        [[random((n, m), "int32")] for n, m in ((3, 6), (1, 1), (0, 2))],
    )
    main = rx.build(te.create_prim_func([x, *topi.median(x, 1)]), opt_level=0)["main"]
    with pytest.raises(BoundsError):
        main(np.zeros((2, 0), "i4"), np.zeros(2, "i4"), np.zeros(2, "i8"))


def _stable_median(x: Any) -> Any:
    order = np.argsort(x, 1, kind="stable")[:, (x.shape[1] - 1) // 2]
    return [np.take_along_axis(x, order[:, None], 1)[:, 0], order]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_bucketize(dtype: str) -> None:
    x, b = te.placeholder((N, 2), dtype, "x"), te.placeholder((M,), dtype, "b")
    cases: dict[str, Any] = {
        f"{right}": (
            lambda x, b, r=right: topi.bucketize(x, b, r, "int32"),
            lambda x, b, r=right: torch.bucketize(
                torch.tensor(x.astype("f8")), torch.tensor(b.astype("f8")), right=r
            ).numpy(),
        )
        for right in (False, True)
    }
    arrays = [
        [
            np.round(random((n, 2), dtype)),
            np.sort(np.round(random((m,), dtype, 1).astype("f4"))).astype(random((1,), dtype).dtype),
        ]
        for n, m in ((7, 5), (1, 1), (3, 0), (0, 2))
    ]
    check([x, b], cases, arrays, turn=(dtype, ("float16", "bfloat16")))


@pytest.mark.parametrize("wanted", ["int8", "uint8", "int16", "uint16", "int32"])
def test_quantization(wanted: str) -> None:
    x, s, z = (
        te.placeholder((N, M), name="x"),
        te.placeholder((M,), name="s"),
        te.placeholder((M,), wanted, "z"),
    )
    one, zero = te.placeholder((), name="one"), te.placeholder((1,), wanted, "zero")
    info = np.iinfo(wanted)

    def down(x: Any, s: Any, z: Any) -> Any:
        scaled = np.round((x / s).astype("f4").astype("f8")) + z.astype("f8")
        return np.clip(np.where(np.isnan(scaled), z, scaled), info.min, info.max).astype(wanted)

    cases: dict[str, Any] = {
        "axis": (
            lambda x, s, z, o, u: topi.quantize(x, s, z, 1, wanted),
            lambda x, s, z, o, u: down(x, s, z),
        ),
        "all": (lambda x, s, z, o, u: topi.quantize(x, o, u, 0, wanted), lambda x, s, z, o, u: down(x, o, u)),
        "back": (
            lambda x, s, z, o, u: topi.dequantize(topi.quantize(x, s, z, -1, wanted), s, z, -1),
            lambda x, s, z, o, u: (down(x, s, z).astype("f8") - z) * s,
        ),
        "back of all": (
            lambda x, s, z, o, u: topi.dequantize(topi.quantize(x, o, u, 0, wanted), o, u, 0, "float64"),
            lambda x, s, z, o, u: (down(x, o, u).astype("f8") - u) * o,
        ),
    }
    arrays = []
    for n, m in ((3, 4), (1, 1), (0, 2)):
        numbers = random((n, m)) * 50
        if n > 1:
            numbers[0], numbers[1, :2] = [np.nan, np.inf, -np.inf, 2.5], [1e9, -1e9]
        zeros = random((m,), wanted) if wanted != "int32" else np.zeros(m, "i4")
        arrays.append([numbers, 2.0 ** np.arange(m, dtype="f4") / 4, zeros, np.array(0.5, "f4"), zeros[:1]])
    check([x, s, z, one, zero], cases, arrays)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_quantization_of_other_floats(dtype: str) -> None:
    x, s, z = (
        te.placeholder((N,), dtype, "x"),
        te.placeholder((), dtype, "s"),
        te.placeholder((), "int8", "z"),
    )
    cases: dict[str, Any] = {
        "down": (
            lambda x, s, z: topi.quantize(x, s, z),
            lambda x, s, z: np.clip(np.round(x.astype("f8") / s.astype("f8")) + z, -128, 127),
        ),
        "back": (
            lambda x, s, z: topi.dequantize(topi.quantize(x, s, z), s, z, out_dtype=dtype),
            lambda x, s, z: (
                (np.clip(np.round(x.astype("f8") / s.astype("f8")) + z, -128, 127) - z) * s.astype("f8")
            ),
        ),
    }
    one = random((1,), dtype)
    arrays = [
        [random((n,), dtype) * one.dtype.type(10), np.array(0.25, one.dtype), np.array(-3, "i1")]
        for n in (9, 1, 0)
    ]
    check([x, s, z], cases, arrays, rtol=1e-2, atol=1e-2, turn=(dtype, ("float16", "bfloat16")))


def test_mistakes() -> None:
    x, i = te.placeholder((N, M), name="x"), te.placeholder((K,), "int32", "i")
    s = te.placeholder((3,), name="s")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.einsum("i...j...", x), ArgumentError, "are not all letters, and one"),
        (lambda: topi.einsum("ijk...", x), ShapeError, "does not fit"),
        (lambda: topi.einsum("ii", x), ShapeError, "the axis 'i' is n and m"),
        (lambda: topi.einsum("...,...", x, topi.transpose(x)), ShapeError, "the axis of the ellipsis"),
        (lambda: topi.tensordot(x, x, 1), ShapeError, "are not known to be equal"),
        (lambda: topi.tensordot(x, x, 3), ShapeError, "3 axes of"),
        (lambda: topi.tensordot(x, x, ((0, 0), (0, 1))), ShapeError, "not as many of both, each once"),
        (lambda: topi.unravel_index(x, (2, 3)), DTypeError, "does not hold integers"),
        (lambda: topi.unravel_index(i, i), ShapeError, "of known length"),
        (lambda: topi.sliding_window(x, 0, (1,), (1, 1)), ArgumentError, "are not 2 integers"),
        (lambda: topi.sliding_window(x, 3, (), ()), ShapeError, "axis 3"),
        (lambda: topi.sparse_to_dense(i, (2, 3), s), ShapeError, "do not fit 2 dimensions"),
        (lambda: topi.expand_like(i, x, 0), ShapeError, "the shapes"),
        (lambda: topi.elemwise_sum([]), ArgumentError, "there is no tensor"),
        (lambda: topi.shape(x, "float32"), DTypeError, "expected an integer"),
        (lambda: topi.fixed_point_multiply(x, 1, 0), ArgumentError, "are not int32"),
        (
            lambda: topi.layout_transform(x, "NC", "NC2c"),
            ShapeError,
            "m of x: .* is not known to be divisible by 2",
        ),
        (lambda: topi.layout_transform(x, "NC", "NH"), ArgumentError, "with the same letters"),
        (lambda: topi.layout_transform(x, "NC", "NCc"), ArgumentError, "is no layout"),
        (lambda: topi.quantize(i, s, s), DTypeError, "does not hold floats"),
        (lambda: topi.quantize(x, s, s, 1, "int4"), DTypeError, "expected one of int8"),
        (lambda: topi.quantize(x, s, s, 1), ShapeError, "not known to have the m places"),
        (lambda: topi.dequantize(i, s, i, 0, "int8"), DTypeError, "expected a float"),
        (lambda: topi.dequantize(i, x, i), ArgumentError, "expected one number"),
        (lambda: topi.collapse_sum(x, (2, 2)), ShapeError, "not known to broadcast"),
        (lambda: topi.variance(i), DTypeError, "does not hold floats"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
