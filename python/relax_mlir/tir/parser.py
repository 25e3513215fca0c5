"""Parse a ``@T.prim_func`` into a function of the module: linalg if it is in block form, else loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PARAMS, PATTERN, PRIM_FUNC
from relax_mlir.loops.nests import COMBINERS, Access, Axis, Nest, Nests, NotBlocks
from relax_mlir.loops.values import INDEX, Buffer, Scalar, Term
from relax_mlir.mlir import arith, func, ir, linalg, memref, tensor
from relax_mlir.script.annotations import read_dim
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Poisoned, Problem, Source
from relax_mlir.symbolic import Dim
from relax_mlir.tir.expressions import OPERATORS, Expressions
from relax_mlir.tir.signature import Head, read_buffer_type, read_head, set_attributes
from relax_mlir.tir.statements import AXES, Body, Located, remapped

SKIPPED = ("reads", "writes", "block_attr")
LOOPS = ("serial", "parallel", "vectorized", "unroll")


@dataclass
class Block:
    """A loop nest around one block, as written."""

    node: ast.stmt
    axes: list[Axis]
    target: Access
    value: ast.expr
    update: str | None
    """The combining function of ``C[i] += …``."""
    initial: ast.expr | None
    loads: list[Access] = field(default_factory=list)
    locals: list[ast.Assign] = field(default_factory=list)
    """The local scalars ``t = …`` that the value uses, in order."""


@dataclass
class Reader:
    """Parses a body in block form; raises `NotBlocks`, `Problem`."""

    scope: Scope
    buffers: dict[str, Buffer]

    def path(self, node: ast.AST) -> str | None:
        found = self.scope.path(node) if isinstance(node, ast.expr) else None
        return found[1] if found is not None and found[0] == "T" else None

    def nest(self, node: ast.stmt) -> Block:
        """Parse one loop nest."""
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
        """An extent: an expression of symbols."""
        if isinstance(node, ast.Constant) and not isinstance(node.value, int):
            raise NotBlocks
        found = read_dim(node, self.scope)
        if found is None or any(name not in self.scope.symbols for name in symbolic.symbols(found)):
            raise NotBlocks
        return found

    def block(self, node: ast.stmt, statements: Sequence[ast.stmt], extents: dict[str, Dim]) -> Block:
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
            elif isinstance(statement, ast.Assign) and isinstance(call, ast.Call) and (name or "").startswith("axis."):
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
        if None in written.axes or sorted(written.moved) != parallel or not axes:
            raise NotBlocks
        start = None if initial is None else self.initial(initial, written, axes)
        nest = Block(node, axes, written, value, update, start, locals=scalars)
        parts = [*(scalar.value for scalar in scalars), value]
        nest.loads = list(dict.fromkeys(load for part in parts for load in self.loads(part, axes)))
        self.check(nest)
        return nest

    def is_scalar(self, node: ast.Assign) -> bool:
        """True if a statement binds a new name."""
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        return isinstance(target, ast.Name) and target.id not in {
            *self.buffers,
            *self.scope.values,
            *self.scope.symbols,
        }

    def axes(self, node: ast.Assign, call: ast.Call, kind: str, left: dict[str, Dim]) -> list[Axis]:
        """Axes, each bound to one loop, which is removed from `left`."""
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
        """An access whose indices are block axes with the extent of the dimension, or 0 in dimensions of 1."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            raise NotBlocks
        buffer = self.buffers.get(node.value.id)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if buffer is None or buffer.shape is None or len(items) != buffer.rank:
            raise NotBlocks
        numbers = [axis.name for axis in axes]
        found: list[int | None] = []
        for item, size in zip(items, buffer.shape, strict=True):
            if size == 1 and is_zero(item):
                found.append(None)
                continue
            if not isinstance(item, ast.Name) or item.id not in numbers:
                raise NotBlocks
            number = numbers.index(item.id)
            if number in found or axes[number].extent != size:
                raise NotBlocks
            found.append(number)
        return Access(buffer.name, tuple(found))

    def loads(self, value: ast.expr, axes: Sequence[Axis]) -> list[Access]:
        """The accesses that an expression reads, each once."""
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

    def check(self, nest: Block) -> None:
        """Raise `NotBlocks` unless reductions have an initial value and a combiner."""
        reduces = any(axis.reduces for axis in nest.axes)
        if reduces != (nest.initial is not None):
            raise NotBlocks
        names = [local_name(scalar) for scalar in nest.locals]
        if len({*names, *(axis.name for axis in nest.axes)}) != len(names) + len(nest.axes):
            raise NotBlocks
        if reduces and any(nest.target in self.loads(scalar.value, nest.axes) for scalar in nest.locals):
            raise NotBlocks
        own = [access for access in nest.loads if access.buffer == nest.target.buffer]
        if any(access != nest.target for access in own):
            raise NotBlocks
        if reduces and nest.update is None:
            _require_combiner(self, nest)
        if nest.update is not None and (own or nest.update not in COMBINERS):
            raise NotBlocks


def _require_combiner(reader: Reader, nest: Block) -> None:
    """Raise `NotBlocks` unless the value combines the target element with a value that does not read it."""
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
    """The elements that an expression reads, in source order."""
    if isinstance(node, ast.Subscript):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _elements(child)


def is_zero(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and type(index.value) is int and index.value == 0


def local_name(node: ast.Assign) -> str:
    """The name of a local scalar."""
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


# Lower prim funcs in block form to linalg on tensors (see `relax_mlir.loops.nests`); others are lowered to loops.


@dataclass
class Elements(Expressions):
    """Expressions in the body of a ``linalg.generic``, where loads are block arguments."""

    lazy: bool = False
    reader: Reader | None = None
    axes: Sequence[Axis] = ()
    elements: Mapping[Access, Scalar] = field(default_factory=dict)

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
        types.append(ir.IndexType.get() if storage is None else ir.RankedTensorType.get(parameter.sizes(), storage))
    scratch = ir.Module.create(ir.Location.current)
    with ir.InsertionPoint(scratch.body):
        function = func.FuncOp(head.name, ir.FunctionType.get(types, []), visibility="private")
    try:
        with ir.InsertionPoint(function.add_entry_block()):
            nests = _Emitter(source, scope.inner(), head, list(function.arguments)).run()
            results = nests.results()
            func.ReturnOp(results)
    except (NotBlocks, Problem, Poisoned, ValueError):
        return None
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(types, [result.type for result in results])
    )
    function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    function.attributes[PATTERN] = ir.StringAttr.get(nests.pattern)
    function.attributes[PARAMS] = ir.ArrayAttr.get([p.attribute() for p in head.parameters])
    block.append(function)
    return function


class _Emitter:
    def __init__(self, source: Source, scope: Scope, head: Head, arguments: list[ir.Value]) -> None:
        self.source, self.scope, self.head = source, scope, head
        buffers = {}
        scope.add_symbols(head.symbols)
        for parameter, argument in zip(head.parameters, arguments, strict=True):
            if parameter.shape is None or parameter.dtype is None:
                scope.values[parameter.name] = Scalar(argument, INDEX)
                continue
            rank = len(parameter.shape)
            buffers[parameter.name] = Buffer(parameter.name, argument, parameter.shape, parameter.dtype, rank)
        scope.values.update(buffers)
        for name, origin in head.symbols.items():
            if isinstance(origin, tuple):
                place = arith.constant(ir.IndexType.get(), origin[1])
                scope.values[name] = Scalar(tensor.dim(arguments[origin[0]], place), INDEX)
        self.nests = Nests(buffers)
        self.reader = Reader(scope, self.nests.buffers)

    def run(self) -> Nests:
        """Emit all nests in order."""
        for statement in self.head.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant | ast.Call):
                if isinstance(statement.value, ast.Call) and self.reader.path(statement.value.func) not in SKIPPED:
                    raise NotBlocks
                continue
            if self.allocates(statement):
                continue
            line, begin, _ = self.source.span(statement)
            with Located(self.source.filename, line, begin + 1):
                self.nests.emit(self.nest(self.reader.nest(statement)))
        return self.nests

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
        self.scope.values[target.id] = self.nests.allocate(target.id, shape, self.size, dtype)
        return True

    def size(self, dim: Dim) -> ir.Value:
        """The value of a dimension that is a bare symbol; others may be negative, which loops clamp to 0."""
        name = symbolic.linear_definition(dim)
        if name is None or name not in self.head.symbols or isinstance(self.head.symbols[name], int):
            raise NotBlocks
        value: ir.Value = self.scope.values[name].ssa
        return value

    def nest(self, block: Block) -> Nest:
        """The nest of a block."""
        buffer = self.reader.buffers[block.target.buffer]

        def value(elements: Mapping[Access, Scalar]) -> ir.Value:
            reader = Elements(self.scope.inner(), False, self.reader, block.axes, elements)
            for scalar in block.locals:
                reader.scope.values[local_name(scalar)] = reader.term(scalar.value)
            term: Term = reader.term(block.value)
            if block.update is not None:
                term = reader.apply(block.node, block.update, [elements[block.target], term])
            return reader.stored(block.value, term, buffer)

        def initial() -> ir.Value:
            assert block.initial is not None
            start = Expressions(self.scope).scalar(block.initial, buffer.dtype)
            if start.dtype != buffer.dtype:
                raise NotBlocks
            return start.ssa

        return Nest(
            block.axes,
            block.target,
            block.loads,
            value,
            block.update is not None,
            None if block.initial is None else initial,
            _title(block.node),
        )


def _title(node: ast.AST) -> str | None:
    """The name of the block in a nest."""
    for part in ast.walk(node):
        call = part.items[0].context_expr if isinstance(part, ast.With) else None
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant):
            return str(call.args[0].value) or None
    return None


def parse_prim(source: Source, scope: Scope, node: ast.FunctionDef, block: ir.Block) -> func.FuncOp | None:
    """Add the prim func of `node` to `block`; return None if errors were reported in `source`.

    Raises `Problem` for an error in its signature.
    """
    head = read_head(node, scope)
    line, begin, _ = source.span(node)
    with Located(source.filename, line, begin + 1):
        function = linalg_form(source, scope, head, block) or _loops(source, scope, head, block)
        if function is not None:
            set_attributes(node, function, head.attributes)
        return function


def _loops(source: Source, scope: Scope, head: Head, block: ir.Block) -> func.FuncOp | None:
    """The prim func on memrefs."""
    types: list[ir.Type] = []
    for parameter in head.parameters:
        if parameter.dtype is None:
            types.append(ir.IndexType.get())
        else:
            types.append(ir.MemRefType.get(parameter.sizes(), parameter.dtype.storage_type()))
    with ir.InsertionPoint(block):
        function = func.FuncOp(head.name, ir.FunctionType.get(types, []), visibility="private")
    function.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    function.attributes[PARAMS] = ir.ArrayAttr.get([p.attribute() for p in head.parameters])
    count = len(source.frames)
    with ir.InsertionPoint(function.add_entry_block()):
        inner = scope.inner()
        arguments = list(function.arguments)
        for parameter, argument in zip(head.parameters, arguments, strict=True):
            if parameter.dtype is None or parameter.shape is None:
                inner.values[parameter.name] = Scalar(argument, INDEX)
            else:
                inner.values[parameter.name] = Buffer(
                    parameter.name, argument, parameter.shape, parameter.dtype, len(parameter.shape)
                )
        for name, origin in head.symbols.items():
            if isinstance(origin, tuple):
                number, axis = origin
                place = arith.constant(ir.IndexType.get(), axis)
                inner.values[name] = Scalar(memref.dim(arguments[number], place), INDEX)
        Body(source, Expressions(inner)).run(head.body)
        func.ReturnOp([])
    if len(source.frames) > count:
        function.operation.erase()
        return None
    return function
