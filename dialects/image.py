"""Images: resizing, sampling at computed coordinates, and affine grids of coordinates."""

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
)
from relax_mlir.dialects.convolution import SPATIAL, dims_by_letter, layout_of
from relax_mlir.dialects.fields import Bool, DTypeName, Float, Floats, Operand, Text
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.shapes import bind_shape
from relax_mlir.dialects.structure import shape_expr
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, moved_letters
from relax_mlir.dialects.types import DimLike, Shape, Tensor, dim_text
from relax_mlir.dialects.unary import dtype_of
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import shape_operand
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

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
