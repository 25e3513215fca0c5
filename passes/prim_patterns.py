"""What kinds of prim funcs there are for fusion, read from their bodies."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.attributes import KERNEL, PATTERN, PRIM_FUNC
from relax_mlir.mlir import func, ir, linalg

RANKS = ("elementwise", "broadcast", "injective", "out_fusable")
"""The patterns that fuse, from the strictest to the loosest; a merged prim func has the loosest of its members."""

_SCALAR_DIALECTS = ("arith.", "math.")
_AROUND = frozenset(
    {
        "arith.constant",
        "tensor.dim",
        "linalg.index",
        "linalg.yield",
        "func.return",
        "func.func",
        "tensor.empty",
    }
)


@dataclass(frozen=True)
class Kind:
    """How a prim func can be fused.

    `open`: numbers of the inputs whose elementwise makers may move in; `contraction`: whether its body begins
    with a contraction.
    """

    pattern: str
    open: frozenset[int]
    contraction: bool


def kind_of(function: func.FuncOp) -> Kind | None:
    """The kind of a prim func that can be fused, None for others.

    It has one result, and its body is one parallel ``linalg.generic`` of scalar arithmetic, or a contraction
    (filled before or not), or a contraction and such a ``linalg.generic`` that reads it in place.
    """
    attributes = function.attributes
    if PRIM_FUNC not in attributes or PATTERN not in attributes or KERNEL in attributes:
        return None
    pattern = ir.StringAttr(attributes[PATTERN]).value
    if pattern not in RANKS or len(function.type.results) != 1 or len(function.regions[0].blocks) != 1:
        return None
    ops = [op.operation for op in function.entry_block.operations]
    products = [op for op in ops if is_contraction(op)]
    loops = [op for op in ops if op.name == "linalg.generic" and op not in products]
    known = {*products, *loops}
    if pattern == "out_fusable":
        known |= {op for op in ops if op.name == "linalg.fill"}
    if isinstance(ops[-1].operands[0].owner, ir.Block):
        return None
    last = ops[-1].operands[0].owner.operation
    if any(op not in known and not _is_around(op) for op in ops) or not all(map(_is_scalar_loop, loops)):
        return None
    if len(products) != (pattern == "out_fusable") or last not in known:
        return None
    ins = range(len(function.type.inputs))
    if not products:
        return Kind(pattern, frozenset(ins), False) if loops == [last] else None
    if not loops:
        return Kind(pattern, frozenset(), True) if products == [last] else None
    if loops != [last] or not _reads_in_place(last, products[0].results[0]):
        return None
    arguments = function.entry_block.arguments
    return Kind(pattern, frozenset(i for i in ins if _is_only_read_by(arguments[i], last)), True)


def is_contraction(op: ir.Operation) -> bool:
    """Whether an op is a linalg op on tensors of two inputs and one result that sums over a loop."""
    if not op.name.startswith("linalg.") or len(op.operands) != 3 or len(op.results) != 1:
        return False
    if op.name != "linalg.generic":
        return bool(linalg.isa_contraction_op(op))
    return any("reduction" in str(kind) for kind in op.attributes["iterator_types"])


def _is_around(op: ir.Operation) -> bool:
    return op.name in _AROUND or op.name.startswith(_SCALAR_DIALECTS)


def _is_scalar_loop(loop: ir.Operation) -> bool:
    parallel = all("parallel" in str(kind) for kind in loop.attributes["iterator_types"])
    body = [op.operation for op in loop.regions[0].blocks[0].operations]
    return parallel and len(loop.results) == 1 and all(map(_is_around, body))


def _reads_in_place(loop: ir.Operation, value: ir.Value) -> bool:
    """Whether a loop is the only reader of `value`, at the place that it writes."""
    if any(use.owner.operation != loop for use in value.uses):
        return False
    maps = [attribute.value for attribute in linalg.get_indexing_maps(loop)]
    identity = ir.AffineMap.get_identity(len(loop.attributes["iterator_types"]))
    read = [map_ for operand, map_ in zip(loop.operands, maps, strict=True) if operand == value]
    return bool(read) and all(map_ == identity for map_ in [*read, maps[-1]])


def _is_only_read_by(argument: ir.Value, loop: ir.Operation) -> bool:
    return all(use.owner.operation == loop or use.owner.name == "tensor.dim" for use in argument.uses)
