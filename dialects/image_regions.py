"""Regions of images, pooled to grids of fixed size: roi_align and roi_pool."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.convolution import Ints, dims_by_letter, numbers_of, repeated
from relax_mlir.dialects.image import require_one_of
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, int_attr, ints_attr, text_attr
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext, ir


def _regions(args: OpArgs, layout: str) -> Tensor:
    """Struct info of the result: a grid of `pooled_size` for each region."""
    data, rois = float_tensor(args, 0), float_tensor(args, 1)
    args.float_attr("spatial_scale")
    rows, columns = numbers_of(args, "pooled_size", 2, least=1)
    if rois.ndim is not None and (rois.ndim != 2 or (rois.shape and rois.shape[1] not in (None, 5))):
        raise ShapeError(f"{args.op}: operand 'rois' is {rois}, expected (regions, 5)")
    image = dims_by_letter(args, 0, layout)
    channels = None if image is None else image["C"]
    dims = {"N": rois.shape[0] if rois.shape else None, "C": channels, "H": rows, "W": columns}
    return Tensor([dims[letter] for letter in layout], data.dtype)


class RoiAlignOp(RelaxOp, name="vision_roi_align", traits=[ext.Pure]):
    """The mean (`mode` ``avg``) or maximum (``max``) of samples of each cell of regions of images `data`.

    `rois` is ``(regions, 5)``, floats: the batch index, and two corners, x before y, which are multiplied by
    `spatial_scale`. Each region is divided into `pooled_size` cells, rows and columns. `sample_ratio` is the number of
    samples of a cell along each dimension; 0 and below mean the number of elements of the cell, rounded up. A sample
    interpolates linearly between the four elements around it. With `aligned`, coordinates refer to element centres, and
    regions may be smaller than an element. A batch index out of range is a `BoundsError` of the call. The layout is
    ``NCHW`` or ``NHWC``.

    Example: shapes ``(n, 3, h, w)`` and ``(r, 5)`` with pooled_size ``[7, 7]`` give ``(r, 3, 7, 7)``.
    """

    data: ext.Operand[Any]
    rois: ext.Operand[Any]
    pooled_size: ir.ArrayAttr
    spatial_scale: ir.FloatAttr
    sample_ratio: ir.IntegerAttr
    aligned: ir.IntegerAttr
    layout: ir.StringAttr
    mode: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("sample_ratio"), args.bool_attr("aligned")
        require_one_of(args, "mode", ("avg", "max"))
        return _regions(args, require_one_of(args, "layout", ("NCHW", "NHWC")))


class RoiPoolOp(RelaxOp, name="vision_roi_pool", traits=[ext.Pure]):
    """The maximum of each cell of regions of images `data`, whose corners are rounded to elements.

    `rois`, `pooled_size` and `spatial_scale` are those of `RoiAlignOp`; the layout is ``NCHW``. An empty cell gives 0.

    Example: shapes ``(n, 3, h, w)`` and ``(r, 5)`` with pooled_size ``[7, 7]`` give ``(r, 3, 7, 7)``.
    """

    data: ext.Operand[Any]
    rois: ext.Operand[Any]
    pooled_size: ir.ArrayAttr
    spatial_scale: ir.FloatAttr
    layout: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return _regions(args, require_one_of(args, "layout", ("NCHW",)))


def roi_align(
    data: ValueLike,
    rois: ValueLike,
    pooled_size: Ints,
    spatial_scale: float,
    sample_ratio: int = -1,
    aligned: bool = False,
    layout: str = "NCHW",
    mode: str = "avg",
) -> Value:
    """The mean or maximum of samples of the cells of regions (see `RoiAlignOp`); a single size applies to both."""
    require_insertion_point("vision.roi_align")
    sizes = repeated(pooled_size, "roi_align", "pooled_size", 2)
    attributes = {
        "pooled_size": ints_attr(sizes, "roi_align: 'pooled_size'"),
        "spatial_scale": double_attr(spatial_scale, "roi_align: 'spatial_scale'"),
        "sample_ratio": int_attr(sample_ratio, "roi_align: 'sample_ratio'"),
        "aligned": bool_attr(aligned, "roi_align: 'aligned'"),
        "layout": text_attr(layout, "roi_align: 'layout'"),
        "mode": text_attr(mode, "roi_align: 'mode'"),
    }
    return create_one(RoiAlignOp, [as_value(data), as_value(rois)], attributes)


def roi_pool(
    data: ValueLike, rois: ValueLike, pooled_size: Ints, spatial_scale: float, layout: str = "NCHW"
) -> Value:
    """The maximum of each cell of regions (see `RoiPoolOp`)."""
    require_insertion_point("vision.roi_pool")
    sizes = repeated(pooled_size, "roi_pool", "pooled_size", 2)
    attributes = {
        "pooled_size": ints_attr(sizes, "roi_pool: 'pooled_size'"),
        "spatial_scale": double_attr(spatial_scale, "roi_pool: 'spatial_scale'"),
        "layout": text_attr(layout, "roi_pool: 'layout'"),
    }
    return create_one(RoiPoolOp, [as_value(data), as_value(rois)], attributes)
