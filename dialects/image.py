"""Images: resizing, sampling at computed coordinates, and affine grids of coordinates."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, floats_of, ir_fields, require_one_of
from relax_mlir.dialects.convolution import SPATIAL, dims_by_letter, layout_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, text_attr
from relax_mlir.dialects.shapes import bind_shape
from relax_mlir.dialects.structure import shape_expr
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, moved_letters
from relax_mlir.dialects.types import DimLike, Shape, Tensor, dim_text
from relax_mlir.dialects.unary import dtype_attr, dtype_of
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
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
Floats = float | Sequence[float]


class ResizeOp(RelaxOp):
    """Base of the resize ops: `count` is the number of spatial dimensions."""

    op_pattern = OpPatternKind.INJECTIVE

    count = 0

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

    data: ext.Operand[Any]
    size: ext.Operand[Any]
    roi: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    method: ir.StringAttr
    coordinate_transformation_mode: ir.StringAttr
    rounding_method: ir.StringAttr
    cubic_alpha: ir.FloatAttr
    cubic_exclude: ir.IntegerAttr
    extrapolation_value: ir.FloatAttr
    out_dtype: ir.TypeAttr | ir.UnitAttr
    scales: ir.ArrayAttr | ir.UnitAttr
    result: ext.Result[Any]
    count = 2


class Resize3dOp(ResizeOp, name="image_resize3d", traits=[ext.Pure]):
    """Volumes `data` resized to the slices, rows and columns in `size`, a shape; see `Resize2dOp`.

    The layout is a permutation of the letters of ``NCDHW``.

    Example: shape ``(n, 1, d, h, w)`` and size ``(4, 4, 4)`` give ``(n, 1, 4, 4, 4)``.
    """

    data: ext.Operand[Any]
    size: ext.Operand[Any]
    roi: ir.ArrayAttr | ir.UnitAttr
    layout: ir.StringAttr
    method: ir.StringAttr
    coordinate_transformation_mode: ir.StringAttr
    rounding_method: ir.StringAttr
    cubic_alpha: ir.FloatAttr
    cubic_exclude: ir.IntegerAttr
    extrapolation_value: ir.FloatAttr
    out_dtype: ir.TypeAttr | ir.UnitAttr
    scales: ir.ArrayAttr | ir.UnitAttr
    result: ext.Result[Any]
    count = 3


# -- builders --------------------------------------------------------------------------------------------------


def resize2d(
    data: ValueLike,
    size: Sizes,
    roi: Floats | None = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.75,
    cubic_exclude: bool = False,
    extrapolation_value: float = 0.0,
    out_dtype: str | DType | None = None,
    scales: Floats | None = None,
) -> Value:
    """Resize images (see `Resize2dOp`); a single size applies to rows and columns."""
    modes = (layout, method, coordinate_transformation_mode, rounding_method)
    numbers = (roi, scales, cubic_alpha, extrapolation_value)
    return _resize(Resize2dOp, data, size, modes, numbers, cubic_exclude, out_dtype)


def resize3d(
    data: ValueLike,
    size: Sizes,
    roi: Floats | None = None,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    cubic_alpha: float = -0.75,
    cubic_exclude: bool = False,
    extrapolation_value: float = 0.0,
    out_dtype: str | DType | None = None,
    scales: Floats | None = None,
) -> Value:
    """Resize volumes (see `Resize3dOp`); a single size applies to all three dimensions."""
    modes = (layout, method, coordinate_transformation_mode, rounding_method)
    numbers = (roi, scales, cubic_alpha, extrapolation_value)
    return _resize(Resize3dOp, data, size, modes, numbers, cubic_exclude, out_dtype)


def _resize(
    cls: type[ResizeOp],
    data: ValueLike,
    size: Sizes,
    modes: tuple[str, str, str, str],
    numbers: tuple[Floats | None, Floats | None, float, float],
    exclude: bool,
    out_dtype: str | DType | None,
) -> Value:
    what = f"resize{cls.count}d"
    require_insertion_point(f"image.{what}")
    roi, scales, alpha, outside = numbers
    names = ("layout", "method", "coordinate_transformation_mode", "rounding_method")
    attributes: dict[str, ir.Attribute] = {
        "roi": _floats_attr(roi, f"{what}: 'roi'", 2 * cls.count),
        **{name: text_attr(mode, f"{what}: '{name}'") for name, mode in zip(names, modes, strict=True)},
        "cubic_alpha": double_attr(alpha, f"{what}: 'cubic_alpha'"),
        "cubic_exclude": bool_attr(exclude, f"{what}: 'cubic_exclude'"),
        "extrapolation_value": double_attr(outside, f"{what}: 'extrapolation_value'"),
        "out_dtype": ir.UnitAttr.get() if out_dtype is None else dtype_attr(out_dtype),
        "scales": _floats_attr(scales, f"{what}: 'scales'", cls.count),
    }
    assert set(attributes) == set(ir_fields(cls)[1])
    return create_one(cls, [as_value(data), size_value(what, size, cls.count)], attributes)


def size_value(what: str, size: Sizes, count: int) -> Value:
    """Sizes as a shape value; a single size applies to all dimensions."""
    if isinstance(size, Value):
        return bind_shape(size)
    given: list[Any] = list(size) if isinstance(size, list | tuple) else [size]
    return shape_expr(given * count if len(given) == 1 else given)


def _floats_attr(values: Floats | None, what: str, count: int) -> ir.Attribute:
    if values is None:
        return ir.UnitAttr.get()
    if not isinstance(values, list | tuple):
        values = [double_attr(values, what).value] * count
    expect(what, values, list | tuple, "numbers")
    return ir.ArrayAttr.get([double_attr(item, f"{what}[{i}]") for i, item in enumerate(values)])


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
