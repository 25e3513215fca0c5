"""Epilogues of prim funcs on buffers: a loop over the result is applied to each element at its store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import PARAMS, PRIM_FUNC
from relax_mlir.dialects.prim_entries import on_memory
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import arith, func, ir, memref
from relax_mlir.passes.fusion.prim_loops import kind_of, loops_of, maps_of, reads_of
from relax_mlir.passes.fusion.prim_merging import Wiring, put_before

ELEMENTWISE = ("arith.", "math.")


def on_buffers(function: func.FuncOp) -> bool:
    """True if a prim func works on buffers, as schedules and user-written prim funcs do."""
    return PRIM_FUNC in function.attributes and not function.type.results and not function.is_external


def against_stored_epilogue(
    producer: func.FuncOp, result: int, consumer: func.FuncOp, reads: Sequence[int]
) -> str:
    """The reason against applying the loop `consumer` at the stores of `producer` to its argument `result`; else "".

    The loop must see final elements, so `producer` may only store to the result. `reads`: the inputs of `consumer` that
    are the result.
    """
    if not on_buffers(producer):
        return f"{producer.name.value} does not work on memory"
    uses = list(producer.arguments[result].uses)
    if any(use.owner.operation.name not in ("memref.store", "memref.dim") for use in uses):
        return f"{producer.name.value} reads its result, or passes it on"
    if not any(use.owner.operation.name == "memref.store" for use in uses):
        return f"{producer.name.value} stores nothing"
    return _against_loop(consumer, reads)


def _against_loop(consumer: func.FuncOp, numbers: Sequence[int]) -> str:
    """The reason why a loop cannot be computed element by element; "" if it can."""
    found = reads_of(consumer, numbers)
    if kind_of(consumer) != "loop" or not found:
        return "not one loop over the result"
    (loop,) = loops_of(consumer)
    if loop.name != "linalg.generic":
        return "it copies"
    *maps, output = maps_of(loop)
    in_place = ir.AffineMap.get_identity(output.n_dims)
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    if output != in_place or any(read.part is not None or read.map != in_place for read in found):
        return "read in another order"
    if not all(isinstance(expr, plain) for map_ in maps for expr in map_.results):
        return "read in a computed order"
    block = entry_block(loop)
    inputs = list(loop.operands)[:-1]
    if not all(isinstance(value.owner, ir.Block) or not _is_tensor(value) for value in inputs):
        return "a slice of a tensor is read"
    if list(list(block.arguments)[-1].uses):
        return "it needs what its result was before"
    for view in list(block.operations)[:-1]:
        op = view.operation
        if len(op.regions) or not (op.name.startswith(ELEMENTWISE) or op.name == "linalg.index"):
            return f"it holds {op.name}"
        if not all(map(_can_copy, op.operands)):
            return "it uses what is computed before it"
    return ""


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _can_copy(value: ir.Value) -> bool:
    """True if a value is a scalar argument, or scalar arithmetic on such values, and can be cloned."""
    op = defining_op(value)
    if op is None:
        return not _is_tensor(value)
    if op.name == "tensor.dim":
        return isinstance(op.operands[0].owner, ir.Block)
    known = op.name.startswith(ELEMENTWISE) or op.name == "linalg.index"
    return known and not len(op.regions) and all(map(_can_copy, op.operands))


def merge_into_stores(
    module: ir.Module, producer: func.FuncOp, consumer: func.FuncOp, wiring: Wiring, symbol: str
) -> func.FuncOp | None:
    """Create a prim func `symbol` in `module`: `producer`, which applies the loop `consumer` to elements at the store.

    The result works on buffers. Requires that `against_stored_epilogue` returns "".
    """
    merged: func.FuncOp = producer.operation.clone().opview
    merged.operation.attributes["sym_name"] = ir.StringAttr.get(symbol)
    placed = put_before(consumer, merged)
    merged.operation.erase()
    for name in ("arg_attrs", PARAMS):
        if name in placed.attributes:
            del placed.attributes[name]
    block, old = entry_block(placed), list(placed.arguments)
    inputs = len(wiring.producer)
    types: dict[int, ir.Type] = {}
    for number, type_ in zip(wiring.consumer, consumer.type.inputs, strict=False):
        if number is not None:
            types[number] = on_memory(type_)
    types |= dict(zip(wiring.producer, producer.type.inputs, strict=False))
    before = ir.MemRefType(producer.type.inputs[inputs])
    element = ir.MemRefType(on_memory(consumer.type.results[0])).element_type
    out_type = ir.MemRefType.get(before.shape, element)
    count = 1 + max((*wiring.producer_index, *wiring.consumer_index), default=-1)
    given = [types[number] for number in range(len(types))]
    all_types = [*given, out_type, *[ir.IndexType.get()] * count]
    where = placed.operation.location
    new = [block.add_argument(type_, where) for type_ in all_types]
    ins, out, index = new[: len(given)], new[len(given)], new[len(given) + 1 :]
    kept = [*(ins[number] for number in wiring.producer), out, *(index[n] for n in wiring.producer_index)]
    stores = [use.owner.operation for use in old[inputs].uses if use.owner.operation.name == "memref.store"]
    for value, other in zip(old, kept, strict=True):
        value.replace_all_uses_with(other)
    for _ in old:
        block.erase_argument(0)
    placed.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(all_types, []))
    for store in stores:
        values = [None if number is None else ins[number] for number in wiring.consumer]
        _Element(consumer, store, values, out, [index[n] for n in wiring.consumer_index]).emit()
    return placed


@dataclass
class _Element:
    """One element of a loop, computed where its input is stored.

    `inputs`: the buffers of the loop's inputs, None for the stored value; `out`: the buffer of its result; `index`: the
    ``index`` arguments of its prim func.
    """

    function: func.FuncOp
    store: ir.Operation
    inputs: Sequence[ir.Value | None]
    out: ir.Value
    index: Sequence[ir.Value]
    known: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def emit(self) -> None:
        """Store the computed element in place of the original store."""
        (loop,) = loops_of(self.function)
        indices = list(self.store.operands)[2:]
        block = entry_block(loop)
        with ir.InsertionPoint(self.store), self.store.location:
            for argument, value, map_ in zip(block.arguments, loop.operands, maps_of(loop), strict=True):
                if value != loop.operands[len(loop.operands) - 1]:
                    self.known[argument] = self._input(value, map_, indices)
            *body, last = [view.operation for view in block.operations]
            for op in body:
                if op.name == "linalg.index":
                    self.known[op.results[0]] = indices[ir.IntegerAttr(op.attributes["dim"]).value]
                else:
                    self._clone(op)
            memref.store(self._copied(last.operands[0]), self.out, indices)
        self.store.erase()

    def _input(self, value: ir.Value, map_: ir.AffineMap, indices: Sequence[ir.Value]) -> ir.Value:
        if not _is_tensor(value):
            return self._copied(value)
        buffer = self.inputs[ir.BlockArgument(value).arg_number]
        if buffer is None:
            return self.store.operands[0]
        place = [
            indices[expr.position]
            if isinstance(expr, ir.AffineDimExpr)
            else arith.constant(ir.IndexType.get(), ir.AffineConstantExpr(expr).value)
            for expr in map_.results
        ]
        return memref.load(buffer, place)

    def _copied(self, value: ir.Value) -> ir.Value:
        """Clone a value of the loop's function to the store."""
        if value in self.known:
            return self.known[value]
        op = defining_op(value)
        if op is None:
            self.known[value] = self.index[ir.BlockArgument(value).arg_number - len(self.inputs) - 1]
        elif op.name == "tensor.dim":
            number = ir.BlockArgument(op.operands[0]).arg_number
            buffer = self.inputs[number] if number < len(self.inputs) else None
            self.known[value] = memref.dim(
                self.out if buffer is None else buffer, self._copied(op.operands[1])
            )
        else:
            self._clone(op)
        return self.known[value]

    def _clone(self, op: ir.Operation) -> None:
        operands = [self._copied(operand) for operand in op.operands]
        copy = op.clone()
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        self.known.update(zip(op.results, copy.results, strict=True))
