"""Sampling of images at computed coordinates, and affine grids of coordinates: grid_sample and affine_grid."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.image import Sizes, require_one_of, size_value
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, text_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import Tensor, dim_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

METHODS = ("nearest", "bilinear", "bicubic")
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

    data: ext.Operand[Any]
    grid: ext.Operand[Any]
    method: ir.StringAttr
    layout: ir.StringAttr
    padding_mode: ir.StringAttr
    align_corners: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, grid = float_tensor(args, 0), float_tensor(args, 1)
        method, layout = (
            require_one_of(args, "method", METHODS),
            require_one_of(args, "layout", ("NCHW", "NCDHW")),
        )
        require_one_of(args, "padding_mode", PADDINGS)
        args.bool_attr("align_corners")
        if method == "bicubic" and layout == "NCDHW":
            raise ArgumentError(f"{args.op}: method is 'bicubic', which is for images, and layout 'NCDHW'")
        if data.dtype is not None and grid.dtype is not None and data.dtype.bits == 64 != grid.dtype.bits:
            raise DTypeError(
                f"{args.op}: operand 'grid' has dtype {grid.dtype}, expected float64, that of 'data'"
            )
        rank = len(layout)
        for index in (0, 1):
            given = args.tensor(index)
            if given.ndim is not None and given.ndim != rank:
                raise ShapeError(
                    f"{args.op}: operand '{args.name_of(index)}' is {given}, expected {rank} dimensions"
                )
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

    data: ext.Operand[Any]
    size: ext.Operand[Any]
    align_corners: ir.IntegerAttr
    result: ext.Result[Any]

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


def grid_sample(
    data: ValueLike,
    grid: ValueLike,
    method: str = "bilinear",
    layout: str = "NCHW",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Value:
    """Samples of images at the coordinates in `grid` (see `GridSampleOp`)."""
    require_insertion_point("image.grid_sample")
    attributes = {
        "method": text_attr(method, "grid_sample: 'method'"),
        "layout": text_attr(layout, "grid_sample: 'layout'"),
        "padding_mode": text_attr(padding_mode, "grid_sample: 'padding_mode'"),
        "align_corners": bool_attr(align_corners, "grid_sample: 'align_corners'"),
    }
    return create_one(GridSampleOp, [as_value(data), as_value(grid)], attributes)


def affine_grid(data: ValueLike, size: Sizes, align_corners: bool = True) -> Value:
    """The coordinates of image elements under affine maps (see `AffineGridOp`); a single size applies to both."""
    require_insertion_point("image.affine_grid")
    attributes = {"align_corners": bool_attr(align_corners, "affine_grid: 'align_corners'")}
    return create_one(AffineGridOp, [as_value(data), size_value("affine_grid", size, 2)], attributes)
