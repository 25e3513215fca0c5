"""A tensor's memory viewed with another shape, dtype and byte offset: TVM's ``memory.view``."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.cast import dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType, from_element_type
from relax_mlir.dialects.fresh_symbols import fresh_symbols
from relax_mlir.dialects.number_attributes import dimension, known_dimension
from relax_mlir.dialects.shape_functions import bind_shape
from relax_mlir.dialects.structure import integer_of, match_shape, shape_expr, shape_of
from relax_mlir.dialects.types import DimLike, Prim, Tensor, Tuple, dims_attr, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class MemoryViewOp(RelaxOp, name="memory_view", traits=[ext.Pure]):
    """The bytes of `x` from `relative_byte_offset` on, in row-major order, as a tensor of `shape` and `dtype`.

    ``unit`` for `dtype` is the dtype of `x`. The view may cover fewer bytes than `x`, but none beyond its end; this is
    checked at run time if it is not provable. A bool is one byte, which is true unless it is 0.
    Example: shape ``(16,)`` of uint8, viewed as ``(2,)`` of float32 from byte 8 on.
    """

    x: ext.Operand[Any]
    shape: ext.Operand[Any]
    dtype: ir.TypeAttr | ir.UnitAttr
    relative_byte_offset: ir.StringAttr | ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("relative_byte_offset",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, shape = args.tensor(0), args.shape(1)
        dtype = x.dtype if args.is_unit("dtype") else dtype_of(args, "dtype")
        result = Tensor(shape.values, dtype)
        offset = view_offset(args)
        if symbolic.prove_less_equal(offset, -1):
            raise ShapeError(f"{args.op}: relative_byte_offset is {offset}, which is before the tensor")
        spans = view_bytes(x, result, offset)
        if spans is not None and symbolic.prove_less_equal(spans[0] + 1, spans[1]):
            raise ShapeError(
                f"{args.op}: {result} from byte {offset} on ends at byte {spans[1]}, "
                f"but {x} has {spans[0]} bytes: {_counted(x)}"
            )
        return result


def _counted(x: Tensor) -> str:
    return f"{shape_text(x.shape)} of {x.dtype or 'one byte each, at least'}"


def view_offset(args: OpArgs) -> Dim:
    """The byte offset at which a `MemoryViewOp` begins."""
    return integer_of(args.attrs["relative_byte_offset"])


def view_bytes(x: Tensor, result: Tensor, offset: Dim) -> tuple[Dim, Dim] | None:
    """The size of `x` and the end of `result`, in bytes; None if they are unknown.

    Tensors of the same unknown dtype are compared with an item size of 1, since every dtype gives the same answer.
    """
    if x.known_shape is None or result.known_shape is None or (x.dtype is None) != (result.dtype is None):
        return None
    have, want = (1 if info.dtype is None else info.dtype.itemsize for info in (x, result))
    if x.dtype is None and offset != 0:
        return None
    return symbolic.product([have, *x.known_shape]), symbolic.product([want, *result.known_shape]) + offset


def view(
    x: ValueLike,
    shape: Value | Sequence[DimLike] | None = None,
    dtype: str | DType | Value | None = None,
    relative_byte_offset: DimLike | Value = 0,
) -> Value:
    """The memory of `x` as a tensor of another shape and dtype (see `MemoryViewOp`).

    `shape` and `dtype` default to those of `x`; the empty tuple, which TVM writes for an absent argument, means the
    same. An offset that is an integer value of the program is bound to a symbol.
    """
    require_insertion_point("view")
    value = as_value(x)
    info = value.tensor_info
    target = None if _is_absent(dtype) else dtype_attr(_dtype(dtype))
    offset = 0 if _is_absent(relative_byte_offset) else _offset(relative_byte_offset)
    if _is_absent(shape):
        _check_elements(info, target, offset)
        shape = shape_of(value) if info.known_shape is None else shape_expr(info.known_shape)
    elif not isinstance(shape, Value):
        expect("view: 'shape'", shape, list | tuple, "a shape: a list or tuple of dimensions")
        shape = shape_expr(shape or ())
    assert isinstance(shape, Value), "as has been made"
    attributes = {"dtype": target or ir.UnitAttr.get(), "relative_byte_offset": dims_attr([offset])[0]}
    return create_one(MemoryViewOp, [value, bind_shape(shape)], attributes)


def _is_absent(argument: object) -> bool:
    """True if an argument is absent."""
    return argument is None or (isinstance(argument, Value) and argument.struct_info == Tuple())


def _dtype(dtype: object) -> str | DType:
    expect("view: 'dtype'", dtype, str | DType, "a dtype that is written out")
    assert isinstance(dtype, str | DType)
    return dtype


def _offset(offset: object) -> Dim:
    if isinstance(offset, Value) and isinstance(offset.struct_info, Prim) and known_dimension(offset) is None:
        (name,) = fresh_symbols(1)
        match_shape(offset, (name,))
        return symbolic.symbol(name)
    return dimension(offset, "view: 'relative_byte_offset'")


def _check_elements(x: Tensor, target: ir.TypeAttr | None, offset: Dim) -> None:
    """Raise `ShapeError` if all elements of `x`, whose number is unknown, cannot fit in its memory after the change."""
    if x.known_shape is not None:
        return
    if target is None and symbolic.prove_less_equal(1, offset):
        raise ShapeError(f"view: all of {x}, but from byte {offset} on, ends beyond it: give a smaller shape")
    if target is not None and x.dtype is not None:
        size = from_element_type(target.value)
        if size.itemsize > x.dtype.itemsize:
            raise ShapeError(
                f"view: {x} has elements of {x.dtype.itemsize} bytes, and as many of {size} do not fit: give a shape"
            )
