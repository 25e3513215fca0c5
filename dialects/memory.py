"""Explicit memory: storages, tensors in them, their lifetimes, calls of prim funcs that fill them, and views.

In this form a tensor is a buffer, written by the call after its `memory.alloc_tensor`. None of these ops is pure, so
that upstream passes neither merge nor remove them. `relax.updated` remains: it denotes the same memory after a
`call_packed` may have changed it.

`memory_view`, TVM's ``memory.view``, is pure: a tensor's memory with another shape, dtype and byte offset.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, Parameter, RelaxOp
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.dtypes import DType, from_element_type
from relax_mlir.dialects.elementwise import dtype_of
from relax_mlir.dialects.fields import DTypeName, Int, Text, ValueOperand
from relax_mlir.dialects.number_attributes import dimension, dtype_attr, int_attr, known_dimension
from relax_mlir.dialects.shapes import ShapeLike, bind_shape
from relax_mlir.dialects.structure import integer_of, make_tuple, match_shape, shape_expr, shape_of
from relax_mlir.dialects.symbols import fresh_symbols
from relax_mlir.dialects.traits import (
    EndsLife,
    HasEffect,
    KeptInExplicitMemory,
    KeptInShapeHeap,
    OnMemory,
    ReadsTensors,
)
from relax_mlir.dialects.types import (
    DimLike,
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_attr,
    shape_text,
    struct_info,
)
from relax_mlir.dialects.value import Value, ValueLike, as_value, create, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

ALIGNMENT = 64
"""Alignment of storages and of the tensors in them, in bytes."""


def as_shape(shape: Value | Sequence[DimLike], what: str) -> Value:
    """A shape value from a value or a sequence of dimensions."""
    if isinstance(shape, Value):
        return shape
    expect(what, shape, list | tuple, "a list or tuple of dimensions, or a shape")
    return shape_expr(shape)


DimsOperand: TypeAlias = Annotated[ir.Value, Parameter(ext.Operand[Any], as_shape, ShapeLike, "ShapeLike")]
"""A shape: dimensions, or a shape value, whose unknown entries stay unknown."""


class AllocStorageBase(RelaxOp):
    """Base of the ops that allocate a storage."""

    size: DimsOperand
    device: Int = 0
    storage_scope: Text = "global"
    dtype: DTypeName = "uint8"
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        size = args.shape(0)
        if size.values is not None and len(size.values) != 1:
            raise ShapeError(f"{args.op}: operand 'size' is {shape_text(size.values)}, expected one number of bytes")
        if args.int_attr("device") < 0:
            raise ArgumentError(f"{args.op}: device {args.int_attr('device')} is negative")
        dtype_of(args, "dtype")
        return Object()


class AllocTensorBase(RelaxOp):
    """Base of the ops that create a tensor in a storage."""

    storage: ValueOperand
    shape: DimsOperand
    offset: Int = 0
    dtype: DTypeName = "float32"
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        require_object(args, 0)
        offset = args.int_attr("offset")
        if offset < 0 or offset % ALIGNMENT:
            raise ArgumentError(f"{args.op}: offset {offset} is no multiple of {ALIGNMENT}")
        return Tensor(args.shape(1).values, dtype_of(args, "dtype"))


class MemoryAllocStorageOp(
    AllocStorageBase, name="memory_alloc_storage", traits=[OnMemory, HasEffect, KeptInExplicitMemory]
):
    """A storage of `size` bytes (a shape value with one entry) on the device of index `device`, aligned to 64 bytes.

    `dtype` is the dtype of the first tensor in it; tensors of other dtypes may follow.
    Example: the size ``(4*n*m,)`` holds a float32 tensor of shape ``(n, m)``.
    """


class MemoryAllocTensorOp(
    AllocTensorBase, name="memory_alloc_tensor", traits=[OnMemory, HasEffect, KeptInExplicitMemory]
):
    """A tensor of `shape` in `storage`, from byte `offset` (a multiple of 64) on.

    Its elements are undefined until a call writes them.
    """


class MemoryKillTensorOp(
    RelaxOp,
    name="memory_kill_tensor",
    traits=[OnMemory, EndsLife, HasEffect, KeptInExplicitMemory, ReadsTensors],
):
    """The end of a tensor's lifetime: neither it nor a view of it is read afterwards."""

    tensor: ValueOperand

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.tensor(0)
        return []


class MemoryKillStorageOp(
    RelaxOp, name="memory_kill_storage", traits=[OnMemory, EndsLife, HasEffect, KeptInExplicitMemory]
):
    """The end of a storage after all its tensors have ended: its memory is free."""

    storage: ValueOperand

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        require_object(args, 0)
        return []


class MemoryCopyOp(RelaxOp, name="memory_copy", traits=[OnMemory, HasEffect, KeptInExplicitMemory, ReadsTensors]):
    """Copy the elements of `source` into `destination`, a tensor of the same shape and dtype."""

    source: ValueOperand
    destination: ValueOperand

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        source, destination = args.tensor(0), args.tensor(1)
        if source.dtype != destination.dtype or source.ndim != destination.ndim:
            raise ArgumentError(f"{args.op}: cannot copy {source} into {destination}")
        for a, b in zip(source.shape or (), destination.shape or (), strict=True):
            if a is not None and b is not None and symbolic.prove_not_equal(a, b):
                raise ShapeError(f"{args.op}: cannot copy {source} into {destination}: {a} is not {b}")
        return []


class CallPrimOp(RelaxOp, name="call_prim", traits=[HasEffect, KeptInExplicitMemory, KeptInShapeHeap, ReadsTensors]):
    """Call of a prim func on buffers: `args` is the tuple of its inputs and then its outputs.

    The last `outputs` fields are filled. If the prim func also takes symbolic integers, `vm.call_tir_dyn` calls it.
    """

    args: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    outputs: ir.IntegerAttr

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        require_outputs(args)
        return []


def require_object(args: OpArgs, index: int) -> None:
    """Raise `ArgumentError` unless operand `index` is an object."""
    if not isinstance(args.infos[index], Object):
        raise ArgumentError(
            f"{args.op}: operand '{args.name_of(index)}' is {args.infos[index]}, expected a storage (an object)"
        )


def require_outputs(args: OpArgs) -> None:
    """Raise `ArgumentError` unless the last `outputs` fields of the tuple operand 'args' are tensors."""
    fields, outputs = args.tuple(0).fields, args.int_attr("outputs")
    if not 0 <= outputs <= len(fields):
        raise ArgumentError(f"{args.op}: outputs is {outputs}, but there are {len(fields)} arguments")
    for number, info in enumerate(fields):
        if number >= len(fields) - outputs and not isinstance(info, Tensor):
            raise ArgumentError(f"{args.op}: operand 'args[{number}]' is {info}, expected a tensor to fill")


def bytes_of(info: StructInfo) -> Dim:
    """Size of a tensor in bytes, as a formula of its symbols; raises `ShapeError` if it is unknown."""
    if not isinstance(info, Tensor) or info.known_shape is None or info.dtype is None:
        raise ShapeError(f"{info} has no size in bytes: match_shape it to a known shape and dtype first")
    return symbolic.product([info.dtype.itemsize, *info.known_shape])


@exported()
def call_prim(callee: str, args: Value | Sequence[Value], outputs: int = 1) -> None:
    """Call the prim func `callee` on inputs and outputs (see `CallPrimOp`)."""
    require_insertion_point("call_prim")
    expect("call_prim: 'callee'", callee, str, "the name of a prim func of the module")
    create(CallPrimOp, [as_tuple(args)], call_attributes(callee, outputs))


def as_tuple(args: Value | Sequence[Value]) -> Value:
    """A tuple value: `args` itself if it is one, else the tuple of the values."""
    if isinstance(args, Value):
        expect("a call's 'args'", struct_info(args.ssa.type), Tuple, "a tuple")
        return args
    expect("a call's 'args'", args, list | tuple, "a list or tuple of values")
    return make_tuple(*args)


def call_attributes(callee: str, outputs: int) -> dict[str, ir.Attribute]:
    """Attributes of the ops that call prim funcs on buffers."""
    return {"callee": ir.FlatSymbolRefAttr.get(callee), "outputs": int_attr(outputs, "call_prim: 'outputs'")}


def shape_dims(info: StructInfo) -> tuple[Dim | None, ...] | None:
    """Dimensions of a shape value, from its struct info."""
    assert isinstance(info, Shape)
    return info.values


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


@exported("memory")
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
