"""Convolutions and poolings, and their windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir import op as R
from relax_mlir import symbolic, te, topi
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.registry import Node, constant, rule
from relax_mlir.frontend.onnx.rules.manipulate import padded
from relax_mlir.symbolic import Dim
from relax_mlir.topi.nn.padding import Window
from relax_mlir.topi.nn.pooling import max_and_place

# Windows of convolutions and poolings: strides, dilations, and the padding given by ONNX's `auto_pad`.


MAX_NUMBER = 2**31
"""The limit for sizes and pads: larger windows fit no array in memory, and computing with them overflows."""


@dataclass(frozen=True)
class Windows:
    """Windows over spatial dimensions; pads may be expressions."""

    size: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[Dim]
    after: list[Dim]

    @property
    def static_pads(self) -> list[int] | None:
        """The pads before, then after, if they are integers."""
        pads = [*self.before, *self.after]
        return [int(pad) for pad in pads if isinstance(pad, int)] if all(isinstance(p, int) for p in pads) else None

    def room(self, axis: int, length: Dim) -> Dim:
        """Return the size of the padded data minus that of a window."""
        reach = (self.size[axis] - 1) * self.dilations[axis] + 1
        return length + self.before[axis] + self.after[axis] - reach


def windows_of(node: Node, size: Sequence[int], spatial: Sequence[Dim]) -> Windows:
    """Return the windows of `size` that a node's attributes describe, over dimensions `spatial`."""
    rank = len(spatial)
    if len(size) != rank:
        raise ShapeError(f"the window has {len(size)} dimensions for {rank} spatial ones")
    strides = node.attr("strides") or [1] * rank
    dilations = node.attr("dilations") or [1] * rank
    for number in (*size, *strides, *dilations, *(node.attr("pads") or [])):
        if abs(number) > MAX_NUMBER:
            raise ArgumentError(f"{number} is no size, stride, dilation or pad of a window")
    how = node.attr("auto_pad", "NOTSET")
    if how == "NOTSET":
        pads = node.attr("pads") or [0] * (2 * rank)
        if not len(pads) == 2 * len(strides) == 2 * len(dilations) == 2 * rank:
            raise ShapeError(f"{len(pads)} pads, {len(strides)} strides and {len(dilations)} dilations for rank {rank}")
        return Windows(list(size), strides, dilations, pads[:rank], pads[rank:])
    if how == "VALID":
        return Windows(list(size), strides, dilations, [0] * rank, [0] * rank)
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise ArgumentError(f"auto_pad is {how!r}")
    before: list[Dim] = []
    after: list[Dim] = []
    for window, stride, dilation, length in zip(size, strides, dilations, spatial, strict=True):
        total = same_padding(window, stride, dilation, length)
        half = symbolic.floordiv(total, 2)
        first, last = (half, total - half) if how == "SAME_UPPER" else (total - half, half)
        before.append(first)
        after.append(last)
    return Windows(list(size), strides, dilations, before, after)


def same_padding(window: int, stride: int, dilation: int, length: Dim) -> Dim:
    """Return the total padding of a dimension for which there are ``ceil(length / stride)`` windows."""
    reach = (window - 1) * dilation + 1
    count = symbolic.ceildiv(length, stride)
    return symbolic.maximum((count - 1) * stride + reach - length, 0)


# Convolutions and transposed convolutions.


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
    sizes = wanted[-spatial:] if wanted is not None else [n * s for n, s in zip(lengths, strides, strict=True)]
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


# Pooling over windows, and over whole images.


def _windows(node: Node) -> Windows:
    return windows_of(node, node.required("kernel_shape"), node.shape()[2:])


def _counts(node: Node, windows: Windows) -> list[Dim]:
    """Return the number of windows along each dimension; with `ceil_mode`, none begins in the padding at the end."""
    counts: list[Dim] = []
    for axis, (length, stride, before) in enumerate(
        zip(node.shape()[2:], windows.strides, windows.before, strict=True)
    ):
        room = windows.room(axis, length)
        if node.attr("ceil_mode", 0):
            reached = symbolic.floordiv(length + before - 1, stride) + 1
            counts.append(symbolic.minimum(symbolic.ceildiv(room, stride) + 1, reached))
        elif _fits(windows, axis, length):
            counts.append(symbolic.floordiv(room, stride) + 1)
        else:
            cut = symbolic.minimum(symbolic.ceildiv(room, stride), 0)
            counts.append(symbolic.maximum(symbolic.floordiv(room, stride), cut) + 1)
    return counts


def _fits(windows: Windows, axis: int, length: Dim) -> bool:
    """True if no window ends after the padded data, whose size is not 0.

    ONNX rounds the number of steps towards 0: where the padded data is shorter than the window by less than a stride,
    there is one window, of all of its elements.
    """
    if windows.strides[axis] == 1:
        return True
    some_length = symbolic.symbol("some_length") + 1
    return any(symbolic.prove_less_equal(0, windows.room(axis, number)) for number in (some_length, length))


def _build(node: Node, windows: Windows, builders: Mapping[int, Any], counts_pads: bool = False) -> Value | None:
    """Pool with an op of this project, which rejects data without a window; return None if none is equivalent."""
    if windows.static_pads is None or node.attr("ceil_mode", 0) or len(windows.size) not in builders:
        return None
    lengths = node.shape()[2:]
    fits = all(_fits(windows, axis, length) for axis, length in enumerate(lengths))
    found: Value = builders[len(windows.size)](
        node.tensor(0),
        windows.size,
        windows.strides,
        windows.static_pads,
        windows.dilations,
        not fits,
        counts_pads,
    )
    if fits:
        return found
    counts = [
        symbolic.floordiv(symbolic.maximum(windows.room(axis, length), 0), stride) + 1
        for axis, (length, stride) in enumerate(zip(lengths, windows.strides, strict=True))
    ]
    axes = list(range(2, 2 + len(lengths)))
    return R.strided_slice(found, axes, [0] * len(axes), counts, assume_inbound=True)


@rule("MaxPool")
def _max_pool(node: Node) -> Value | list[Value | None]:
    windows = _windows(node)
    if len(node.proto.output) > 1 and node.proto.output[1]:
        return _max_pool_with_places(node, windows)
    builders = {1: R.nn.max_pool1d, 2: R.nn.max_pool2d, 3: R.nn.max_pool3d}
    if (found := _build(node, windows, builders)) is not None:
        return found
    result: Value = node.te(
        lambda x: _pooled(x, windows, _counts(node, windows), te.max, te.min_value(x.dtype)), node.tensor(0)
    )
    return result


def _taps(windows: Windows) -> list[Any]:
    return [te.reduce_axis((0, size), f"k{number}") for number, size in enumerate(windows.size)]


def _place(windows: Windows, outer: Sequence[Any], taps: Sequence[Any]) -> list[Any]:
    return [
        i * stride + k * dilation - before
        for i, k, stride, dilation, before in zip(
            outer, taps, windows.strides, windows.dilations, windows.before, strict=True
        )
    ]


def _inside(place: Sequence[Any], lengths: Sequence[Any]) -> Any:  # noqa: ANN401 - expressions of te
    tests = []
    for position, length in zip(place, lengths, strict=True):
        tests += [position >= 0, position < length]
    return te.all(*tests)


def _pooled(x: Any, windows: Windows, counts: Sequence[Dim], combine: Any, outside: Any) -> Any:  # noqa: ANN401 - te
    """Apply `combine` to each window of a tensor, with `outside` for elements in the padding."""
    taps = _taps(windows)

    def value(n: Any, c: Any, *outer: Any) -> Any:  # noqa: ANN401 - expressions of te
        place = _place(windows, outer, taps)
        return combine(te.if_then_else(_inside(place, x.shape[2:]), x(n, c, *place), outside), axis=taps)

    return te.compute([x.shape[0], x.shape[1], *counts], value, name="pool")


def _max_pool_with_places(node: Node, windows: Windows) -> list[Value | None]:
    """Return the maximum of each window, and its flat index in the whole tensor."""
    counts = _counts(node, windows)
    by_columns = bool(node.attr("storage_order", 0))

    def pooled(x: Any) -> Any:  # noqa: ANN401 - tensors of te
        lengths = x.shape[2:]
        order = list(range(len(lengths)))[:: -1 if by_columns else 1]

        def flat(outer: Sequence[Any], position: Sequence[Any]) -> Any:  # noqa: ANN401 - expressions of te
            n, c = outer
            within: Any = 0
            for number in order:
                within = within * lengths[number] + position[number]
            total: Any = 1
            for length in lengths:
                total = total * length
            return (n * x.shape[1] + c) * total + within

        fields = (windows.size, windows.strides, windows.dilations, windows.before, windows.after)
        return max_and_place(x, [Window(*of) for of in zip(*fields, strict=True)], counts, flat)

    return list(node.te(pooled, node.tensor(0)))


@rule("AveragePool")
def _average_pool(node: Node) -> Value:
    windows = _windows(node)
    counts_pads = bool(node.attr("count_include_pad", 0))
    builders = {1: R.nn.avg_pool1d, 2: R.nn.avg_pool2d, 3: R.nn.avg_pool3d}
    if (found := _build(node, windows, builders, counts_pads)) is not None:
        return found
    counts = _counts(node, windows)
    total: Value = node.te(lambda x: _pooled(x, windows, counts, te.sum, te.const(0, x.dtype)), node.tensor(0))
    elements: Value = node.te(lambda x: _elements(x, windows, counts, counts_pads), node.tensor(0))
    return R.divide(total, elements)


def _elements(x: Any, windows: Windows, counts: Sequence[Dim], counts_pads: bool) -> Any:  # noqa: ANN401 - te
    """Return the number of elements of each window."""
    taps = _taps(windows)
    lengths = x.shape[2:]

    def value(*outer: Any) -> Any:  # noqa: ANN401 - expressions of te
        place = _place(windows, outer, taps)
        tests = []
        for position, length, before, after in zip(place, lengths, windows.before, windows.after, strict=True):
            low, high = (-before, length + after) if counts_pads else (0, length)
            tests += [position >= low, position < high]
        return te.sum(te.select(te.all(*tests), te.const(1, x.dtype), te.const(0, x.dtype)), axis=taps)

    return te.compute(list(counts), value, name="elements")


@rule("LpPool")
def _lp_pool(node: Node) -> Value:
    windows, p = _windows(node), node.attr("p", 2)
    power = R.power(R.abs(node.tensor(0)), node.const(p))
    counts = _counts(node, windows)
    total: Value = node.te(lambda x: _pooled(x, windows, counts, te.sum, te.const(0, x.dtype)), power)
    return R.power(total, node.const(1.0 / p))


@rule("GlobalAveragePool")
def _global_average_pool(node: Node) -> Value:
    return R.mean(node.tensor(0), list(range(2, node.rank())), True)


@rule("GlobalMaxPool")
def _global_max_pool(node: Node) -> Value:
    return R.max(node.tensor(0), list(range(2, node.rank())), True)


@rule("GlobalLpPool")
def _global_lp_pool(node: Node) -> Value:
    p = node.attr("p", 2)
    power = R.power(R.abs(node.tensor(0)), node.const(p))
    return R.power(R.sum(power, list(range(2, node.rank())), True), node.const(1.0 / p))


@rule("MaxUnpool")
def _max_unpool(node: Node) -> Value:
    """Write each element to its index in the larger tensor, as given by the pooling."""
    from relax_mlir import topi

    shape = node.shape()
    windows = windows_of(node, node.required("kernel_shape"), shape[2:])
    inner: list[Dim] = [
        (length - 1) * stride - before - after + size
        for length, stride, before, after, size in zip(
            shape[2:], windows.strides, windows.before, windows.after, windows.size, strict=True
        )
    ]
    natural = [shape[0], shape[1], *inner]
    target: list[Dim] = node.dims(2) if node.has(2) else natural
    x, places = R.flatten(node.tensor(0)), R.flatten(node.tensor(1))
    if node.has(2):
        places = _moved_places(places, natural, target)
    zeros = R.full([symbolic.product(target)], constant(0, node.dtype()))
    result: Value = node.te(topi.scatter_elements, zeros, places, x, 0, "update")
    return R.reshape(result, target)


def _moved_places(places: Value, natural: list[Dim], target: list[Dim]) -> Value:
    """Convert flat indices of one shape to those of another."""
    from relax_mlir.frontend.onnx.rules.indexing import size_value

    found = R.const(np.int64(0))
    stride: Dim = 1
    for length, size in zip(reversed(natural), reversed(target), strict=True):
        digit = R.floor_mod(places, size_value(length))
        places = R.floor_divide(places, size_value(length))
        found = R.add(found, R.multiply(digit, size_value(stride)))
        stride = stride * size
    return found
