"""Conditionals and loops at level T, and the integers that they depend on."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.diagnostics import where
from relax_mlir.dialects.control import counts_upwards, lower_bound, surely_ends
from relax_mlir.dialects.structure import INTEGER_OPS
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Lowered,
    cast,
    flatten,
    handle_types,
    handles,
    is_handle,
    memory_of,
    place,
    unflatten,
)
from relax_mlir.lowering.shapes.symbols import index_constant
from relax_mlir.mlir import arith, bufferization, ir, scf, tensor

# Integer values, which are ``index`` values at level T.


def as_index(value: ir.Value) -> ir.Value:
    """An integer as ``index``."""
    index = ir.IndexType.get()
    return value if value.type == index else arith.index_cast(index, value)


def match_integer(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower `match_shape` of an integer: its symbol gets a value, which is checked to be non-negative."""
    (dim,) = dims_from_attr(op.attributes["pattern"])
    assert dim is not None
    value = as_index(body.tensor(op.operands[0]))
    name = symbolic.linear_definition(dim)
    site = place(op)
    if name is None or name in body.symbols.values:
        expected = body.symbols.value(dim)
        text, values = body.symbols.explain(dim, 1) if not isinstance(dim, int) else (str(dim), [])
        message = f"{body.symbols.function}: match_shape at {site}: the integer is {{0}}, but {text}"
        equal = arith.cmpi(arith.CmpIPredicate.eq, value, expected)
        body.declarations.check(equal, "ShapeError", message, [value, *values])
        return [value]
    size, lowest = value, lower_bound(op.operands[0])
    if lowest is None or not symbolic.prove_less_equal(0, lowest):
        message = (
            f"{body.symbols.function}: {site}: the integer {name} is {{0}}; a symbol stands for zero or more"
        )
        positive = arith.cmpi(arith.CmpIPredicate.sge, value, index_constant(0))
        body.declarations.check(positive, "ShapeError", message, [value])
        size = arith.maxsi(
            value, index_constant(0)
        )  # memory may be allocated by formulas of it before the check
    body.symbols.define(name, size, f"the integer of match_shape at {site}")
    return [value]


@handles(*INTEGER_OPS)
def _arithmetic(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    operands = [as_index(body.tensor(operand)) for operand in op.operands]
    if op.name == "arith.floordivsi":
        message = (
            f"{body.symbols.function}: {place(op)}: division by {{0}}; divisors of integers are positive"
        )
        positive = arith.cmpi(arith.CmpIPredicate.sgt, operands[1], index_constant(0))
        body.declarations.check(positive, "ShapeError", message, [operands[1]])
    is_comparison = op.name == "arith.cmpi"
    attributes = {"predicate": op.attributes["predicate"]} if is_comparison else {}
    type_ = op.results[0].type if is_comparison else ir.IndexType.get()
    new = ir.Operation.create(op.name, results=[type_], operands=operands, attributes=attributes)
    return [new.results[0]]


@handles("tensor.from_elements")
def _from_elements(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    type_ = ir.RankedTensorType(op.results[0].type)
    values = [body.tensor(operand) for operand in op.operands]
    values = [
        arith.index_cast(type_.element_type, v) if isinstance(v.type, ir.IndexType) else v for v in values
    ]
    return [tensor.from_elements(type_, values)]


# Conditionals.


@handles("scf.if")
def _if(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    infos = [struct_info(result.type) for result in op.results]
    condition = body.tensor(op.operands[0])
    probe = [t for info in infos for t in leaf_types(op, info)]
    new = scf.IfOp(condition, probe, has_else=True)
    for old_region, block in zip(op.regions, (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            inner = body.nested()
            blocks = list(old_region.blocks)
            yielded = [
                leaf for item in (inner.lower_block(blocks[0]) if blocks else []) for leaf in flatten(item)
            ]
            values = [
                _own(cast(v, t)) if isinstance(t, ir.RankedTensorType) else v
                for v, t in zip(yielded, probe, strict=True)
            ]
            scf.YieldOp(values)
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat) for info in infos]


@handles("arith.select")
def _select(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower a conditional that canonicalisation has replaced by a select, because its branches are empty."""
    info = struct_info(op.results[0].type)
    new = scf.IfOp(body.tensor(op.operands[0]), leaf_types(op, info), has_else=True)
    for value, block in zip(list(op.operands)[1:], (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            leaves = body.flat(value)
            scf.YieldOp([_own(v) if isinstance(v.type, ir.RankedTensorType) else v for v in leaves])
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat)]


@handles("arith.index_cast")
def _index_cast(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """An ``i64`` is an ``index`` at level T; raise `VerifyError` for integers that are not Relax values."""
    for value in (op.operands[0], op.results[0]):
        struct_info(value.type)
    return [body.values[op.operands[0]]]


def _own(value: ir.Value) -> ir.Value:
    """Return `value`, or a copy of it if a loop carries it: the same iteration writes its memory.

    Bufferisation uses one memory for all values that a conditional may yield.
    """
    base = memory_of(value)
    if isinstance(base, ir.BlockArgument) and base.owner.owner.operation.name in ("scf.for", "scf.while"):
        return bufferization.alloc_tensor(value.type, [], copy=value)
    return value


def leaf_types(op: ir.Operation, info: StructInfo) -> list[ir.Type]:
    """The types at level T of a control-flow result that `info` describes."""
    if isinstance(info, Tuple):
        return [t for item in info.fields for t in leaf_types(op, item)]
    if is_handle(info):
        return handle_types()
    if isinstance(info, Tensor):
        return [info.storage_type()]
    if isinstance(info, Shape) and info.values is not None:
        return [ir.IndexType.get()] * len(info.values)
    if isinstance(info, Prim):
        return [ir.IndexType.get()]
    raise UnsupportedError(f"{where(op)}: {op.name}: its result is {info}, which native code cannot yield")


# Loops: each carried tensor of constant size has one buffer, which every iteration writes.


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
