"""Convolutions with a layout in their name."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.layouts import in_layout, kernel_in
from relax_mlir.topi.nn.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose,
    depthwise_conv2d_nchw,
    group_conv2d_nchw,
)

Amount = int | Sequence[int]
Padding = Amount | str


def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Amount = 1,
    padding: Padding = "VALID",
    dilation: Amount = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along one dimension; weights are ``OIW``; see `conv`."""
    return conv1d(data, kernel, strides, padding, dilation, 1, "NCW", "OIW", out_dtype)


def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Amount = 1,
    padding: Padding = "VALID",
    dilation: Amount = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along one dimension of the layout ``NWC``; weights are ``WIO``; see `conv`."""
    return conv1d(data, kernel, strides, padding, dilation, 1, "NWC", "WIO", out_dtype)


def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Amount = 1,
    padding: Padding = "VALID",
    dilation: Amount = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped convolution along one dimension; weights are ``OIW``; see `conv`."""
    return conv1d(data, kernel, strides, padding, dilation, groups, "NCW", "OIW", out_dtype)


def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Amount = 1,
    padding: Padding = "VALID",
    dilation: Amount = 1,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped convolution along one dimension of the layout ``NWC``; weights are ``WIO``."""
    return conv1d(data, kernel, strides, padding, dilation, groups, "NWC", "WIO", out_dtype)


def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along two dimensions; weights are ``OIHW``; see `conv`."""
    return conv2d(Input, Filter, stride, padding, dilation, "NCHW", "OIHW", out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along two dimensions of the layout ``NHWC``; weights are ``HWIO``; see `conv`."""
    return conv2d(Input, Filter, stride, padding, dilation, "NHWC", "HWIO", out_dtype)


def conv2d_hwcn(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along two dimensions of the layout ``HWCN``; weights are ``HWIO``; see `conv`."""
    return conv2d(Input, Filter, stride, padding, dilation, "HWCN", "HWIO", out_dtype)


def conv3d_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along three dimensions; weights are ``OIDHW``; see `conv`."""
    return conv3d(Input, Filter, stride, padding, dilation, groups, "NCDHW", "OIDHW", out_dtype)


def conv3d_ndhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    groups: int = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along three dimensions of the layout ``NDHWC``; weights are ``DHWIO``; see `conv`."""
    return conv3d(Input, Filter, stride, padding, dilation, groups, "NDHWC", "DHWIO", out_dtype)


def group_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped convolution along two dimensions of the layout ``NHWC``; weights are ``HWIO``; see `conv`."""
    what = "topi.nn.group_conv2d_nhwc"
    weight = kernel_in(what, Filter, "HWIO", "OIHW")
    return in_layout(
        what,
        Input,
        "NHWC",
        "NCHW",
        lambda x: group_conv2d_nchw(x, weight, stride, padding, dilation, groups, out_dtype),
    )


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> Tensor:
    """A depthwise convolution of the layout ``NHWC``; weights are ``(height, width, channels, multiplier)``."""
    what = "topi.nn.depthwise_conv2d_nhwc"
    weight = kernel_in(what, Filter, kernel_layout, "OIHW")
    return in_layout(
        what,
        Input,
        "NHWC",
        "NCHW",
        lambda x: depthwise_conv2d_nchw(x, weight, stride, padding, dilation, out_dtype),
    )


def group_conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Amount,
    padding: Amount,
    out_dtype: str | None,
    output_padding: Amount,
    groups: int,
) -> Tensor:
    """The grouped transposed convolution along one dimension; see `conv_transpose`."""
    return conv_transpose(
        data, kernel, stride, padding, output_padding, 1, groups, out_dtype, "conv1d_transpose"
    )


def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Amount,
    padding: Amount,
    out_dtype: str | None,
    output_padding: Amount,
    groups: int,
) -> Tensor:
    """The grouped transposed convolution along two dimensions; see `conv_transpose`."""
    return conv_transpose(
        data, kernel, stride, padding, output_padding, 1, groups, out_dtype, "conv2d_transpose"
    )


def group_conv3d_transpose_ncdhw(
    data: Tensor,
    kernel: Tensor,
    strides: Amount,
    padding: Amount,
    out_dtype: str | None,
    output_padding: Amount,
    groups: int,
) -> Tensor:
    """The grouped transposed convolution along three dimensions; see `conv_transpose`."""
    return conv_transpose(
        data, kernel, strides, padding, output_padding, 1, groups, out_dtype, "conv3d_transpose"
    )
