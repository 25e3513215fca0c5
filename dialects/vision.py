"""Images and object detection."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.base import (
    Inferred,
    OpArgs,
    Parameter,
    RelaxOp,
    floats_of,
    require_one_of,
    require_same,
)
from relax_mlir.dialects.convolution import SPATIAL, dims_by_letter, layout_of, numbers_of, repeated
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.elementwise import dtype_of
from relax_mlir.dialects.fields import (
    Bool,
    DTypeName,
    Float,
    Float32Operand,
    Floats,
    Int,
    Int64Operand,
    Ints,
    Operand,
    Text,
)
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.shapes import bind_shape, shape_operand
from relax_mlir.dialects.structure import shape_expr
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, moved_letters
from relax_mlir.dialects.types import DimLike, Shape, Tensor, Tuple, dim_text
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnsupportedError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

# Images: resizing, sampling at computed coordinates, and affine grids of coordinates.


RESIZE_METHODS = ("nearest_neighbor", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")

Sizes = Value | DimLike | Sequence[DimLike]


def size_value(size: Sizes, count: int) -> Value:
    """Sizes as a shape value; a single size applies to all dimensions."""
    if isinstance(size, Value):
        return bind_shape(size)
    given: list[Any] = list(size) if isinstance(size, list | tuple) else [size]
    return shape_expr(given * count if len(given) == 1 else given)


SizesOperand: TypeAlias = Annotated[
    ir.Value, Parameter(ext.Operand[Any], shape_operand, Sizes, "Value | DimLike | Sequence[DimLike]")
]
"""Sizes as a shape value."""


class ResizeOp(RelaxOp):
    """Base of the resize ops: `count` is the number of spatial dimensions."""

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    size: SizesOperand
    roi: Floats | None = None
    layout: Text = "NCHW"
    method: Text = "linear"
    coordinate_transformation_mode: Text = "half_pixel"
    rounding_method: Text = "round"
    cubic_alpha: Float = -0.75
    cubic_exclude: Bool = False
    extrapolation_value: Float = 0.0
    out_dtype: DTypeName | None = None
    scales: Floats | None = None
    result: ext.Result[Any]
    count = 0

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        given["size"] = size_value(given["size"], cls.count)
        for name, count in (("roi", 2 * cls.count), ("scales", cls.count)):
            if isinstance(given[name], int | float):
                given[name] = [given[name]] * count

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, size, letters = args.tensor(0), args.shape(1), SPATIAL[cls.count]
        layout = layout_of(args, "layout", f"NC{letters}")
        for name, known in (
            ("method", RESIZE_METHODS),
            ("coordinate_transformation_mode", COORDINATES),
            ("rounding_method", ROUNDINGS),
        ):
            require_one_of(args, name, known)
        if args.str_attr("method") != "nearest_neighbor":
            args.require_dtype(0, lambda d: d.is_float, "a float (nearest_neighbor alone takes any dtype)")
        for name, count in (("roi", 2 * cls.count), ("scales", cls.count)):
            numbers = floats_of(args, name)
            if numbers is not None and len(numbers) != count:
                raise ArgumentError(f"{args.op}: {name} has {len(numbers)} numbers, expected {count}")
            if name == "scales" and numbers is not None and not all(number > 0 for number in numbers):
                raise ArgumentError(f"{args.op}: scales is {list(numbers)}, expected numbers above 0")
        (
            args.float_attr("cubic_alpha"),
            args.bool_attr("cubic_exclude"),
            args.float_attr("extrapolation_value"),
        )
        dims = dims_by_letter(args, 0, layout)
        sizes = _spatial(args, size, cls.count)
        target = data.dtype if args.is_unit("out_dtype") else dtype_of(args, "out_dtype")
        if dims is None:
            return Tensor(None, target, ndim=cls.count + 2)
        dims |= dict(zip(letters, sizes, strict=True))
        return Tensor([dims[letter] for letter in layout], target)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return Reordered((0,), (order,), {"layout": moved_letters(args.attrs["layout"], order)})


def _spatial(args: OpArgs, size: Shape, count: int) -> Sequence[Dim | None]:
    """The spatial sizes in a shape operand."""
    if size.ndim is not None and size.ndim != count:
        raise ShapeError(f"{args.op}: operand 'size' is {size}, expected {count} sizes")
    return (None,) * count if size.values is None else size.values


class Resize2dOp(ResizeOp, name="image_resize2d", traits=[ext.Pure]):
    """Images `data` resized to the rows and columns in `size`, a shape.

    With `method` ``nearest_neighbor`` (any dtype), each element is the nearest element of `data`. With ``linear`` and
    ``cubic`` (floats), it is the weighted sum of 2 or 4 elements around its position in each dimension.
    `coordinate_transformation_mode` defines the position of element ``i`` of ``m`` in a dimension of size ``n``, with
    ``s = n / m``. ``half_pixel``: ``(i + 0.5) * s - 0.5``, and the same for ``pytorch_half_pixel``, except that
    ``m = 1`` is at 0. ``asymmetric``: ``i * s``. ``align_corners``: ``i * (n - 1) / (m - 1)``.
    ``tf_half_pixel_for_nn``: ``(i + 0.5) * s``. ``tf_crop_and_resize``: evenly over the region `roi`, given as the
    starts of all dimensions, then the ends, relative to the size (default: the image); positions outside give
    `extrapolation_value`. ``half_pixel_symmetric``: as ``half_pixel``, but symmetric about the centre. `scales`, if
    given, are ``m / n`` before ``m`` was rounded to an integer. `rounding_method` of ``nearest_neighbor`` is ``round``
    or ``round_prefer_floor``, ``round_prefer_ceil``, ``floor`` or ``ceil``; ``""`` is ``floor`` for ``asymmetric``,
    else ``round``. `cubic_alpha` is the constant of the cubic; with `cubic_exclude` positions outside have weight 0,
    otherwise the edge elements are used. The layout is a permutation of the letters of ``NCHW``. The result has
    `out_dtype` (``unit``: the dtype of `data`).

    An empty image cannot be resized: the call is an error.

    Example: shape ``(n, 3, h, w)`` and size ``(2*h, 2*w)`` give ``(n, 3, 2*h, 2*w)``.
    """

    count = 2


class Resize3dOp(ResizeOp, name="image_resize3d", traits=[ext.Pure]):
    """Volumes `data` resized to the slices, rows and columns in `size`, a shape; see `Resize2dOp`.

    The layout is a permutation of the letters of ``NCDHW``.

    Example: shape ``(n, 1, d, h, w)`` and size ``(4, 4, 4)`` give ``(n, 1, 4, 4, 4)``.
    """

    layout, rounding_method = "NCDHW", ""
    count = 3


# -- builders --------------------------------------------------------------------------------------------------


SAMPLE_METHODS = ("nearest", "bilinear", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


class GridSampleOp(RelaxOp, name="image_grid_sample", traits=[ext.Pure]):
    """Samples of images `data` at the coordinates in `grid`, which are -1..1 inside of the image.

    `data` has the layout ``NCHW`` or ``NCDHW``; `grid` is ``(batch, 2, height, width)``, with x in the first channel
    and y in the second, or ``(batch, 3, depth, height, width)``. `method` is ``nearest``; ``bilinear`` (trilinear for
    volumes); or ``bicubic``, for images only. `padding_mode` defines elements outside: ``zeros``, the nearest element
    (``border``), or the mirrored image (``reflection``). With `align_corners`, -1 and 1 are the centres of the first
    and last element, otherwise their outer edges. A NaN coordinate gives 0.

    Example: shapes ``(n, c, h, w)`` and ``(n, 2, p, q)`` give ``(n, c, p, q)``.
    """

    data: Operand
    grid: Operand
    method: Text = "bilinear"
    layout: Text = "NCHW"
    padding_mode: Text = "zeros"
    align_corners: Bool = False
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, grid = float_tensor(args, 0), float_tensor(args, 1)
        method, layout = (
            require_one_of(args, "method", SAMPLE_METHODS),
            require_one_of(args, "layout", ("NCHW", "NCDHW")),
        )
        require_one_of(args, "padding_mode", PADDINGS)
        args.bool_attr("align_corners")
        if method == "bicubic" and layout == "NCDHW":
            raise ArgumentError(f"{args.op}: method is 'bicubic', which is for images, and layout 'NCDHW'")
        if data.dtype is not None and grid.dtype is not None and data.dtype.bits == 64 != grid.dtype.bits:
            raise DTypeError(f"{args.op}: operand 'grid' has dtype {grid.dtype}, expected float64, that of 'data'")
        rank = len(layout)
        for index in (0, 1):
            given = args.tensor(index)
            if given.ndim is not None and given.ndim != rank:
                raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected {rank} dimensions")
        known: Sequence[Dim | None] = data.shape or (None,) * rank
        places: Sequence[Dim | None] = grid.shape or (None,) * rank
        _require_equal(args, "batch", known[0], places[0])
        _require_equal(args, f"coordinates of {layout}", rank - 2, places[1])
        batch = places[0] if known[0] is None else known[0]
        return Tensor([batch, known[1], *places[2:]], data.dtype)


def _require_equal(args: OpArgs, what: str, wanted: Dim | None, given: Dim | None) -> None:
    if wanted is not None and given is not None and not symbolic.prove_equal(wanted, given):
        raise ShapeError(
            f"{args.op}: operand 'grid' has {dim_text(given)} as {what}, which is not provably {dim_text(wanted)}"
        )


class AffineGridOp(RelaxOp, name="image_affine_grid", traits=[ext.Pure]):
    """The coordinates ``data @ (x, y, 1)`` of the elements of images of `size`, rows and columns, in -1..1.

    `data` is ``(batch, 2, 3)``, the result ``(batch, 2, height, width)``; or ``(batch, 3, 4)`` with three sizes, for
    volumes. `align_corners` is that of `GridSampleOp`; a single element is at 0. 16-bit floats are computed in float32.

    Example: shape ``(n, 2, 3)`` and size ``(h, w)`` give ``(n, 2, h, w)``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    size: SizesOperand
    align_corners: Bool = True
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        given["size"] = size_value(given["size"], 2)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, size = float_tensor(args), args.shape(1)
        args.bool_attr("align_corners")
        count = size.ndim
        if count not in (None, 2, 3):
            raise ShapeError(f"{args.op}: operand 'size' is {size}, expected 2 or 3 sizes")
        if data.ndim is not None and data.ndim != 3:
            raise ShapeError(f"{args.op}: operand 'data' is {data}, expected 3 dimensions")
        if count is None:
            return Tensor(None, data.dtype)
        batch, *matrix = data.shape or (None,) * 3
        for dim, wanted in zip(matrix, (count, count + 1), strict=True):
            if dim is not None and not symbolic.prove_equal(dim, wanted):
                raise ShapeError(
                    f"{args.op}: operand 'data' is {data}, expected (batch, {count}, {count + 1}) for {count} sizes"
                )
        return Tensor([batch, count, *((None,) * count if size.values is None else size.values)], data.dtype)


# Object detection: valid boxes, non-maximum suppression, boxes of anchors, and pooled regions of images.


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

    data: Operand
    score_threshold: Float = 0.0
    id_index: Int = 0
    score_index: Int = 1
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
        return Tuple([Tensor((batch,), "int32"), Tensor(dims, args.tensor(0).dtype), Tensor((batch, boxes), "int32")])


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

    data: Operand
    valid_count: Operand
    indices: Operand
    max_output_size: Int = -1
    iou_threshold: Float = 0.5
    force_suppress: Bool = False
    top_k: Int = -1
    coord_start: Int = 2
    score_index: Int = 1
    id_index: Int = 0
    return_indices: Bool = True
    invalid_to_bottom: Bool = False
    soft_nms_sigma: Float = 0.0
    score_threshold: Float = 0.0
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

    boxes: Operand
    scores: Operand
    max_output_boxes_per_class: Int64Operand
    iou_threshold: Float32Operand
    score_threshold: Float32Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1, 3, 4):
            float_tensor(args, index)
        args.require_dtype(2, lambda d: d.is_integer, "an integer")
        for index in (2, 3, 4):
            given = args.tensor(index)
            if given.ndim not in (None, 0) and tuple(given.shape or (None,)) not in ((1,), (None,)):
                raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected one number")
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

    cls_pred: Operand
    loc_pred: Operand
    anchor: Operand
    clip: Bool = False
    threshold: Float = 0.0
    variances: Floats = (1.0, 1.0, 1.0, 1.0)
    keep_background: Bool = True
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
        require_same(args, 1, (batch, None if anchors is None else anchors * 4), "four numbers for each anchor")
        require_same(args, 2, (1, anchors, 4), "the anchors of 'cls_pred'")
        dtype = dtypes[0] if dtypes else None
        return Tuple([Tensor((batch, anchors, 4), dtype), Tensor((batch, classes, anchors), dtype)])


# -- builders --------------------------------------------------------------------------------------------------


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

    data: Operand
    rois: Operand
    pooled_size: Ints
    spatial_scale: Float
    sample_ratio: Int = -1
    aligned: Bool = False
    layout: Text = "NCHW"
    mode: Text = "avg"
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        given["pooled_size"] = repeated(given["pooled_size"], what, "pooled_size", 2)

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

    data: Operand
    rois: Operand
    pooled_size: Ints
    spatial_scale: Float
    layout: Text = "NCHW"
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        given["pooled_size"] = repeated(given["pooled_size"], what, "pooled_size", 2)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return _regions(args, require_one_of(args, "layout", ("NCHW",)))
