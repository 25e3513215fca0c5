"""Lowering of ops on images by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.image import AffineGridOp, GridSampleOp, Resize2dOp, Resize3dOp
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import expression
from relax_mlir.symbolic import Dim
from relax_mlir.te import Tensor


def _shape(info: StructInfo) -> tuple[Dim, ...]:
    assert isinstance(info, TensorInfo) and info.known_shape is not None
    return info.known_shape


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


@expression(GridSampleOp)
def grid_sample(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Samples at the positions of a grid."""
    data, grid = inputs
    return topi.image.grid_sample(
        data, grid, attrs.method, attrs.layout, attrs.padding_mode, attrs.align_corners
    )


@expression(AffineGridOp)
def affine_grid(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """A grid of positions under affine maps."""
    return topi.image.affine_grid(inputs[0], _shape(out_type)[2:], attrs.align_corners)
