"""Builders of the ops of object detection: ``R.vision.roi_align(x, rois, 7, 0.0625)``."""

from relax_mlir.dialects.detection import (
    all_class_non_max_suppression,
    get_valid_counts,
    multibox_transform_loc,
    non_max_suppression,
    roi_align,
    roi_pool,
)

__all__ = [
    "all_class_non_max_suppression",
    "get_valid_counts",
    "multibox_transform_loc",
    "non_max_suppression",
    "roi_align",
    "roi_pool",
]
