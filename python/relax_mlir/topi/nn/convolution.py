"""Convolutions of one, two and three dimensions: grouped, dilated, depthwise, and transposed; by layout."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, require, size
from relax_mlir.topi.manipulate import in_layout, kernel_in
from relax_mlir.topi.nn.padding import Window, pad, places_of, scaled, taps_of, windows_of

Amount = int | Sequence[int]
Padding = Amount | str


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Amount = 1,
    padding: Padding = 0,
    dilation: Amount = 1,
    groups: int = 1,
    out_dtype: str | None = None,
    name: str = "conv",
    counts: Sequence[Dim] | None = None,
) -> Tensor:
    """The cross-correlation of ``(batch, channels, …)`` with weights ``(outputs, channels / groups, …)``.

    `padding`: zeros; one number for all, one per dimension, all before and then all after, "VALID" or "SAME". `counts`:
    the spatial sizes of the result, if the caller knows that each dimension has room for a window.
    """
    what = f"topi.nn.{name}"
    data, weight = _typed(what, inp, filt, out_dtype)
    sizes, lengths = weight.shape[2:], data.shape[2:]
    windows = windows_of(what, sizes, stride, padding, dilation, lengths)
    outputs = _outputs(what, data.shape[1], weight, groups)
    padded = _padded(data, windows)
    channel = reductions.reduce_axis((0, weight.shape[1]), "rc")
    taps = taps_of(windows)
    if counts is None:
        counts = [window.count(length) for window, length in zip(windows, lengths, strict=True)]

    def value(b: Expr, o: Expr, *at: Expr) -> object:
        own: Expr = channel if groups == 1 else (o // size(outputs)) * size(weight.shape[1]) + channel
        places = places_of(at, taps, windows)
        return reductions.sum(padded(b, own, *places) * weight(o, channel, *taps), [channel, *taps])

    return computed([data.shape[0], weight.shape[0], *counts], value, f"T_{name}", f"{name}_nchw")


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Amount = 1,
    padding: Padding = "VALID",
    dilation: Amount = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along one dimension; see `conv`. Layouts are any order of their letters."""
    what = "topi.nn.conv1d"
    weight = kernel_in(what, kernel, kernel_layout, "OIW")
    more = (3, strides, padding, dilation, groups, out_dtype)
    return in_layout(what, data, data_layout, "NCW", lambda x: _of_rank("conv1d", x, weight, *more))


def conv2d(
    inp: Tensor,
    filt: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along two dimensions; see `conv`. Layouts are any order of their letters."""
    what = "topi.nn.conv2d"
    weight = kernel_in(what, filt, kernel_layout, "OIHW")
    more = (4, stride, padding, dilation, 1, out_dtype)
    return in_layout(what, inp, data_layout, "NCHW", lambda x: _of_rank("conv2d", x, weight, *more))


def conv3d(
    inp: Tensor,
    filt: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A convolution along three dimensions; see `conv`. Layouts are any order of their letters."""
    what = "topi.nn.conv3d"
    weight = kernel_in(what, filt, kernel_layout, "OIDHW")
    more = (5, stride, padding, dilation, groups, out_dtype)
    return in_layout(what, inp, data_layout, "NCDHW", lambda x: _of_rank("conv3d", x, weight, *more))


def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    groups: int,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped convolution along two dimensions; see `conv`."""
    return _of_rank("group_conv2d_nchw", Input, Filter, 4, stride, padding, dilation, groups, out_dtype)


def depthwise_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    out_dtype: str | None = None,
) -> Tensor:
    """A depthwise convolution along two dimensions; weights are ``(channels, multiplier, height, width)``."""
    what = "topi.nn.depthwise_conv2d_nchw"
    data, weight = _typed(what, Input, Filter, out_dtype)
    if data.ndim != 4:
        raise ShapeError(f"{what}: {data} is not of four dimensions")
    if not symbolic.prove_equal(data.shape[1], weight.shape[0]):
        raise ShapeError(f"{what}: {weight} does not have the {data.shape[1]} channels of {data}")
    sizes, lengths, multiplier = weight.shape[2:], data.shape[2:], weight.shape[1]
    windows = windows_of(what, sizes, stride, padding, dilation, lengths)
    padded = _padded(data, windows)
    taps = taps_of(windows)
    counts = [window.count(length) for window, length in zip(windows, lengths, strict=True)]

    def value(b: Expr, o: Expr, *at: Expr) -> object:
        one = multiplier == 1
        own = o if one else o // size(multiplier)
        places = places_of(at, taps, windows)
        return reductions.sum(padded(b, own, *places) * weight(own, 0 if one else o % size(multiplier), *taps), taps)

    return computed(
        [data.shape[0], data.shape[1] * multiplier, *counts],
        value,
        "T_depthwise_conv2d",
        "depthwise_conv2d_nchw",
    )


def conv_transpose(
    data: Tensor,
    kernel: Tensor,
    strides: Amount = 1,
    padding: Padding = 0,
    output_padding: Amount = 0,
    dilation: Amount = 1,
    groups: int = 1,
    out_dtype: str | None = None,
    name: str = "conv_transpose",
    counts: Sequence[Dim] | None = None,
) -> Tensor:
    """The transposed convolution of ``(batch, channels, …)`` with weights ``(channels, outputs / groups, …)``.

    There are ``(length - 1) * stride - padding + dilation * (size - 1) + output_padding + 1`` elements per dimension,
    0 if that is negative. `counts`: these sizes, if the caller knows that they are not negative.
    """
    what = f"topi.nn.{name}"
    inputs, weight = _typed(what, data, kernel, out_dtype)
    sizes, lengths = weight.shape[2:], inputs.shape[2:]
    if isinstance(padding, str):
        raise ArgumentError(f"{what}: 'padding' is {padding!r}, expected integers")
    windows = windows_of(what, sizes, strides, padding, dilation)
    more = _extra(what, output_padding, len(sizes))
    if not isinstance(groups, int) or groups < 1 or not symbolic.prove_divisible(inputs.shape[1], groups):
        raise ShapeError(f"{what}: the channels of {inputs} are not known to be divisible in {groups} groups")
    if not symbolic.prove_equal(inputs.shape[1], weight.shape[0]):
        raise ShapeError(f"{what}: {weight} does not have the {inputs.shape[1]} channels of {inputs}")
    per_group, outputs = symbolic.floordiv(inputs.shape[1], groups), weight.shape[1]
    channel = reductions.reduce_axis((0, per_group), "rc")
    taps = taps_of(windows)
    if counts is None:
        counts = [
            symbolic.maximum((length - 1) * w.stride - w.before - w.after + w.dilation * (w.size - 1) + extra + 1, 0)
            for length, w, extra in zip(lengths, windows, more, strict=True)
        ]

    def value(b: Expr, o: Expr, *at: Expr) -> object:
        own = channel if groups == 1 else o // size(outputs) * size(per_group) + channel
        tests: list[Expr] = []
        places: list[Expr] = []
        for i, tap, w, length in zip(at, taps, windows, lengths, strict=True):
            shifted = i + w.before - scaled(tap, w.dilation)
            place = shifted if w.stride == 1 else shifted // w.stride
            tests += [shifted >= 0, place < size(length)]
            if w.stride != 1:
                tests.append(shifted % w.stride == 0)
            places.append(place)
        factor = weight(own, o if groups == 1 else o % size(outputs), *taps)
        zero = functions.const(0, inputs.dtype)
        product = functions.if_then_else(functions.all(*tests), inputs(b, own, *places), zero) * factor
        return reductions.sum(product, [channel, *taps])

    return computed([inputs.shape[0], outputs * groups, *counts], value, f"T_{name}", f"{name}_nchw")


def _extra(what: str, output_padding: Amount, rank: int) -> list[int]:
    """The elements that are added at the end of each dimension."""
    more = [output_padding] if isinstance(output_padding, int) else list(output_padding)
    more = more * rank if len(more) == 1 else more
    if len(more) != rank or any(not isinstance(m, int) or m < 0 for m in more):
        raise ArgumentError(f"{what}: 'output_padding' is {output_padding!r}, expected {rank} integers from 0 on")
    return more


def conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Amount,
    padding: Amount,
    out_dtype: str | None,
    output_padding: Amount,
) -> Tensor:
    """The transposed convolution along one dimension; see `conv_transpose`."""
    return conv_transpose(data, kernel, stride, padding, output_padding, 1, 1, out_dtype, "conv1d_transpose")


def conv2d_transpose_nchw(
    Input: Tensor,
    Filter: Tensor,
    strides: Amount,
    padding: Amount,
    out_dtype: str | None,
    output_padding: Amount,
) -> Tensor:
    """The transposed convolution along two dimensions; see `conv_transpose`."""
    return conv_transpose(Input, Filter, strides, padding, output_padding, 1, 1, out_dtype, "conv2d_transpose")


def conv3d_transpose_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    strides: Amount,
    padding: Amount,
    out_dtype: str | None,
    output_padding: Amount,
) -> Tensor:
    """The transposed convolution along three dimensions; see `conv_transpose`."""
    return conv_transpose(Input, Filter, strides, padding, output_padding, 1, 1, out_dtype, "conv3d_transpose")


def _of_rank(
    name: str,
    data: Tensor,
    weight: Tensor,
    rank: int,
    stride: Amount,
    padding: Padding,
    dilation: Amount,
    groups: int,
    out_dtype: str | None,
) -> Tensor:
    if require(f"topi.nn.{name}: the data", data).ndim != rank:
        raise ShapeError(f"topi.nn.{name}: {data} is not of {rank} dimensions")
    return conv(data, weight, stride, padding, dilation, groups, out_dtype, name)


def _typed(what: str, data: Tensor, weight: Tensor, out_dtype: str | None) -> tuple[Tensor, Tensor]:
    """The operands, converted to `out_dtype` if it is given."""
    operands = [require(f"{what}: the data", data), require(f"{what}: the weights", weight)]
    if operands[0].ndim != operands[1].ndim or operands[0].ndim < 3:
        raise ShapeError(f"{what}: {data} and {weight} are not of as many dimensions, three or more")
    if out_dtype is not None:
        wanted = dtypes.dtype(out_dtype).name
        operands = [t if t.dtype == wanted else t.astype(wanted) for t in operands]
    return operands[0], operands[1]


def _outputs(what: str, channels: Dim, weight: Tensor, groups: int) -> Dim:
    """The outputs of each group; checks that the sizes match."""
    if not isinstance(groups, int) or groups < 1 or not symbolic.prove_divisible(weight.shape[0], groups):
        raise ShapeError(f"{what}: the outputs of {weight} are not known to be divisible in {groups} groups")
    if not symbolic.prove_equal(weight.shape[1] * groups, channels):
        raise ShapeError(f"{what}: {weight} in {groups} groups is not known to fit {channels} channels")
    return symbolic.floordiv(weight.shape[0], groups)


def _padded(data: Tensor, windows: Sequence[Window]) -> Tensor:
    if all(window.before == window.after == 0 for window in windows):
        return data
    before = [0, 0, *(window.before for window in windows)]
    after = [0, 0, *(window.after for window in windows)]
    return pad(data, before, after, as_expr(0))


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
    more = (stride, padding, dilation, groups, out_dtype)
    return in_layout(what, Input, "NHWC", "NCHW", lambda x: group_conv2d_nchw(x, weight, *more))


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
    more = (stride, padding, dilation, out_dtype)
    return in_layout(what, Input, "NHWC", "NCHW", lambda x: depthwise_conv2d_nchw(x, weight, *more))


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
    return conv_transpose(data, kernel, stride, padding, output_padding, 1, groups, out_dtype, "conv1d_transpose")


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
    return conv_transpose(data, kernel, stride, padding, output_padding, 1, groups, out_dtype, "conv2d_transpose")


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
    return conv_transpose(data, kernel, strides, padding, output_padding, 1, groups, out_dtype, "conv3d_transpose")
