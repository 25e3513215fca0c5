"""Conversions between shapes of known rank and tensors of known length."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.types import Shape, struct_info
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, ShapeValue, flatten, handles, place
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, ir, tensor


@handles("relax.shape_to_tensor")
def _shape_to_tensor(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    i64 = ir.IntegerType.get_signless(64)
    values = [arith.index_cast(i64, value) for value in flatten(body.values[op.operands[0]])]
    type_ = ir.RankedTensorType.get([len(values)], i64)
    return [tensor.from_elements(type_, values) if values else tensor.empty([0], i64)]


@handles("relax.tensor_to_shape")
def _tensor_to_shape(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.results[0].type)
    assert isinstance(info, Shape)
    source = body.tensor(op.operands[0])
    sizes = []
    for position in range(info.ndim or 0):
        element = tensor.extract(source, [index_constant(position)])
        sizes.append(arith.index_cast(ir.IndexType.get(), element))
    for position, size in enumerate(sizes):
        is_size = arith.cmpi(arith.CmpIPredicate.sge, size, index_constant(0))
        where = f"{body.symbols.function}: tensor_to_shape at {place(op)}"
        message = f"{where}: element {position} is {{0}}, which is no size"
        body.declarations.check(is_size, "ShapeError", message, [size])
    return [ShapeValue(tuple(sizes))]
