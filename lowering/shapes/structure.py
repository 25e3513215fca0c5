"""Constants, shapes, tuples, and upstream ops that are unchanged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.structure import TUPLE, integer_of
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.lowering.shapes.body import BodyLowering, Handle, Lowered, ShapeValue, handles
from relax_mlir.lowering.shapes.objects import tensor_shape
from relax_mlir.mlir import arith, bufferization, ir, linalg, tensor


@handles("relax.constant")
def _constant(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    value = op.attributes["value"]
    tensor_type = ir.RankedTensorType(value.type)
    if isinstance(value, ir.DenseElementsAttr):
        return [_dense_constant(value, tensor_type)]
    table_entry = body.declarations.constant(value)
    storage = struct_info(op.results[0].type)
    assert isinstance(storage, Tensor)
    return [bufferization.to_tensor(storage.storage_type(), table_entry, restrict=True)]


@handles("relax.shape_expr")
def _shape_expr(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    dims = [d for d in dims_from_attr(op.attributes["values"]) if d is not None]
    return [ShapeValue(tuple(body.symbols.all_sizes(dims)))]


@handles("relax.prim_value")
def _prim_value(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    return [body.symbols.value(integer_of(op.attributes["value"]))]


@handles("relax.shape_of")
def _shape_of(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    assert isinstance(info, Tensor)
    value = body.values[op.operands[0]]
    if info.shape is None and isinstance(value, Handle):
        return [tensor_shape(body, value)]
    return [ShapeValue(tuple(body.dims(op.operands[0], info)))]


@handles(TUPLE)
def _tuple(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    return [tuple(body.values[operand] for operand in op.operands)]


@handles("relax.tuple_get_item")
def _tuple_get_item(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    fields = body.values[op.operands[0]]
    assert isinstance(fields, tuple)
    return [fields[int(ir.IntegerAttr(op.attributes["index"]).value)]]


@handles(
    "arith.constant",
    "index.constant",
    "arith.andi",
    "arith.ori",
    "arith.xori",
    "tensor.extract",
)
def _copy(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    clone = op.clone()
    for index, operand in enumerate(op.operands):
        lowered = body.values[operand]
        assert isinstance(lowered, ir.Value)
        clone.operands[index] = lowered
    return list(clone.results)


_MAX_SPLAT = 1 << 24
"""Maximum bytes of a constant with equal elements that is stored as data of the code."""


def _dense_constant(value: ir.DenseElementsAttr, tensor_type: ir.RankedTensorType) -> ir.Value:
    """A constant stored in the code, or filled at run time: LLVM would run out of memory on gigabytes of data."""
    element = dtypes.from_element_type(tensor_type.element_type)
    if value.is_splat and math.prod(tensor_type.shape) * element.itemsize > _MAX_SPLAT:
        scalar = ir.DenseElementsAttr.get_splat(
            ir.RankedTensorType.get([], tensor_type.element_type), value.get_splat_value()
        )
        number = tensor.extract(_dense_constant(scalar, ir.RankedTensorType(scalar.type)), [])
        empty = tensor.empty(tensor_type.shape, element.storage_type())
        filled: ir.Value = linalg.fill(number, outs=[empty])
        return filled
    if element.kind == "uint":
        storage = ir.RankedTensorType.get(tensor_type.shape, element.storage_type())
        value = ir.Attribute.parse(str(value).rsplit(":", 1)[0].strip() + f" : {storage}")
    return arith.constant(value.type, value)
