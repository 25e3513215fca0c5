"""Convolutions and pooling in other layouts, against torch on transposed arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError
from topi_cases import check, random

N, H, W, D = te.var("n"), te.var("h"), te.var("w"), te.var("d")
F = torch.nn.functional


def moved(array: Any, layout: str, wanted: str) -> Any:
    """An array of one layout in another."""
    return np.ascontiguousarray(np.transpose(array, [layout.index(letter) for letter in wanted]))


def reference(function: Any, layout: str, kernel: str = "", *args: Any, **options: Any) -> Any:
    """`function` of torch on arrays of these layouts."""
    inner = "NCDHW"[:2] + "DHW"[5 - len(layout) :]

    def found(x: Any, *weights: Any) -> Any:
        tensors = [torch.tensor(moved(x, layout, inner))]
        tensors += [torch.tensor(moved(w, kernel, "OI" + inner[2:])) for w in weights]
        return moved(function(*tensors, *args, **options).numpy(), inner, layout)

    return found


def test_convolutions_along_one_dimension() -> None:
    x, f = te.placeholder((N, W, 4), name="x"), te.placeholder((3, 4, 6), name="f")
    g = te.placeholder((3, 2, 6), name="g")
    cases: dict[str, Any] = {
        "conv1d": (
            lambda x, f, g: topi.nn.conv1d(x, f, 2, 1, 1, 1, "NWC", "WIO"),
            lambda x, f, g: reference(F.conv1d, "NWC", "WIO", None, 2, 1)(x, f),
        ),
        "conv1d_nwc": (
            lambda x, f, g: topi.nn.conv1d_nwc(x, f, 1, 1, 2),
            lambda x, f, g: reference(F.conv1d, "NWC", "WIO", None, 1, 1, 2)(x, f),
        ),
        "group_conv1d_nwc": (
            lambda x, f, g: topi.nn.group_conv1d_nwc(x, g, 1, 0, 1, 2),
            lambda x, f, g: reference(F.conv1d, "NWC", "WIO", None, 1, 0, 1, 2)(x, g),
        ),
        "group_conv1d_ncw": (
            lambda x, f, g: topi.nn.group_conv1d_ncw(
                topi.transpose(x, (0, 2, 1)), topi.transpose(g, (2, 1, 0)), 1, 1, 1, 2
            ),
            lambda x, f, g: moved(reference(F.conv1d, "NWC", "WIO", None, 1, 1, 1, 2)(x, g), "NWC", "NCW"),
        ),
    }
    arrays = [
        [random((n, w, 4)), random((3, 4, 6), seed=1), random((3, 2, 6), seed=2)]
        for n, w in ((2, 9), (1, 5), (0, 5))
    ]
    check([x, f, g], cases, arrays, rtol=1e-4, atol=1e-4)


def test_convolutions_along_two_dimensions() -> None:
    x, f = te.placeholder((N, H, W, 4), name="x"), te.placeholder((3, 2, 4, 6), name="f")
    g, c = te.placeholder((3, 2, 2, 6), name="g"), te.placeholder((3, 3, 4, 2), name="c")
    cases: dict[str, Any] = {
        "nhwc hwio": (
            lambda x, f, g, c: topi.nn.conv2d(x, f, (1, 2), (1, 0), 1, "NHWC", "HWIO"),
            lambda x, f, g, c: reference(F.conv2d, "NHWC", "HWIO", None, (1, 2), (1, 0))(x, f),
        ),
        "conv2d_nhwc": (
            lambda x, f, g, c: topi.nn.conv2d_nhwc(x, f, 1, 1, (2, 1)),
            lambda x, f, g, c: reference(F.conv2d, "NHWC", "HWIO", None, 1, 1, (2, 1))(x, f),
        ),
        "nhwc ohwi": (
            lambda x, f, g, c: topi.nn.conv2d(x, topi.transpose(f, (3, 0, 1, 2)), 1, 0, 1, "NHWC", "OHWI"),
            lambda x, f, g, c: reference(F.conv2d, "NHWC", "HWIO")(x, f),
        ),
        "conv2d_hwcn": (
            lambda x, f, g, c: topi.nn.conv2d_hwcn(topi.transpose(x, (1, 2, 3, 0)), f, 1, 0, 1),
            lambda x, f, g, c: moved(reference(F.conv2d, "NHWC", "HWIO")(x, f), "NHWC", "HWCN"),
        ),
        "conv2d_nchw": (
            lambda x, f, g, c: topi.nn.conv2d_nchw(
                topi.transpose(x, (0, 3, 1, 2)), topi.transpose(f, (3, 2, 0, 1)), 1, 0, 1
            ),
            lambda x, f, g, c: moved(reference(F.conv2d, "NHWC", "HWIO")(x, f), "NHWC", "NCHW"),
        ),
        "grouped": (
            lambda x, f, g, c: topi.nn.group_conv2d_nhwc(x, g, 1, 1, 1, 2),
            lambda x, f, g, c: reference(F.conv2d, "NHWC", "HWIO", None, 1, 1, 1, 2)(x, g),
        ),
        "depthwise": (
            lambda x, f, g, c: topi.nn.depthwise_conv2d_nhwc(x, c, 1, 1, 1),
            lambda x, f, g, c: reference(F.conv2d, "NHWC", "HWIO", None, 1, 1, 1, 4)(
                x, c.reshape(3, 3, 1, 8)
            ),
        ),
    }
    arrays = [
        [
            random((n, h, w, 4)),
            random((3, 2, 4, 6), seed=1),
            random((3, 2, 2, 6), seed=2),
            random((3, 3, 4, 2)),
        ]
        for n, h, w in ((2, 7, 5), (1, 3, 3), (0, 4, 4))
    ]
    check([x, f, g, c], cases, arrays, rtol=1e-4, atol=1e-4)


def test_convolutions_along_three_dimensions() -> None:
    x, f = te.placeholder((N, D, H, W, 2), name="x"), te.placeholder((2, 3, 1, 2, 3), name="f")
    cases: dict[str, Any] = {
        "conv3d_ndhwc": (
            lambda x, f: topi.nn.conv3d_ndhwc(x, f, 1, 1, 1),
            reference(F.conv3d, "NDHWC", "DHWIO", None, 1, 1),
        ),
        "conv3d": (
            lambda x, f: topi.nn.conv3d(x, f, (1, 2, 1), (1, 1, 0), 1, 1, "NDHWC", "DHWIO"),
            reference(F.conv3d, "NDHWC", "DHWIO", None, (1, 2, 1), (1, 1, 0)),
        ),
        "conv3d_ncdhw": (
            lambda x, f: topi.transpose(
                topi.nn.conv3d_ncdhw(
                    topi.transpose(x, (0, 4, 1, 2, 3)), topi.transpose(f, (4, 3, 0, 1, 2)), 1, 1, 1
                ),
                (0, 2, 3, 4, 1),
            ),
            reference(F.conv3d, "NDHWC", "DHWIO", None, 1, 1),
        ),
    }
    arrays = [
        [random((n, d, h, w, 2)), random((2, 3, 1, 2, 3), seed=1)]
        for n, d, h, w in ((2, 3, 4, 5), (1, 1, 1, 1))
    ]
    check([x, f], cases, arrays, rtol=1e-4, atol=1e-4)


def test_transposed_convolutions_of_groups() -> None:
    x, f = te.placeholder((N, 4, W), name="x"), te.placeholder((4, 3, 3), name="f")
    cases: dict[str, Any] = {
        "1d": (
            lambda x, f: topi.nn.group_conv1d_transpose_ncw(x, f, 2, 1, None, 1, 2),
            lambda x, f: F.conv_transpose1d(torch.tensor(x), torch.tensor(f), None, 2, 1, 1, 2).numpy(),
        ),
        "2d": (
            lambda x, f: topi.nn.group_conv2d_transpose_nchw(
                topi.expand_dims(x, 2), topi.expand_dims(f, 2), (1, 2), 0, None, 0, 2
            ),
            lambda x, f: F.conv_transpose2d(
                torch.tensor(x)[:, :, None], torch.tensor(f)[:, :, None], None, (1, 2), 0, 0, 2
            ).numpy(),
        ),
        "3d": (
            lambda x, f: topi.nn.group_conv3d_transpose_ncdhw(
                topi.expand_dims(x, 2, 2), topi.expand_dims(f, 2, 2), 1, 0, None, 0, 2
            ),
            lambda x, f: F.conv_transpose3d(
                torch.tensor(x)[:, :, None, None], torch.tensor(f)[:, :, None, None], None, 1, 0, 0, 2
            ).numpy(),
        ),
    }
    arrays = [[random((n, 4, w)), random((4, 3, 3), seed=1)] for n, w in ((2, 5), (1, 1))]
    check([x, f], cases, arrays, rtol=1e-4, atol=1e-4)


def test_pooling() -> None:
    x, y = te.placeholder((N, H, W, 3), name="x"), te.placeholder((N, W, 3), name="y")
    z = te.placeholder((N, 2, H, W, 3), name="z")
    cases: dict[str, Any] = {
        "pool2d max": (
            lambda x, y, z: topi.nn.pool2d(x, 3, 2, 1, 1, "max", layout="NHWC"),
            lambda x, y, z: reference(F.max_pool2d, "NHWC", "", 3, 2, 1)(x),
        ),
        "pool2d avg": (
            lambda x, y, z: topi.nn.pool2d(x, 2, 2, 1, 1, "avg", layout="NHWC", count_include_pad=False),
            lambda x, y, z: reference(F.avg_pool2d, "NHWC", "", 2, 2, 1, count_include_pad=False)(x),
        ),
        "pool1d": (
            lambda x, y, z: topi.nn.pool1d(y, 2, 1, 1, 1, "avg", layout="NWC"),
            lambda x, y, z: reference(F.avg_pool1d, "NWC", "", 2, 1, 1)(y),
        ),
        "pool3d": (
            lambda x, y, z: topi.nn.pool3d(z, (2, 1, 2), 1, 1, 0, "max", layout="NDHWC"),
            lambda x, y, z: reference(F.max_pool3d, "NDHWC", "", (2, 1, 2), 1)(z),
        ),
        "global": (
            lambda x, y, z: topi.nn.global_pool(x, "avg", "NHWC"),
            lambda x, y, z: x.mean((1, 2), keepdims=True),
        ),
        "global 3d": (
            lambda x, y, z: topi.nn.global_pool(z, "max", "NDHWC"),
            lambda x, y, z: z.max((1, 2, 3), keepdims=True),
        ),
    }
    arrays = [
        [random((n, h, w, 3)), random((n, w, 3)), random((n, 2, h, w, 3))]
        for n, h, w in ((2, 5, 7), (1, 2, 3))
    ]
    check([x, y, z], cases, arrays)


def test_mistakes() -> None:
    x, f = te.placeholder((N, H, W, 4), name="x"), te.placeholder((3, 3, 4, 6), name="f")
    cases: list[tuple[Any, type[Exception], str]] = [
        (
            lambda: topi.nn.conv2d(x, f, 1, 0, 1, "NHWD", "HWIO"),
            ArgumentError,
            r"conv2d: the layout is 'NHWD'",
        ),
        (lambda: topi.nn.conv2d(x, f, 1, 0, 1, "NCHW4c"), UnsupportedError, "has blocks, and only orders"),
        (lambda: topi.nn.conv2d(x, f, 1, 0, 1, "NHWC", "XWIO"), ArgumentError, "the layout is 'XWIO'"),
        (
            lambda: topi.nn.conv1d(x, f, data_layout="NWC"),
            ShapeError,
            "not of the 3 dimensions of the layout",
        ),
        (lambda: topi.nn.pool2d(x, 2, 2, 1, 0, "max", layout="NHW"), ArgumentError, "the layout is 'NHW'"),
        (lambda: topi.nn.global_pool(x, "max", "NHWX"), ArgumentError, "the layout is 'NHWX'"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
