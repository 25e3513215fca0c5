"""Pooling over one to three dimensions: the maximum or mean of each window, of given or adaptive size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, Parameter, RelaxOp
from relax_mlir.dialects.convolution import (
    SPATIAL,
    SpatialOp,
    dims_by_letter,
    layout_of,
    numbers_of,
)
from relax_mlir.dialects.fields import Bool, Ints, Operand, Text, TextOrDefault
from relax_mlir.dialects.number_attributes import dimension
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, with_layouts
from relax_mlir.dialects.types import DimLike, Tensor, as_dim, dim_text, dims_attr, dims_from_attr, shape_text
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class WindowOp(SpatialOp):
    """Base of the pooling ops and their gradients."""

    pool_size: Ints = 1
    strides: Ints = 1
    padding: Ints = 0
    dilation: Ints = 1
    ceil_mode: Bool = False
    count_include_pad: Bool = False
    layout: Text = "NCW"
    out_layout: TextOrDefault = None


class PoolingOp(WindowOp):
    """Base of the pooling ops."""

    op_pattern = OpPatternKind.OUT_ELEMWISE_FUSABLE

    data: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Pooling.of(args).result

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return with_layouts(args.attrs, order)


class MaxPool1dOp(PoolingOp, name="nn_max_pool1d", traits=[ext.Pure]):
    """The maximum of each window of `data` (batch, channels, width); see `MaxPool2dOp`.

    Example: ``[1, 5, 2, 4]`` with pool_size ``[2]`` and strides ``[2]`` gives ``[5, 4]``.
    """

    count = 1


class MaxPool2dOp(PoolingOp, name="nn_max_pool2d", traits=[ext.Pure]):
    """The maximum of each window of images `data`; NaN if an element is NaN.

    A window has `pool_size` elements with a distance of `dilation`; windows start at multiples of `strides`, minus the
    `padding` (top, left, bottom, right). Padding does not count: a window of padding alone gives the lowest finite
    value of the dtype, as in TVM. `ceil_mode` adds windows that start in the padded image and end beyond it, including
    those of padding alone: TVM has these, PyTorch and ONNX do not. An image without any window is an error, at run time
    if its size is unknown before. `count_include_pad` has no effect here. The layouts are permutations of the letters
    of ``NCHW``.

    Example: shape ``(n, c, h, w)`` with pool_size ``[2, 2]`` and strides ``[2, 2]`` gives ``(n, c, h // 2, w // 2)``.
    """

    pool_size, strides, padding, dilation = (1, 1), (1, 1), (0, 0), (1, 1)
    layout = "NCHW"
    count = 2


class MaxPool3dOp(PoolingOp, name="nn_max_pool3d", traits=[ext.Pure]):
    """The maximum of each window of `data` (batch, channels, depth, height, width); see `MaxPool2dOp`.

    Example: shape ``(n, c, 8, 8, 8)`` with pool_size ``[2, 2, 2]`` and strides ``[2, 2, 2]`` gives ``(n, c, 4, 4, 4)``.
    """

    pool_size, strides, padding, dilation = (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1)
    layout = "NCDHW"
    count = 3


class AvgPool1dOp(PoolingOp, name="nn_avg_pool1d", traits=[ext.Pure]):
    """The mean of each window of `data` (batch, channels, width), floats; see `AvgPool2dOp`.

    Example: ``[1, 5, 2, 4]`` with pool_size ``[2]`` and strides ``[2]`` gives ``[3, 3]``.
    """

    count = 1


class AvgPool2dOp(PoolingOp, name="nn_avg_pool2d", traits=[ext.Pure]):
    """The mean of each window of images `data`, floats; windows as those of `MaxPool2dOp`.

    The sum of the elements in the image is divided by their number, or with `count_include_pad` by the number of
    elements in the padded image. A window without such elements gives 0. 16-bit floats are accumulated in float32.

    Example: shape ``(n, c, h, w)`` with pool_size ``[2, 2]`` and strides ``[2, 2]`` gives ``(n, c, h // 2, w // 2)``.
    """

    pool_size, strides, padding, dilation = (1, 1), (1, 1), (0, 0), (1, 1)
    layout = "NCHW"
    count = 2


class AvgPool3dOp(PoolingOp, name="nn_avg_pool3d", traits=[ext.Pure]):
    """The mean of each window of `data` (batch, channels, depth, height, width), floats; see `AvgPool2dOp`.

    Example: shape ``(n, c, 8, 8, 8)`` with pool_size ``[2, 2, 2]`` and strides ``[2, 2, 2]`` gives ``(n, c, 4, 4, 4)``.
    """

    pool_size, strides, padding, dilation = (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1)
    layout = "NCDHW"
    count = 3


@dataclass(frozen=True)
class Pooling:
    """The checked attributes of a pooling op."""

    op: str
    spatial: str
    size: tuple[int, ...]
    strides: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil: bool
    includes_padding: bool
    layout: str
    out: str
    result: Tensor

    @property
    def is_mean(self) -> bool:
        return "avg" in self.op

    @classmethod
    def of(cls, args: OpArgs) -> "Pooling":
        """The pooling of an op; raises `ShapeError`, `DTypeError`, `ArgumentError`, `UnsupportedError`."""
        count = next(int(c) for c in args.op if c.isdigit())
        spatial = SPATIAL[count]
        if "avg" in args.op:
            args.require_dtype(0, lambda d: d.is_float, "a float")
        else:
            args.require_dtype(0, lambda d: d.kind != "bool", "a number")
        size, strides, dilation = (
            numbers_of(args, name, count, least=1) for name in ("pool_size", "strides", "dilation")
        )
        padding = numbers_of(args, "padding", 2 * count, least=0)
        layout, out = (layout_of(args, name, f"NC{spatial}") for name in ("layout", "out_layout"))
        flags = args.bool_attr("ceil_mode"), args.bool_attr("count_include_pad")
        data = args.tensor(0)
        if data.ndim is not None and data.ndim != count + 2:
            raise ShapeError(f"{args.op}: operand 'data' is {data}, expected {count + 2} dimensions ({layout})")
        found = cls(
            *(args.op, spatial, size, strides, padding[:count], padding[count:], dilation),
            *(*flags, layout, out, Tensor(None, data.dtype, ndim=count + 2)),
        )
        if data.shape is None:
            return found
        dims = dict(zip(layout, data.shape, strict=True))
        for axis, letter in enumerate(spatial):
            dims[letter] = found.windows(axis, dims[letter])
        return replace(found, result=Tensor([dims[letter] for letter in out], data.dtype))

    def windows(self, axis: int, size: Dim | None) -> Dim | None:
        """The number of windows in spatial dimension `axis`."""
        if size is None:
            return None
        padded = size + self.before[axis] + self.after[axis]
        reach = (self.size[axis] - 1) * self.dilation[axis] + 1
        extra = self.strides[axis] - 1 if self.ceil else 0
        if symbolic.prove_less_equal(padded + extra + 1, reach):
            raise ShapeError(
                f"{self.op}: in dimension {self.spatial[axis]} the window reaches over {reach}, but the padded data "
                f"has size {dim_text(padded)}"
            )
        return symbolic.floordiv(padded - reach + extra, self.strides[axis]) + 1

    def has_windows(self, axis: int, size: Dim) -> bool:
        """True if spatial dimension `axis` has a window for all values of `size`, or for all but 0."""
        return has_windows(lambda length: self.windows(axis, length), size)


def has_windows(count: Callable[[Dim], Dim | None], size: Dim) -> bool:
    """True if `count`, which grows with the size of the data, is provably positive for `size`, or for all but 0."""
    some_size = symbolic.symbol("some_size") + 1
    return any(found is not None and symbolic.prove_less_equal(1, found) for found in (count(some_size), count(size)))


# -- builders --------------------------------------------------------------------------------------------------


Sizes = DimLike | Sequence[DimLike]


def _sizes_attr(sizes: Sequence[DimLike], what: str) -> ir.Attribute:
    return dims_attr([as_dim(size) for size in sizes])


OutputSize: TypeAlias = Annotated[Sizes, Parameter(ir.ArrayAttr, _sizes_attr, Sizes, "DimLike | Sequence[DimLike]")]


class AdaptivePoolingOp(RelaxOp):
    """Base of the adaptive pooling ops: `count` is the number of spatial dimensions."""

    op_pattern = OpPatternKind.OUT_ELEMWISE_FUSABLE

    data: Operand
    output_size: OutputSize | None = None
    layout: Text = "NCW"
    out_layout: TextOrDefault = None
    result: ext.Result[Any]
    count = 0

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        given["out_layout"] = given["layout"] if given["out_layout"] is None else given["out_layout"]
        if (size := given["output_size"]) is None:
            return
        items = list(size) if isinstance(size, list | tuple) else [size]
        sizes = [dimension(item, f"{what}: 'output_size'[{i}]") for i, item in enumerate(items)]
        if any(isinstance(item, int) and item < 0 for item in sizes):
            raise ArgumentError(f"{what}: 'output_size' is {items}, expected sizes from 0 on")
        given["output_size"] = sizes * cls.count if len(sizes) == 1 else sizes  # one size applies to all dimensions

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("output_size",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if "avg" in args.op:
            args.require_dtype(0, lambda d: d.is_float, "a float")
        else:
            args.require_dtype(0, lambda d: d.kind != "bool", "a number")
        spatial, data = SPATIAL[cls.count], args.tensor(0)
        layout, out = (layout_of(args, name, f"NC{spatial}") for name in ("layout", "out_layout"))
        dims = dims_by_letter(args, 0, layout)
        sizes = cls._sizes(args)
        if dims is None:
            return Tensor(None, data.dtype, ndim=cls.count + 2)
        if sizes is not None:
            dims |= dict(zip(spatial, sizes, strict=True))
        return Tensor([dims[letter] for letter in out], data.dtype)

    @classmethod
    def _sizes(cls, args: OpArgs) -> Sequence[Dim | None] | None:
        if args.is_unit("output_size"):
            return None
        sizes = dims_from_attr(args.attrs["output_size"])
        if len(sizes) != cls.count or None in sizes:
            raise ArgumentError(
                f"{args.op}: output_size is {shape_text(sizes)}, expected {cls.count} sizes, one for each dimension of "
                f"{SPATIAL[cls.count]}"
            )
        return sizes

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return with_layouts(args.attrs, order)


class AdaptiveAvgPool1dOp(AdaptivePoolingOp, name="nn_adaptive_avg_pool1d", traits=[ext.Pure]):
    """The mean of each of ``output_size`` windows of `data` (batch, channels, width).

    See `AdaptiveAvgPool2dOp`.

    Example: shape ``(n, c, w)`` with output_size ``[1]`` gives ``(n, c, 1)``.
    """

    count = 1


class AdaptiveAvgPool2dOp(AdaptivePoolingOp, name="nn_adaptive_avg_pool2d", traits=[ext.Pure]):
    """The mean of each of ``output_size`` windows that cover the images `data`, floats.

    Window ``i`` of ``m`` in a dimension of size ``l`` ranges from ``i * l // m`` to ``ceildiv((i + 1) * l, m)``,
    exclusive; windows may overlap. `output_size` has one integer or expression per spatial dimension; ``unit`` is the
    size of the data. An empty window gives NaN. The layouts are permutations of the letters of ``NCHW``. 16-bit floats
    are accumulated in float32.

    Example: shape ``(n, c, h, w)`` with output_size ``[7, 7]`` gives ``(n, c, 7, 7)``.
    """

    layout = "NCHW"
    count = 2


class AdaptiveAvgPool3dOp(AdaptivePoolingOp, name="nn_adaptive_avg_pool3d", traits=[ext.Pure]):
    """The mean of each of ``output_size`` windows of `data`.

    See `AdaptiveAvgPool2dOp`.

    Example: shape ``(n, c, 8, 8, 8)`` with output_size ``[2, 2, 2]`` gives ``(n, c, 2, 2, 2)``.
    """

    layout = "NCDHW"
    count = 3


class AdaptiveMaxPool1dOp(AdaptivePoolingOp, name="nn_adaptive_max_pool1d", traits=[ext.Pure]):
    """The maximum of each of ``output_size`` windows of `data` (batch, channels, width).

    See `AdaptiveMaxPool2dOp`.

    Example: shape ``(n, c, w)`` with output_size ``[1]`` gives ``(n, c, 1)``.
    """

    count = 1


class AdaptiveMaxPool2dOp(AdaptivePoolingOp, name="nn_adaptive_max_pool2d", traits=[ext.Pure]):
    """The maximum of each of ``output_size`` windows of images `data`; NaN if an element is NaN.

    Windows are those of `AdaptiveAvgPool2dOp`. An empty window gives the minimum of the dtype.

    Example: shape ``(n, c, h, w)`` with output_size ``[7, 7]`` gives ``(n, c, 7, 7)``.
    """

    layout = "NCHW"
    count = 2


class AdaptiveMaxPool3dOp(AdaptivePoolingOp, name="nn_adaptive_max_pool3d", traits=[ext.Pure]):
    """The maximum of each of ``output_size`` windows of `data`.

    See `AdaptiveMaxPool2dOp`.

    Example: shape ``(n, c, 8, 8, 8)`` with output_size ``[2, 2, 2]`` gives ``(n, c, 2, 2, 2)``.
    """

    layout = "NCDHW"
    count = 3


# -- builders --------------------------------------------------------------------------------------------------
