"""Loops: each carried tensor of constant size has one buffer, which every iteration writes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.loops import counts_upwards, surely_ends
from relax_mlir.dialects.types import StructInfo, Tensor, struct_info
from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Lowered,
    cast,
    flatten,
    handles,
    is_handle,
    place,
    unflatten,
)
from relax_mlir.lowering.shapes.control import leaf_types
from relax_mlir.lowering.shapes.integers import as_index
from relax_mlir.lowering.shapes.leaves import handle_types
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir

INT64_MAX = 2**63 - 1


@handles("scf.for")
def _for(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    infos = [struct_info(result.type) for result in op.results]
    bounds = [as_index(body.tensor(value)) for value in list(op.operands)[:3]]
    _check_end(body, op, bounds[1], bounds[2])
    types = [t for info in infos for t in leaf_types(op, info)]
    known = [k for info in infos for k in _sizes_stay(info)]
    init = _of_any_size(_flat(body, list(op.operands)[3:], types), known)
    new = ir.Operation.create("scf.for", results=types, operands=[*bounds, *init], regions=1)
    index = ir.IndexType.get()
    block = new.regions[0].blocks.append(index, *types, arg_locs=[op.location] * (len(types) + 1))
    variable, *carried = block.arguments
    old = entry_block(op)
    with ir.InsertionPoint(block):
        inner = _inner(body, old, [variable, *carried])
        yielded = [leaf for item in inner.lower_block(old) for leaf in flatten(item)]
        targets = [a if k else None for a, k in zip(carried, known, strict=True)]
        _end("scf.yield", [], yielded, types, targets)
    return _results(body, new, infos)


def _check_end(body: BodyLowering, op: ir.Operation, upper: ir.Value, step: ir.Value) -> None:
    """Check the step and upper bound unless they are proved: a variable that never advances or wraps never ends."""
    if surely_ends(op):
        return
    where = f"{body.symbols.function}: {place(op)}: the loop"
    if not counts_upwards(op):
        positive = arith.cmpi(arith.CmpIPredicate.sgt, step, index_constant(0))
        body.declarations.check(
            positive, "ShapeError", f"{where} has the step {{0}}; loops count upwards", [step]
        )
    last = arith.subi(index_constant(INT64_MAX), arith.subi(step, index_constant(1)))
    message = f"{where} ends at {{0}}: in steps of {{1}} its variable would pass 64 bits"
    body.declarations.check(
        arith.cmpi(arith.CmpIPredicate.sle, upper, last), "ShapeError", message, [upper, step]
    )


@handles("scf.while")
def _while(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    old_before, old_after = (region.blocks[0] for region in op.regions)
    first = [struct_info(argument.type) for argument in old_before.arguments]
    infos = [struct_info(result.type) for result in op.results]
    first_types = [t for info in first for t in leaf_types(op, info)]
    types = [t for info in infos for t in leaf_types(op, info)]
    init = _flat(body, list(op.operands), first_types)
    new = ir.Operation.create("scf.while", results=types, operands=init, regions=2)
    before = new.regions[0].blocks.append(*first_types, arg_locs=[op.location] * len(first_types))
    after = new.regions[1].blocks.append(*types, arg_locs=[op.location] * len(types))
    with ir.InsertionPoint(before):
        inner = _inner(body, old_before, list(before.arguments))
        flag, *passed = inner.lower_block(old_before)
        assert isinstance(flag, ir.Value)
        forwarded = [leaf for item in passed for leaf in flatten(item)]
        _end("scf.condition", [flag], forwarded, types, [None] * len(types))
    with ir.InsertionPoint(after):
        inner = _inner(body, old_after, list(after.arguments))
        yielded = [leaf for item in inner.lower_block(old_after) for leaf in flatten(item)]
        known = [k for info in first for k in _sizes_stay(info)]
        places = [forwarded.index(a) if a in forwarded else None for a in before.arguments]
        targets = [
            after.arguments[p] if k and p is not None else None for p, k in zip(places, known, strict=True)
        ]
        _end("scf.yield", [], yielded, first_types, targets)
    return _results(body, new, infos)


def _inner(body: BodyLowering, old: ir.Block, arguments: Sequence[ir.Value]) -> BodyLowering:
    """Lower the ops of a region whose arguments are flattened."""
    inner = body.nested()
    remaining = list(arguments)
    for argument in old.arguments:
        inner.values[argument] = lowered = unflatten(struct_info(argument.type), remaining)
        for leaf in flatten(lowered):
            ir.BlockArgument(leaf).set_location(argument.location)
    return inner


def _flat(body: BodyLowering, values: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[ir.Value]:
    leaves = [leaf for value in values for leaf in body.flat(value)]
    return [_fitted(leaf, type_) for leaf, type_ in zip(leaves, types, strict=True)]


def _fitted(value: ir.Value, type_: ir.Type) -> ir.Value:
    if isinstance(type_, ir.RankedTensorType):
        return cast(value, type_)
    return as_index(value) if isinstance(type_, ir.IndexType) else value


def _of_any_size(init: Sequence[ir.Value], known: Sequence[bool]) -> list[ir.Value]:
    """Return `init`, with copies of the tensors that may change their size.

    Upstream's canonicalisation gives a carried value the static type from before a cast, as if its size were constant.
    """
    return [
        value
        if k or not isinstance(value.type, ir.RankedTensorType)
        else bufferization.alloc_tensor(value.type, [], copy=value)
        for value, k in zip(init, known, strict=True)
    ]


def _sizes_stay(info: StructInfo) -> list[bool]:
    """Per leaf of a carried value, True if it is a tensor of the same size in every iteration."""
    fields = getattr(info, "fields", None)
    if fields is not None:
        return [known for field in fields for known in _sizes_stay(field)]
    if is_handle(info):
        return [False] * len(handle_types())
    if isinstance(info, Tensor):
        return [info.known_shape is not None]
    return [False] * len(getattr(info, "values", None) or (0,))


def _end(
    name: str,
    leading: Sequence[ir.Value],
    values: Sequence[ir.Value],
    types: Sequence[ir.Type],
    targets: Sequence[ir.Value | None],
) -> None:
    """End a region; a value with a target is written into the target's buffer (see `protect-carried`)."""
    given = [_fitted(value, type_) for value, type_ in zip(values, types, strict=True)]
    ended = [
        value
        if target is None or value == target
        else bufferization.materialize_in_destination(target.type, value, target)
        for value, target in zip(given, targets, strict=True)
    ]
    ir.Operation.create(name, operands=[*leading, *ended])


def _results(body: BodyLowering, new: ir.Operation, infos: Sequence[StructInfo]) -> Sequence[Lowered]:
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat) for info in infos]
