"""Merging of two prim funcs, one of which computes an input of the other: two loops, or a contraction and a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relax_mlir.dialects.attributes import KERNEL, PATTERN, PRIM_FUNC
from relax_mlir.mlir import PassManager, arith, func, ir, tensor

RANKS = ("elementwise", "broadcast", "injective")
"""The patterns that fuse, from the strictest to the loosest; a merged prim func has the loosest of its members."""

_MERGE = "builtin.module(inline,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),symbol-dce)"
_INLINE = "builtin.module(inline,canonicalize,cse,symbol-dce)"
_CLEAN = "builtin.module(canonicalize,cse)"
_SCALAR_DIALECTS = ("arith.", "math.")
_AROUND = frozenset(
    {
        "arith.constant",
        "func.return",
        "linalg.index",
        "linalg.yield",
        "tensor.dim",
        "tensor.empty",
        "tensor.extract",
    }
)


@dataclass(frozen=True)
class Wiring:
    """Where the arguments of the merged prim func go.

    Per input of the producer and of the consumer, the number of the merged input (None: the producer's result);
    likewise for their ``index`` arguments.
    """

    producer: tuple[int, ...]
    consumer: tuple[int | None, ...]
    producer_index: tuple[int, ...]
    consumer_index: tuple[int, ...]

    @property
    def inputs(self) -> int:
        """Number of inputs of the merged prim func."""
        return 1 + max((i for i in (*self.producer, *self.consumer) if i is not None), default=-1)


Merge: TypeAlias = Callable[[ir.Module, func.FuncOp, func.FuncOp, Wiring, str], "func.FuncOp | None"]
"""Makes a prim func of a module that does what a producer, then a consumer do; None if that cannot be."""


def pattern_of(function: func.FuncOp) -> str | None:
    """The pattern of a prim func that can be merged, None for others.

    It has one result, and its body is one parallel ``linalg.generic`` of scalar arithmetic.
    """
    attributes = function.attributes
    if PRIM_FUNC not in attributes or PATTERN not in attributes or KERNEL in attributes:
        return None
    pattern = ir.StringAttr(attributes[PATTERN]).value
    if pattern not in RANKS or len(function.type.results) != 1:
        return None
    return pattern if _is_one_loop(function) else None


def _is_one_loop(function: func.FuncOp) -> bool:
    loops: list[ir.Operation] = []
    others: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic":
            loops.append(op)
        elif op.name not in _AROUND and not op.name.startswith(_SCALAR_DIALECTS) and op.name != "func.func":
            others.append(op.name)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    if others or len(loops) != 1:
        return False
    iterators = [str(kind) for kind in ir.ArrayAttr(loops[0].attributes["iterator_types"])]
    returned = function.regions[0].blocks[0].operations[-1].operation.operands[0]
    return all("parallel" in kind for kind in iterators) and returned.owner == loops[0]


def is_contraction(function: func.FuncOp) -> bool:
    """Whether a prim func sums into its zeroed output by one operation of linalg, and does nothing else."""
    attributes = function.attributes
    if PRIM_FUNC not in attributes or PATTERN not in attributes or KERNEL in attributes:
        return False
    if ir.StringAttr(attributes[PATTERN]).value != "out_fusable" or len(function.type.results) != 1:
        return False
    ops = [
        op.operation for op in function.regions[0].blocks[0].operations if op.operation.name not in _AROUND
    ]
    if [op.name for op in ops[:1]] != ["linalg.fill"] or len(ops) != 2 or len(ops[1].results) != 1:
        return False
    total, returned = ops[1], function.regions[0].blocks[0].operations[-1].operation.operands[0]
    return bool(returned.owner == total and total.operands[len(total.operands) - 1].owner == ops[0])


def merge_epilogue(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """A new prim func `symbol` of `module`: the contraction `producer`, then the loop `consumer` over its result.

    Both have results of one shape. If they have one dtype, too, the loop works in place; else the sums get a tensor of
    their own. None if the loop reads the result in another order.
    """
    generic = next(op.operation for op in consumer.entry_block.operations if op.name == "linalg.generic")
    rank = ir.RankedTensorType(consumer.type.results[0]).rank
    result = [consumer.arguments[i] for i, number in enumerate(wiring.consumer) if number is None]
    reads = zip(generic.operands, generic.attributes["indexing_maps"], strict=True)
    if any(map_.value != ir.AffineMap.get_identity(rank) for value, map_ in reads if value in result):
        return None
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        for function in (producer, consumer):
            function.operation.clone()
        same = producer.type.results[0] == consumer.type.results[0]
        _caller(producer, consumer, wiring, symbol, None if same else ir.AffineMap.get_identity(rank))
    PassManager.parse(_INLINE, module.context).run(scratch.operation)
    merged = next(op for op in scratch.body.operations if op.name.value == symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    merged.attributes[PATTERN] = producer.attributes[PATTERN]
    merged.attributes["sym_visibility"] = ir.StringAttr.get("private")
    with ir.InsertionPoint(consumer):
        return merged.operation.clone().opview


def merge(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """A new prim func `symbol` of `module` that does what `producer`, then `consumer` do.

    None if upstream's fusion does not make one loop of them.
    """
    read = read_through(consumer, [i for i, number in enumerate(wiring.consumer) if number is None])
    result = ir.RankedTensorType(producer.type.results[0])
    if read is None or any(
        result.is_dynamic_dim(axis) and not isinstance(expr, ir.AffineDimExpr)
        for axis, expr in enumerate(read.results)
    ):
        return None
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        for function in (producer, consumer):
            function.operation.clone()
        _caller(producer, consumer, wiring, symbol, read)
    PassManager.parse(_MERGE, module.context).run(scratch.operation)
    merged = next(op for op in scratch.body.operations if op.name.value == symbol)
    _write_into_destination(merged, merged.arguments[wiring.inputs])
    PassManager.parse(_CLEAN, module.context).run(scratch.operation)
    merged = next(op for op in scratch.body.operations if op.name.value == symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    patterns = [ir.StringAttr(f.attributes[PATTERN]).value for f in (producer, consumer)]
    merged.attributes[PATTERN] = ir.StringAttr.get(max(patterns, key=RANKS.index))
    if pattern_of(merged) is None:
        return None
    merged.attributes["sym_visibility"] = ir.StringAttr.get("private")
    with ir.InsertionPoint(consumer):
        return merged.operation.clone().opview


def _write_into_destination(function: func.FuncOp, out: ir.Value) -> None:
    """Undo what upstream's fusion does to a loop that does not read its output: giving it a new tensor for that."""
    returned = function.regions[0].blocks[0].operations[-1].operation.operands[0]
    if isinstance(returned.owner, ir.Block):
        return  # folded to one of its inputs: nothing is written
    loop = returned.owner.operation
    if loop.name == "linalg.generic":
        loop.operands[len(loop.operands) - 1] = out


def read_through(consumer: func.FuncOp, numbers: Sequence[int]) -> ir.AffineMap | None:
    """The map by which a loop reads its inputs `numbers`; None if there is more than one, or not of loops."""
    loop = next(
        op.operation for op in consumer.entry_block.operations if op.operation.name == "linalg.generic"
    )
    values = [consumer.arguments[number] for number in numbers]
    maps = [attribute.value for attribute in loop.attributes["indexing_maps"]]
    found = [map_ for value, map_ in zip(loop.operands, maps, strict=True) if value in values]
    same = found and all(map_ == found[0] for map_ in found)
    plain = same and all(isinstance(x, ir.AffineDimExpr | ir.AffineConstantExpr) for x in found[0].results)
    return found[0] if plain and maps[-1] == ir.AffineMap.get_identity(maps[-1].n_dims) else None


def _caller(
    producer: func.FuncOp,
    consumer: func.FuncOp,
    wiring: Wiring,
    symbol: str,
    read: ir.AffineMap | None = None,
) -> None:
    """A function that calls `producer`, then `consumer`, to be inlined.

    `read`: how `consumer` reads the result of `producer`; without it both write the same tensor.
    """
    ins: dict[int, ir.Type] = {}
    for function, numbers in ((producer, wiring.producer), (consumer, wiring.consumer)):
        for number, type_ in zip(numbers, function.type.inputs, strict=False):
            if number is not None:
                ins[number] = type_
    count = 1 + max((*wiring.producer_index, *wiring.consumer_index), default=-1)
    result = consumer.type.results[0]
    types = [*(ins[i] for i in range(len(ins))), result, *[ir.IndexType.get()] * count]
    caller = func.FuncOp(symbol, ir.FunctionType.get(types, [result]))
    arguments = list(caller.add_entry_block().arguments)
    inputs, out, index = arguments[: len(ins)], arguments[len(ins)], arguments[len(ins) + 1 :]
    with ir.InsertionPoint(caller.entry_block):
        scratch = out if read is None else _empty_like(out, producer.type.results[0], read)
        arguments = [inputs[i] for i in wiring.producer]
        first = _call(producer, [*arguments, scratch, *(index[i] for i in wiring.producer_index)])
        arguments = [first if i is None else inputs[i] for i in wiring.consumer]
        last = first if read is None else out
        func.ReturnOp([_call(consumer, [*arguments, last, *(index[i] for i in wiring.consumer_index)])])


def _empty_like(out: ir.Value, type_: ir.Type, read: ir.AffineMap) -> ir.Value:
    """An uninitialised tensor of the type, which a loop over all of `out` reads through the map `read`."""
    ranked = ir.RankedTensorType(type_)
    index = ir.IndexType.get()
    sizes = [
        tensor.dim(out, arith.constant(index, ir.AffineDimExpr(expr).position))
        if ranked.is_dynamic_dim(axis)
        else ranked.get_dim_size(axis)
        for axis, expr in enumerate(read.results)
    ]
    return tensor.empty(sizes, ranked.element_type)


def _call(function: func.FuncOp, arguments: Sequence[ir.Value]) -> ir.Value:
    return func.CallOp(function.type.results, function.name.value, list(arguments)).results[0]
