"""Build prim funcs from tensor expressions; long chains of computations are inlined first."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects.location import name_of, renamed, unnamed
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.script.parser import parse
from relax_mlir.symbolic import linear_definition
from relax_mlir.te.expressions import Expr, Load, loads_of, substitute
from relax_mlir.te.extern import ExternOp
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.source import Writer
from relax_mlir.te.tensors import ComputeOp, Operation, PlaceholderOp, Tensor, operations_of, symbols_of

MAX_COMPUTATIONS = 200
"""Maximum number of computations before inlining; upstream's bufferisation is cubic in their number."""
GOAL = 100
"""Target number of computations after inlining."""

Bodies = dict[Operation, tuple[Expr, ...]]
"""The new values of computations."""


def merged(operations: Sequence[Operation], kept: Sequence[Tensor]) -> tuple[list[Operation], Bodies]:
    """Return the remaining computations and their new values; `kept` are parameters, which remain.

    A computation is inlined into its reader if that reads each of its elements once. No value is computed more often
    than before, or differently.
    """
    if len(operations) <= MAX_COMPUTATIONS:
        return list(operations), {}
    limit = -(-len(operations) // GOAL)
    uses = _uses(operations)
    bodies: Bodies = {}
    weights: dict[Operation, int] = {}
    inside: set[Operation] = set()
    parameters = {tensor.op for tensor in kept}
    for op in operations:
        if not isinstance(op, ComputeOp):
            continue
        weights[op] = 1
        values: dict[Expr, Expr] = {}
        for load in loads_of(*op.body):
            producer = load.tensor.op
            if producer in inside:
                assert isinstance(producer, ComputeOp)
                values[load] = substitute(
                    bodies[producer][0], dict(zip(producer.axis, load.children, strict=True))
                )
                weights[op] += weights[producer]
        bodies[op] = tuple(substitute(value, values) for value in op.body) if values else op.body
        reader = uses.get(op.outputs[0])
        if (
            len(op.outputs) == 1
            and op not in parameters
            and not isinstance(op.body[0], Reduction)
            and reader is not None
            and weights[op] < limit
        ):
            inside.add(op)
    return [op for op in operations if op not in inside], bodies


def _uses(operations: Sequence[Operation]) -> dict[Tensor, ComputeOp]:
    """Map each tensor to its reader, if exactly one computation reads it, once, at a permutation of its axes."""
    counts: Counter[Tensor] = Counter()
    found: dict[Tensor, ComputeOp] = {}
    for op in operations:
        if not isinstance(op, ComputeOp):
            counts.update(2 * list(op.input_tensors))
            continue
        for load in loads_of(*op.body):
            counts[load.tensor] += 1
            if _is_one_to_one(op, load):
                found[load.tensor] = op
    return {tensor: op for tensor, op in found.items() if counts[tensor] == 1}


def _is_one_to_one(op: ComputeOp, load: Load) -> bool:
    """True if a computation without reductions reads an element indexed by a permutation of its axes."""
    if any(isinstance(value, Reduction) for value in op.body):
        return False
    own, read = list(map(id, op.axis)), list(map(id, load.children))
    return len(own) == len(read) and set(own) == set(read)


FILE = "<te>"


@dataclass(frozen=True)
class TEFunction:
    """A prim func of tensor expressions: a module that contains only it, and the integers that a call must pass."""

    name: str
    module: IRModule
    integers: tuple[str, ...]
    """Symbols that are not by themselves a dimension of a parameter: passed as integers, after the outputs."""


def create_prim_func(tensors: Sequence[Tensor], name: str = "main") -> IRModule:
    """Build a module with one prim func `name` that computes tensors.

    Args:
        tensors: its parameters: the inputs (placeholders), then the outputs. An integer parameter follows for each
            symbol that is not by itself a dimension of a tensor.
        name: an identifier.

    Every computation becomes a linalg op if its indices are single axes, each as long as the dimensions that it
    indexes, or 0 along a dimension of size 1. Otherwise all computations become loops on memrefs. Tensors that are
    neither input nor output are local buffers.

    Raises:
        ArgumentError: an input that is missing, an output that is an input, no output.
    """
    expect("create_prim_func: 'tensors'", tensors, list | tuple, "a list of tensors")
    for tensor in tensors:
        expect("create_prim_func: an entry of 'tensors'", tensor, Tensor, "a te.Tensor")
    inputs = [t for t in tensors if isinstance(t.op, PlaceholderOp)]
    outputs = [t for t in tensors if not isinstance(t.op, PlaceholderOp)]
    if list(tensors) != [*inputs, *outputs]:
        raise ArgumentError(
            "create_prim_func: 'tensors' lists the placeholders first, then the computed tensors"
        )
    return build(inputs, outputs, name).module


def build(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str, context: ir.Context | None = None
) -> TEFunction:
    """Build the prim func `name` of `inputs` and `outputs`, in a new context unless one is given."""
    check_parameters("create_prim_func", inputs, outputs, name)
    operations = operations_of(outputs, inputs)
    parameters = [*inputs, *outputs]
    integers = integers_of(parameters, operations)
    operations, bodies = merged(operations, parameters)
    blocks = all(isinstance(op, ComputeOp) for op in operations)
    module, writer = _parsed(Writer(name, parameters, integers, blocks, bodies), operations, context)
    if blocks and any(isinstance(t, ir.MemRefType) for t in module[name].type.inputs):
        # In a loop, T.init would not initialise elements whose reduction is empty.
        module, writer = _parsed(Writer(name, parameters, integers, False, bodies), operations, context)
    locate(module, name, writer)
    return TEFunction(name, module, integers)


def integers_of(parameters: Sequence[Tensor], operations: Sequence[Operation]) -> tuple[str, ...]:
    """Symbols that are not by themselves a dimension of a parameter."""
    alone = {n for t in parameters for dim in t.shape if (n := linear_definition(dim)) is not None}
    return tuple(s for s in symbols_of(parameters, operations) if s not in alone)


def check_parameters(what: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str) -> None:
    """Raise `ArgumentError` or `UnsupportedError` unless a prim func of these parameters can compute the outputs."""
    if not name.isidentifier():
        raise ArgumentError(f"{what}: 'name' is {name!r}, expected an identifier")
    if not outputs:
        raise ArgumentError(f"{what} '{name}': nothing is computed: 'tensors' has placeholders only")
    if len(set(map(id, [*inputs, *outputs]))) != len(inputs) + len(outputs):
        raise ArgumentError(f"{what} '{name}': a tensor is listed twice")
    known = set(map(id, inputs))
    for op in operations_of(outputs, inputs):
        if isinstance(op, ExternOp):
            raise UnsupportedError(
                f"{what} '{name}': '{op.name}' is a te.extern, which a prim func cannot call: emit it, by "
                "bb.emit_te or bb.emit, where it becomes a call of its own"
            )
        for tensor in op.input_tensors:
            if isinstance(tensor.op, PlaceholderOp) and id(tensor) not in known:
                raise ArgumentError(
                    f"{what} '{name}': the placeholder {tensor} is read, but is not among the inputs"
                )


def _parsed(
    writer: Writer, operations: Sequence[Operation], context: ir.Context | None
) -> tuple[IRModule, Writer]:
    return parse(writer.write(operations), writer.loop_bodies, name=FILE, context=context), writer


def locate(module: IRModule, name: str, writer: Writer) -> None:
    """Replace the ops' locations in the text by the user's locations."""
    starts = [start for start, _ in writer.starts]
    with module.context:
        for op in ops_of(module[name].operation):
            title = name_of(op.location)
            line = _line(unnamed(op.location))
            before = bisect.bisect_right(starts, line)
            made_by = writer.starts[before - 1][1] if before else writer.starts[-1][1]
            op.location = renamed(title, ir.Location.file(*made_by.position, 0))


def _line(location: ir.Location) -> int:
    return int(location.start_line) if isinstance(location, ir.FileLineColLoc) else 0
