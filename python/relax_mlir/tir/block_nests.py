"""Parse the loop nests of prim funcs in block form (see `relax_mlir.tir.blocks`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.script.dimensions import read_dim
from relax_mlir.script.scope import Scope
from relax_mlir.symbolic import Dim
from relax_mlir.tir.block_syntax import AXES, remapped
from relax_mlir.tir.expressions import OPERATORS
from relax_mlir.tir.values import Buffer

COMBINERS = ("add", "multiply", "max", "min")
SKIPPED = ("reads", "writes", "block_attr")
LOOPS = ("serial", "parallel", "vectorized", "unroll")


class NotBlocks(Exception):
    """The prim func is not in block form."""


@dataclass(frozen=True)
class Axis:
    """An axis of a block: its extent, and whether it is a reduction axis."""

    name: str
    extent: Dim
    reduces: bool


@dataclass(frozen=True)
class Access:
    """An access to a buffer: the number of the block axis per dimension; None: the index 0 in a dimension of 1."""

    buffer: str
    axes: tuple[int | None, ...]

    @property
    def moved(self) -> list[int]:
        """The block axes that the access uses, in order."""
        return [axis for axis in self.axes if axis is not None]


@dataclass
class Nest:
    """A loop nest around one block."""

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

    def nest(self, node: ast.stmt) -> Nest:
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
        if None in written.axes or sorted(written.moved) != parallel or not axes:
            raise NotBlocks
        start = None if initial is None else self.initial(initial, written, axes)
        nest = Nest(node, axes, written, value, update, start, locals=scalars)
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

    def check(self, nest: Nest) -> None:
        """Raise `NotBlocks` unless every axis is used, and reductions have an initial value and a combiner."""
        reduces = any(axis.reduces for axis in nest.axes)
        if reduces != (nest.initial is not None):
            raise NotBlocks
        names = [local_name(scalar) for scalar in nest.locals]
        if len({*names, *(axis.name for axis in nest.axes)}) != len(names) + len(nest.axes):
            raise NotBlocks
        if reduces and any(nest.target in self.loads(scalar.value, nest.axes) for scalar in nest.locals):
            raise NotBlocks
        covered = {number for access in (nest.target, *nest.loads) for number in access.moved}
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
