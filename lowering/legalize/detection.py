"""Lowering of object detection by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.detection import (
    AllClassNonMaxSuppressionOp,
    GetValidCountsOp,
    MultiboxTransformLocOp,
    NonMaxSuppressionOp,
    RoiAlignOp,
    RoiPoolOp,
)
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import expression
from relax_mlir.te import Tensor


@expression(RoiAlignOp)
def roi_align(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Samples of the cells of regions."""
    data, rois = inputs
    return topi.vision.roi_align(
        data,
        rois,
        attrs.pooled_size,
        attrs.spatial_scale,
        attrs.mode,
        attrs.sample_ratio,
        attrs.aligned,
        attrs.layout,
    )


@expression(RoiPoolOp)
def roi_pool(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The maxima of the cells of regions."""
    data, rois = inputs
    return topi.vision.roi_pool(data, rois, attrs.pooled_size, attrs.spatial_scale, attrs.layout)


@expression(GetValidCountsOp)
def get_valid_counts(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """The boxes with valid scores, and their number."""
    return topi.vision.get_valid_counts(inputs[0], attrs.score_threshold, attrs.id_index, attrs.score_index)


@expression(NonMaxSuppressionOp)
def non_max_suppression(
    attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo
) -> Sequence[Tensor] | Tensor:
    """The best of overlapping boxes."""
    data, valid_count, indices = inputs
    return topi.vision.non_max_suppression(
        data,
        valid_count,
        indices,
        attrs.max_output_size,
        attrs.iou_threshold,
        attrs.force_suppress,
        attrs.top_k,
        attrs.coord_start,
        attrs.score_index,
        attrs.id_index,
        attrs.return_indices,
        attrs.invalid_to_bottom,
        attrs.soft_nms_sigma,
        attrs.score_threshold,
    )


@expression(AllClassNonMaxSuppressionOp)
def all_class_non_max_suppression(
    attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo
) -> Sequence[Tensor]:
    """The best of overlapping boxes of every class."""
    boxes, scores, most, overlap, least = inputs
    return topi.vision.all_class_non_max_suppression(boxes, scores, most, overlap, least)


@expression(MultiboxTransformLocOp)
def multibox_transform_loc(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """Decode anchor boxes, and return them with their scores."""
    classes, moves, anchors = inputs
    return topi.vision.multibox_transform_loc(
        classes, moves, anchors, attrs.variances, attrs.clip, attrs.threshold, attrs.keep_background
    )
