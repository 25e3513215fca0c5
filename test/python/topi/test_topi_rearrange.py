"""Channels, batches and blocks, adaptive pooling, neighbours and losses, against torch and ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from onnx import helper
from onnx.reference import ReferenceEvaluator
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from topi_cases import check, random

N, C, H, W, D, K = te.var("n"), te.var("c"), te.var("h"), te.var("w"), te.var("d"), te.var("k")
F = torch.nn.functional
FLOATS = ("float32", "float64", "float16", "bfloat16")
LOOSE = {"float16": 2e-2, "bfloat16": 6e-2}


def onnx_of(op: str, outputs: int = 1, **attributes: Any) -> Any:
    """ONNX's reference of one node."""

    def found(*arrays: Any) -> Any:
        names = [f"i{n}" for n in range(len(arrays))]
        kinds = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip(names, arrays, strict=True)
        ]
        results = [
            helper.make_tensor_value_info(f"o{n}", kinds[0].type.tensor_type.elem_type, None)
            for n in range(outputs)
        ]
        node = helper.make_node(op, names, [r.name for r in results], **attributes)
        graph = helper.make_graph([node], "g", kinds, results)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        return ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0]

    return found


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_pixels(dtype: str) -> None:
    x, z = te.placeholder((N, 4 * C, 2 * H, 2 * W), dtype, "x"), te.placeholder((C, H, W), name="z")
    cases: dict[str, Any] = {
        "pixel_shuffle": (
            lambda x, *_: topi.nn.pixel_shuffle(x, 2),
            lambda x, *_: _numpy(torch_shuffle(x, 2), x),
        ),
        "of one": (lambda x, *_: topi.nn.pixel_shuffle(x, 1), lambda x, *_: x),
        "DCR": (lambda x, *_: topi.nn.depth_to_space(x, 2), lambda x, *_: _to_space(x, 2, "DCR")),
        "CRD": (lambda x, *_: topi.nn.depth_to_space(x, 2, mode="CRD"), lambda x, *_: _to_space(x, 2, "CRD")),
        "NHWC": (
            lambda x, *_: topi.nn.depth_to_space(topi.transpose(x, (0, 2, 3, 1)), 2, "NHWC"),
            lambda x, *_: _to_space(x, 2, "DCR").transpose(0, 2, 3, 1),
        ),
        "space_to_depth": (lambda x, *_: topi.nn.space_to_depth(x, 2), lambda x, *_: _to_depth(x, 2)),
        "space_to_depth NHWC": (
            lambda x, *_: topi.nn.space_to_depth(topi.transpose(x, (0, 2, 3, 1)), 2, "NHWC"),
            lambda x, *_: _to_depth(x, 2).transpose(0, 2, 3, 1),
        ),
        "back": (lambda x, *_: topi.nn.space_to_depth(topi.nn.depth_to_space(x, 2), 2), lambda x, *_: x),
        "flatten": (
            lambda x, *_: topi.nn.flatten(x),
            lambda x, *_: x.reshape(len(x), int(np.prod(x.shape[1:]))),
        ),
        "dilate": (lambda x, *_: topi.nn.dilate(x, (1, 2, 3, 1), 1), lambda x, *_: _dilated(x)),
    }
    check(
        [x, z],
        cases,
        [
            [random((n, 4 * c, 2 * h, 2 * w), dtype), random((c, h, w))]
            for n, c, h, w in ((2, 2, 2, 3), (1, 1, 1, 1), (0, 1, 1, 1), (2, 1, 0, 1))
        ],
    )


def torch_shuffle(x: Any, r: int) -> Any:
    return F.pixel_shuffle(torch.tensor(x.astype("f8") if x.dtype.kind not in "ib" else x), r)


def _numpy(tensor: Any, like: Any) -> Any:
    return tensor.numpy().astype(like.dtype)


def _to_space(x: Any, r: int, mode: str) -> Any:
    """ONNX's description of DepthToSpace."""
    n, c, h, w = x.shape
    if mode == "DCR":
        return (
            x.reshape(n, r, r, c // (r * r), h, w)
            .transpose(0, 3, 4, 1, 5, 2)
            .reshape(n, c // (r * r), h * r, w * r)
        )
    return (
        x.reshape(n, c // (r * r), r, r, h, w)
        .transpose(0, 1, 4, 2, 5, 3)
        .reshape(n, c // (r * r), h * r, w * r)
    )


def _to_depth(x: Any, r: int) -> Any:
    n, c, h, w = x.shape
    return (
        x.reshape(n, c, h // r, r, w // r, r)
        .transpose(0, 3, 5, 1, 2, 4)
        .reshape(n, c * r * r, h // r, w // r)
    )


def _dilated(x: Any) -> Any:
    n, c, h, w = x.shape
    found = np.ones((n, max(2 * c - 1, 0), max(3 * h - 2, 0), w), x.dtype)
    found[:, ::2, ::3] = x
    return found


def test_blocks_of_batches() -> None:
    x, z = te.placeholder((N, 2 * H, 3 * W - 1, 2), name="x"), te.placeholder((H, W), name="z")
    cases: dict[str, Any] = {
        "to batch": (
            lambda x, *_: topi.nn.space_to_batch_nd(x, (2, 3), (0, 1), (0, 0), 5.0),
            lambda x, *_: _to_batch(np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 0)), constant_values=5), (2, 3)),
        ),
        "one dimension": (
            lambda x, *_: topi.nn.space_to_batch_nd(x, (2,), (2,), (0,)),
            lambda x, *_: _to_batch(np.pad(x, ((0, 0), (2, 0), (0, 0), (0, 0))), (2,)),
        ),
        "and back": (
            lambda x, *_: topi.nn.batch_to_space_nd(
                topi.nn.space_to_batch_nd(x, (2, 3), (0, 1), (0, 0)), (2, 3), (0, 1), (0, 0)
            ),
            lambda x, *_: x,
        ),
        "back without edges": (
            lambda x, *_: topi.nn.batch_to_space_nd(
                topi.nn.space_to_batch_nd(x, (2,), (0,), (0,)), (2,), (1,), (1,)
            ),
            lambda x, *_: x[:, 1:-1],
        ),
    }
    check(
        [x, z],
        cases,
        [[random((n, 2 * h, 3 * w - 1, 2)), random((h, w))] for n, h, w in ((2, 3, 2), (1, 1, 1), (0, 2, 1))],
    )


def _to_batch(x: Any, blocks: Any) -> Any:
    """TensorFlow's description of SpaceToBatchND."""
    for number, block in reversed(list(enumerate(blocks))):
        parts = [np.take(x, range(first, x.shape[1 + number], block), 1 + number) for first in range(block)]
        x = np.concatenate(parts)
    return x


@pytest.mark.parametrize("dtype", FLOATS)
def test_adaptive_pooling(dtype: str) -> None:
    x, y = te.placeholder((N, C, H, W), dtype, "x"), te.placeholder((N, C, 3, H, W), dtype, "y")
    cases: dict[str, Any] = {}
    for kind, two, three in (
        ("avg", F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
        ("max", F.adaptive_max_pool2d, F.adaptive_max_pool3d),
    ):
        one = F.adaptive_avg_pool1d if kind == "avg" else F.adaptive_max_pool1d
        for sizes in ((1, 1), (3, 2), (7, 5)):
            cases[f"{kind} {sizes}"] = (
                lambda x, y, kind=kind, s=sizes: topi.nn.adaptive_pool(x, s, kind),
                lambda x, y, f=two, s=sizes: of_torch(f, x, s),
            )
        cases[f"{kind} of all"] = (
            lambda x, y, kind=kind: topi.nn.adaptive_pool(x, (H, W), kind),
            lambda x, y: x,
        )
        cases[f"{kind} symbols"] = (
            lambda x, y, kind=kind: topi.nn.adaptive_pool(x, (W, C), kind),
            lambda x, y, f=two: of_torch(f, x, (x.shape[3], x.shape[1])),
        )
        cases[f"{kind} NHWC"] = (
            lambda x, y, kind=kind: topi.nn.adaptive_pool(topi.transpose(x, (0, 2, 3, 1)), 2, kind, "NHWC"),
            lambda x, y, f=two: of_torch(f, x, 2).transpose(0, 2, 3, 1),
        )
        cases[f"{kind} 1d"] = (
            lambda x, y, kind=kind: topi.nn.adaptive_pool1d(topi.reshape(x, (N, C, H * W)), 4, kind),
            lambda x, y, f=one: of_torch(f, x.reshape(*x.shape[:2], -1), 4),
        )
        cases[f"{kind} 3d"] = (
            lambda x, y, kind=kind: topi.nn.adaptive_pool3d(y, (2, 3, 2), kind),
            lambda x, y, f=three: of_torch(f, y, (2, 3, 2)),
        )
    arrays = [
        [random(s, dtype), random((*s[:2], 3, *s[2:]), dtype)]
        for s in ((2, 3, 7, 10), (1, 1, 1, 1), (1, 2, 4, 13))
    ]
    check(
        [x, y], cases, arrays, rtol=LOOSE.get(dtype, 1e-5), atol=LOOSE.get(dtype, 1e-5), turn=(dtype, FLOATS)
    )


def of_torch(function: Any, x: Any, size: Any) -> Any:
    """In float64, so that what ours is off shows."""
    return function(torch.tensor(x.astype("f8")), size).numpy()


def test_adaptive_pooling_of_integers_and_of_nothing() -> None:
    x = te.placeholder((N, 2, W), "int32", "x")
    check(
        [x],
        {
            "max": (
                lambda x: topi.nn.adaptive_pool1d(x, 3, "max"),
                lambda x: of_torch(F.adaptive_max_pool1d, x, 3),
            )
        },
        [[random((n, 2, w), "int32")] for n, w in ((2, 7), (1, 1))],
    )
    y = te.placeholder((N, W), name="y")
    check(
        [y],
        {
            "max": (
                lambda y: topi.nn.adaptive_pool1d(topi.expand_dims(y, 0), 2, "max"),
                lambda y: np.full((1, len(y), 2), -np.inf),
            ),
            "avg": (
                lambda y: topi.nn.adaptive_pool1d(topi.expand_dims(y, 0), 2, "avg"),
                lambda y: np.full((1, len(y), 2), np.nan),
            ),
        },
        [[random((3, 0))], [random((0, 0))]],
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours(dtype: str) -> None:
    x = te.placeholder((N, C, W), dtype, "x")
    cases: dict[str, Any] = {}
    for size in (1, 3, 4):
        cases[f"lrn {size}"] = (
            lambda x, size=size: topi.nn.lrn(x, size, 1, 0.5, 0.75, 2.0),
            lambda x, size=size: _lrn(x, size, 1),
        )
    cases["lrn last"] = lambda x: topi.nn.lrn(x, 3, -1, 0.5, 0.75, 2.0), lambda x: _lrn(x, 3, 2)
    arrays = [[random(shape, dtype)] for shape in ((2, 5, 3), (1, 1, 1), (0, 2, 2))]
    check([x], cases, arrays, rtol=LOOSE.get(dtype, 1e-5), atol=LOOSE.get(dtype, 1e-5), turn=(dtype, FLOATS))


def _lrn(x: Any, size: int, axis: int) -> Any:
    """ONNX's formula, of LRN."""
    wide = np.moveaxis(x.astype("f8"), axis, 0)
    found = np.empty_like(wide)
    for c in range(len(wide)):
        begin, end = max(0, c - (size - 1) // 2), c + -(-(size - 1) // 2) + 1
        found[c] = wide[c] / (2.0 + 0.5 / size * (wide[begin:end] ** 2).sum(0)) ** 0.75
    return np.moveaxis(found, 0, axis)


def test_lrn_is_that_of_onnx() -> None:
    x = random((5, 5, 3, 4))  # the reference counts the channels by the size of the batch
    want = onnx_of("LRN", alpha=0.5, beta=0.75, bias=2.0, size=4)(x)
    np.testing.assert_allclose(_lrn(x, 4, 1), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_losses(dtype: str) -> None:
    x, t = te.placeholder((N, C, W), dtype, "x"), te.placeholder((N, W), "int64", "t")
    w = te.placeholder((C,), dtype, "w")
    cases: dict[str, Any] = {
        reduction: (
            lambda x, t, w, r=reduction: topi.nn.nll_loss(x, t, w, r, -1),
            lambda x, t, w, r=reduction: F.nll_loss(
                *map(torch.tensor, (x.astype("f8"), t)),
                torch.tensor(w.astype("f8")),
                ignore_index=-1,
                reduction=r,
            ).numpy(),
        )
        for reduction in ("none", "sum", "mean")
    }
    cases["cross entropy"] = (
        lambda x, t, w: topi.nn.cross_entropy_with_logits(topi.nn.log_softmax(x), x),
        lambda x, t, w: (
            -(torch.tensor(x.astype("f8")).log_softmax(-1) * torch.tensor(x.astype("f8"))).sum().numpy()
            / len(x)
        ),
    )
    cases["one dimension"] = (
        lambda x, t, w: topi.nn.cross_entropy_with_logits(w, w),
        lambda x, t, w: -(w.astype("f8") ** 2).sum(),
    )
    arrays = []
    for n, c, k in ((3, 4, 5), (1, 1, 1), (4, 2, 3)):
        rng = np.random.default_rng(n)
        targets = rng.integers(-1, c, (n, k))
        targets[0, 0] = 0
        arrays.append(
            [random((n, c, k), dtype), targets, np.abs(random((c,), dtype)) + random((1,), dtype) ** 2]
        )
    check(
        [x, t, w],
        cases,
        arrays,
        rtol=LOOSE.get(dtype, 1e-5),
        atol=LOOSE.get(dtype, 1e-5),
        turn=(dtype, FLOATS),
    )


@pytest.mark.parametrize("scale", [2, 3])
def test_upsampling(scale: int) -> None:
    x = te.placeholder((N, 2, H, W), name="x")
    cases: dict[str, Any] = {
        "nearest": (
            lambda x: topi.nn.upsampling(x, scale, 1),
            lambda x: np.repeat(x, scale, 2),
        ),
        "NHWC": (
            lambda x: topi.nn.upsampling(topi.transpose(x, (0, 2, 3, 1)), scale, scale, "NHWC"),
            lambda x: np.repeat(np.repeat(x, scale, 2), scale, 3).transpose(0, 2, 3, 1),
        ),
        "corners": (
            lambda x: topi.nn.upsampling(x, scale, scale, method="bilinear", align_corners=True),
            lambda x: F.interpolate(
                torch.tensor(x), scale_factor=scale, mode="bilinear", align_corners=True
            ).numpy(),
        ),
        "3d": (
            lambda x: topi.nn.upsampling3d(topi.expand_dims(x, 2), 2, scale, 1, method="trilinear"),
            lambda x: F.interpolate(
                torch.tensor(x)[:, :, None], scale_factor=(2, scale, 1), mode="trilinear"
            ).numpy(),
        ),
        "3d nearest": (
            lambda x: topi.nn.upsampling3d(
                topi.expand_dims(x, 2), 2, scale, 1, coordinate_transformation_mode="asymmetric"
            ),
            lambda x: np.repeat(np.repeat(x[:, :, None], 2, 2), scale, 3),
        ),
        "a part": (
            lambda x: topi.nn.upsampling(x, 1.5, 1.5, output_shape=(3 * H // 2, W)),
            lambda x: x[
                :,
                :,
                np.floor(np.arange(3 * x.shape[2] // 2) * x.shape[2] / max(3 * x.shape[2] // 2, 1)).astype(
                    int
                ),
            ],
        ),
    }
    check(
        [x],
        cases,
        [[random((n, 2, h, w))] for n, h, w in ((2, 4, 5), (1, 2, 1), (0, 2, 2))],
        rtol=1e-4,
        atol=1e-5,
    )


def test_mistakes() -> None:
    x, t = te.placeholder((N, C, H, W), name="x"), te.placeholder((N,), "int64", "t")
    p, w = te.placeholder((N, C), name="p"), te.placeholder((C,), name="w")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.nn.pixel_shuffle(x, 2), ShapeError, "c of x: .* is not known to be divisible by 4"),
        (lambda: topi.nn.pixel_shuffle(x, 0), ArgumentError, "'upscale_factor' is 0"),
        (lambda: topi.nn.depth_to_space(x, 2, "NCWH"), ArgumentError, "the layout is 'NCWH'"),
        (lambda: topi.nn.depth_to_space(x, 2, mode="X"), ArgumentError, "'mode' is 'X'"),
        (lambda: topi.nn.space_to_depth(x, 2), ShapeError, "h of x"),
        (lambda: topi.nn.space_to_batch_nd(x, (2, 2), (0,), (0, 0)), ShapeError, "do not fit"),
        (lambda: topi.nn.space_to_batch_nd(x, (2,), (-1,), (0,)), ArgumentError, "integers from 0 on"),
        (
            lambda: topi.nn.batch_to_space_nd(x, (2,), (0,), (0,)),
            ShapeError,
            "not known to be divisible by 2",
        ),
        (lambda: topi.nn.dilate(x, (1, 2)), ArgumentError, "expected 4 integers"),
        (lambda: topi.nn.adaptive_pool(x, (1, 2, 3), "avg"), ShapeError, "3 sizes for"),
        (lambda: topi.nn.adaptive_pool(x, 1, "sum"), ArgumentError, "'pool_type' is 'sum'"),
        (lambda: topi.nn.adaptive_pool(x, 1, "max", "NCHD"), ArgumentError, "the layout is 'NCHD'"),
        (lambda: topi.nn.adaptive_pool(topi.cast(x, "int32"), 1, "avg"), DTypeError, "does not hold floats"),
        (lambda: topi.nn.lrn(x, 0), ArgumentError, "'size' is 0"),
        (lambda: topi.nn.nll_loss(p, t, w, "max"), ArgumentError, "'reduction' is 'max'"),
        (
            lambda: topi.nn.nll_loss(p, t, topi.cast(w, "float64")),
            DTypeError,
            "the weights have dtype float64",
        ),
        (lambda: topi.nn.nll_loss(p, w, w), DTypeError, "does not hold integers"),
        (lambda: topi.nn.nll_loss(x, t, w), ShapeError, "'targets': the shapes"),
        (lambda: topi.nn.cross_entropy_with_logits(p, w), ShapeError, "the shapes"),
        (lambda: topi.nn.upsampling(x, 1.5, 1), ArgumentError, "there is no 'output_shape'"),
        (lambda: topi.nn.upsampling(x, 0, 1), ArgumentError, "a scale is 0"),
        (lambda: topi.nn.upsampling(x, 2, 2, method="area"), ArgumentError, "'method' is 'area'"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
