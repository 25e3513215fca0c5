"""Ops of the virtual machine for compiled functions: memory, the shape heap, dynamic calls.

Each op is one call of the machine's builtin function of the same name (`BUILTINS`). The shape heap is an int64 tensor
with a slot for each symbol and symbolic expression that a function needs. Generated prim funcs, the *shape functions*,
compute the expressions in it.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.effects import RELATIONS, message_pieces
from relax_mlir.dialects.fields import Int, Ints, Text, ValueOperand
from relax_mlir.dialects.memory import (
    AllocStorageBase,
    AllocTensorBase,
    DimsOperand,
    as_shape,
    as_tuple,
    call_attributes,
    require_outputs,
)
from relax_mlir.dialects.number_attributes import ints_attr, text_attr
from relax_mlir.dialects.traits import (
    HasEffect,
    KeptInExplicitMemory,
    KeptInShapeHeap,
    OnMemory,
    ReadsTensors,
)
from relax_mlir.dialects.types import DimLike, Object, Prim, Shape, Tensor
from relax_mlir.dialects.value import Value, create, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.mlir import ext, ir

BUILTINS = {
    "relax.vm_alloc_storage": "vm.builtin.alloc_storage",
    "relax.vm_alloc_tensor": "vm.builtin.alloc_tensor",
    "relax.vm_kill_object": "vm.builtin.null_value",
    "relax.vm_copy": "vm.builtin.copy",
    "relax.vm_reshape": "vm.builtin.reshape",
    "relax.vm_call_tir_dyn": "vm.builtin.call_tir_dyn",
    "relax.vm_alloc_shape_heap": "vm.builtin.alloc_shape_heap",
    "relax.vm_store_shape": "vm.builtin.store_shape",
    "relax.vm_load_shape": "vm.builtin.load_shape",
    "relax.vm_make_shape": "vm.builtin.make_shape",
    "relax.vm_match_shape": "vm.builtin.match_shape",
    "relax.vm_load_prim": "vm.builtin.make_prim_value",
    "relax.vm_assert_relation": "vm.builtin.assert_relation",
}
"""Name of the machine's builtin, by op."""

COPY_TENSOR = "vm.builtin.copy_tensor"
"""The builtin that returns a copy of a tensor of any rank and dtype."""


class MatchCode(IntEnum):
    """The action of `vm.match_shape` on one dimension."""

    ASSERT_IMMEDIATE = 0
    """The dimension must equal the value."""
    STORE = 1
    """The dimension is stored in the slot that the value names."""
    IGNORE = 2
    ASSERT_SLOT = 3
    """The dimension must equal the number in the slot that the value names."""


class MakeCode(IntEnum):
    """The source of one dimension of `vm.make_shape`."""

    IMMEDIATE = 0
    SLOT = 1


class VmAllocStorageOp(AllocStorageBase, name="vm_alloc_storage", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """A storage of `size` bytes on the device of index `device`, aligned to 64 bytes."""


class VmAllocTensorOp(AllocTensorBase, name="vm_alloc_tensor", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """A tensor of `shape` in `storage`, from byte `offset` on."""


class VmKillObjectOp(RelaxOp, name="vm_kill_object", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """Clear the register of `value`, a tensor or a storage, which is not used afterwards."""

    value: ValueOperand

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if not isinstance(args.infos[0], Tensor | Object):
            raise ArgumentError(f"{args.op}: operand 'value' is {args.infos[0]}, expected a tensor or an object")
        return []


class VmCopyOp(RelaxOp, name="vm_copy", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """Copy the elements of tensor `source` into tensor `destination`."""

    source: ValueOperand
    destination: ValueOperand

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        source, destination = args.tensors()
        if source.dtype != destination.dtype or source.ndim != destination.ndim:
            raise ArgumentError(f"{args.op}: cannot copy {source} into {destination}")
        return []


class VmReshapeOp(RelaxOp, name="vm_reshape", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """The memory of tensor `x` viewed with another `shape`; another number of elements is an error."""

    x: ValueOperand
    shape: DimsOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(args.shape(1).values, args.tensor(0).dtype)


class VmCallTirDynOp(
    RelaxOp,
    name="vm_call_tir_dyn",
    traits=[OnMemory, HasEffect, KeptInExplicitMemory, KeptInShapeHeap, ReadsTensors],
):
    """Call of a prim func on buffers, like `call_prim`, with the entries of `tir_vars` as trailing integers."""

    args: ext.Operand[Any]
    tir_vars: ext.Operand[Any]
    callee: ir.FlatSymbolRefAttr
    outputs: ir.IntegerAttr

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        require_outputs(args)
        if args.shape(1).values is None:
            raise ShapeError(f"{args.op}: operand 'tir_vars' has an unknown number of entries")
        return []


class VmAllocShapeHeapOp(RelaxOp, name="vm_alloc_shape_heap", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """The shape heap of a call: an int64 tensor of `size` slots."""

    size: Int
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if args.int_attr("size") < 0:
            raise ArgumentError(f"{args.op}: size {args.int_attr('size')} is negative")
        return Tensor((args.int_attr("size"),), "int64")


class VmStoreShapeOp(RelaxOp, name="vm_store_shape", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """Store the dimensions of `shape` in the slots `indices` of the heap; another rank is an error."""

    shape: ValueOperand
    heap: ValueOperand
    indices: Ints

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        indices = args.ints_attr("indices")
        _require_rank(args, len(indices))
        _require_slots(args, 1, indices)
        return []


class VmLoadShapeOp(RelaxOp, name="vm_load_shape", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """The shape whose dimensions are in the slots `indices` of the heap."""

    heap: ValueOperand
    indices: Ints
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        indices = args.ints_attr("indices")
        _require_slots(args, 0, indices)
        return Shape(ndim=len(indices))


class VmMakeShapeOp(RelaxOp, name="vm_make_shape", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """A shape of immediates and slots: code 0 takes the entry of `values`, code 1 the slot of that index."""

    heap: ValueOperand
    codes: Ints
    values: Ints
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        codes, values = _codes(args, MakeCode)
        _require_slots(args, 0, [v for c, v in zip(codes, values, strict=True) if c == MakeCode.SLOT])
        return Shape([v if c == MakeCode.IMMEDIATE else None for c, v in zip(codes, values, strict=True)])


class VmMatchShapeOp(RelaxOp, name="vm_match_shape", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """Check the rank of `shape`, then process each dimension by its entries in `codes` and `values`.

    Code 0: it must equal the value; 1: it is stored in that slot of the heap; 2: no check; 3: it must equal the number
    in that slot. Error messages begin with `where`.
    """

    shape: ValueOperand
    heap: ValueOperand
    codes: Ints
    values: Ints
    where: Text = ""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        codes, values = _codes(args, MatchCode)
        _require_rank(args, len(codes))
        slots = (MatchCode.STORE, MatchCode.ASSERT_SLOT)
        _require_slots(args, 1, [v for c, v in zip(codes, values, strict=True) if c in slots])
        args.str_attr("where")
        return []


class VmLoadPrimOp(RelaxOp, name="vm_load_prim", traits=[OnMemory, HasEffect, KeptInShapeHeap]):
    """The number in slot `index` of the heap, as an integer value."""

    heap: ValueOperand
    index: Int
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        _require_slots(args, 0, [args.int_attr("index")])
        return Prim("int64")


class VmAssertRelationOp(
    RelaxOp, name="vm_assert_relation", traits=[OnMemory, HasEffect, KeptInShapeHeap, ReadsTensors]
):
    """Raise ``CheckError`` unless `relation` holds between two integers, immediates or slots as in `vm.make_shape`.

    `args`, a tuple, and `message` are those of `assert_op`.
    """

    heap: ext.Operand[Any]
    args: ext.Operand[Any]
    relation: ir.StringAttr
    codes: ir.ArrayAttr
    values: ir.ArrayAttr
    message: ir.StringAttr

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        codes, values = _codes(args, MakeCode)
        _require_slots(args, 0, [v for c, v in zip(codes, values, strict=True) if c == MakeCode.SLOT])
        if args.str_attr("relation") not in RELATIONS:
            raise ArgumentError(f"{args.op}: relation '{args.str_attr('relation')}' is none of {', '.join(RELATIONS)}")
        if len(codes) != 2:
            raise ArgumentError(f"{args.op}: {len(codes)} integers are given, expected the two of the relation")
        message_pieces(args.op, args.str_attr("message"), len(args.tuple(1).fields))
        return []


def _codes(args: OpArgs, kind: type[IntEnum]) -> tuple[list[int], list[int]]:
    codes, values = args.ints_attr("codes"), args.ints_attr("values")
    if len(codes) != len(values):
        raise ArgumentError(f"{args.op}: {len(codes)} codes, but {len(values)} values")
    for code in codes:
        if code not in list(kind):
            raise ArgumentError(f"{args.op}: code {code} is none of {[int(k) for k in kind]}")
    return codes, values


def _require_rank(args: OpArgs, rank: int) -> None:
    shape = args.shape(0)
    if shape.ndim is not None and shape.ndim != rank:
        raise ShapeError(f"{args.op}: the shape has {shape.ndim} dimensions, but {rank} are given")


def _require_slots(args: OpArgs, heap: int, indices: Sequence[int]) -> None:
    info = args.tensor(heap)
    if info.dtype is None or info.dtype.name != "int64" or info.ndim != 1:
        raise DTypeError(f"{args.op}: operand 'heap' is {info}, expected a shape heap (int64, rank 1)")
    assert info.shape is not None
    size = info.shape[0]
    for index in indices:
        if index < 0 or (isinstance(size, int) and index >= size):
            raise ArgumentError(f"{args.op}: slot {index} is out of range for a heap of {size} slots")


@exported("vm")
def call_tir_dyn(
    callee: str, args: Value | Sequence[Value], tir_vars: Value | Sequence[DimLike], outputs: int = 1
) -> None:
    """Call a prim func on inputs, outputs and integers (see `VmCallTirDynOp`)."""
    require_insertion_point("call_tir_dyn")
    expect("call_tir_dyn: 'callee'", callee, str, "the name of a prim func of the module")
    create(
        VmCallTirDynOp,
        [as_tuple(args), as_shape(tir_vars, "call_tir_dyn: 'tir_vars'")],
        call_attributes(callee, outputs),
    )


@exported("vm")
def assert_relation(
    heap: Value,
    args: Value | Sequence[Value],
    relation: str,
    codes: Sequence[int],
    values: Sequence[int],
    message: str = "",
) -> None:
    """Raise ``CheckError`` unless a relation holds between immediates or slots (see `VmAssertRelationOp`)."""
    require_insertion_point("assert")
    attributes = {
        "relation": text_attr(relation, "assert_relation: 'relation'"),
        "codes": ints_attr(codes, "assert_relation: 'codes'"),
        "values": ints_attr(values, "assert_relation: 'values'"),
        "message": text_attr(message, "assert_relation: 'message'"),
    }
    create(VmAssertRelationOp, [heap, as_tuple(args)], attributes)
