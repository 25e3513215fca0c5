"""Images and object detection by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations import by_expression
from relax_mlir.symbolic import Dim
from relax_mlir.te import Tensor

# Resize images, and sample at positions given as data, by topi.


def _shape(info: StructInfo) -> tuple[Dim, ...]:
    assert isinstance(info, TensorInfo) and info.known_shape is not None
    return info.known_shape


@by_expression
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


@by_expression
def grid_sample(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Samples at the positions of a grid."""
    data, grid = inputs
    return topi.image.grid_sample(
        data, grid, attrs.method, attrs.layout, attrs.padding_mode, attrs.align_corners
    )


@by_expression
def affine_grid(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """A grid of positions under affine maps."""
    return topi.image.affine_grid(inputs[0], _shape(out_type)[2:], attrs.align_corners)


# Object detection by topi.


@by_expression
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


@by_expression
def roi_pool(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The maxima of the cells of regions."""
    data, rois = inputs
    return topi.vision.roi_pool(data, rois, attrs.pooled_size, attrs.spatial_scale, attrs.layout)


@by_expression
def get_valid_counts(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """The boxes with valid scores, and their number."""
    return topi.vision.get_valid_counts(inputs[0], attrs.score_threshold, attrs.id_index, attrs.score_index)


@by_expression
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


@by_expression
def all_class_non_max_suppression(
    attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo
) -> Sequence[Tensor]:
    """The best of overlapping boxes of every class."""
    boxes, scores, most, overlap, least = inputs
    return topi.vision.all_class_non_max_suppression(boxes, scores, most, overlap, least)


@by_expression
def multibox_transform_loc(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """Decode anchor boxes, and return them with their scores."""
    classes, moves, anchors = inputs
    return topi.vision.multibox_transform_loc(
        classes, moves, anchors, attrs.variances, attrs.clip, attrs.threshold, attrs.keep_background
    )
