"""Determine which values are tensors in memory that nothing else in the program references."""

from __future__ import annotations

from relax_mlir.dialects.structure import TUPLE
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir

_MADE = frozenset(
    {
        "relax.vm_alloc_tensor",
        "relax.call",
        "relax.call_packed",
        "relax.call_pure_packed",
        "relax.shape_to_tensor",
        "relax.shape_equal",
        "tensor.from_elements",
    }
)
"""Ops whose results are freshly allocated or returned by a packed function."""
_SAME = ("relax.updated", "relax.vm_reshape", "relax.match_shape", "relax.tuple_get_item")


def is_fresh(value: ir.Value) -> bool:
    """True if the tensors of a value belong to this call alone: neither to its caller nor to a constant.

    Results of an `scf.if` are fresh only if each branch yields a fresh value, and yields it once; results of loops are
    not.
    """
    op = defining_op(value)
    if op is None:
        return False
    if op.name in _MADE:
        return True
    if op.name in _SAME:
        return is_fresh(op.operands[0])
    if op.name == TUPLE:
        return all(map(is_fresh, op.operands))
    if op.name == "scf.if":
        index = next(number for number, result in enumerate(op.results) if result == value)
        return all(_gives_fresh(region.blocks[0], index) for region in op.regions)
    return False


def _gives_fresh(branch: ir.Block, index: int) -> bool:
    """True if a branch creates everything it yields as result `index`, and yields no part of it twice."""
    given = list(branch.operations[-1].operation.operands)
    parts = [part for item in given for part in _parts(item)]
    return _made_in(given[index], branch) and all(parts.count(part) == 1 for part in _parts(given[index]))


def _parts(value: ir.Value) -> list[ir.Value]:
    """Return the origins of a value: one per field for a tuple."""
    made = defining_op(value)
    if made is not None and made.name == TUPLE:
        return [part for item in made.operands for part in _parts(item)]
    return [origin(value)]


def origin(value: ir.Value) -> ir.Value:
    """Return the value whose memory `value` aliases, as a view, an update or a field of it."""
    op = defining_op(value)
    if op is None or op.name not in _SAME:
        return value
    made = defining_op(op.operands[0])
    if op.name == "relax.tuple_get_item" and made is not None and made.name == TUPLE:
        return origin(made.operands[ir.IntegerAttr(op.attributes["index"]).value])
    return origin(op.operands[0])


def _made_in(value: ir.Value, block: ir.Block) -> bool:
    """True if a value is fresh and created entirely in a block, so that nothing outside references it."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == TUPLE:
        return all(_made_in(item, block) for item in op.operands)
    if op.name in _SAME:
        return _made_in(op.operands[0], block)
    return op.block == block and is_fresh(value)
