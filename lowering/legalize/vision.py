"""Lowering of ops on images, and of object detection, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.dialects.vision import (
    AffineGridOp,
    AllClassNonMaxSuppressionOp,
    GetValidCountsOp,
    GridSampleOp,
    MultiboxTransformLocOp,
    NonMaxSuppressionOp,
    Resize2dOp,
    Resize3dOp,
    RoiAlignOp,
    RoiPoolOp,
)
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import by_topi, expression
from relax_mlir.symbolic import Dim
from relax_mlir.te import Tensor


def _shape(info: StructInfo) -> tuple[Dim, ...]:
    assert isinstance(info, TensorInfo)
    return info.dims


@expression(Resize2dOp, Resize3dOp)
def resize(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Resampled elements of the image, or weighted sums of their neighbours."""
    sizes = dict(zip(attrs.layout, _shape(out_type), strict=True))
    letters = "HW" if len(attrs.layout) == 4 else "DHW"
    function = topi.image.resize2d if len(letters) == 2 else topi.image.resize3d
    return function(
        inputs[0],
        attrs.roi,
        [sizes[letter] for letter in letters],
        attrs.layout,
        attrs.method,
        attrs.coordinate_transformation_mode,
        attrs.rounding_method,
        attrs.cubic_alpha,
        int(attrs.cubic_exclude),
        attrs.extrapolation_value,
        attrs.out_dtype,
        attrs.scales,
    )


by_topi(GridSampleOp, "image.grid_sample", "method", "layout", "padding_mode", "align_corners")


@expression(AffineGridOp)
def affine_grid(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """A grid of positions under affine maps."""
    return topi.image.affine_grid(inputs[0], _shape(out_type)[2:], attrs.align_corners)


by_topi(
    RoiAlignOp,
    "vision.roi_align",
    *("pooled_size", "spatial_scale", "mode", "sample_ratio", "aligned", "layout"),
)
by_topi(RoiPoolOp, "vision.roi_pool", "pooled_size", "spatial_scale", "layout")
by_topi(GetValidCountsOp, "vision.get_valid_counts", "score_threshold", "id_index", "score_index")
by_topi(
    NonMaxSuppressionOp,
    "vision.non_max_suppression",
    *(
        "max_output_size",
        "iou_threshold",
        "force_suppress",
        "top_k",
        "coord_start",
        "score_index",
        "id_index",
    ),
    *("return_indices", "invalid_to_bottom", "soft_nms_sigma", "score_threshold"),
)
by_topi(AllClassNonMaxSuppressionOp, "vision.all_class_non_max_suppression")
by_topi(
    MultiboxTransformLocOp,
    "vision.multibox_transform_loc",
    *("variances", "clip", "threshold", "keep_background"),
)
