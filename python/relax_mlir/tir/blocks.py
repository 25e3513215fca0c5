"""Prim funcs in block form as linalg on tensors, which fuse and have kernels; others are left to the loops.

Taken is a sequence of perfect loop nests around one block each, that stores one element. Every loop is bound to one
axis, accesses name axes alone, and the extent of an axis is the size of each dimension that it runs along. Reductions
have a ``T.init`` and combine the element with a value by ``+``, ``*``, min or max.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PARAMS, PATTERN, PRIM_FUNC
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import arith, func, ir, linalg, tensor
from relax_mlir.scalars.linalg_builders import generic, projection
from relax_mlir.script.dimensions import read_dim
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Poisoned, Problem, Source
from relax_mlir.symbolic import Dim
from relax_mlir.tir.block_syntax import AXES, Located, keep_sign, remapped
from relax_mlir.tir.expressions import OPERATORS, Expressions
from relax_mlir.tir.prim_signature import Head, read_buffer_type
from relax_mlir.tir.values import INDEX, Buffer, Scalar, Term, as_scalar

COMBINERS = ("add", "multiply", "max", "min")
SKIPPED = ("reads", "writes", "block_attr")
LOOPS = ("serial", "parallel", "vectorized", "unroll")


class NotBlocks(Exception):
    """The prim func is not in block form."""


@dataclass(frozen=True)
class Axis:
    """An axis of a block: its extent, and whether it reduces."""

    name: str
    extent: Dim
    reduces: bool


@dataclass(frozen=True)
class Access:
    """An element of a buffer at some axes, by their numbers."""

    buffer: str
    axes: tuple[int, ...]


@dataclass
class Nest:
    """A loop nest around one block."""

    node: ast.stmt
    axes: list[Axis]
    target: Access
    value: ast.expr
    update: str | None
    """The combiner of ``C[i] += …``."""
    initial: ast.expr | None
    loads: list[Access] = field(default_factory=list)
    locals: list[ast.Assign] = field(default_factory=list)
    """The local scalars ``t = …`` that the value is made of, in order."""


@dataclass
class Reader:
    """Reads a body in block form; raises `NotBlocks`, `Problem`."""

    scope: Scope
    buffers: dict[str, Buffer]

    def path(self, node: ast.AST) -> str | None:
        found = self.scope.path(node) if isinstance(node, ast.expr) else None
        return found[1] if found is not None and found[0] == "T" else None

    def nest(self, node: ast.stmt) -> Nest:
        """One loop nest."""
        extents: dict[str, Dim] = {}
        statement = node
        while isinstance(statement, ast.For):
            self.loop(statement, extents)
            (statement,) = _only(statement.body)
        if not isinstance(statement, ast.With) or len(statement.items) != 1:
            raise NotBlocks
        call = statement.items[0].context_expr
        if not isinstance(call, ast.Call) or self.path(call.func) != "block":
            raise NotBlocks
        return self.block(node, statement.body, extents)

    def loop(self, node: ast.For, extents: dict[str, Dim]) -> None:
        if node.orelse or not isinstance(node.iter, ast.Call) or node.iter.keywords:
            raise NotBlocks
        called = node.iter.func
        name = "serial" if isinstance(called, ast.Name) and called.id == "range" else self.path(called)
        if name not in (*LOOPS, "grid") or (name != "grid" and len(node.iter.args) != 1):
            raise NotBlocks
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(node.iter.args):
            raise NotBlocks
        for target, extent in zip(targets, node.iter.args, strict=True):
            if not isinstance(target, ast.Name) or target.id in extents:
                raise NotBlocks
            extents[target.id] = self.dim(extent)

    def dim(self, node: ast.expr) -> Dim:
        """An extent: an expression of the symbols."""
        if isinstance(node, ast.Constant) and not isinstance(node.value, int):
            raise NotBlocks
        found = read_dim(node, self.scope)
        if found is None or any(name not in self.scope.symbols for name in symbolic.symbols(found)):
            raise NotBlocks
        return found

    def block(self, node: ast.stmt, statements: Sequence[ast.stmt], extents: dict[str, Dim]) -> Nest:
        axes: list[Axis] = []
        initial: ast.With | None = None
        stores: list[ast.stmt] = []
        scalars: list[ast.Assign] = []
        left = dict(extents)
        for statement in statements:
            call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
            name = self.path(call.func) if isinstance(call, ast.Call) else None
            if isinstance(statement, ast.With):
                if initial is not None or stores:
                    raise NotBlocks
                initial = statement
            elif (
                isinstance(statement, ast.Assign)
                and isinstance(call, ast.Call)
                and (name or "").startswith("axis.")
            ):
                axes += self.axes(statement, call, str(name).removeprefix("axis."), left)
            elif isinstance(statement, ast.Assign) and self.is_scalar(statement) and not stores:
                scalars.append(statement)
            elif name not in SKIPPED:
                stores.append(statement)
        if left or len({axis.name for axis in axes}) != len(axes):
            raise NotBlocks
        (store,) = _only(stores)
        target, value, update = _store(store)
        written = self.access(target, axes)
        parallel = [number for number, axis in enumerate(axes) if not axis.reduces]
        if sorted(written.axes) != parallel or not axes:
            raise NotBlocks
        start = None if initial is None else self.initial(initial, written, axes)
        nest = Nest(node, axes, written, value, update, start, locals=scalars)
        parts = [*(scalar.value for scalar in scalars), value]
        nest.loads = list(dict.fromkeys(load for part in parts for load in self.loads(part, axes)))
        self.check(nest)
        return nest

    def is_scalar(self, node: ast.Assign) -> bool:
        """Whether a statement binds a new name."""
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        return isinstance(target, ast.Name) and target.id not in {
            *self.buffers,
            *self.scope.values,
            *self.scope.symbols,
        }

    def axes(self, node: ast.Assign, call: ast.Call, kind: str, left: dict[str, Dim]) -> list[Axis]:
        """Axes, each bound to one loop, which is taken out of `left`."""
        target = node.targets[0]
        given: list[tuple[ast.expr, bool, ast.expr, ast.expr | None]]
        if kind == "remap":
            names = list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]
            kinds, bindings = remapped(call)
            given = [(n, k == "R", b, None) for n, k, b in zip(names, kinds, bindings, strict=True)]
        elif kind in AXES and kind not in ("opaque", "scan") and len(call.args) == 2:
            given = [(target, AXES[kind], call.args[1], call.args[0])]
        else:
            raise NotBlocks
        found = []
        for name, reduces, binding, extent in given:
            if not isinstance(name, ast.Name) or not isinstance(binding, ast.Name) or binding.id not in left:
                raise NotBlocks
            size = left.pop(binding.id)
            if extent is not None and self.dim(extent) != size:
                raise NotBlocks
            found.append(Axis(name.id, size, reduces))
        return found

    def access(self, node: ast.expr, axes: Sequence[Axis]) -> Access:
        """An element whose indices are axes, each as long as the dimension that it runs along."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            raise NotBlocks
        buffer = self.buffers.get(node.value.id)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if buffer is None or buffer.shape is None or len(items) != buffer.rank:
            raise NotBlocks
        numbers = [axis.name for axis in axes]
        found = []
        for item, size in zip(items, buffer.shape, strict=True):
            if not isinstance(item, ast.Name) or item.id not in numbers:
                raise NotBlocks
            number = numbers.index(item.id)
            if number in found or axes[number].extent != size:
                raise NotBlocks
            found.append(number)
        return Access(buffer.name, tuple(found))

    def loads(self, value: ast.expr, axes: Sequence[Axis]) -> list[Access]:
        """What an expression reads, each access once."""
        found: dict[Access, None] = {}
        for part in _elements(value):
            found[self.access(part, axes)] = None
        return list(found)

    def initial(self, node: ast.With, written: Access, axes: Sequence[Axis]) -> ast.expr:
        """The value of ``T.init``, which reads no buffer."""
        call = node.items[0].context_expr
        if not isinstance(call, ast.Call) or self.path(call.func) != "init":
            raise NotBlocks
        target, value, update = _store(_only(node.body)[0])
        if update is not None or self.access(target, axes) != written or self.loads(value, axes):
            raise NotBlocks
        names = {axis.name for axis in axes}
        if any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(value)):
            raise NotBlocks
        return value

    def check(self, nest: Nest) -> None:
        """Whether every axis has a size, and a reduction is one."""
        reduces = any(axis.reduces for axis in nest.axes)
        if reduces != (nest.initial is not None):
            raise NotBlocks
        names = [_target(scalar) for scalar in nest.locals]
        if len({*names, *(axis.name for axis in nest.axes)}) != len(names) + len(nest.axes):
            raise NotBlocks
        if reduces and any(nest.target in self.loads(scalar.value, nest.axes) for scalar in nest.locals):
            raise NotBlocks
        covered = {number for access in (nest.target, *nest.loads) for number in access.axes}
        if len(covered) != len(nest.axes):
            raise NotBlocks
        own = [access for access in nest.loads if access.buffer == nest.target.buffer]
        if any(access != nest.target for access in own):
            raise NotBlocks
        if reduces and nest.update is None:
            _require_combiner(self, nest)
        if nest.update is not None and (own or nest.update not in COMBINERS):
            raise NotBlocks


def _require_combiner(reader: Reader, nest: Nest) -> None:
    """Raise `NotBlocks` unless the value combines the element with something that does not read it."""
    value = nest.value
    sides: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Mult):
        sides = [value.left, value.right]
    elif isinstance(value, ast.Call) and len(value.args) == 2:
        name = value.func.id if isinstance(value.func, ast.Name) else reader.path(value.func)
        sides = list(value.args) if name in ("max", "min") else []
    alone = [s for s in sides if isinstance(s, ast.Subscript) and reader.access(s, nest.axes) == nest.target]
    others = [s for s in sides if s not in alone]
    if len(alone) != 1 or any(nest.target in reader.loads(s, nest.axes) for s in others):
        raise NotBlocks


def _elements(node: ast.AST) -> Iterator[ast.Subscript]:
    """The elements that an expression reads, in the order in which they are written."""
    if isinstance(node, ast.Subscript):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _elements(child)


def _target(node: ast.Assign) -> str:
    """The name that a local scalar has."""
    (target,) = node.targets
    assert isinstance(target, ast.Name)
    return target.id


def _only(statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    if len(statements) != 1:
        raise NotBlocks
    return statements


def _store(node: ast.stmt) -> tuple[ast.expr, ast.expr, str | None]:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.targets[0], node.value, None
    if isinstance(node, ast.AugAssign):
        return node.target, node.value, OPERATORS.get(type(node.op), "")
    raise NotBlocks


@dataclass
class Elements(Expressions):
    """Expressions in the body of a ``linalg.generic``: loads are its arguments."""

    lazy: bool = False
    reader: Reader | None = None
    axes: Sequence[Axis] = ()
    elements: dict[Access, Scalar] = field(default_factory=dict)

    def visit_Subscript(self, node: ast.Subscript) -> Scalar:
        assert self.reader is not None
        for item in self.indices(node, self.buffer(node.value)):
            self.index(item) if not isinstance(item, ast.Name) else None
        return self.elements[self.reader.access(node, self.axes)]

    def visit_Name(self, node: ast.Name) -> Any:  # noqa: ANN401 - checked by `term`
        names = [axis.name for axis in self.axes]
        if node.id in names:
            return Scalar(linalg.IndexOp(names.index(node.id)).result, INDEX)
        return super().visit_Name(node)


def linalg_form(source: Source, scope: Scope, head: Head, block: ir.Block) -> func.FuncOp | None:
    """The prim func on tensors, added to `block`; None if it is not in block form, or has mistakes."""
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
        scope.symbols |= set(head.symbols)
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
        """All nests in order: the results, and the pattern of the whole."""
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
        """``B = T.alloc_buffer(…)``: an uninitialised tensor."""
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
        """A dimension that is a symbol alone: others may be negative, which the loops hold at 0."""
        name = symbolic.linear_definition(dim)
        if name is None or name not in self.head.symbols or isinstance(self.head.symbols[name], int):
            raise NotBlocks
        value: ir.Value = self.scope.values[name].ssa
        return value

    def emit(self, nest: Nest) -> str:
        """One nest as a ``linalg.generic``; its pattern."""
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
                reader.scope.values[_target(scalar)] = reader.term(scalar.value)
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
            raise NotBlocks  # it would fold to a tensor that is not the caller's, where the result must be
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
    """The input of a nest, if all that it does is to copy it."""
    body = entry_block(result.owner)
    yielded = body.operations[len(body.operations) - 1].operation.operands[0]
    if not isinstance(yielded, ir.BlockArgument) or yielded.arg_number >= len(inputs):
        return []
    access = inputs[yielded.arg_number]
    return [access] if access.axes == nest.target.axes else []


def _pattern(nest: Nest, inputs: Sequence[Access]) -> str:
    """How the nest may be fused (see `relax_mlir.lowering.legalize.rules.Pattern`)."""
    if nest.initial is not None:
        return "reduction"
    if nest.update is not None or nest.target in nest.loads:
        return "opaque"
    if all(access.axes == nest.target.axes for access in inputs):
        return "elementwise"
    ordered = all(
        [nest.target.axes.index(n) for n in access.axes]
        == sorted(nest.target.axes.index(n) for n in access.axes)
        for access in inputs
    )
    return "broadcast" if ordered else "injective"
