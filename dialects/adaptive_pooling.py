"""Adaptive pooling: one window per element of the result, sized to cover the data."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.convolution import SPATIAL, dims_by_letter, layout_of
from relax_mlir.dialects.dim_orders import Order, Reordered, with_layouts
from relax_mlir.dialects.number_attributes import dimension, text_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import DimLike, Tensor, dims_attr, dims_from_attr, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

Sizes = DimLike | Sequence[DimLike]


class AdaptivePoolingOp(RelaxOp):
    """Base of the adaptive pooling ops: `count` is the number of spatial dimensions."""

    op_pattern = OpPatternKind.OUT_ELEMWISE_FUSABLE

    count = 0

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

    data: ext.Operand[Any]
    output_size: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]
    count = 1


class AdaptiveAvgPool2dOp(AdaptivePoolingOp, name="nn_adaptive_avg_pool2d", traits=[ext.Pure]):
    """The mean of each of ``output_size`` windows that cover the images `data`, floats.

    Window ``i`` of ``m`` in a dimension of size ``l`` ranges from ``i * l // m`` to ``ceildiv((i + 1) * l, m)``,
    exclusive; windows may overlap. `output_size` has one integer or expression per spatial dimension; ``unit`` is the
    size of the data. An empty window gives NaN. The layouts are permutations of the letters of ``NCHW``. 16-bit floats
    are accumulated in float32.

    Example: shape ``(n, c, h, w)`` with output_size ``[7, 7]`` gives ``(n, c, 7, 7)``.
    """

    data: ext.Operand[Any]
    output_size: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]
    count = 2


class AdaptiveAvgPool3dOp(AdaptivePoolingOp, name="nn_adaptive_avg_pool3d", traits=[ext.Pure]):
    """The mean of each of ``output_size`` windows of `data`.

    See `AdaptiveAvgPool2dOp`.

    Example: shape ``(n, c, 8, 8, 8)`` with output_size ``[2, 2, 2]`` gives ``(n, c, 2, 2, 2)``.
    """

    data: ext.Operand[Any]
    output_size: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]
    count = 3


class AdaptiveMaxPool1dOp(AdaptivePoolingOp, name="nn_adaptive_max_pool1d", traits=[ext.Pure]):
    """The maximum of each of ``output_size`` windows of `data` (batch, channels, width).

    See `AdaptiveMaxPool2dOp`.

    Example: shape ``(n, c, w)`` with output_size ``[1]`` gives ``(n, c, 1)``.
    """

    data: ext.Operand[Any]
    output_size: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]
    count = 1


class AdaptiveMaxPool2dOp(AdaptivePoolingOp, name="nn_adaptive_max_pool2d", traits=[ext.Pure]):
    """The maximum of each of ``output_size`` windows of images `data`; NaN if an element is NaN.

    Windows are those of `AdaptiveAvgPool2dOp`. An empty window gives the minimum of the dtype.

    Example: shape ``(n, c, h, w)`` with output_size ``[7, 7]`` gives ``(n, c, 7, 7)``.
    """

    data: ext.Operand[Any]
    output_size: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]
    count = 2


class AdaptiveMaxPool3dOp(AdaptivePoolingOp, name="nn_adaptive_max_pool3d", traits=[ext.Pure]):
    """The maximum of each of ``output_size`` windows of `data`.

    See `AdaptiveMaxPool2dOp`.

    Example: shape ``(n, c, 8, 8, 8)`` with output_size ``[2, 2, 2]`` gives ``(n, c, 2, 2, 2)``.
    """

    data: ext.Operand[Any]
    output_size: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]
    count = 3


# -- builders --------------------------------------------------------------------------------------------------


def adaptive_avg_pool1d(
    data: ValueLike, output_size: Sizes = None, layout: str = "NCW", out_layout: str | None = None
) -> Value:
    """The mean of each of `output_size` windows (see `AdaptiveAvgPool1dOp`)."""
    return _pooling(AdaptiveAvgPool1dOp, data, output_size, layout, out_layout)


def adaptive_avg_pool2d(
    data: ValueLike, output_size: Sizes = None, layout: str = "NCHW", out_layout: str | None = None
) -> Value:
    """The mean of each of `output_size` windows (see `AdaptiveAvgPool2dOp`)."""
    return _pooling(AdaptiveAvgPool2dOp, data, output_size, layout, out_layout)


def adaptive_avg_pool3d(
    data: ValueLike, output_size: Sizes = None, layout: str = "NCDHW", out_layout: str | None = None
) -> Value:
    """The mean of each of `output_size` windows (see `AdaptiveAvgPool3dOp`)."""
    return _pooling(AdaptiveAvgPool3dOp, data, output_size, layout, out_layout)


def adaptive_max_pool1d(
    data: ValueLike, output_size: Sizes = None, layout: str = "NCW", out_layout: str | None = None
) -> Value:
    """The maximum of each of `output_size` windows (see `AdaptiveMaxPool1dOp`)."""
    return _pooling(AdaptiveMaxPool1dOp, data, output_size, layout, out_layout)


def adaptive_max_pool2d(
    data: ValueLike, output_size: Sizes = None, layout: str = "NCHW", out_layout: str | None = None
) -> Value:
    """The maximum of each of `output_size` windows (see `AdaptiveMaxPool2dOp`)."""
    return _pooling(AdaptiveMaxPool2dOp, data, output_size, layout, out_layout)


def adaptive_max_pool3d(
    data: ValueLike, output_size: Sizes = None, layout: str = "NCDHW", out_layout: str | None = None
) -> Value:
    """The maximum of each of `output_size` windows (see `AdaptiveMaxPool3dOp`)."""
    return _pooling(AdaptiveMaxPool3dOp, data, output_size, layout, out_layout)


def _pooling(
    cls: type[AdaptivePoolingOp], data: ValueLike, output_size: Sizes, layout: str, out_layout: str | None
) -> Value:
    what = cls.OPERATION_NAME.removeprefix("relax.nn_")
    require_insertion_point(f"nn.{what}")
    attributes: dict[str, ir.Attribute] = {
        "output_size": ir.UnitAttr.get(),
        "layout": text_attr(layout, f"{what}: 'layout'"),
        "out_layout": text_attr(layout if out_layout is None else out_layout, f"{what}: 'out_layout'"),
    }
    if output_size is not None:  # a single size applies to all dimensions
        given = list(output_size) if isinstance(output_size, list | tuple) else [output_size]
        sizes = [dimension(item, f"{what}: 'output_size'[{i}]") for i, item in enumerate(given)]
        if any(isinstance(item, int) and item < 0 for item in sizes):
            raise ArgumentError(f"{what}: 'output_size' is {given}, expected sizes from 0 on")
        attributes["output_size"] = dims_attr(sizes * cls.count if len(sizes) == 1 else sizes)
    return create_one(cls, [as_value(data)], attributes)
