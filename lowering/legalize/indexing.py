"""Legalisation of slices at run-time bounds, and of slices that are replaced: dynamic_strided_slice, slice_scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.indexing import (
    DynamicStridedSliceOp,
    GatherElementsOp,
    GatherNdOp,
    IndexPutOp,
    IndexTensorOp,
    ScatterElementsOp,
    ScatterNdOp,
    SliceScatterOp,
    replaced_slice,
)
from relax_mlir.dialects.structure import match_shape
from relax_mlir.dialects.symbols import fresh_symbols
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.lowering.legalize.prim_bodies import Index, Window, is_empty, sizes_of
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.mlir import arith, cf, ir, linalg, tensor
from relax_mlir.op import tensor_to_shape
from relax_mlir.scalars.arithmetic import Scalar
from relax_mlir.scalars.linalg_builders import generic, identity

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


# Legalisation of dynamic_strided_slice: one prim func computes the bounds of the slice, one copies it.


_P = arith.CmpIPredicate


@lower(DynamicStridedSliceOp)
def legalize_dynamic_strided_slice(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x = op.operands[0]
    rank = len(x.shape)
    if rank == 0:
        return [x]
    vector = Tensor((rank,), "int64")
    first, count, step = lz.prim("slice_places", op.operands, [vector] * 3, _places, key=tuple(map(str, x.shape)))
    sizes = fresh_symbols(rank)
    match_shape(tensor_to_shape(Value(count.ssa)), sizes)
    taken = Tensor(sizes, x.info.dtype)
    found = lz.prim(op.args.op, [x, first, step], [taken], _taken)[0]
    return [Arg(match_shape(Value(found.ssa), [None] * rank).ssa, op.results[0])]


def _places(prim: PrimBody) -> Sequence[ir.Value]:
    """The first index, the number of elements and the step along each dimension, like Python's ``slice.indices``."""
    shape = prim.in_infos[0].dims
    outs = list(prim.outs)
    for axis in range(len(shape)):
        at = [prim.index(axis)]
        begin, end, step = (_number(prim, number, at) for number in (1, 2, 3))
        size = prim.dim(prim.ins[0], axis)
        values = _resolved(prim, begin, end, step, size)
        outs = [tensor.insert(_int64(value), out, at) for value, out in zip(values, outs, strict=True)]
    return outs


def _number(prim: PrimBody, number: int, at: Sequence[Index]) -> Index:
    """An integer as ``index``; larger ones become the maximum, which has the same effect."""
    info, index = prim.in_infos[number], ir.IndexType.get()
    value = tensor.extract(prim.ins[number], list(at))
    if info.dtype is None or info.dtype.kind != "uint":
        return arith.index_cast(index, value)
    found = arith.index_castui(index, value)
    return arith.select(arith.cmpi(_P.slt, found, prim.index(0)), prim.index(2**63 - 1), found)


def _resolved(prim: PrimBody, begin: Index, end: Index, step: Index, size: Index) -> tuple[Index, Index, Index]:
    zero, one = prim.index(0), prim.index(1)
    cf.assert_(arith.cmpi(_P.ne, step, zero), "dynamic_strided_slice: a stride is 0", loc=ir.Location.unknown())
    is_up = arith.cmpi(_P.sgt, step, zero)
    low = arith.select(is_up, zero, arith.subi(zero, one))
    high = arith.select(is_up, size, arith.subi(size, one))

    def held(position: Index) -> Index:
        is_behind = arith.cmpi(_P.slt, position, zero)
        counted = arith.select(is_behind, arith.addi(position, size), position)
        return arith.minsi(arith.maxsi(counted, low), high)

    first, last = held(begin), held(end)
    distance = arith.select(is_up, arith.subi(last, first), arith.subi(first, last))
    backwards = arith.subi(zero, step)
    # The lowest integer has no negation: a step of that size takes one element.
    is_least = arith.cmpi(_P.slt, backwards, zero)
    width = arith.select(is_up, step, arith.select(is_least, arith.addi(size, one), backwards))
    width = arith.maxsi(width, one)
    some = arith.addi(arith.divsi(arith.subi(distance, one), width), one)
    count = arith.select(arith.cmpi(_P.sgt, distance, zero), some, zero)
    # The step of a single element does not matter; use one that stays in the tensor.
    return first, count, arith.select(arith.cmpi(_P.sgt, count, one), step, one)


def _int64(value: Index) -> Scalar:
    return arith.index_cast(dtypes.dtype("int64").storage_type(), value)


def _taken(prim: PrimBody) -> Sequence[ir.Value]:
    """Gather the elements of the slice, all of which are in bounds."""
    x, first, step = prim.ins
    rank = ir.RankedTensorType(x.type).rank
    index = ir.IndexType.get()

    def element(_: Scalar) -> Scalar:
        at: list[Index] = []
        for axis in range(rank):
            place = [prim.index(axis)]
            begin, stride = (arith.index_cast(index, tensor.extract(v, place)) for v in (first, step))
            at.append(arith.addi(begin, arith.muli(linalg.IndexOp(axis).result, stride)))
        return tensor.extract(x, at)

    return generic([], [], prim.outs, [identity(rank)], ["parallel"] * rank, element)


# Legalisation of slice_scatter: a prim func that writes the slice in place.
#
# The call gets a copy of the tensor if its old elements are still needed: for a parameter, or a value that is
# used later.


@lower(SliceScatterOp)
def legalize_slice_scatter(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    whole, src = op.operands
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(whole.shape))
    part = replaced_slice(op.args, whole.shape[axis])
    assert part is not None

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        result, new = prim.ins
        window = Window(sizes_of(prim, new))
        window.offsets[axis] = part.begin if isinstance(part.begin, int) else prim.index(part.begin)
        window.strides[axis] = part.stride
        copied = linalg.copy(new, outs=[window.extract(result, new.type)])
        return [window.insert(copied, result)]

    if is_empty(src.info):
        return [whole]  # upstream refuses a slice that begins at the end
    return [lz.prim_inplace(op.args.op, op.operands, body, key=(axis, str(part.begin), part.stride))]


@expression(GatherElementsOp)
def gather_elements(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """One element for each index, along an axis."""
    from relax_mlir import topi  # most modules have no tensor expressions

    return topi.gather(inputs[0], attrs.axis, inputs[1])


@expression(IndexTensorOp)
def index_tensor(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """Elements or slices selected by broadcast index tensors."""
    from relax_mlir import topi  # most modules have no tensor expressions

    return topi.index_tensor(inputs[0], inputs[1:])


@expression(ScatterElementsOp)
def scatter_elements(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """One update for each index, along an axis."""
    from relax_mlir import topi  # most modules have no tensor expressions

    data, indices, updates = inputs
    return topi.scatter_elements(data, indices, updates, attrs.axis, attrs.reduction)


@expression(IndexPutOp)
def index_put(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """Write values, which are broadcast, at index tensors."""
    from relax_mlir import topi  # most modules have no tensor expressions

    data, *places, values = inputs
    return topi.index_put(data, places, values, attrs.accumulate)


@expression(GatherNdOp)
def gather_nd(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """Elements or slices selected by index vectors."""
    from relax_mlir.topi.indexing import gather_vectors  # most modules have no tensor expressions

    return gather_vectors(inputs[0], inputs[1], attrs.batch_dims)


@expression(ScatterNdOp)
def scatter_nd(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """Updates of elements or slices selected by index vectors."""
    from relax_mlir.topi.indexing import scatter_vectors  # most modules have no tensor expressions

    data, indices, updates = inputs
    return scatter_vectors(data, indices, updates, attrs.reduction)
