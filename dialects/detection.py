"""Object detection: valid boxes, non-maximum suppression, boxes of anchors, and pooled regions of images."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, floats_of, require_one_of, require_same
from relax_mlir.dialects.convolution import Ints, dims_by_letter, numbers_of, repeated
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, int_attr, ints_attr, text_attr
from relax_mlir.dialects.types import Tensor, Tuple
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, UnsupportedError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


def _dims(args: OpArgs, index: int, what: str, rank: int) -> tuple[Dim | None, ...]:
    """The dimensions of an operand, which must have rank `rank`; `what` describes them in messages."""
    given = args.tensor(index)
    if given.ndim is not None and given.ndim != rank:
        raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected {what}")
    return given.shape or (None,) * rank


def _boxes(args: OpArgs, least: int) -> tuple[Dim | None, ...]:
    float_tensor(args)
    dims = _dims(args, 0, "(batch, boxes, numbers)", 3)
    if dims[2] is not None and not (isinstance(dims[2], int) and dims[2] >= least):
        raise ShapeError(
            f"{args.op}: operand 'data' is {args.tensor(0)}, expected (batch, boxes, {least} numbers or more)"
        )
    return dims


class GetValidCountsOp(RelaxOp, name="vision_get_valid_counts", traits=[ext.Pure]):
    """The boxes whose score is above `score_threshold`, in order, followed by rows of -1.

    `data` is ``(batch, boxes, values)``, floats. Value `score_index` of a box is its score; value `id_index` is its
    class, which must not be negative for valid boxes (-1: there is no class value). The result is a tuple: the number
    of valid boxes, int32 of shape ``(batch,)``; the boxes; and their original indices, int32 of shape
    ``(batch, boxes)``, padded with -1.

    Example: shape ``(n, 100, 6)`` gives ``(n,)``, ``(n, 100, 6)`` and ``(n, 100)``.
    """

    data: ext.Operand[Any]
    score_threshold: ir.FloatAttr
    id_index: ir.IntegerAttr
    score_index: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.float_attr("score_threshold")
        class_, score = args.int_attr("id_index"), args.int_attr("score_index")
        if score < 0 or class_ < -1:
            raise ArgumentError(
                f"{args.op}: score_index is {score}, id_index {class_}, expected places, or -1 for no class"
            )
        batch, boxes, _ = dims = _boxes(args, max(class_, score) + 1)
        return Tuple(
            [Tensor((batch,), "int32"), Tensor(dims, args.tensor(0).dtype), Tensor((batch, boxes), "int32")]
        )


class NonMaxSuppressionOp(RelaxOp, name="vision_non_max_suppression", traits=[ext.Pure]):
    """Non-maximum suppression: boxes by descending score whose IoU with each earlier box is below `iou_threshold`.

    `data`, `valid_count` and `indices` are the results of `GetValidCountsOp`. The values of a box from `coord_start` on
    are two corners. `max_output_size` limits the number of selected boxes, and `top_k` the number of candidates with
    the highest scores; values of 0 and below mean no limit. Boxes suppress those of the same class (value `id_index`),
    or with `force_suppress` those of all classes. Boxes with scores not above `score_threshold` are ignored. With
    `return_indices` the result is a tuple: the original indices of the selected boxes, int32 of shape
    ``(batch, boxes)``, padded with -1, and their number, ``(batch, 1)``. Otherwise it is the boxes by descending score,
    with -1 for suppressed ones, which come last with `invalid_to_bottom`.

    Example: shapes ``(n, 100, 6)``, ``(n,)`` and ``(n, 100)`` give ``(n, 100)`` and ``(n, 1)``.
    """

    data: ext.Operand[Any]
    valid_count: ext.Operand[Any]
    indices: ext.Operand[Any]
    max_output_size: ir.IntegerAttr
    iou_threshold: ir.FloatAttr
    force_suppress: ir.IntegerAttr
    top_k: ir.IntegerAttr
    coord_start: ir.IntegerAttr
    score_index: ir.IntegerAttr
    id_index: ir.IntegerAttr
    return_indices: ir.IntegerAttr
    invalid_to_bottom: ir.IntegerAttr
    soft_nms_sigma: ir.FloatAttr
    score_threshold: ir.FloatAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for name in ("iou_threshold", "score_threshold"):
            args.float_attr(name)
        for name in ("max_output_size", "top_k"):
            args.int_attr(name)
        for name in ("force_suppress", "invalid_to_bottom"):
            args.bool_attr(name)
        if args.float_attr("soft_nms_sigma"):
            raise UnsupportedError(
                f"{args.op}: soft_nms_sigma is {args.float_attr('soft_nms_sigma')}, expected 0 (scores are not lowered "
                "by overlaps)"
            )
        corner, score, class_ = (args.int_attr(name) for name in ("coord_start", "score_index", "id_index"))
        if corner < 0 or score < 0 or class_ < -1:
            raise ArgumentError(
                f"{args.op}: coord_start is {corner}, score_index {score}, id_index {class_}, expected places, or -1 "
                "for no class"
            )
        batch, boxes, _ = dims = _boxes(args, max(corner + 4, score + 1, class_ + 1))
        for index, wanted in ((1, (batch,)), (2, (batch, boxes))):
            args.require_dtype(index, lambda d: d.is_integer, "integers")
            require_same(args, index, wanted, "the boxes of 'data'")
        if args.bool_attr("return_indices"):
            return Tuple([Tensor((batch, boxes), "int32"), Tensor((batch, 1), "int32")])
        return Tensor(dims, args.tensor(0).dtype)


class AllClassNonMaxSuppressionOp(RelaxOp, name="vision_all_class_non_max_suppression", traits=[ext.Pure]):
    """Non-maximum suppression per class, as in ONNX's NonMaxSuppression.

    `boxes` is ``(batch, boxes, 4)``, two corners of each, and `scores` ``(batch, classes, boxes)``, floats. The other
    operands are one number each: the maximum number of boxes per class; the IoU above which a box suppresses one of
    lower score; and the minimum score, exclusive. The result is a tuple: batch index, class and box, int64 of shape
    ``(batch * classes * boxes, 3)``, padded with rows of -1; and the number of selected boxes, int64 of shape ``(1,)``.

    Example: shapes ``(1, 9, 4)`` and ``(1, 2, 9)`` give ``(18, 3)`` and ``(1,)``.
    """

    boxes: ext.Operand[Any]
    scores: ext.Operand[Any]
    max_output_boxes_per_class: ext.Operand[Any]
    iou_threshold: ext.Operand[Any]
    score_threshold: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1, 3, 4):
            float_tensor(args, index)
        args.require_dtype(2, lambda d: d.is_integer, "an integer")
        for index in (2, 3, 4):
            given = args.tensor(index)
            if given.ndim not in (None, 0) and tuple(given.shape or (None,)) not in ((1,), (None,)):
                raise ShapeError(
                    f"{args.op}: operand '{args.name_of(index)}' is {given}, expected one number"
                )
        boxes, scores = args.tensor(0), args.tensor(1)
        if boxes.dtype is not None and scores.dtype is not None:
            promote(boxes.dtype, scores.dtype, f"{args.op}: 'boxes' and 'scores'")
        batch, count, width = _dims(args, 0, "(batch, boxes, 4)", 3)
        images, classes, scored = _dims(args, 1, "(batch, classes, boxes)", 3)
        if width not in (None, 4):
            raise ShapeError(f"{args.op}: operand 'boxes' is {boxes}, expected (batch, boxes, 4)")
        require_same(args, 1, (batch, classes, count), "'boxes' with the classes")
        known = [images if batch is None else batch, classes, scored if count is None else count]
        sizes = [dim for dim in known if dim is not None]
        rows = symbolic.product(sizes) if len(sizes) == 3 else None
        return Tuple([Tensor((rows, 3), "int64"), Tensor((1,), "int64")])


class MultiboxTransformLocOp(RelaxOp, name="vision_multibox_transform_loc", traits=[ext.Pure]):
    """Boxes decoded from anchors by predicted offsets, and their scores.

    `cls_pred` is ``(batch, classes, anchors)``: the scores are its softmax along the classes. `loc_pred` is
    ``(batch, 4 * anchors)``: for each anchor, the x and y offsets relative to its size, and the logarithms of the width
    and height factors, each multiplied by one of the `variances`. `anchor` is ``(1, anchors, 4)``: left, top, right and
    bottom. With `clip`, corners are clamped to 0..1. Scores below `threshold` become 0, and so do those of class 0
    without `keep_background`. The result is a tuple of boxes ``(batch, anchors, 4)``, top, left, bottom, right, and the
    scores.

    Example: shapes ``(n, 21, 9)``, ``(n, 36)`` and ``(1, 9, 4)`` give ``(n, 9, 4)`` and ``(n, 21, 9)``.
    """

    cls_pred: ext.Operand[Any]
    loc_pred: ext.Operand[Any]
    anchor: ext.Operand[Any]
    clip: ir.IntegerAttr
    threshold: ir.FloatAttr
    variances: ir.ArrayAttr
    keep_background: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("clip"), args.bool_attr("keep_background"), args.float_attr("threshold")
        factors = floats_of(args, "variances")
        if factors is None or len(factors) != 4:
            raise ArgumentError(f"{args.op}: variances is {factors}, expected four numbers")
        for index in (0, 1, 2):
            float_tensor(args, index)
        dtypes = [info.dtype for info in args.tensors() if info.dtype is not None]
        for other in dtypes[1:]:
            promote(dtypes[0], other, args.op)
        batch, classes, anchors = _dims(args, 0, "(batch, classes, anchors)", 3)
        require_same(
            args, 1, (batch, None if anchors is None else anchors * 4), "four numbers for each anchor"
        )
        require_same(args, 2, (1, anchors, 4), "the anchors of 'cls_pred'")
        dtype = dtypes[0] if dtypes else None
        return Tuple([Tensor((batch, anchors, 4), dtype), Tensor((batch, classes, anchors), dtype)])


# -- builders --------------------------------------------------------------------------------------------------


def get_valid_counts(
    data: ValueLike, score_threshold: float = 0.0, id_index: int = 0, score_index: int = 1
) -> Value:
    """The valid boxes and their number (see `GetValidCountsOp`): a tuple of three."""
    require_insertion_point("vision.get_valid_counts")
    attributes = {
        "score_threshold": double_attr(score_threshold, "get_valid_counts: 'score_threshold'"),
        "id_index": int_attr(id_index, "get_valid_counts: 'id_index'"),
        "score_index": int_attr(score_index, "get_valid_counts: 'score_index'"),
    }
    return create_one(GetValidCountsOp, [as_value(data)], attributes)


def non_max_suppression(
    data: ValueLike,
    valid_count: ValueLike,
    indices: ValueLike,
    max_output_size: int = -1,
    iou_threshold: float = 0.5,
    force_suppress: bool = False,
    top_k: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = 0,
    return_indices: bool = True,
    invalid_to_bottom: bool = False,
    soft_nms_sigma: float = 0.0,
    score_threshold: float = 0.0,
) -> Value:
    """Non-maximum suppression (see `NonMaxSuppressionOp`)."""
    what = "non_max_suppression"
    require_insertion_point(f"vision.{what}")
    integers = {
        "max_output_size": max_output_size,
        "top_k": top_k,
        "coord_start": coord_start,
        "score_index": score_index,
        "id_index": id_index,
    }
    floats = {
        "iou_threshold": iou_threshold,
        "soft_nms_sigma": soft_nms_sigma,
        "score_threshold": score_threshold,
    }
    flags = {
        "force_suppress": force_suppress,
        "return_indices": return_indices,
        "invalid_to_bottom": invalid_to_bottom,
    }
    attributes: dict[str, ir.Attribute] = {
        **{name: int_attr(value, f"{what}: '{name}'") for name, value in integers.items()},
        **{name: double_attr(value, f"{what}: '{name}'") for name, value in floats.items()},
        **{name: bool_attr(value, f"{what}: '{name}'") for name, value in flags.items()},
    }
    return create_one(NonMaxSuppressionOp, [as_value(v) for v in (data, valid_count, indices)], attributes)


def all_class_non_max_suppression(
    boxes: ValueLike,
    scores: ValueLike,
    max_output_boxes_per_class: ValueLike,
    iou_threshold: ValueLike,
    score_threshold: ValueLike,
) -> Value:
    """Non-maximum suppression per class (see `AllClassNonMaxSuppressionOp`): a tuple of two."""
    require_insertion_point("vision.all_class_non_max_suppression")
    threshold = Tensor((), "float32")
    operands = [
        as_value(boxes),
        as_value(scores),
        as_value(max_output_boxes_per_class, Tensor((), "int64")),
        as_value(iou_threshold, threshold),
        as_value(score_threshold, threshold),
    ]
    return create_one(AllClassNonMaxSuppressionOp, operands)


def multibox_transform_loc(
    cls_pred: ValueLike,
    loc_pred: ValueLike,
    anchor: ValueLike,
    clip: bool = False,
    threshold: float = 0.0,
    variances: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    keep_background: bool = True,
) -> Value:
    """Boxes decoded from anchors, and their scores (see `MultiboxTransformLocOp`): a tuple of two."""
    what = "multibox_transform_loc"
    require_insertion_point(f"vision.{what}")
    expect(f"{what}: 'variances'", variances, list | tuple, "four numbers")
    factors = [double_attr(item, f"{what}: 'variances'[{i}]") for i, item in enumerate(variances)]
    attributes = {
        "clip": bool_attr(clip, f"{what}: 'clip'"),
        "threshold": double_attr(threshold, f"{what}: 'threshold'"),
        "variances": ir.ArrayAttr.get(factors),
        "keep_background": bool_attr(keep_background, f"{what}: 'keep_background'"),
    }
    return create_one(MultiboxTransformLocOp, [as_value(v) for v in (cls_pred, loc_pred, anchor)], attributes)


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
