"""Lower prim funcs in block form to linalg on tensors, which can fuse and use kernels; others are lowered to loops.

The block form is a sequence of perfect loop nests, each around one block that stores one element. Every loop is bound
to one axis, indices are single axes, and the extent of an axis is the size of each dimension that it indexes. Reads
may have the index 0 in dimensions of 1. Reductions have a ``T.init`` and combine the element with a value
by ``+``, ``*``, min or max.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PARAMS, PATTERN, PRIM_FUNC
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import arith, func, ir, linalg, tensor
from relax_mlir.scalars.linalg_builders import generic, projection
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Poisoned, Problem, Source
from relax_mlir.symbolic import Dim
from relax_mlir.tir.block_nests import SKIPPED, Access, Axis, Nest, NotBlocks, Reader, is_zero, local_name
from relax_mlir.tir.block_syntax import Located, keep_sign
from relax_mlir.tir.expressions import Expressions
from relax_mlir.tir.prim_signature import Head, read_buffer_type
from relax_mlir.tir.values import INDEX, Buffer, Scalar, Term, as_scalar


@dataclass
class Elements(Expressions):
    """Expressions in the body of a ``linalg.generic``, where loads are block arguments."""

    lazy: bool = False
    reader: Reader | None = None
    axes: Sequence[Axis] = ()
    elements: dict[Access, Scalar] = field(default_factory=dict)

    def visit_Subscript(self, node: ast.Subscript) -> Scalar:
        assert self.reader is not None
        for item in self.indices(node, self.buffer(node.value)):
            self.index(item) if not isinstance(item, ast.Name) and not is_zero(item) else None
        return self.elements[self.reader.access(node, self.axes)]

    def visit_Name(self, node: ast.Name) -> Any:  # noqa: ANN401 - checked by `term`
        names = [axis.name for axis in self.axes]
        if node.id in names:
            return Scalar(linalg.IndexOp(names.index(node.id)).result, INDEX)
        return super().visit_Name(node)


def linalg_form(source: Source, scope: Scope, head: Head, block: ir.Block) -> func.FuncOp | None:
    """The prim func on tensors, added to `block`; None if it is not in block form, or has errors."""
    types = []
    for parameter in head.parameters:
        storage = None if parameter.dtype is None else parameter.dtype.storage_type()
        types.append(
            ir.IndexType.get() if storage is None else ir.RankedTensorType.get(parameter.sizes(), storage)
        )
    scratch = ir.Module.create(ir.Location.current)
    with ir.InsertionPoint(scratch.body):
        function = func.FuncOp(head.name, ir.FunctionType.get(types, []), visibility="private")
    try:
        with ir.InsertionPoint(function.add_entry_block()):
            results, pattern = _Emitter(source, scope.inner(), head, list(function.arguments)).run()
            func.ReturnOp(results)
    except (NotBlocks, Problem, Poisoned, ValueError):
        return None
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(types, [result.type for result in results])
    )
    function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    function.attributes[PATTERN] = ir.StringAttr.get(pattern)
    function.attributes[PARAMS] = ir.ArrayAttr.get([p.attribute() for p in head.parameters])
    block.append(function)
    return function


class _Emitter:
    def __init__(self, source: Source, scope: Scope, head: Head, arguments: list[ir.Value]) -> None:
        self.source, self.scope, self.head, self.arguments = source, scope, head, arguments
        self.tensors: dict[str, ir.Value] = {}
        self.written: dict[str, None] = {}
        buffers = {}
        scope.add_symbols(head.symbols)
        for parameter, argument in zip(head.parameters, arguments, strict=True):
            if parameter.shape is None or parameter.dtype is None:
                scope.values[parameter.name] = Scalar(argument, INDEX)
                continue
            rank = len(parameter.shape)
            buffers[parameter.name] = Buffer(parameter.name, argument, parameter.shape, parameter.dtype, rank)
            self.tensors[parameter.name] = argument
        scope.values.update(buffers)
        for name, origin in head.symbols.items():
            if isinstance(origin, tuple):
                place = arith.constant(ir.IndexType.get(), origin[1])
                scope.values[name] = Scalar(tensor.dim(arguments[origin[0]], place), INDEX)
        self.reader = Reader(scope, buffers)

    def run(self) -> tuple[list[ir.Value], str]:
        """Emit all nests in order; return the results, and the pattern of the whole function."""
        patterns = []
        for statement in self.head.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant | ast.Call):
                if (
                    isinstance(statement.value, ast.Call)
                    and self.reader.path(statement.value.func) not in SKIPPED
                ):
                    raise NotBlocks
                continue
            if self.allocates(statement):
                continue
            line, begin, _ = self.source.span(statement)
            with Located(self.source.filename, line, begin + 1):
                patterns.append(self.emit(self.reader.nest(statement)))
        names = [p.name for p in self.head.parameters if p.is_buffer]
        results = names[len(names) - sum(name in names for name in self.written) :]
        if not patterns or any(name not in self.written for name in results):
            raise NotBlocks
        return [self.tensors[name] for name in results], patterns[0] if len(patterns) == 1 else "opaque"

    def allocates(self, statement: ast.stmt) -> bool:
        """Emit an empty tensor for ``B = T.alloc_buffer(…)``; false for other statements."""
        call = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
            return False
        target = statement.targets[0]
        if self.reader.path(call.func) != "alloc_buffer" or not isinstance(target, ast.Name):
            return False
        if target.id in self.scope.values:
            raise NotBlocks
        shape, dtype = read_buffer_type(call, list(call.args[:2]), call.keywords, self.scope)
        sizes = [d if isinstance(d, int) else self.size(d) for d in shape]
        memory = tensor.empty(sizes, dtype.storage_type())
        keep_sign(memory, dtype)
        buffer = Buffer(target.id, memory, shape, dtype, len(shape))
        self.tensors[target.id] = memory
        self.reader.buffers[target.id] = self.scope.values[target.id] = buffer
        return True

    def size(self, dim: Dim) -> ir.Value:
        """The value of a dimension that is a bare symbol; others may be negative, which loops clamp to 0."""
        name = symbolic.linear_definition(dim)
        if name is None or name not in self.head.symbols or isinstance(self.head.symbols[name], int):
            raise NotBlocks
        value: ir.Value = self.scope.values[name].ssa
        return value

    def emit(self, nest: Nest) -> str:
        """Emit one nest as a ``linalg.generic``; return its pattern."""
        name = nest.target.buffer
        buffer = self.reader.buffers[name]
        rank = len(nest.axes)
        if nest.initial is not None:
            value = as_scalar(nest.initial, Expressions(self.scope).term(nest.initial), buffer.dtype)
            if value.dtype != buffer.dtype:
                raise NotBlocks
            self.tensors[name] = linalg.fill(value.ssa, outs=[self.tensors[name]])
            self.written[name] = None
        elif (nest.update is not None or nest.target in nest.loads) and name not in self.written:
            raise NotBlocks
        for access in nest.loads:
            if access.buffer not in self.written and access.buffer in self._allocated():
                raise NotBlocks
        inputs = [access for access in nest.loads if access != nest.target]
        kinds = ["reduction" if axis.reduces else "parallel" for axis in nest.axes]

        def body(*arguments: ir.Value) -> ir.Value:
            elements = {
                access: Scalar(argument, self.reader.buffers[access.buffer].dtype)
                for access, argument in zip([*inputs, nest.target], arguments, strict=True)
            }
            reader = Elements(self.scope.inner(), False, self.reader, nest.axes, elements)
            for scalar in nest.locals:
                reader.scope.values[local_name(scalar)] = reader.term(scalar.value)
            term: Term = reader.term(nest.value)
            if nest.update is not None:
                term = reader.apply(nest.node, nest.update, [elements[nest.target], term])
            return reader.stored(nest.value, term, buffer)

        maps = [projection(rank, access.axes) for access in inputs]
        ins = [self.tensors[access.buffer] for access in inputs]
        out_map = projection(rank, nest.target.axes)
        result = generic(ins, maps, [self.tensors[name]], [out_map], kinds, body)
        if (title := _title(nest.node)) is not None:
            made = result[0].owner
            made.location = ir.Location.name(title, made.location)
        local = self._allocated()
        if name not in local and any(access.buffer in local for access in _copied(result[0], inputs, nest)):
            raise NotBlocks  # it would fold to a local tensor, but the result must be the caller's
        self.tensors[name] = result[0]
        self.written[name] = None
        return _pattern(nest, inputs)

    def _allocated(self) -> set[str]:
        return set(self.reader.buffers) - {p.name for p in self.head.parameters}


def _title(node: ast.AST) -> str | None:
    """The name of the block in a nest."""
    for part in ast.walk(node):
        call = part.items[0].context_expr if isinstance(part, ast.With) else None
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant):
            return str(call.args[0].value) or None
    return None


def _copied(result: ir.Value, inputs: Sequence[Access], nest: Nest) -> list[Access]:
    """The input of a nest that is a plain copy; else empty."""
    body = entry_block(result.owner)
    yielded = body.operations[len(body.operations) - 1].operation.operands[0]
    if not isinstance(yielded, ir.BlockArgument) or yielded.arg_number >= len(inputs):
        return []
    access = inputs[yielded.arg_number]
    return [access] if access.axes == nest.target.axes else []


def _pattern(nest: Nest, inputs: Sequence[Access]) -> str:
    """The fusion pattern of the nest (see `relax_mlir.dialects.attributes.Pattern`)."""
    if nest.initial is not None:
        return "reduction"
    if nest.update is not None or nest.target in nest.loads:
        return "opaque"
    if all(access.axes == nest.target.axes for access in inputs):
        return "elementwise"
    places = [[nest.target.axes.index(n) for n in access.moved] for access in inputs]
    ordered = all(place == sorted(place) for place in places)
    return "broadcast" if ordered else "injective"
