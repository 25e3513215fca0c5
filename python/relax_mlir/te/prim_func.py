"""Build prim funcs from tensor expressions; long chains of computations are inlined first."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import PARAMS, PATTERN, PRIM_FUNC
from relax_mlir.dialects.prim_funcs import PrimParam, params_attr
from relax_mlir.error import ArgumentError, UnsupportedError, expect
from relax_mlir.ir_module import IRModule
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.nests import Nests, NotBlocks
from relax_mlir.loops.values import INDEX, Buffer, Scalar
from relax_mlir.mlir import arith, func, ir, memref, tensor
from relax_mlir.symbolic import linear_definition
from relax_mlir.te.blocks import Blocks
from relax_mlir.te.expressions import Expr, Load, loads_of, substitute
from relax_mlir.te.extern import ExternOp
from relax_mlir.te.loops import Loops, tensors_of
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.tensors import (
    ComputeOp,
    FreshNames,
    Operation,
    PlaceholderOp,
    Tensor,
    operations_of,
    symbols_of,
)

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
                values[load] = substitute(bodies[producer][0], dict(zip(producer.axis, load.children, strict=True)))
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
    for item in tensors:
        expect("create_prim_func: an entry of 'tensors'", item, Tensor, "a te.Tensor")
    inputs = [t for t in tensors if isinstance(t.op, PlaceholderOp)]
    outputs = [t for t in tensors if not isinstance(t.op, PlaceholderOp)]
    if list(tensors) != [*inputs, *outputs]:
        raise ArgumentError("create_prim_func: 'tensors' lists the placeholders first, then the computed tensors")
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
    names = names_of(name, parameters, operations)
    function = Function(name, parameters, integers, names, bodies)
    module = new_module(context)
    with module.context, ir.InsertionPoint(module.mlir.body), ir.Location.file(*operations[-1].position, 0):
        if not function.emit_blocks(operations):
            function.emit_loops(operations)
    module.verify()
    return TEFunction(name, module, integers)


def new_module(context: ir.Context | None) -> IRModule:
    """An empty module in a context, a new one unless it is given."""
    if context is None:
        return IRModule()
    with context, ir.Location.unknown():
        return IRModule(ir.Module.create())


RESERVED: frozenset[str] = frozenset({"R", "T", "I", "cls", "constants", "float", "range", *keyword.kwlist})
"""Names that the script has a use for."""


def names_of(name: str, parameters: Sequence[Tensor], operations: Sequence[Operation]) -> dict[Tensor, str]:
    """The names of all tensors, which are unique."""
    tensors = [*parameters, *(tensor for op in operations for tensor in tensors_of(op))]
    outputs = [*parameters, *(tensor for op in operations for tensor in op.outputs)]
    fresh = FreshNames(RESERVED | set(symbols_of(outputs, operations)) | {name})
    return {tensor: fresh(tensor.name) for tensor in dict.fromkeys(tensors)}


@dataclass(frozen=True)
class Function:
    """A prim func of tensors and integers, emitted at the insertion point."""

    name: str
    parameters: Sequence[Tensor]
    integers: Sequence[str]
    names: Mapping[Tensor, str]
    bodies: Bodies = field(default_factory=dict)

    def emit_blocks(self, operations: Sequence[Operation]) -> bool:
        """Emit the function on tensors; False if a computation is not in block form."""
        computes = [op for op in operations if isinstance(op, ComputeOp)]
        if len(computes) < len(operations):
            return False
        function = self.declare(lambda dims, element: ir.RankedTensorType.get(dims, element))
        try:
            with ir.InsertionPoint(function.add_entry_block()):
                nests = Nests({buffer.name: buffer for buffer in self.buffers(function).values()})
                blocks = Blocks(self.builder(function, tensor.dim), nests, self.names, self.bodies)
                for op in computes:
                    for output in op.outputs:
                        if output not in self.parameters:
                            blocks.allocate(output)
                for op in computes:
                    blocks.emit(op)
                results = nests.results()
                func.ReturnOp(results)
        except NotBlocks:
            function.operation.erase()
            return False
        types = ir.FunctionType.get(function.type.inputs, [result.type for result in results])
        function.attributes["function_type"] = ir.TypeAttr.get(types)
        function.attributes[PATTERN] = ir.StringAttr.get(nests.pattern)
        return True

    def emit_loops(self, operations: Sequence[Operation], kind: type[Loops] = Loops) -> None:
        """Emit the function on buffers; `kind` emits the operations."""

        def body(builder: LoopBuilder, buffers: dict[Tensor, Buffer]) -> None:
            for op in operations:
                for output in tensors_of(op):
                    if output not in buffers:
                        buffers[output] = builder.alloc(output.shape, output.dtype, self.names[output])
            loops = kind(builder, buffers, self.bodies)
            for op in operations:
                loops.emit(op)

        self.emit(body)

    def emit(self, body: Callable[[LoopBuilder, dict[Tensor, Buffer]], None]) -> None:
        """Emit the function on buffers; `body` emits its loops, and gets those of the parameters."""
        function = self.declare(lambda dims, element: ir.MemRefType.get(dims, element))
        with ir.InsertionPoint(function.add_entry_block()):
            body(self.builder(function, memref.dim), self.buffers(function))
            func.ReturnOp([])

    def declare(self, typed: Callable[[list[int], ir.Type], ir.Type]) -> func.FuncOp:
        """The function without a body."""
        dynamic = int(ir.ShapedType.get_dynamic_size())
        types: list[ir.Type] = []
        for parameter in self.parameters:
            dims = [dim if isinstance(dim, int) else dynamic for dim in parameter.shape]
            types.append(typed(dims, dtypes.dtype(parameter.dtype).storage_type()))
        types += [ir.IndexType.get()] * len(self.integers)
        function = func.FuncOp(self.name, ir.FunctionType.get(types, []), visibility="private")
        declared = [PrimParam(self.names[t], t.shape, dtypes.dtype(t.dtype)) for t in self.parameters]
        declared += [PrimParam(name, None, None) for name in self.integers]
        function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        function.attributes[PARAMS] = params_attr(declared)
        return function

    def buffers(self, function: func.FuncOp) -> dict[Tensor, Buffer]:
        """The parameters as buffers."""
        return {
            tensor: Buffer(self.names[tensor], argument, tensor.shape, dtypes.dtype(tensor.dtype), tensor.ndim)
            for tensor, argument in zip(self.parameters, function.arguments, strict=False)
        }

    def builder(self, function: func.FuncOp, dim: Callable[[ir.Value, ir.Value], ir.Value]) -> LoopBuilder:
        """A builder with the values of the symbols, which `dim` reads from the parameters."""
        arguments = list(function.arguments)
        values: dict[str, ir.Value] = dict(zip(self.integers, arguments[len(self.parameters) :], strict=True))
        for parameter, argument in zip(self.parameters, arguments, strict=False):
            for axis, size in enumerate(parameter.shape):
                name = linear_definition(size)
                if name is not None and name not in values:
                    values[name] = dim(argument, arith.constant(ir.IndexType.get(), axis))
        return LoopBuilder({name: Scalar(value, INDEX) for name, value in values.items()})


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
        for read in op.input_tensors:
            if isinstance(read.op, PlaceholderOp) and id(read) not in known:
                raise ArgumentError(f"{what} '{name}': the placeholder {read} is read, but is not among the inputs")
