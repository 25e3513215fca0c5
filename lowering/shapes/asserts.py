"""Assertions: run-time checks that raise `CheckError`."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.diagnostics import where
from relax_mlir.dialects.effects import message_pieces
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, handles, place
from relax_mlir.mlir import arith, ir, tensor

PREDICATES = {
    "==": arith.CmpIPredicate.eq,
    "!=": arith.CmpIPredicate.ne,
    "<": arith.CmpIPredicate.slt,
    "<=": arith.CmpIPredicate.sle,
    ">": arith.CmpIPredicate.sgt,
    ">=": arith.CmpIPredicate.sge,
}


@handles("relax.assert_op")
def _assert(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    info = struct_info(op.operands[0].type)
    assert isinstance(info, Tuple)
    shown = list(zip(body.flat(op.operands[0]), info.fields, strict=True))
    if isinstance(op.attributes["relation"], ir.StringAttr):
        left, right = (
            body.symbols.value(dim) for dim in dims_from_attr(op.attributes["values"]) if dim is not None
        )
        condition = arith.cmpi(PREDICATES[ir.StringAttr(op.attributes["relation"]).value], left, right)
    else:
        condition = tensor.extract(shown.pop(0)[0], [])
    pieces = message_pieces("assert_op", ir.StringAttr(op.attributes["message"]).value, len(shown))
    numbers = [_number(op, value, what) for value, what in shown]
    text = "".join(
        f"{{{piece}{numbers[piece][1]}}}" if isinstance(piece, int) else verbatim(piece) for piece in pieces
    )
    head = f"{body.symbols.function}: assertion failed at {place(op)}"
    body.declarations.check(
        condition, "CheckError", f"{head}: {text}" if text else head, [number for number, _ in numbers]
    )
    return []


def _number(op: ir.Operation, value: ir.Value, info: StructInfo) -> tuple[ir.Value, str]:
    """A value as the index that a check takes, and its placeholder in the message."""
    index, word = ir.IndexType.get(), ir.IntegerType.get_signless(64)
    if not isinstance(info, Tensor):
        return value, ""
    assert info.dtype is not None
    element = tensor.extract(value, [])
    if info.dtype.kind == "float":
        double = ir.F64Type.get()
        if element.type != double:
            element = arith.extf(double, element)
        return arith.index_cast(index, arith.bitcast(word, element)), ":float"
    if info.dtype.kind == "bool":
        return arith.index_castui(index, element), ":bool"
    if info.dtype.kind == "int":
        return arith.index_cast(index, element), ""
    if info.dtype.name == "uint64":
        raise UnsupportedError(f"{where(op)}: assert_op shows no uint64 values; astype them to int64")
    return arith.index_castui(index, element), ""
