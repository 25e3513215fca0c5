"""Tensors created from shapes and numbers: full, zeros, ones, arange, eye, triangles, one-hot, window functions."""

import math
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, dims_in, index_operand, normalize_axis
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.elementwise import AstypeOp, dtype_of
from relax_mlir.dialects.fields import Bool, DTypeName, Float, Int, Size, ValueOperand
from relax_mlir.dialects.number_attributes import dimension, dtype_attr, int_attr
from relax_mlir.dialects.shapes import ShapeLike, ShapeOperand, shape_operand
from relax_mlir.dialects.structure import constant
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import DimLike, Tensor, as_dim, dims_attr, dims_from_attr
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim, Expr

Number = int | float | str | Expr


class FullOp(RelaxOp, name="full", traits=[ext.Pure]):
    """A tensor of `shape` (a shape value) whose elements are all `fill_value`, a tensor of rank 0.

    Example: the shape ``(n, 2)`` and ``3.0`` give n rows of ``[3.0, 3.0]``.
    """

    op_pattern = OpPatternKind.ELEMWISE

    shape: ext.Operand[Any]
    fill_value: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(args.shape(0).values, scalar(args, 1).dtype)


class FullLikeOp(RelaxOp, name="full_like", traits=[ext.Pure]):
    """A tensor of the shape of `x` whose elements, and dtype, are those of `fill_value`, a tensor of rank 0.

    Example: ``[1, 2]`` and ``7`` give ``[7, 7]``.
    """

    op_pattern = OpPatternKind.ELEMWISE

    x: ext.Operand[Any]
    fill_value: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(args.tensor(0).shape, scalar(args, 1).dtype)


def scalar(args: OpArgs, index: int) -> Tensor:
    """Tensor operand `index`, which must have rank 0; else raises `ShapeError`."""
    info = args.tensor(index)
    if info.shape is not None and info.shape != ():
        raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {info}, expected rank 0")
    return info


class FilledOp(RelaxOp):
    """Base of zeros and ones: a shape value and a dtype."""

    op_pattern = OpPatternKind.ELEMWISE

    shape: ShapeOperand
    dtype: DTypeName = "float32"
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(args.shape(0).values, dtype_of(args, "dtype"))


class OnesOp(FilledOp, name="ones", traits=[ext.Pure]):
    """A tensor of `shape` filled with 1. Example: the shape ``(3,)`` gives ``[1.0, 1.0, 1.0]``."""


class ZerosOp(FilledOp, name="zeros", traits=[ext.Pure]):
    """A tensor of `shape` filled with 0. Example: the shape ``(3,)`` gives ``[0.0, 0.0, 0.0]``."""


class FilledLikeOp(RelaxOp):
    """Base of zeros_like and ones_like: `dtype` is ``unit`` for that of `x`."""

    op_pattern = OpPatternKind.ELEMWISE

    x: ValueOperand
    dtype: DTypeName | None = None
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        return x if args.is_unit("dtype") else x.with_dtype(dtype_of(args, "dtype"))


class OnesLikeOp(FilledLikeOp, name="ones_like", traits=[ext.Pure]):
    """A tensor of the shape of `x` filled with 1. Example: ``[5, 6]`` gives ``[1, 1]``."""


class ZerosLikeOp(FilledLikeOp, name="zeros_like", traits=[ext.Pure]):
    """A tensor of the shape of `x` filled with 0. Example: ``[5, 6]`` gives ``[0, 0]``."""


class ArangeOp(RelaxOp, name="arange", traits=[ext.Pure]):
    """The numbers from `start` to `end`, exclusive, in steps of `step`.

    Integer bounds may be symbolic expressions; the size is ``ceildiv(end - start, step)`` or 0. Float bounds (any of
    the three a float) make the size static. `step` must not be zero, nor a symbol of unknown sign. Example: start 0,
    end ``n``, step 2 give ``[0, 2, 4]`` for n = 5 and n = 6.
    """

    op_pattern = OpPatternKind.INJECTIVE

    start: ir.StringAttr | ir.IntegerAttr | ir.FloatAttr
    end: ir.StringAttr | ir.IntegerAttr | ir.FloatAttr
    step: ir.StringAttr | ir.IntegerAttr | ir.FloatAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("start", "end", "step")

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        dtype = dtype_of(args, "dtype")
        if dtype.kind == "bool":
            raise ArgumentError(f"{args.op}: dtype bool has no ranges")
        size = arange_size(args)
        if dtype.is_integer:
            _require_held(args, size, dtype)
        return Tensor([size], dtype)


def _require_held(args: OpArgs, size: Dim, dtype: DType) -> None:
    """Raise `DTypeError` if numbers of a static range do not fit `dtype`."""
    start, _, step = arange_bounds(args)
    if size == 0:
        return
    if isinstance(start, int | float):
        dtypes.require_held(f"{args.op}: the first number, 'start',", start, dtype)
        if isinstance(step, int | float) and isinstance(size, int):
            dtypes.require_held(f"{args.op}: the last number", start + (size - 1) * step, dtype)


def arange_bounds(args: OpArgs) -> tuple[Dim | float, Dim | float, Dim | float]:
    """Start, end and step of an `arange`: integers and expressions, or all three floats."""
    start, end, step = (_number(args.attrs[name]) for name in ("start", "end", "step"))
    if not any(isinstance(value, float) for value in (start, end, step)):
        return start, end, step
    floats = [_as_float(args.op, value) for value in (start, end, step)]
    return floats[0], floats[1], floats[2]


def _number(attribute: ir.Attribute) -> Dim | float:
    if isinstance(attribute, ir.FloatAttr):
        return float(attribute.value)
    if isinstance(attribute, ir.IntegerAttr):
        return int(attribute.value)
    return symbolic.parse(ir.StringAttr(attribute).value)


def _as_float(op: str, value: Dim | float) -> float:
    if isinstance(value, Expr):
        raise ArgumentError(f"{op}: '{value}' does not go with float bounds; use integers with symbols")
    return float(value)


def arange_size(args: OpArgs) -> Dim:
    """Number of elements of an `arange`; raises `ArgumentError` for a step of zero or of unknown sign."""
    start, end, step = arange_bounds(args)
    if step == 0:
        raise ArgumentError(f"{args.op}: step is 0")
    if isinstance(start, float) or isinstance(end, float) or isinstance(step, float):
        count = (float(end) - float(start)) / float(step)  # type: ignore[arg-type]  # all three are floats
        if not math.isfinite(count):
            raise ArgumentError(f"{args.op}: bounds {start}, {end} and step {step} give no finite size")
        return max(0, math.ceil(count))
    if not isinstance(step, int):
        step_min, _ = symbolic.bounds(step)
        if step_min is None or step_min < 1:
            raise ArgumentError(f"{args.op}: step '{step}' may be zero or negative; it must be at least 1")
    if isinstance(step, int) and step < 0:
        start, end, step = end, start, -step
    return symbolic.maximum(0, symbolic.ceildiv(end - start, step))


@exported()
def full(shape: ShapeLike, fill_value: ValueLike, dtype: str | DType | None = None) -> Value:
    """A tensor filled with `fill_value` (see `FullOp`), converted to `dtype`.

    Without `dtype`, a Python number becomes float32, int64 or bool.
    """
    return create_one(FullOp, [shape_operand(shape), _fill("full", fill_value, dtype)])


@exported()
def full_like(x: Value, fill_value: ValueLike, dtype: str | DType | None = None) -> Value:
    """A tensor of the shape of `x` filled with `fill_value` (see `FullLikeOp`).

    The dtype defaults to that of `x`, as in NumPy and TVM; `fill_value` is converted. Raises `DTypeError` if neither is
    known.
    """
    x = as_value(x)
    if dtype is None and not isinstance(fill_value, Value):
        return create_one(FullLikeOp, [x, as_value(fill_value, x.struct_info, "full_like: 'fill_value'")])
    if dtype is None and (dtype := x.dtype) is None:
        raise DTypeError("full_like: the dtype of 'x' is not known; give dtype")
    return create_one(FullLikeOp, [x, _fill("full_like", fill_value, dtype)])


@exported()
def arange(start: Number, end: Number | None = None, step: Number = 1, dtype: str | DType | None = None) -> Value:
    """The numbers from `start` to `end` (see `ArangeOp`); ``arange(end)`` starts at 0.

    Strings are symbolic expressions. `dtype` defaults to float32 if a bound is a float, else int64.
    """
    require_insertion_point("arange")
    if end is None:
        start, end = 0, start
    bounds = {"start": start, "end": end, "step": step}
    is_float = any(isinstance(value, float) for value in bounds.values())
    attributes: dict[str, ir.Attribute] = {name: _number_attr(name, value) for name, value in bounds.items()}
    attributes["dtype"] = dtype_attr(dtype or ("float32" if is_float else "int64"))
    return create_one(ArangeOp, [], attributes)


def _number_attr(name: str, value: Number) -> ir.Attribute:
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    attribute: ir.Attribute = dims_attr([dimension(value, f"arange: '{name}'")])[0]
    return attribute


def _fill(op: str, fill_value: ValueLike, dtype: str | DType | None) -> Value:
    require_insertion_point(op)
    if isinstance(fill_value, Value):
        same = dtype is None or fill_value.dtype == dtypes.dtype(dtype).name
        return fill_value if same or dtype is None else build(AstypeOp, fill_value, dtype)
    if dtype is not None:
        dtypes.require_held(f"{op}: 'fill_value'", fill_value, dtypes.dtype(dtype))
    if isinstance(fill_value, np.generic):
        fill_value = np.asarray(fill_value)
    return constant(fill_value, None if dtype is None else dtypes.dtype(dtype).name)


class EyeOp(RelaxOp, name="eye", traits=[ext.Pure]):
    """A matrix of `shape` (rows, columns) with 1 on diagonal `k`, counted upwards from the main one, and 0 at others.

    Example: shape ``[2, 3]`` and k 1 give ``[[0, 1, 0], [0, 0, 1]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    shape: ir.ArrayAttr
    k: ir.IntegerAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("shape",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("k")
        shape = dims_from_attr(args.attrs["shape"])
        if len(shape) != 2 or None in shape:
            raise ShapeError(f"{args.op}: shape {args.attrs['shape']} is not the known size of a matrix")
        return Tensor(shape, dtype_of(args, "dtype"))


class EyeLikeOp(RelaxOp, name="eye_like", traits=[ext.Pure]):
    """The matrix of `eye` with the shape of the matrix `x`, in `dtype` (``unit``: that of `x`).

    Example: ``[[7, 7], [7, 7]]`` gives ``[[1, 0], [0, 1]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ValueOperand
    k: Int = 0
    dtype: DTypeName | None = None
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("k")
        x = args.tensor(0)
        if x.ndim not in (None, 2):
            raise ShapeError(f"{args.op}: operand 'x' is {x}, expected a matrix")
        shape = (None, None) if x.shape is None else x.shape
        return Tensor(shape, x.dtype if args.is_unit("dtype") else dtype_of(args, "dtype"))


class TriangleOp(RelaxOp):
    """Base of tril and triu on the last two dimensions; `k` moves the diagonal up."""

    op_pattern = OpPatternKind.INJECTIVE

    x: ValueOperand
    k: Int = 0
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.int_attr("k")
        x = args.tensor(0)
        if x.ndim is not None and x.ndim < 2:
            raise ShapeError(f"{args.op}: operand 'x' is {x}, expected at least two dimensions")
        return x


class TrilOp(TriangleOp, name="tril", traits=[ext.Pure]):
    """The lower triangle: 0 above diagonal `k`. Example: ``[[1, 2], [3, 4]]`` gives ``[[1, 0], [3, 4]]``."""


class TriuOp(TriangleOp, name="triu", traits=[ext.Pure]):
    """The upper triangle: 0 below diagonal `k`. Example: ``[[1, 2], [3, 4]]`` gives ``[[1, 2], [0, 4]]``."""


@exported()
def eye(n: DimLike, m: DimLike = None, k: int = 0, dtype: str | DType = "float32") -> Value:
    """A matrix of `n` rows and `m` columns (default `n`) with ones on diagonal `k` (see `EyeOp`)."""
    require_insertion_point("eye")
    shape = dims_attr([as_dim(n), as_dim(n if m is None else m)])
    return create_one(EyeOp, [], {"shape": shape, "k": int_attr(k, "eye: 'k'"), "dtype": dtype_attr(dtype)})


class SizeOp(RelaxOp, name="size", traits=[ext.Pure]):
    """The number of elements of `input`, an int64 tensor of rank 0. Example: shape ``(n, 4)`` gives ``4*n``."""

    input: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.tensor(0)
        return Tensor((), "int64")


class HammingWindowOp(RelaxOp, name="hamming_window", traits=[ext.Pure]):
    """``alpha - beta * cos(2 * pi * i / n)`` for i in 0..`window_size`, exclusive, in floats of `dtype`.

    ``n`` is `window_size`, or one less if not `periodic`. A window of one element is 1. Example: size 3, periodic, 0.5
    and 0.5 give ``[0.0, 0.75, 0.75]``.
    """

    window_size: Size
    periodic: Bool = True
    alpha: Float = 0.54
    beta: Float = 0.46
    dtype: DTypeName = "float32"
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("window_size",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("periodic")
        dtype = dtype_of(args, "dtype")
        if not dtype.is_float:
            raise DTypeError(f"{args.op}: dtype is {dtype}, expected a float")
        size = next(iter(dims_in(args.attrs["window_size"])), None)
        if size is None or symbolic.prove_less_equal(size, -1):
            raise ShapeError(f"{args.op}: window_size is {args.attrs['window_size']}, expected a size")
        return Tensor([size], dtype)


class OneHotOp(RelaxOp, name="one_hot", traits=[ext.Pure]):
    """`on_value` where the position along a new dimension `axis`, of size `depth`, equals the index, else `off_value`.

    An index that is negative, or not less than `depth`, gives `off_value` everywhere. The two values are rank-0
    tensors, whose dtype is the dtype of the result. Example: ``[1, 3]`` with depth 3 gives ``[[0, 1, 0], [0, 0, 0]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    indices: ext.Operand[Any]
    on_value: ext.Operand[Any]
    off_value: ext.Operand[Any]
    depth: ir.StringAttr | ir.IntegerAttr
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("depth",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        indices, on, off = index_operand(args, 0), scalar(args, 1).dtype, scalar(args, 2).dtype
        if on is not None and off is not None:
            promote(on, off, args.op)
        depth = list(dims_in(args.attrs["depth"]))
        if len(depth) != 1 or depth[0] is None or symbolic.prove_less_equal(depth[0], -1):
            raise ShapeError(f"{args.op}: depth is {args.attrs['depth']}, expected a size")
        if indices.shape is None:
            return Tensor(None, on or off)
        axis = normalize_axis(args.op, args.int_attr("axis"), len(indices.shape) + 1)
        return Tensor((*indices.shape[:axis], depth[0], *indices.shape[axis:]), on or off)


@exported()
def one_hot(indices: ValueLike, on_value: ValueLike, off_value: ValueLike, depth: DimLike, axis: int = -1) -> Value:
    """Vectors with `on_value` at `indices` and `off_value` at all others (see `OneHotOp`).

    Python numbers become float32, int64 or bool, or take the dtype of the other value if that is a tensor.
    """
    require_insertion_point("one_hot")
    pair = [on_value, off_value]
    like = next((v.struct_info for v in pair if isinstance(v, Value)), None)
    if like is None and any(isinstance(v, float) for v in pair):
        like = Tensor((), "float32")
    on, off = (
        constant(value)
        if like is None and isinstance(value, bool | int)
        else as_value(value, like, f"one_hot: '{name}'")
        for name, value in zip(("on_value", "off_value"), pair, strict=True)
    )
    attributes = {
        "depth": dims_attr([as_dim(dimension(depth, "one_hot: 'depth'"))])[0],
        "axis": int_attr(axis, "one_hot: 'axis'"),
    }
    return create_one(OneHotOp, [as_value(indices), on, off], attributes)
