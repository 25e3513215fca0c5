"""Explicit memory: storages, tensors in them, their lifetimes, and calls of prim funcs that fill them.

In this form a tensor is a buffer, written by the call after its `memory.alloc_tensor`. None of these ops is pure, so
that upstream passes neither merge nor remove them. `relax.updated` remains: it denotes the same memory after a
`call_packed` may have changed it.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.cast import dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import int_attr, text_attr
from relax_mlir.dialects.structure import make_tuple, shape_expr
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
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    shape_text,
    struct_info,
)
from relax_mlir.dialects.value import Value, create, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

ALIGNMENT = 64
"""Alignment of storages and of the tensors in them, in bytes."""


class AllocStorageBase(RelaxOp):
    """Base of the ops that allocate a storage."""

    size: ext.Operand[Any]
    device: ir.IntegerAttr
    storage_scope: ir.StringAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        size = args.shape(0)
        if size.values is not None and len(size.values) != 1:
            raise ShapeError(
                f"{args.op}: operand 'size' is {shape_text(size.values)}, expected one number of bytes"
            )
        if args.int_attr("device") < 0:
            raise ArgumentError(f"{args.op}: device {args.int_attr('device')} is negative")
        dtype_of(args, "dtype")
        return Object()


class AllocTensorBase(RelaxOp):
    """Base of the ops that create a tensor in a storage."""

    storage: ext.Operand[Any]
    shape: ext.Operand[Any]
    offset: ir.IntegerAttr
    dtype: ir.TypeAttr
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

    tensor: ext.Operand[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.tensor(0)
        return []


class MemoryKillStorageOp(
    RelaxOp, name="memory_kill_storage", traits=[OnMemory, EndsLife, HasEffect, KeptInExplicitMemory]
):
    """The end of a storage after all its tensors have ended: its memory is free."""

    storage: ext.Operand[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        require_object(args, 0)
        return []


class MemoryCopyOp(
    RelaxOp, name="memory_copy", traits=[OnMemory, HasEffect, KeptInExplicitMemory, ReadsTensors]
):
    """Copy the elements of `source` into `destination`, a tensor of the same shape and dtype."""

    source: ext.Operand[Any]
    destination: ext.Operand[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        source, destination = args.tensor(0), args.tensor(1)
        if source.dtype != destination.dtype or source.ndim != destination.ndim:
            raise ArgumentError(f"{args.op}: cannot copy {source} into {destination}")
        for a, b in zip(source.shape or (), destination.shape or (), strict=True):
            if a is not None and b is not None and symbolic.prove_not_equal(a, b):
                raise ShapeError(f"{args.op}: cannot copy {source} into {destination}: {a} is not {b}")
        return []


class CallPrimOp(
    RelaxOp, name="call_prim", traits=[HasEffect, KeptInExplicitMemory, KeptInShapeHeap, ReadsTensors]
):
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


def alloc_storage(
    size: Value | Sequence[DimLike],
    device: int = 0,
    storage_scope: str = "global",
    dtype: str | DType = "uint8",
) -> Value:
    """Allocate a storage of `size` bytes, ``(expression,)`` (see `MemoryAllocStorageOp`)."""
    return create_one(
        MemoryAllocStorageOp,
        [as_shape(size, "alloc_storage: 'size'")],
        storage_attributes(device, storage_scope, dtype),
    )


def alloc_tensor(
    storage: Value, shape: Value | Sequence[DimLike], offset: int = 0, dtype: str | DType = "float32"
) -> Value:
    """Create a tensor in `storage` (see `MemoryAllocTensorOp`)."""
    return create_one(
        MemoryAllocTensorOp,
        [storage, as_shape(shape, "alloc_tensor: 'shape'")],
        tensor_attributes(offset, dtype),
    )


def kill_tensor(tensor: Value) -> None:
    """End the lifetime of a tensor (see `MemoryKillTensorOp`)."""
    create(MemoryKillTensorOp, [tensor])


def kill_storage(storage: Value) -> None:
    """End the lifetime of a storage (see `MemoryKillStorageOp`)."""
    create(MemoryKillStorageOp, [storage])


def copy(source: Value, destination: Value) -> None:
    """Copy elements from tensor to tensor (see `MemoryCopyOp`)."""
    create(MemoryCopyOp, [source, destination])


def call_prim(callee: str, args: Value | Sequence[Value], outputs: int = 1) -> None:
    """Call the prim func `callee` on inputs and outputs (see `CallPrimOp`)."""
    require_insertion_point("call_prim")
    expect("call_prim: 'callee'", callee, str, "the name of a prim func of the module")
    create(CallPrimOp, [as_tuple(args)], call_attributes(callee, outputs))


def as_shape(shape: Value | Sequence[DimLike], what: str) -> Value:
    """A shape value from a value or a sequence of dimensions."""
    if isinstance(shape, Value):
        return shape
    expect(what, shape, list | tuple, "a list or tuple of dimensions, or a shape")
    return shape_expr(shape)


def as_tuple(args: Value | Sequence[Value]) -> Value:
    """A tuple value: `args` itself if it is one, else the tuple of the values."""
    if isinstance(args, Value):
        expect("a call's 'args'", struct_info(args.ssa.type), Tuple, "a tuple")
        return args
    expect("a call's 'args'", args, list | tuple, "a list or tuple of values")
    return make_tuple(*args)


def storage_attributes(device: int, storage_scope: str, dtype: str | DType) -> dict[str, ir.Attribute]:
    """Attributes of the ops that allocate a storage."""
    require_insertion_point("alloc_storage")
    return {
        "device": int_attr(device, "alloc_storage: 'device'"),
        "storage_scope": text_attr(storage_scope, "alloc_storage: 'storage_scope'"),
        "dtype": dtype_attr(dtypes.dtype(dtype)),
    }


def tensor_attributes(offset: int, dtype: str | DType) -> dict[str, ir.Attribute]:
    """Attributes of the ops that create a tensor in a storage."""
    require_insertion_point("alloc_tensor")
    return {"offset": int_attr(offset, "alloc_tensor: 'offset'"), "dtype": dtype_attr(dtypes.dtype(dtype))}


def call_attributes(callee: str, outputs: int) -> dict[str, ir.Attribute]:
    """Attributes of the ops that call prim funcs on buffers."""
    return {"callee": ir.FlatSymbolRefAttr.get(callee), "outputs": int_attr(outputs, "call_prim: 'outputs'")}


def shape_dims(info: StructInfo) -> tuple[Dim | None, ...] | None:
    """Dimensions of a shape value, from its struct info."""
    assert isinstance(info, Shape)
    return info.values
