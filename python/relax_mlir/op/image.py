"""Builders of the ops on images: ``R.image.resize2d(x, (64, 64))``."""

from relax_mlir.dialects.image import affine_grid, grid_sample, resize2d, resize3d

__all__ = ["affine_grid", "grid_sample", "resize2d", "resize3d"]
