"""Upsample images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir.error import ArgumentError
from relax_mlir.symbolic import Dim
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import dims_of, require
from relax_mlir.topi.image.resize import resize2d, resize3d
from relax_mlir.topi.layouts import require_layout

METHODS = {
    "nearest_neighbor": "nearest_neighbor",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


def upsampling(
    data: Tensor,
    scale_h: float,
    scale_w: float,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
    output_shape: Sequence[Any] | None = None,
) -> Tensor:
    """Scale rows and columns by `scale_h` and `scale_w`, by "nearest_neighbor", "bilinear" or "bicubic".

    Without `align_corners`, positions are those of "asymmetric". `output_shape` are the sizes if they do not follow
    from the scales.
    """
    what = "topi.nn.upsampling"
    require_layout(what, layout, "NCHW")
    sizes = _sizes(what, data, layout, "HW", [scale_h, scale_w], output_shape)
    places = "align_corners" if align_corners else "asymmetric"
    return resize2d(
        data,
        (0.0,) * 4,
        sizes,
        layout,
        _method(what, method),
        places,
        "floor" if places == "asymmetric" else "",
    )


def upsampling3d(
    data: Tensor,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
    output_shape: Sequence[Any] | None = None,
) -> Tensor:
    """Scale three dimensions, by "nearest_neighbor" or "trilinear"; see `image.resize3d`."""
    what = "topi.nn.upsampling3d"
    require_layout(what, layout, "NCDHW")
    sizes = _sizes(what, data, layout, "DHW", [scale_d, scale_h, scale_w], output_shape)
    return resize3d(data, (0.0,) * 6, sizes, layout, _method(what, method), coordinate_transformation_mode)


def _method(what: str, method: str) -> str:
    if method not in METHODS:
        raise ArgumentError(
            f"{what}: 'method' is {method!r}, expected one of {', '.join(map(repr, METHODS))}"
        )
    return METHODS[method]


def _sizes(
    what: str, data: Tensor, layout: str, letters: str, scales: Sequence[float], given: Sequence[Any] | None
) -> list[Dim]:
    tensor = require(f"{what}: 'data'", data)
    if given is not None:
        return dims_of(f"{what}: 'output_shape'", given)
    found: list[Dim] = []
    for letter, scale in zip(letters, scales, strict=True):
        dim = tensor.shape[layout.index(letter)] if tensor.ndim == len(layout) else 0
        if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
            raise ArgumentError(f"{what}: a scale is {scale!r}, expected a number above 0")
        if scale == int(scale):
            found.append(dim * int(scale))
        elif isinstance(dim, int):
            found.append(int(dim * scale + 0.5))
        else:
            raise ArgumentError(f"{what}: {scale} times {dim} is no size, and there is no 'output_shape'")
    return found
