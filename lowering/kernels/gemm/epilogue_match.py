"""Match the operation after a GEMM that is its epilogue."""

from __future__ import annotations

from relax_mlir.ir_queries import defining_op, entry_block, is_a
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.mlir import arith, ir, linalg

PURE = ("arith.", "index.", "memref.dim", "memref.subview", "memref.reinterpret_cast", "memref.cast")
"""Name prefixes of operations that neither read nor write memory."""


def match_epilogue(operation: ir.Operation, c: e.Value) -> ir.Operation | None:
    """The elementwise `linalg.generic` directly after an operation that writes `c`, if it can be its epilogue."""
    following = [op.operation for op in operation.block.operations]
    for op in following[following.index(operation) + 1 :]:
        if op.name == "linalg.generic":
            return op if _is_elementwise_on(op, c) else None
        if not op.name.startswith(PURE):
            return None
    return None


def scalars_of(body: ir.Operation) -> list[e.Value]:
    """The scalars that a generic reads, without constants: inputs, and values captured by its region."""
    return [value for value in _scalars(body) if not _is_constant(value)]


def constants_of(body: ir.Operation) -> list[e.Value]:
    """The constants that a generic reads."""
    return [value for value in _scalars(body) if _is_constant(value)]


def _scalars(body: ir.Operation) -> list[e.Value]:
    region = entry_block(body)
    inside = {*region.arguments, *(result for op in region.operations for result in op.results)}
    given = [x for x in body.operands if not isinstance(x.type, ir.MemRefType)]
    captured = [x for op in region.operations for x in op.operands if x not in inside]
    return list(dict.fromkeys([*given, *captured]))


def _is_constant(value: e.Value) -> bool:
    return is_a(defining_op(value), arith.ConstantOp)


def _is_elementwise_on(op: ir.Operation, c: e.Value) -> bool:
    """True if a generic is elementwise in `c` and its output, has only `arith` and `math` ops, and no alias of `c`."""
    generic = op.opview
    rank = ir.MemRefType(c.type).rank
    if list(op.results) or len(generic.outputs) != 1 or c not in list(op.operands):
        return False
    if any("parallel" not in str(kind) for kind in op.attributes["iterator_types"]):
        return False
    identity = ir.AffineMap.get_identity(rank)
    maps = [attribute.value for attribute in linalg.get_indexing_maps(op)]
    for operand, map_ in zip(op.operands, maps, strict=True):
        if operand in (c, generic.outputs[0]) and map_ != identity:
            return False
    if any(root(x) == root(c) for x in op.operands if x != c and isinstance(x.type, ir.MemRefType)):
        return False
    inside = [view.operation for view in entry_block(op).operations]
    plain = all(x.name.startswith(("arith.", "math.", "linalg.yield")) for x in inside)
    return plain and all(_is_scalar(x.type) for x in _scalars(op))


def root(buffer: e.Value) -> e.Value:
    """The buffer that a chain of views refers to."""
    while not isinstance(buffer.owner, ir.Block) and buffer.owner.name.startswith("memref."):
        if buffer.owner.name in ("memref.alloc", "memref.alloca"):
            break
        buffer = buffer.owner.operands[0]
    return buffer


def writes(fill: ir.Operation, value: float) -> bool:
    """True if a fill writes this constant."""
    number = defining_op(fill.operands[0])
    return (
        number is not None and is_a(number, arith.ConstantOp) and bool(number.opview.literal_value == value)
    )


def _is_scalar(type_: e.Type) -> bool:
    return isinstance(type_, (ir.IndexType, ir.FloatType, ir.IntegerType))
