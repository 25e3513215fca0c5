"""Memory passed to functions as an address: one argument instead of the seven of a memref of rank 2."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.mlir import arith, ir, llvm, memref


def item_bytes(type_: e.Type) -> int:
    """Bytes of an element in memory."""
    element = e.element_of(type_)
    return 8 if isinstance(element, ir.IndexType) else max(1, element.width // 8)


def address(parts: e.Strided, offset: e.Index) -> e.Value:
    """The address of the element at index `offset` of a memref, counted from its first element."""
    start = memref.extract_aligned_pointer_as_index(parts.base)
    return arith.addi(start, e.index(e.mul(e.add(parts.offset, offset), item_bytes(parts.base.type))))


def memref_at(
    at: e.Index,
    element: e.Type,
    strides: Sequence[e.Index],
    unit_inner: bool = False,
    sizes: Sequence[e.Index] = (),
) -> e.Value:
    """A memref of the given strides whose first element is at an address.

    With `unit_inner` the type fixes the last stride to 1, and the given one is ignored. Without `sizes` the size fields
    are undefined and must not be read.
    """
    word = ir.IntegerType.get_signless(64)
    rank = len(strides)
    shape = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    struct = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{shape})>")
    pointer = llvm.IntToPtrOp(ir.Type.parse("!llvm.ptr"), arith.index_cast(word, e.index(at))).result
    value = llvm.PoisonOp(struct).result

    def put(item: e.Value, *position: int) -> None:
        nonlocal value
        place = ir.DenseI64ArrayAttr.get(position)
        value = llvm.InsertValueOp(value, item, place).result

    put(pointer, 0)
    put(pointer, 1)
    put(arith.constant(word, 0), 2)
    for axis, size in enumerate(sizes):
        put(arith.index_cast(word, e.index(size)), 3, axis)
    for axis, stride in enumerate(strides[:-1] if unit_inner else strides):
        put(arith.index_cast(word, e.index(stride)), 4, axis)
    cast, type_ = "builtin.unrealized_conversion_cast", e.strided_memref(element, rank, unit_inner)
    return ir.Operation.create(cast, results=[type_], operands=[value]).result
