"""Operators on images as tensor expressions, with the names of TVM's `topi.image`."""

from relax_mlir.topi.image.grid_sample import affine_grid, grid_sample
from relax_mlir.topi.image.resize import resize1d, resize2d, resize3d

__all__ = ["affine_grid", "grid_sample", "resize1d", "resize2d", "resize3d"]
