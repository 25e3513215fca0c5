"""Merging of two prim funcs, the first of which computes an input of the second, which is elementwise, into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import PATTERN, PRIM_FUNC
from relax_mlir.mlir import PassManager, arith, func, ir, tensor
from relax_mlir.passes.prim_patterns import RANKS, is_contraction, kind_of

_MERGE = "builtin.module(inline,canonicalize,cse,func.func(linalg-fuse-elementwise-ops),symbol-dce)"
_CLEAN = "builtin.module(canonicalize,cse)"


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


def merge(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """A new prim func `symbol` of `module` that does what `producer`, then `consumer` do.

    Both have results of one shape. None if upstream's fusion does not make one loop of them, or one loop behind the
    contraction that `producer` begins with.
    """
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        for function in (producer, consumer):
            function.operation.clone()
        _caller(producer, consumer, wiring, symbol)
    PassManager.parse(_MERGE, module.context).run(scratch.operation)
    merged = next(op for op in scratch.body.operations if op.name.value == symbol)
    _write_into_destination(merged, merged.arguments[wiring.inputs])
    PassManager.parse(_CLEAN, module.context).run(scratch.operation)
    merged = next(op for op in scratch.body.operations if op.name.value == symbol)
    merged.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    patterns = [ir.StringAttr(f.attributes[PATTERN]).value for f in (producer, consumer)]
    merged.attributes[PATTERN] = ir.StringAttr.get(max(patterns, key=RANKS.index))
    if kind_of(merged) is None:
        return None
    merged.attributes["sym_visibility"] = ir.StringAttr.get("private")
    with ir.InsertionPoint(consumer):
        return merged.operation.clone().opview


def _write_into_destination(function: func.FuncOp, out: ir.Value) -> None:
    """Let the last loop write to `out`, and a contraction before it too if its result is of the same type.

    Upstream's fusion gives a loop that does not read its output a new tensor for that.
    """
    returned = function.regions[0].blocks[0].operations[-1].operation.operands[0]
    if isinstance(returned.owner, ir.Block):
        return  # folded to one of its inputs: nothing is written
    loop = returned.owner.operation
    if loop.name != "linalg.generic" or is_contraction(loop):
        return
    product = next(
        (op.operation for op in function.entry_block.operations if is_contraction(op.operation)), None
    )
    destination = len(loop.operands) - 1
    if product is None or product.results[0].type != out.type:
        loop.operands[destination] = out
        return
    first = product
    while (
        not isinstance(first.operands[-1].owner, ir.Block) and first.operands[-1].owner.name == "linalg.fill"
    ):
        first = first.operands[-1].owner.operation
    first.operands[len(first.operands) - 1] = out
    loop.operands[destination] = product.results[0]


def _caller(producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str) -> None:
    """A function that calls `producer`, then `consumer`, to be inlined."""
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
        scratch = _empty_like(out, producer.type.results[0])
        arguments = [inputs[i] for i in wiring.producer]
        first = _call(producer, [*arguments, scratch, *(index[i] for i in wiring.producer_index)])
        arguments = [first if i is None else inputs[i] for i in wiring.consumer]
        func.ReturnOp([_call(consumer, [*arguments, out, *(index[i] for i in wiring.consumer_index)])])


def _empty_like(out: ir.Value, type_: ir.Type) -> ir.Value:
    """An uninitialised tensor of the type, with the sizes of `out`."""
    ranked = ir.RankedTensorType(type_)
    index = ir.IndexType.get()
    sizes = [
        tensor.dim(out, arith.constant(index, axis))
        if ranked.is_dynamic_dim(axis)
        else ranked.get_dim_size(axis)
        for axis in range(ranked.rank)
    ]
    return tensor.empty(sizes, ranked.element_type)


def _call(function: func.FuncOp, arguments: Sequence[ir.Value]) -> ir.Value:
    return func.CallOp(function.type.results, function.name.value, list(arguments)).results[0]
