"""Move elements between channels or batch and the other dimensions, dilate and upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, dims_of, listed, product, require, size, unflattened
from relax_mlir.topi.image import resize2d, resize3d
from relax_mlir.topi.manipulate import require_layout
from relax_mlir.topi.nn.padding import pad
from relax_mlir.topi.tag import INJECTIVE

LAYOUTS = ("NCHW", "NHWC")


def flatten(data: Tensor) -> Tensor:
    """Flatten all dimensions after the first one."""
    what = "topi.nn.flatten"
    tensor = require(f"{what}: 'data'", data)
    if tensor.ndim == 0:
        raise ShapeError(f"{what}: {tensor} has no dimension")
    rest = tensor.shape[1:]
    return computed(
        [tensor.shape[0], product(rest)],
        lambda i, j: tensor(i, *unflattened(j, rest)),
        "T_flatten",
        INJECTIVE,
    )


def pixel_shuffle(data: Tensor, upscale_factor: int, name: str = "PixelShuffle") -> Tensor:
    """``(…, c * r * r, h, w)`` as ``(…, c, h * r, w * r)``: each group of channels becomes a square."""
    what = "topi.nn.pixel_shuffle"
    tensor, r = require(f"{what}: 'data'", data), _block(what, "upscale_factor", upscale_factor)
    if tensor.ndim < 3:
        raise ShapeError(f"{what}: {tensor} has no channels, rows and columns")
    *outer, channels, height, width = tensor.shape
    groups = _parts(what, tensor, channels, r * r)

    def value(*i: Expr) -> Expr:
        *batch, c, y, x = i
        return tensor(*batch, c * (r * r) + y % r * r + x % r, y // r, x // r)

    return computed([*outer, groups, height * r, width * r], value, name, INJECTIVE)


def depth_to_space(data: Tensor, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Tensor:
    """Groups of channels become squares of rows and columns.

    Args:
        data: of the layout ``NCHW`` or ``NHWC``.
        block_size: the side of the squares.
        layout: the layout of `data`.
        mode: "DCR": a group has channels at equal distances; "CRD": consecutive channels.
    """
    what = "topi.nn.depth_to_space"
    tensor, r = _image(what, data, layout), _block(what, "block_size", block_size)
    if mode not in ("DCR", "CRD"):
        raise ArgumentError(f"{what}: 'mode' is {mode!r}, expected 'DCR' or 'CRD'")
    n, channels, height, width = _by_letter(tensor.shape, layout)
    groups = _parts(what, tensor, channels, r * r)

    def value(*i: Expr) -> Expr:
        b, c, y, x = _by_letter(i, layout)
        inside = y % r * r + x % r
        own = inside * size(groups) + c if mode == "DCR" else c * (r * r) + inside
        return tensor(*_in_layout([b, own, y // r, x // r], layout))

    shape = _in_layout([n, groups, height * r, width * r], layout)
    return computed(shape, value, "T_depth_to_space", INJECTIVE)


def space_to_depth(data: Tensor, block_size: int, layout: str = "NCHW") -> Tensor:
    """Squares of rows and columns become channels: the inverse of `depth_to_space` with mode "DCR"."""
    what = "topi.nn.space_to_depth"
    tensor, r = _image(what, data, layout), _block(what, "block_size", block_size)
    n, channels, height, width = _by_letter(tensor.shape, layout)
    rows, columns = _parts(what, tensor, height, r), _parts(what, tensor, width, r)

    def value(*i: Expr) -> Expr:
        b, c, y, x = _by_letter(i, layout)
        inside, own = c // size(channels), c % size(channels)
        return tensor(*_in_layout([b, own, y * r + inside // r, x * r + inside % r], layout))

    shape = _in_layout([n, channels * (r * r), rows, columns], layout)
    return computed(shape, value, "T_space_to_depth", INJECTIVE)


def space_to_batch_nd(
    data: Tensor,
    block_shape: Sequence[int],
    pad_before: Sequence[int],
    pad_after: Sequence[int],
    pad_value: float = 0.0,
) -> Tensor:
    """Move blocks of the padded dimensions after the first into the batch; the position in a block varies slowest."""
    what = "topi.nn.space_to_batch_nd"
    tensor = require(f"{what}: 'data'", data)
    blocks, (before, after) = _lists(what, tensor, block_shape, pad_before, pad_after)
    rank = len(blocks)
    rest = [0] * (tensor.ndim - 1 - rank)
    padded = pad(tensor, [0, *before, *rest], [0, *after, *rest], pad_value) if any(before) or any(after) else tensor
    batch, lengths = padded.shape[0], padded.shape[1 : 1 + rank]
    counts = [_parts(what, padded, length, block) for length, block in zip(lengths, blocks, strict=True)]

    def value(*i: Expr) -> Expr:
        inner = unflattened(i[0] // size(batch), blocks)
        places = [index * block + own for index, block, own in zip(i[1:], blocks, inner, strict=False)]
        return padded(i[0] % size(batch), *places, *i[1 + rank :])

    shape = [batch * product(blocks), *counts, *padded.shape[1 + rank :]]
    return computed(shape, value, "T_space_to_batch_nd", INJECTIVE)


def batch_to_space_nd(
    data: Tensor, block_shape: Sequence[int], crop_begin_list: Sequence[int], crop_end_list: Sequence[int]
) -> Tensor:
    """The inverse of `space_to_batch_nd`, which also crops the begin and the end of each dimension."""
    what = "topi.nn.batch_to_space_nd"
    tensor = require(f"{what}: 'data'", data)
    blocks, (begin, end) = _lists(what, tensor, block_shape, crop_begin_list, crop_end_list)
    rank = len(blocks)
    batch = _parts(what, tensor, tensor.shape[0], math.prod(blocks))
    lengths = [
        symbolic.maximum(dim * block - first - last, 0)
        for dim, block, first, last in zip(tensor.shape[1 : 1 + rank], blocks, begin, end, strict=True)
    ]

    def value(*i: Expr) -> Expr:
        places = [index + first for index, first in zip(i[1 : 1 + rank], begin, strict=True)]
        inner: Any = 0
        for place, block in zip(places, blocks, strict=True):
            inner = inner * block + place % block
        return tensor(
            inner * size(batch) + i[0],
            *(place // block for place, block in zip(places, blocks, strict=True)),
            *i[1 + rank :],
        )

    return computed([batch, *lengths, *tensor.shape[1 + rank :]], value, "T_batch_to_space_nd", INJECTIVE)


def dilate(data: Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput") -> Tensor:
    """Insert `dilation_value` between elements, so that elements are `strides` apart in each dimension."""
    what = "topi.nn.dilate"
    tensor = require(f"{what}: 'data'", data)
    steps = listed(f"{what}: 'strides'", strides)
    if len(steps) != tensor.ndim or not all(isinstance(step, int) and step > 0 for step in steps):
        raise ArgumentError(f"{what}: 'strides' is {strides!r}, expected {tensor.ndim} integers from 1 on")
    shape = [symbolic.maximum((dim - 1) * step + 1, 0) for dim, step in zip(tensor.shape, steps, strict=True)]
    filling = functions.const(dilation_value, tensor.dtype)

    def value(*i: Expr) -> Expr:
        tests = [index % step == 0 for index, step in zip(i, steps, strict=True) if step != 1]
        places = [index if step == 1 else index // step for index, step in zip(i, steps, strict=True)]
        return functions.if_then_else(functions.all(*tests), tensor(*places), filling) if tests else tensor(*i)

    return computed(shape, value, name, INJECTIVE)


def _block(what: str, name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(f"{what}: '{name}' is {value!r}, expected an integer from 1 on")
    return value


def _parts(what: str, tensor: Tensor, dim: Dim, count: int) -> Dim:
    """A size divided by `count`.

    Raises:
        ShapeError: it is not provably divisible.
    """
    if not symbolic.prove_divisible(dim, count):
        raise ShapeError(f"{what}: {dim} of {tensor} is not known to be divisible by {count}")
    return symbolic.floordiv(dim, count)


def _lists(
    what: str, tensor: Tensor, block_shape: Sequence[int], *amounts: Sequence[int]
) -> tuple[list[int], list[list[int]]]:
    """Checked block sizes, and amounts for each blocked dimension."""
    blocks = [_block(what, "block_shape", block) for block in listed(f"{what}: 'block_shape'", block_shape)]
    found = [listed(f"{what}: the amounts", amount) for amount in amounts]
    if tensor.ndim < 1 + len(blocks) or any(len(amount) != len(blocks) for amount in found):
        raise ShapeError(f"{what}: {len(blocks)} blocks and {', '.join(map(repr, found))} do not fit {tensor}")
    if any(not isinstance(a, int) or a < 0 for amount in found for a in amount):
        raise ArgumentError(f"{what}: {', '.join(map(repr, found))} are not all integers from 0 on")
    return blocks, found


def _image(what: str, data: Tensor, layout: str) -> Tensor:
    tensor = require(f"{what}: 'data'", data)
    if layout not in LAYOUTS or tensor.ndim != 4:
        raise ArgumentError(
            f"{what}: the layout is {layout!r} of {tensor}, expected {' or '.join(LAYOUTS)} of 4 dimensions"
        )
    return tensor


def _by_letter(items: Sequence[Dim | Expr], layout: str) -> list[Any]:
    """Items, given in the order of `layout`, in the order NCHW."""
    return [items[layout.index(letter)] for letter in "NCHW"]


def _in_layout(items: Sequence[Dim | Expr], layout: str) -> list[Any]:
    """Items, given in the order NCHW, in the order of `layout`."""
    return [items["NCHW".index(letter)] for letter in layout]


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
        raise ArgumentError(f"{what}: 'method' is {method!r}, expected one of {', '.join(map(repr, METHODS))}")
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
