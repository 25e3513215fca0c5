"""The mapping of the operands of two prim func calls to those of their fused call."""

from __future__ import annotations

from collections.abc import Mapping

from relax_mlir.mlir import func, ir
from relax_mlir.passes.fusion.prim_calls import PrimCall
from relax_mlir.passes.fusion.prim_merging import Wiring, unsized_axes
from relax_mlir.symbolic import Dim


def wire(
    functions: Mapping[str, func.FuncOp], producer: PrimCall, consumer: PrimCall
) -> tuple[Wiring, list[ir.Value], list[Dim]]:
    """The wiring of the fused call, its operands and its index expressions, each without duplicates."""
    result = producer.op.results[0]
    operands: list[ir.Value] = []
    exprs: list[Dim] = []

    def operand_number(value: ir.Value) -> int:
        if value not in operands:
            operands.append(value)
        return operands.index(value)

    def index_number(expr: Dim) -> int:
        if expr not in exprs:
            exprs.append(expr)
        return exprs.index(expr)

    numbers = [i for i, value in enumerate(consumer.operands) if value == result]
    first, second = functions[producer.callee], functions[consumer.callee]
    # Prim funcs on buffers have no tensor in between.
    unsized = unsized_axes(first, second, numbers) if first.type.results else []
    shape = producer.info.known_shape if producer.info is not None else None
    assert shape is not None
    wiring = Wiring(
        tuple(map(operand_number, producer.operands)),
        tuple(None if value == result else operand_number(value) for value in consumer.operands),
        tuple(map(index_number, producer.index_exprs)),
        tuple(map(index_number, consumer.index_exprs)),
        tuple((axis, index_number(shape[axis])) for axis in unsized),
    )
    return wiring, operands, exprs
