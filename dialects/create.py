"""Ops that create tensors from shapes and numbers: full, zeros, ones, their *_like forms, arange."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.cast import astype, dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import dimension
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.shape_functions import bind_shape
from relax_mlir.dialects.structure import constant, shape_expr
from relax_mlir.dialects.types import DimLike, Tensor, dims_attr
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim, Expr

ShapeLike = Value | Sequence[DimLike]
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

    shape: ext.Operand[Any]
    dtype: ir.TypeAttr
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

    x: ext.Operand[Any]
    dtype: ir.TypeAttr | ir.UnitAttr
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


def full(shape: ShapeLike, fill_value: ValueLike, dtype: str | DType | None = None) -> Value:
    """A tensor filled with `fill_value` (see `FullOp`), converted to `dtype`.

    Without `dtype`, a Python number becomes float32, int64 or bool.
    """
    return create_one(FullOp, [_shape(shape), _fill("full", fill_value, dtype)])


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


def ones(shape: ShapeLike, dtype: str | DType = "float32") -> Value:
    """A tensor filled with 1 (see `OnesOp`)."""
    require_insertion_point("ones")
    return create_one(OnesOp, [_shape(shape)], {"dtype": dtype_attr(dtype)})


def ones_like(x: Value, dtype: str | DType | None = None) -> Value:
    """A tensor of the shape of `x` filled with 1 (see `OnesLikeOp`)."""
    return create_one(OnesLikeOp, [x], {"dtype": _optional_dtype("ones_like", dtype)})


def zeros(shape: ShapeLike, dtype: str | DType = "float32") -> Value:
    """A tensor filled with 0 (see `ZerosOp`)."""
    require_insertion_point("zeros")
    return create_one(ZerosOp, [_shape(shape)], {"dtype": dtype_attr(dtype)})


def zeros_like(x: Value, dtype: str | DType | None = None) -> Value:
    """A tensor of the shape of `x` filled with 0 (see `ZerosLikeOp`)."""
    return create_one(ZerosLikeOp, [x], {"dtype": _optional_dtype("zeros_like", dtype)})


def arange(
    start: Number, end: Number | None = None, step: Number = 1, dtype: str | DType | None = None
) -> Value:
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


def _shape(shape: ShapeLike) -> Value:
    return bind_shape(shape) if isinstance(shape, Value) else shape_expr(shape)


def _fill(op: str, fill_value: ValueLike, dtype: str | DType | None) -> Value:
    require_insertion_point(op)
    if isinstance(fill_value, Value):
        same = dtype is None or fill_value.dtype == dtypes.dtype(dtype).name
        return fill_value if same or dtype is None else astype(fill_value, dtype)
    if dtype is not None:
        dtypes.require_held(f"{op}: 'fill_value'", fill_value, dtypes.dtype(dtype))
    if isinstance(fill_value, np.generic):
        fill_value = np.asarray(fill_value)
    return constant(fill_value, None if dtype is None else dtypes.dtype(dtype).name)


def _optional_dtype(op: str, dtype: str | DType | None) -> ir.Attribute:
    require_insertion_point(op)
    return ir.UnitAttr.get() if dtype is None else dtype_attr(dtype)
