"""Legalisation of memory.view: elements assembled from the bits of others."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.memory import MemoryViewOp, view_bytes, view_offset
from relax_mlir.lowering.legalize.prim_bodies import Index, is_empty
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, lower
from relax_mlir.mlir import arith, cf, ir, linalg, tensor
from relax_mlir.scalars.arithmetic import Scalar, const
from relax_mlir.scalars.linalg_builders import generic, identity
from relax_mlir.symbolic import Dim


@lower(MemoryViewOp)
def legalize_memory_view(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Assemble each element from pieces of equal size, the largest that is aligned in both tensors."""
    x, result = op.operands[0], op.results[0]
    offset = view_offset(op.args)
    pieces = Pieces(x.info.element, result.element, offset)
    spans = view_bytes(x.info, result, offset)
    assert spans is not None
    fits = symbolic.prove_less_equal(spans[1], spans[0]) and symbolic.prove_less_equal(0, offset)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        if not fits:
            _check_span(prim, pieces, offset)
        if is_empty(result) or is_empty(x.info):
            return list(prim.outs)
        flat = _flat(prim.ins[0])
        begin = prim.index(offset)
        sizes = [prim.dim(prim.outs[0], axis) for axis in range(len(result.shape or ()))]

        def element(_: Scalar) -> Scalar:
            return pieces.element(flat, begin, _position(sizes))

        rank = len(sizes)
        return generic([], [], prim.outs, [identity(rank)], ["parallel"] * rank, element)

    return lz.prim(op.args.op, op.operands, op.results, body, pattern="opaque", key=(str(offset), fits))


@dataclass(frozen=True)
class Pieces:
    """The assembly of elements of `target` from those of `source`, at a byte offset."""

    source: DType
    target: DType
    offset: Dim

    @property
    def size(self) -> int:
        """The bytes of a piece: 1 if the offset is not known to be a multiple of more."""
        both = min(self.source.itemsize, self.target.itemsize)
        return both if symbolic.prove_divisible(self.offset, both) else 1

    def element(self, flat: ir.Value, begin: Index, position: Index) -> Scalar:
        """The element at `position` of the result, read from the elements `flat`."""
        index = ir.IndexType.get()
        width = arith.constant(index, self.target.itemsize)
        first = arith.addi(begin, arith.muli(position, width))
        bits = _unsigned(self.target)
        found: list[Scalar] = []
        for number in range(self.target.itemsize // self.size):
            place = arith.addi(first, arith.constant(index, number * self.size))
            piece = _resized(self.piece(flat, place), _unsigned(self.source), bits)
            distance = const(bits, 8 * self.size * number)
            found.append(arith.shli(piece, distance) if number else piece)
        return _from_bits(self.target, functools.reduce(arith.ori, found))

    def piece(self, flat: ir.Value, place: Index) -> Scalar:
        """The piece at byte `place`, as the low bits of an unsigned element of `source`."""
        index = ir.IndexType.get()
        width = arith.constant(index, self.source.itemsize)
        value = _to_bits(self.source, tensor.extract(flat, [arith.divui(place, width)]))
        if self.size == self.source.itemsize:
            return value
        bits = _unsigned(self.source)
        distance = arith.muli(arith.remui(place, width), arith.constant(index, 8))
        moved = arith.shrui(value, arith.index_castui(bits.storage_type(), distance))
        return arith.andi(moved, const(bits, (1 << 8 * self.size) - 1))


def _unsigned(dtype: DType) -> DType:
    """The unsigned integer dtype of the same size."""
    return dtypes.dtype(f"uint{8 * dtype.itemsize}")


def _to_bits(dtype: DType, value: Scalar) -> Scalar:
    """The bytes of an element as an integer."""
    if dtype.kind == "bool":
        return arith.extui(ir.IntegerType.get_signless(8), value)
    return arith.bitcast(_unsigned(dtype).storage_type(), value) if dtype.is_float else value


def _from_bits(dtype: DType, bits: Scalar) -> Scalar:
    if dtype.kind == "bool":
        return arith.cmpi(arith.CmpIPredicate.ne, bits, const(dtypes.dtype("uint8"), 0))
    return arith.bitcast(dtype.storage_type(), bits) if dtype.is_float else bits


def _resized(value: Scalar, source: DType, target: DType) -> Scalar:
    """Extend or truncate bits to another width; only the low ones count."""
    if source.bits == target.bits:
        return value
    change = arith.extui if source.bits < target.bits else arith.trunci
    return change(target.storage_type(), value)


def _position(sizes: Sequence[Index]) -> Index:
    """The row-major position of the element at the loop indices."""
    position: Index = arith.constant(ir.IndexType.get(), 0)
    for axis, size in enumerate(sizes):
        position = arith.addi(arith.muli(position, size), linalg.IndexOp(axis).result)
    return position


def _flat(source: ir.Value) -> ir.Value:
    """View a tensor as a vector."""
    type_ = ir.RankedTensorType(source.type)
    if type_.rank == 1:
        return source
    dynamic = int(ir.ShapedType.get_dynamic_size())
    total = 1
    for axis in range(type_.rank):
        total = dynamic if type_.is_dynamic_dim(axis) or total == dynamic else total * type_.get_dim_size(axis)
    flat = ir.RankedTensorType.get([total], type_.element_type)
    if type_.rank == 0:
        return tensor.expand_shape(flat, source, [], [], [1])
    return tensor.collapse_shape(flat, source, [list(range(type_.rank))])


def _check_span(prim: PrimBody, pieces: Pieces, offset: Dim) -> None:
    """Assert that the view begins and ends in the tensor, without sums that might exceed 64 bits."""
    have = _bytes(prim, prim.ins[0], pieces.source)
    want = _bytes(prim, prim.outs[0], pieces.target)
    begin = prim.index(offset)
    zero = arith.constant(ir.IndexType.get(), 0)
    starts = arith.cmpi(arith.CmpIPredicate.sge, begin, zero)
    ends = arith.cmpi(arith.CmpIPredicate.sle, want, arith.subi(have, begin))
    message = f"memory_view: the view of {pieces.target} from byte {offset} on does not lie in the tensor"
    cf.assert_(arith.andi(starts, ends), message, loc=ir.Location.unknown())


def _bytes(prim: PrimBody, value: ir.Value, dtype: DType) -> Index:
    total: Index = arith.constant(ir.IndexType.get(), dtype.itemsize)
    for axis in range(ir.RankedTensorType(value.type).rank):
        total = arith.muli(total, prim.dim(value, axis))
    return total
