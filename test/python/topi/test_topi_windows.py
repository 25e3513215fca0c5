"""Convolutions and pooling against torch, on sizes known at the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, ShapeError
from topi_cases import check, random

N, H, W, D = te.var("n"), te.var("h"), te.var("w"), te.var("d")
F = torch.nn.functional


def torch_of(function: Any, *args: Any, **options: Any) -> Any:
    """`function` of torch with these further arguments, of arrays."""

    def found(*arrays: Any) -> Any:
        return function(*map(torch.tensor, arrays), *args, **options).numpy()

    return found


def test_conv2d() -> None:
    x, f = te.placeholder((N, 4, H, W), name="x"), te.placeholder((6, 4, 3, 2), name="f")
    cases: dict[str, Any] = {}
    for stride, padding, dilation in sweep.product((1, (2, 3)), (0, (1, 0), (2, 1)), (1, (1, 2))):
        cases[f"{stride} {padding} {dilation}"] = (
            lambda x, f, s=stride, p=padding, d=dilation: topi.nn.conv2d(x, f, s, p, d),
            torch_of(F.conv2d, None, stride, padding, dilation),
        )
    cases["sides"] = (
        lambda x, f: topi.nn.conv2d(x, f, 1, (0, 1, 2, 0), 1),
        lambda x, f: torch_of(F.conv2d)(np.pad(x, ((0, 0), (0, 0), (0, 2), (1, 0))), f),
    )
    cases["same"] = (
        lambda x, f: topi.nn.conv2d(x, f, 1, "SAME", 1),
        lambda x, f: torch_of(F.conv2d)(np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 1))), f),
    )
    arrays = [
        [random((n, 4, h, w)), random((6, 4, 3, 2), seed=1)] for n, h, w in ((2, 7, 5), (1, 3, 3), (0, 4, 4))
    ]
    check([x, f], cases, arrays, rtol=1e-4, atol=1e-4)


def test_groups_and_channels_by_themselves() -> None:
    x, g = te.placeholder((N, 4, H, W), name="x"), te.placeholder((6, 2, 3, 3), name="g")
    c = te.placeholder((4, 2, 3, 1), name="c")
    cases: dict[str, Any] = {
        "grouped": (
            lambda x, g, c: topi.nn.group_conv2d_nchw(x, g, 2, 1, 1, 2),
            lambda x, g, c: torch_of(F.conv2d, None, 2, 1, 1, 2)(x, g),
        ),
        "depthwise": (
            lambda x, g, c: topi.nn.depthwise_conv2d_nchw(x, c, (1, 2), (1, 0), 1),
            lambda x, g, c: torch_of(F.conv2d, None, (1, 2), (1, 0), 1, 4)(x, c.reshape(8, 1, 3, 1)),
        ),
        "float64": (
            lambda x, g, c: topi.nn.conv(x, g, 1, 1, 1, 2, "float64"),
            lambda x, g, c: torch_of(F.conv2d, None, 1, 1, 1, 2)(x.astype("f8"), g.astype("f8")),
        ),
    }
    arrays = [
        [random((n, 4, h, w)), random((6, 2, 3, 3), seed=1), random((4, 2, 3, 1), seed=2)]
        for n, h, w in ((2, 7, 5), (1, 3, 3))
    ]
    check([x, g, c], cases, arrays, rtol=1e-4, atol=1e-4)


def test_one_and_three_dimensions() -> None:
    x, f = te.placeholder((N, 2, W), name="x"), te.placeholder((4, 1, 3), name="f")
    check(
        [x, f],
        {
            "conv1d": (
                lambda x, f: topi.nn.conv1d(x, f, 2, 1, 2, 2),
                torch_of(F.conv1d, None, 2, 1, 2, 2),
            ),
            "valid": (lambda x, f: topi.nn.conv1d(x, f, groups=2), torch_of(F.conv1d, groups=2)),
        },
        [[random((n, 2, w)), random((4, 1, 3), seed=1)] for n, w in ((2, 9), (1, 5))],
        rtol=1e-4,
        atol=1e-4,
    )
    y, g = te.placeholder((N, 2, D, H, W), name="y"), te.placeholder((3, 2, 2, 3, 1), name="g")
    check(
        [y, g],
        {
            "conv3d": (
                lambda y, g: topi.nn.conv3d(y, g, (1, 2, 1), (1, 0, 2), 1),
                torch_of(F.conv3d, None, (1, 2, 1), (1, 0, 2), 1),
            )
        },
        [
            [random((n, 2, d, h, w)), random((3, 2, 2, 3, 1), seed=1)]
            for n, d, h, w in ((2, 3, 5, 4), (1, 1, 3, 1))
        ],
        rtol=1e-4,
        atol=1e-4,
    )


def test_transposed_convolutions() -> None:
    x, f = te.placeholder((N, 4, H, W), name="x"), te.placeholder((4, 3, 3, 2), name="f")
    cases: dict[str, Any] = {}
    for stride, padding, more, dilation in ((1, 0, 0, 1), ((2, 3), (1, 0), (1, 2), 1), (2, 1, 0, (2, 1))):
        cases[f"{stride} {padding} {more} {dilation}"] = (
            lambda x, f, s=stride, p=padding, m=more, d=dilation: topi.nn.conv_transpose(x, f, s, p, m, d),
            torch_of(F.conv_transpose2d, None, stride, padding, more, 1, dilation),
        )
    cases["groups"] = (
        lambda x, f: topi.nn.conv_transpose(x, f, 2, 1, 1, 1, 2),
        torch_of(F.conv_transpose2d, None, 2, 1, 1, 2),
    )
    cases["conv2d_transpose_nchw"] = (
        lambda x, f: topi.nn.conv2d_transpose_nchw(x, f, 2, 0, None, 1),
        torch_of(F.conv_transpose2d, None, 2, 0, 1),
    )
    arrays = [[random((n, 4, h, w)), random((4, 3, 3, 2), seed=1)] for n, h, w in ((2, 4, 3), (1, 1, 2))]
    check([x, f], cases, arrays, rtol=1e-4, atol=1e-4)


def test_pooling() -> None:
    x = te.placeholder((N, 2, H, W), name="x")
    cases: dict[str, Any] = {}
    for kernel, stride, padding in ((2, 2, 0), ((3, 2), (2, 1), 1), (3, 2, 1), ((2, 3), 3, (1, 0))):
        for ceil_mode in (False, True):
            name = f"{kernel} {stride} {padding} {ceil_mode}"
            cases[f"max {name}"] = (
                lambda x, k=kernel, s=stride, p=padding, c=ceil_mode: topi.nn.pool2d(x, k, s, 1, p, "max", c),
                torch_of(F.max_pool2d, kernel, stride, padding, 1, ceil_mode),
            )
            for include in (False, True):
                cases[f"avg {name} {include}"] = (
                    lambda x, k=kernel, s=stride, p=padding, c=ceil_mode, i=include: topi.nn.pool2d(
                        x, k, s, 1, p, "avg", c, count_include_pad=i
                    ),
                    torch_of(F.avg_pool2d, kernel, stride, padding, ceil_mode, include),
                )
    cases = {name: cases[name] for name in sweep.every(list(cases), 5)}  # of 6 for each window
    cases["dilated"] = (
        lambda x: topi.nn.pool2d(x, 2, 1, 2, 1, "max"),
        torch_of(F.max_pool2d, 2, 1, 1, 2),
    )
    cases["global max"] = lambda x: topi.nn.global_pool(x, "max"), lambda x: x.max((2, 3), keepdims=True)
    cases["global avg"] = lambda x: topi.nn.global_pool(x, "avg"), lambda x: x.mean((2, 3), keepdims=True)
    check([x], cases, [[random((n, 2, h, w))] for n, h, w in ((2, 7, 5), (1, 4, 6), (1, 3, 3))])
    line, cube = te.placeholder((N, 2, W), name="line"), te.placeholder((N, 2, D, H, W), name="cube")
    check(
        [line],
        {"1": (lambda x: topi.nn.pool1d(x, 3, 2, 1, 1, "avg", True), torch_of(F.avg_pool1d, 3, 2, 1, True))},
        [[random((2, 2, 8))], [random((1, 2, 3))]],
    )
    check(
        [cube],
        {
            "3": (
                lambda x: topi.nn.pool3d(x, 2, 2, 1, 1, "max", True),
                torch_of(F.max_pool3d, 2, 2, 1, 1, True),
            )
        },
        [[random((2, 2, 3, 4, 5))]],
    )


def test_mistakes() -> None:
    x, f = te.placeholder((N, 4, H, W), name="x"), te.placeholder((6, 4, 3, 3), name="f")
    cases: list[tuple[Any, type[Exception], str]] = [
        (
            lambda: topi.nn.conv2d(x, f, 0, 0, 1),
            ArgumentError,
            "the strides are 0, expected 2 integers from 1 on",
        ),
        (lambda: topi.nn.conv2d(x, f, 1, (1, 2, 3), 1), ArgumentError, "expected 1, 2 or 4 integers"),
        (lambda: topi.nn.conv2d(x, f, 2, "SAME", 1), ShapeError, "a size is known only when it is called"),
        (lambda: topi.nn.conv2d(x, f, 1, "FULL", 1), ArgumentError, "'padding' is 'FULL'"),
        (
            lambda: topi.nn.group_conv2d_nchw(x, f, 1, 0, 1, 2),
            ShapeError,
            "in 2 groups is not known to fit 4 channels",
        ),
        (
            lambda: topi.nn.group_conv2d_nchw(x, f, 1, 0, 1, 4),
            ShapeError,
            "not known to be divisible in 4 groups",
        ),
        (lambda: topi.nn.conv1d(x, f), ShapeError, "is not of the 3 dimensions of the layout"),
        (lambda: topi.nn.depthwise_conv2d_nchw(x, f, 1, 0, 1), ShapeError, "does not have the 4 channels"),
        (lambda: topi.nn.conv_transpose(x, f), ShapeError, "does not have the 4 channels"),
        (lambda: topi.nn.pool2d(x, 2, 2, 1, 0, "sum"), ArgumentError, "'pool_type' is 'sum'"),
        (lambda: topi.nn.pool2d(x, (0, 1), 2, 1, 0, "max"), ArgumentError, "'kernel' is"),
        (
            lambda: topi.nn.pool1d(x, 2, 2, 1, 0, "max"),
            ShapeError,
            "is not of the 3 dimensions of the layout",
        ),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
