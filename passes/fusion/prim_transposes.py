"""Contractions that read a transposed operand in place of a permuted copy."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.attributes import PATTERN, PRIM_FUNC
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.passes.fusion.prim_loops import kind_of, loops_of, maps_of
from relax_mlir.passes.fusion.prim_merging import CLEAN, Wiring, inlined, is_contraction, named, put_before
from relax_mlir.transform.pipeline import run_native


def against_transpose(producer: func.FuncOp, consumer: func.FuncOp, numbers: Sequence[int]) -> str:
    """The reason why a contraction cannot read its inputs `numbers` without the permuted copy; "" if it can.

    Contraction kernels take matrices with any strides, under two conditions. Axes that are merged (the rows of several
    batches, say) must be adjacent in memory in the same order, and a batch axis must not be the contiguous one.
    """
    order = permutation_of(producer)
    if order is None or not is_contraction(consumer):
        return "no permutation of an operand of a contraction"
    if not isinstance(ir.RankedTensorType(producer.type.results[0]).element_type, ir.FloatType):
        return "no kernel for contractions of integers"
    _, total = _fill_and_sums(consumer)
    maps = [_dims(attribute.value) for attribute in linalg.get_indexing_maps(total) or []]
    if len(maps) != 3 or None in maps:
        return "not a contraction of two operands"
    given = [consumer.arguments[number] for number in numbers]
    places = [i for i, value in enumerate(list(total.operands)[:2]) if value in given]
    if len(places) != len(given):
        return "also used for something else than the contraction"
    left, right, out = (set(dims or ()) for dims in maps)
    for place in places:
        own, other = maps[place] or (), right if place == 0 else left
        before = [own[axis] for axis in order]
        if own and before[-1] in other & out:
            return "its last axis counts matrices"
        for kind in (other - out, out - other):  # depth; rows, or columns
            some = [dim for dim in own if dim in kind]
            first = before.index(some[0]) if some else 0
            if before[first : first + len(some)] != some:
                return "axes that are one for the contraction would lie apart"
    return ""


def merge_transpose(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: the contraction `consumer` on the unpermuted input of `producer`."""
    scratch = inlined(producer, consumer, wiring, symbol, [])
    merged = named(scratch, symbol)
    copies, total = loops_of(merged), _fill_and_sums(merged)[1]
    order = permutation_of(producer)
    assert order is not None
    operands, maps = list(total.operands), [attribute.value for attribute in linalg.get_indexing_maps(total)]
    for place, value in enumerate(operands):
        if copies and value == copies[0].results[0]:  # an identity permutation leaves no copy
            results = [maps[place].results[axis] for axis in order]
            operands[place] = copies[0].operands[0]
            maps[place] = ir.AffineMap.get(maps[place].n_dims, 0, results)
    _replace(total, operands, maps)
    run_native(CLEAN, scratch)
    merged = named(scratch, symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    merged.attributes[PATTERN] = consumer.attributes[PATTERN]
    return put_before(consumer, merged) if is_contraction(merged) else None


def permutation_of(function: func.FuncOp) -> list[int] | None:
    """The result axis of each input axis, if a prim func only copies one permuted tensor; else None."""
    loops = loops_of(function)
    if kind_of(function) != "loop" or len(loops[0].operands) != 2 or loops[0].name != "linalg.generic":
        return None
    read, written = map(_dims, maps_of(loops[0]))
    body = entry_block(loops[0])
    if [op.name for op in body.operations] != ["linalg.yield"] or body.operations[0].operands[
        0
    ] != body.arguments[0]:
        return None
    if read is None or written is None or sorted(read) != sorted(written) or len(set(read)) != len(read):
        return None
    return [written.index(dim) for dim in read]


def _dims(map_: ir.AffineMap) -> list[int] | None:
    """The loop dimension that indexes each axis; None if an index is computed."""
    exprs = list(map_.results)
    dims = [x.position for x in exprs if isinstance(x, ir.AffineDimExpr)]
    return dims if len(dims) == len(exprs) else None


def _fill_and_sums(function: func.FuncOp) -> tuple[ir.Operation, ir.Operation]:
    """The last two linalg ops of a contraction: the fill and the accumulation."""
    ops = [op.operation for op in function.entry_block.operations if op.operation.name.startswith("linalg.")]
    return ops[-2], ops[-1]


def _replace(total: ir.Operation, operands: Sequence[ir.Value], maps: Sequence[ir.AffineMap]) -> None:
    """Replace a contraction by a ``linalg.generic`` with the same body."""
    out = _dims(maps[-1]) or ()
    kinds = ["parallel" if dim in out else "reduction" for dim in range(maps[0].n_dims)]
    body = entry_block(total)
    with ir.InsertionPoint(total), total.location:
        generic = linalg.GenericOp(
            [total.results[0].type],
            list(operands[:-1]),
            [operands[-1]],
            ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
            ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]),
        )
        block = generic.regions[0].blocks.append(*(argument.type for argument in body.arguments))
    known: dict[ir.Value, ir.Value] = dict(zip(body.arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for op in body.operations:
            new = op.operation.clone()
            for position, value in enumerate(op.operands):
                new.operands[position] = known.get(value, value)
            known.update(zip(op.results, new.results, strict=True))
    total.results[0].replace_all_uses_with(generic.results[0])
    total.erase()
