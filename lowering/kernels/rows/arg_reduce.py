"""argmax and argmin over the last axes of a buffer: the index of the first best element of each row.

A row is split into blocks. One sweep finds the best value of each block, and the block with the best value of the row;
a second one searches only this block for the value. NaN beats any number, as in NumPy.

f32, f64 and signed integers of 32 and 64 bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from relax_mlir.dialects.attributes import ARG_REDUCE
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Type, Value, element_of
from relax_mlir.lowering.kernels.rows.rows import Rows
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target

Operation: TypeAlias = ir.Operation

BLOCK_VECTORS = 32
"""Vectors per block: enough to amortise the horizontal reduction, and few to search again."""


def emit_arg_reduce(operation: Operation, target: Target) -> bool:
    """Emit the kernel of a `linalg.generic` marked as argmax or argmin; return False (and emit nothing) for others.

    It accepts contiguous buffers whose last axes are reduced. Of the outputs, only the indices are written.
    """
    if ARG_REDUCE not in operation.attributes:
        return False
    x, _, positions = operation.operands
    kinds = ["reduction" in str(kind) for kind in operation.attributes["iterator_types"]]
    inner = sum(kinds)
    last = kinds[len(kinds) - inner :]
    if not (all(last) and _is_plain(x.type) and _is_plain(positions.type)):
        return False
    _emit(target, x, positions, inner, greatest=operation.attributes[ARG_REDUCE].value == "max")
    return True


def _is_plain(type_: Type) -> bool:
    return bool(element_of(type_).width in (32, 64) and type_.affine_map == ir.AffineMap.get_identity(type_.rank))


def _emit(target: Target, x: Value, positions: Value, inner: int, *, greatest: bool) -> None:
    rows = Rows.of(target, x, inner)
    source = rows.matrix(x)
    results = emit.view(emit.metadata(positions), [rows.count], [1], unit_inner=True)
    order = _Order(rows.element, greatest)
    block = rows.lanes * BLOCK_VECTORS
    zero = emit.constant(ir.IndexType.get(), 0)
    with emit.loop(0, rows.count) as row:
        worst = emit.constant(rows.element, order.worst)
        with emit.carrying_loop(0, rows.length, block, [worst, zero]) as blocks:
            part = replace(rows, length=_size(rows, blocks.index, block))
            here = _best(part, order, source, row, blocks.index)
            better = order.is_better(here, blocks.values[0])
            chosen = ((here, blocks.values[0]), (blocks.index, blocks.values[1]))
            blocks.give([arith.SelectOp(better, *pair).result for pair in chosen])
        best, start = blocks.results
        part = replace(rows, length=_size(rows, start, block))
        found = emit.add(start, _find(part, source, row, start, best))
        emit.store(arith.IndexCastOp(element_of(positions.type), emit.index(found)).result, results, row)


def _size(rows: Rows, start: Value, block: int) -> Index:
    """The length of the block that begins at `start`."""
    if isinstance(rows.length, int) and rows.length % block == 0:
        return block
    return emit.minimum(emit.sub(rows.length, start), block)


class _Order:
    """The order of elements for argmax or argmin."""

    def __init__(self, element: Type, greatest: bool) -> None:
        self.is_float = isinstance(element, ir.FloatType)
        bound = float("inf") if self.is_float else (1 << (element.width - 1)) - 1
        self.worst = (-bound - (0 if self.is_float else 1)) if greatest else bound
        name = "maximumf" if greatest else "minimumf"
        self.kind = name if self.is_float else ("maxsi" if greatest else "minsi")
        relation = "gt" if greatest else "lt"
        self._predicate = (
            getattr(arith.CmpFPredicate, "O" + relation.upper())
            if self.is_float
            else getattr(arith.CmpIPredicate, "s" + relation)
        )

    def best_of(self, a: Value, b: Value) -> Value:
        """The better of two; NaN if one is NaN."""
        return ir.Operation.create(f"arith.{self.kind}", results=[a.type], operands=[a, b]).result

    def is_better(self, a: Value, b: Value) -> Value:
        """True if `a` is better than `b`."""
        if not self.is_float:
            return arith.CmpIOp(self._predicate, a, b).result
        a_is_nan = arith.CmpFOp(arith.CmpFPredicate.UNO, a, a).result
        b_is_number = arith.CmpFOp(arith.CmpFPredicate.ORD, b, b).result
        better = arith.CmpFOp(self._predicate, a, b).result
        return emit.any_of(better, emit.all_of(a_is_nan, b_is_number))


def _best(part: Rows, order: _Order, source: Value, row: Value, start: Value) -> Value:
    """The best element of a block."""
    worst = emit.constant(part.vector.type, order.worst)

    def step(at: Index, mask: Value | None, best: Value) -> Value:
        value = part.load(source, row, emit.add(start, at), mask=mask)
        if mask is not None:
            value = arith.SelectOp(mask, value, worst).result
        return order.best_of(best, value)

    return simd.reduce(order.kind, part.sweep(step, order.worst, order.best_of))


def _find(part: Rows, source: Value, row: Value, start: Value, best: Value) -> Index:
    """The first index of `best` in a block; that of the first NaN if there is one (and then `best` is NaN)."""
    numbers = ir.IntegerType.get_signless(part.element.width)
    integers = replace(part, stored=numbers, element=numbers)
    type_ = integers.vector.type
    wanted, none = part.splat(best), emit.constant(type_, (1 << (part.element.width - 1)) - 1)
    lanes = emit.vector_type(part.lanes, numbers)
    count = arith.IndexCastOp(lanes, simd.steps(part.lanes)).result

    def step(at: Index, mask: Value | None, first: Value) -> Value:
        value = part.load(source, row, emit.add(start, at), mask=mask)
        if isinstance(part.element, ir.FloatType):
            equal = arith.CmpFOp(arith.CmpFPredicate.OEQ, value, wanted).result
            hit = emit.any_of(equal, arith.CmpFOp(arith.CmpFPredicate.UNO, value, value).result)
        else:
            hit = arith.CmpIOp(arith.CmpIPredicate.eq, value, wanted).result
        if mask is not None:
            hit = emit.all_of(hit, mask)
        offset = simd.splat(arith.IndexCastOp(numbers, emit.index(at)).result, part.lanes)
        here = arith.AddIOp(count, offset).result
        return _least(first, arith.SelectOp(hit, here, none).result)

    found = simd.reduce("minsi", integers.sweep(step, (1 << (part.element.width - 1)) - 1, _least))
    return arith.IndexCastOp(ir.IndexType.get(), found).result


def _least(a: Value, b: Value) -> Value:
    return arith.MinSIOp(a, b).result
