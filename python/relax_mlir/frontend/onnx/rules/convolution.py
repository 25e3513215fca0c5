"""Convolutions and transposed convolutions."""

from __future__ import annotations

from typing import Any

from relax_mlir import op as R
from relax_mlir import symbolic, topi
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.frontend.onnx.rules.padding import padded
from relax_mlir.frontend.onnx.windows import windows_of
from relax_mlir.symbolic import Dim

_LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


@rule("Conv")
def _conv(node: Node) -> Value:
    result = convolved(node, node.tensor(0), node.tensor(1))
    return with_bias(result, node.maybe(2))


def convolved(node: Node, x: Value, weight: Value) -> Value:
    """Emit the convolution that a node's attributes describe, without bias."""
    shape, filters = x.tensor_info.known_shape, weight.tensor_info.known_shape
    assert shape is not None and filters is not None
    spatial = len(shape) - 2
    if spatial < 1 or len(filters) != len(shape):
        raise ShapeError(f"data of rank {len(shape)} and weights of rank {len(filters)} do not fit")
    window = [dim for dim in filters[2:] if isinstance(dim, int)]
    windows = windows_of(node, window, shape[2:])
    pads = windows.static_pads
    groups = node.attr("group", 1)
    if pads is None:
        x = padded(node, x, [0, 0, *windows.before], [0, 0, *windows.after])
        pads = [0] * (2 * spatial)
    if spatial <= 3 and x.tensor_info.dtype is not None and x.tensor_info.dtype.is_float:
        build = {1: R.nn.conv1d, 2: R.nn.conv2d, 3: R.nn.conv3d}[spatial]
        data_layout, kernel_layout = _LAYOUTS[spatial]
        return build(
            x,
            weight,
            strides=windows.strides,
            padding=pads,
            dilation=windows.dilations,
            groups=groups,
            data_layout=data_layout,
            kernel_layout=kernel_layout,
        )
    result: Value = node.te(
        topi.nn.conv, x, weight, tuple(windows.strides), tuple(pads), tuple(windows.dilations), groups
    )
    return result


def with_bias(x: Value, bias: Value | None) -> Value:
    """Add one value to each channel of `x`."""
    if bias is None:
        return x
    shape = x.tensor_info.known_shape
    assert shape is not None and bias.tensor_info.known_shape is not None
    return R.add(x, R.reshape(bias, [*bias.tensor_info.known_shape, *[1] * (len(shape) - 2)]))


@rule("ConvTranspose")
def _conv_transpose(node: Node) -> Value:
    shape, filters = node.shape(0), node.shape(1)
    spatial = len(shape) - 2
    window = [dim for dim in filters[2:] if isinstance(dim, int)]
    if len(window) != spatial:
        raise ShapeError("the size of the window is not known at import")
    strides = node.attr("strides") or [1] * spatial
    dilations = node.attr("dilations") or [1] * spatial
    extra = node.attr("output_padding") or [0] * spatial
    reach = [(w - 1) * d + 1 for w, d in zip(window, dilations, strict=True)]
    full = [(n - 1) * s + r + e for n, s, r, e in zip(shape[2:], strides, reach, extra, strict=True)]
    before, after = _transposed_pads(node, shape[2:], strides, full)
    groups = node.attr("group", 1)
    builds: Any = {1: R.nn.conv1d_transpose, 2: R.nn.conv2d_transpose, 3: R.nn.conv3d_transpose}
    whole: Value
    if spatial in builds:
        zeros = [0] * spatial
        whole = builds[spatial](node.tensor(0), node.tensor(1), strides, zeros, extra, dilations, groups)
    else:
        whole = node.te(
            topi.nn.conv_transpose,
            node.tensor(0),
            node.tensor(1),
            tuple(strides),
            0,
            tuple(extra),
            tuple(dilations),
            groups,
        )
    cut = padded(node, whole, [0, 0, *(-pad for pad in before)], [0, 0, *(-pad for pad in after)])
    return with_bias(cut, node.maybe(2))


def _transposed_pads(
    node: Node, lengths: tuple[Dim, ...], strides: list[int], full: list[Dim]
) -> tuple[list[int], list[int]]:
    """Return the number of elements to crop before and after each dimension of the full result."""
    wanted = node.attr("output_shape")
    how = node.attr("auto_pad", "NOTSET")
    spatial = len(lengths)
    if wanted is None and how in ("NOTSET", "VALID"):
        pads = (node.attr("pads") or [0] * (2 * spatial)) if how == "NOTSET" else [0] * (2 * spatial)
        return pads[:spatial], pads[spatial:]
    sizes = (
        wanted[-spatial:] if wanted is not None else [n * s for n, s in zip(lengths, strides, strict=True)]
    )
    before, after = [], []
    for size, has in zip(sizes, full, strict=True):
        total = has - size
        if isinstance(total, symbolic.Expr):
            raise ArgumentError(f"the pads of a result of size {size} depend on sizes that only a call tells")
        half = max(total, 0) // 2  # missing elements are added at the end
        first, last = (half, total - half) if how == "SAME_UPPER" or total < 0 else (total - half, half)
        before.append(first)
        after.append(last)
    return before, after


@rule("ConvInteger")
def _conv_integer(node: Node) -> Value:
    return convolved(node, shifted(node, 0, 2), shifted(node, 1, 3))


def shifted(node: Node, index: int, zero_point: int) -> Value:
    """Return input `index` as int32 minus its zero point, a scalar or one value per index of the first dimension."""
    wide = R.astype(node.tensor(index), "int32")
    if not node.has(zero_point):
        return wide
    point = R.astype(node.tensor(zero_point), "int32")
    if node.rank(zero_point) == 1 and node.shape(zero_point) != (1,):
        point = R.reshape(point, [*node.shape(zero_point), *[1] * (node.rank(index) - 1)])
    elif node.rank(zero_point) == 1:
        point = R.reshape(point, ())
    return R.subtract(wide, point)
