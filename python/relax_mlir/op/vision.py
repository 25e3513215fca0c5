"""Builders of the ops of object detection: ``R.vision.roi_align(x, rois, 7, 0.0625)``."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("vision"))

__all__ = [*_builders("vision")]
