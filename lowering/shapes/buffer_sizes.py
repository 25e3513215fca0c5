"""The sizes of buffers and tensors as expressions of the symbols of a prim func."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.lowering.shapes.slices import Slices
from relax_mlir.mlir import ir, linalg
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.lowering.shapes.index_ranges import Ranges


def dimension(ranges: Ranges, buffer: ir.Value, axis: int) -> Dim | None:
    """The size of a dimension; None if it is not an expression of the symbols."""
    if buffer in ranges.shapes:
        return ranges.shapes[buffer][axis] if axis < len(ranges.shapes[buffer]) else None
    type_ = ir.ShapedType(buffer.type)
    if not 0 <= axis < type_.rank:
        return None
    if not type_.is_dynamic_dim(axis):
        return int(type_.get_dim_size(axis))
    op = defining_op(buffer)
    if op is None:
        return _carried(ranges, buffer, axis)
    if op.name in ("memref.alloc", "tensor.empty"):
        number = sum(type_.is_dynamic_dim(a) for a in range(axis))
        return ranges.exact(op.operands[number])
    if op.name in ("memref.cast", "tensor.cast"):
        return ranges.size(op.operands[0], axis)
    if op.name == "tensor.insert":
        return ranges.size(op.operands[1], axis)
    if op.name == "tensor.insert_slice":
        return ranges.size(op.operands[1], axis)
    if op.name.startswith("linalg."):
        results = len(op.results)
        tied = list(op.operands)[len(op.operands) - results :]
        return ranges.size(tied[ir.OpResult(buffer).result_number], axis)
    if op.name == "scf.for":
        number = ir.OpResult(buffer).result_number + 1
        return ranges.size(entry_block(op).arguments[number], axis)
    if op.name in ("tensor.extract_slice", "memref.subview"):
        slices = Slices.of(op)
        axes = slices.kept_axes(type_.rank)
        size = slices.sizes[axes[axis]] if axes is not None else None
        return size if size is None or isinstance(size, int) else ranges.exact(size)
    return None


def _carried(ranges: Ranges, buffer: ir.Value, axis: int) -> Dim | None:
    """The size of a loop-carried value: that of its initial value, if no iteration changes it."""
    block = buffer.owner
    loop = block.owner.operation if isinstance(block, ir.Block) else None
    if loop is None or loop.name != "scf.for":
        return None
    number = ir.BlockArgument(buffer).arg_number - 1
    handed_on = block.operations[len(block.operations) - 1].operation.operands[number]
    first = ranges.size(loop.operands[3 + number], axis)
    ranges.shapes[buffer] = tuple(
        first if a == axis and first is not None else symbolic.symbol("unknown")
        for a in range(ir.ShapedType(buffer.type).rank)
    )
    try:
        same = first is not None and ranges.size(handed_on, axis) == first
    finally:
        del ranges.shapes[buffer]
    return first if same else None


def own_shape(argument: ir.Value, number: int) -> tuple[Dim, ...]:
    """The shape of an argument, with a new symbol for each dynamic dimension."""
    type_ = ir.ShapedType(argument.type)
    return tuple(
        symbolic.symbol(f"arg{number}_{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    )


def loop_size(ranges: Ranges, index: ir.Operation) -> Dim | None:
    """The length of the loop of a ``linalg`` op that ``linalg.index`` counts; None if it is not known."""
    dim = int(ir.IntegerAttr(index.attributes["dim"]).value)
    loop = index.parent.operation
    while not loop.name.startswith("linalg."):
        loop = loop.parent.operation
    for operand, map_ in zip(loop.operands, linalg.get_indexing_maps(loop) or (), strict=False):
        for axis, expr in enumerate(map_.value.results):
            if isinstance(expr, ir.AffineDimExpr) and ir.AffineDimExpr(expr).position == dim:
                size = ranges.size(operand, axis)
                if size is not None:
                    return size
    return None
