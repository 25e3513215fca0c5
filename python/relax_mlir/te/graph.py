"""The operations that compute tensors, and the tensors that these read."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.te.compute import ComputeOp
from relax_mlir.te.expressions import Size
from relax_mlir.te.tensors import Operation, PlaceholderOp, Tensor
from relax_mlir.te.walk import post_order


def operations_of(outputs: Sequence[Tensor], known: Sequence[Tensor] = ()) -> list[Operation]:
    """The operations that `outputs` need, except placeholders, in topological order.

    Excludes the operations of `known`, and those needed only by these.
    """
    ordered: dict[Operation, None] = {}
    entered: set[Operation] = {tensor.op for tensor in known}
    waiting = [(tensor.op, False) for tensor in reversed(outputs)]
    while waiting:
        op, is_done = waiting.pop()
        if is_done:
            ordered[op] = None
        elif op not in entered and not isinstance(op, PlaceholderOp):
            entered.add(op)
            waiting.append((op, True))
            waiting += [(tensor.op, False) for tensor in reversed(op.input_tensors)]
    return list(ordered)


def read_by(outputs: Sequence[Tensor], known: Sequence[Tensor] = ()) -> list[Tensor]:
    """The tensors that `outputs` and their operations, up to `known`, read."""
    return list(dict.fromkeys(t for op in operations_of(outputs, known) for t in op.input_tensors))


def symbols_of(tensors: Sequence[Tensor], operations: Sequence[Operation]) -> list[str]:
    """Every symbol in shapes, ranges and expressions, in order of appearance."""
    dims: list[Dim] = [dim for tensor in tensors for dim in tensor.shape]
    for op in operations:
        dims += [dim for tensor in op.outputs for dim in tensor.shape]
        for part in (op, *op.parts):
            if isinstance(part, ComputeOp):
                dims += [dim for axis in part.reduce_axis for dim in (axis.dom.begin, axis.dom.extent)]
                dims += [axis.dom.extent for axis in part.axis]
                dims += [item.dim for item in post_order(*part.body) if isinstance(item, Size)]
    return list(dict.fromkeys(name for dim in dims for name in symbolic.symbols(dim)))
