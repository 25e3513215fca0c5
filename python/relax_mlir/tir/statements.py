"""Statements of a prim func: loops, blocks, stores and conditions, emitted as memref, scf and arith."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.location import located_at, renamed
from relax_mlir.ir_queries import is_used
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import INDEX, Buffer, Scalar, Term
from relax_mlir.mlir import ir, memref
from relax_mlir.script.scope import POISON
from relax_mlir.script.source import Poisoned, Problem, Source
from relax_mlir.tir.expressions import OPERATORS, Expressions
from relax_mlir.tir.signature import read_buffer_type

ADVICE = "store the initial value in a loop of its own before it, in the place of T.init()"


@dataclass(frozen=True)
class Reduction:
    """A block with a ``T.init``, under a loop of one of its reduction axes."""

    loops: tuple[ast.For, ...]
    """The loops from that loop to the block."""
    block: ast.With
    init: ast.With
    variables: frozenset[str]
    """The names in the bindings of its reduction axes."""


def reductions(body: Body, loop: ast.For) -> Iterator[Reduction]:
    """The blocks under `loop` that reduce along it."""
    for found in _blocks(body, loop, ()):
        if found.variables & _names(loop.target):
            yield found


def store_initial(body: Body, reduction: Reduction) -> None:
    """Store the initial value if one of the reduction's loops is empty, at the insertion point.

    Raises `Problem` if that is unknown before the loops.
    """
    inside: set[str] = set()
    spans: list[Span] = []
    for loop in reduction.loops:
        reduced = reduction.variables & _names(loop.target)
        if inside & _names(loop.iter):
            what = "the reduction" if reduced else "a loop"
            raise Problem(
                loop.iter,
                f"the range of {what} depends on a loop around it, so that nobody knows before these loops whether "
                f"the reduction runs over nothing and leaves the value of T.init(): {ADVICE}",
            )
        inside |= reduced
        spans += [span for span in _spans(body, loop) if span.name in reduced and not span.has_elements]
    if not spans:
        return
    with body.loops.when(_is_empty(body, spans)):
        _nest(body.inner(), reduction, reduction.loops)
        block = ir.InsertionPoint.current.block
    _erase_unused(block)


@dataclass(frozen=True)
class Span:
    """A loop variable and its range, as written; the default begin is 0, the default step 1."""

    name: str
    start: ast.expr
    stop: ast.expr
    step: ast.expr

    @property
    def has_elements(self) -> bool:
        """True if the range consists of literals and is not empty."""
        ends = (self.start, self.stop)
        numbers = [e.value for e in ends if isinstance(e, ast.Constant) and isinstance(e.value, int)]
        return len(numbers) == 2 and numbers[0] < numbers[1]


def _spans(body: Body, loop: ast.For) -> list[Span]:
    """The variables of a ``for``; empty if it has errors, which parsing it reports."""
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    if not isinstance(loop.iter, ast.Call) or not all(isinstance(target, ast.Name) for target in targets):
        return []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    zero, one = (ast.copy_location(ast.Constant(number), loop.iter) for number in (0, 1))
    args = loop.iter.args
    if body.path(loop.iter.func) == "grid":
        return [Span(name, zero, stop, one) for name, stop in zip(names, args, strict=False)]
    start, stop = (zero, args[0]) if len(args) == 1 else args[:2]
    return [Span(names[0], start, stop, args[2] if len(args) == 3 else one)]


def _is_empty(body: Body, spans: Sequence[Span]) -> Scalar:
    """True if one of the ranges is empty."""
    empty: Scalar | None = None
    for span in spans:
        stop, start = (Scalar(body.expressions.index(end), INDEX) for end in (span.stop, span.start))
        empty = stop <= start if empty is None else empty | (stop <= start)
    assert empty is not None
    return empty


def _erase_unused(block: ir.Block) -> None:
    for view in reversed(list(block.operations)):
        op = view.operation
        for region in op.regions:
            for inner in region.blocks:
                _erase_unused(inner)
        if op.name.startswith("arith.") and not any(is_used(result) for result in op.results):
            op.erase()


def _nest(body: Body, reduction: Reduction, loops: Sequence[ast.For]) -> None:
    """The spatial loops around the store; the variables of reduction loops have their begin values."""
    if not loops:
        inner = body.inner()
        rest = inner.axes(reduction.block.body)
        inner.guarded(_init_alone(inner, reduction, rest))
        return
    spans = _spans(body, loops[0])
    spatial = [span for span in spans if span.name not in reduction.variables]
    for span in spans:
        if span not in spatial:
            body.values[span.name] = Scalar(body.expressions.index(span.start), INDEX)
    _loops(body, reduction, spatial, loops[1:])


def _loops(body: Body, reduction: Reduction, spans: Sequence[Span], rest: Sequence[ast.For]) -> None:
    if not spans:
        _nest(body, reduction, rest)
        return
    span, *others = spans
    if _is_zero(span.start):
        stop = body.expressions.index(span.stop)
        start, step = body.expressions.index(span.start), body.expressions.index(span.step)
    else:
        start, stop, step = (body.expressions.index(end) for end in (span.start, span.stop, span.step))
    with body.loops.ranged(start, stop, step) as variable:
        inner = body.inner()
        inner.values[span.name] = variable
        _loops(inner, reduction, others, rest)


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _init_alone(body: Body, reduction: Reduction, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body of ``T.init``, with the conditions of ``T.where`` that do not depend on the reduction."""
    tainted = set(reduction.variables) | _axis_names(body, reduction.block, reduces=True)
    kept: list[ast.stmt] = []
    for statement in statements:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and body.path(call.func) == "where" and len(call.args) == 1:
            for condition in _conjuncts(call.args[0]):
                if not tainted & _names(condition):
                    kept.append(_where(statement, call, condition))
    return [*kept, *reduction.init.body]


def _where(statement: ast.stmt, call: ast.Call, condition: ast.expr) -> ast.stmt:
    alone = ast.copy_location(ast.Call(call.func, [condition], []), call)
    return ast.copy_location(ast.Expr(alone), statement)


def _conjuncts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for value in node.values for part in _conjuncts(value)]
    return [node]


def _blocks(body: Body, loop: ast.For, loops: tuple[ast.For, ...]) -> Iterator[Reduction]:
    for statement in loop.body:
        if isinstance(statement, ast.For):
            yield from _blocks(body, statement, (*loops, loop))
        elif isinstance(statement, ast.With):
            init = next((s for s in statement.body if isinstance(s, ast.With) and _is_init(body, s)), None)
            variables = _axis_names(body, statement, reduces=True, bindings=True)
            if init is not None and variables:
                yield Reduction((*loops, loop), statement, init, frozenset(variables))


def _is_init(body: Body, node: ast.With) -> bool:
    call = node.items[0].context_expr
    return isinstance(call, ast.Call) and body.path(call.func) == "init"


def _axis_names(body: Body, block: ast.With, *, reduces: bool, bindings: bool = False) -> set[str]:
    """The names of a block's reduction or spatial axes, or the names in their bindings."""

    found: set[str] = set()
    for statement in block.body:
        call = statement.value if isinstance(statement, ast.Assign) else None
        path = body.path(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call) or path is None:
            continue
        kind = path.removeprefix("axis.")
        target = statement.targets[0]
        if kind == "remap" and path != kind:
            names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            kinds, bound = remapped(call)
            for name, letter, binding in zip(names, kinds, bound, strict=False):
                if (letter == "R") == reduces:
                    found |= _names(binding if bindings else name)
        elif AXES.get(kind) is reduces and path != kind and len(call.args) == 2:
            found |= _names(call.args[1] if bindings else target)
    return found


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


AXES = {"spatial": False, "S": False, "reduce": True, "R": True, "opaque": False, "scan": False}
"""Axis kind → true for reduction axes."""


def remapped(call: ast.Call) -> tuple[str, list[ast.expr]]:
    """The kinds and bindings of ``T.axis.remap("SR", [i, k])``."""
    kinds = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if len(call.args) != 2 or not isinstance(kinds, str) or not isinstance(call.args[1], ast.List | ast.Tuple):
        raise Problem(call, 'write T.axis.remap("SR", [i, k])', "ArgumentError")
    if set(kinds) - set("SR"):
        raise Problem(call.args[0], f"the kinds of axes are S and R, not {kinds!r}", "ArgumentError")
    return kinds, list(call.args[1].elts)


def placed(node: ast.expr, at: ast.expr) -> ast.expr:
    """`node`, which was parsed from a string, with the source location of the string."""
    if node is not at:
        for part in ast.walk(node):
            ast.copy_location(part, at)
    return node


class Located:
    """Give ops that are created in the block a location in the script."""

    def __init__(self, filename: str, line: int, column: int) -> None:
        self._place = located_at(filename, line, column)
        self._location = ir.Location.file(filename, line, column)

    def __enter__(self) -> None:
        self._place.__enter__()
        self._location.__enter__()

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401 - arguments of a context manager
        self._location.__exit__(*error)
        self._place.__exit__(*error)


KINDS = ("serial", "parallel", "vectorized", "unroll")
ACCEPTED = ("reads", "writes", "block_attr")


@dataclass
class Body:
    """Parses the statements of one prim func, or of a block in it, at the insertion point."""

    source: Source
    expressions: Expressions
    depth: int = 0
    starts: list[Scalar] | None = None
    """For each reduction axis of a T.block: a condition, true in its first iteration."""
    assigned: dict[str, int] = field(default_factory=dict)
    """The local scalars, and the depth at which each was bound."""
    initialized: set[ast.With] = field(default_factory=set)
    """The blocks whose initial value is stored separately for an empty reduction."""
    title: str = ""
    """The name of the T.block."""

    def run(self, statements: Sequence[ast.stmt]) -> None:
        """Parse statements in order; errors are reported, and the names that they define are poisoned."""
        for statement in statements:
            try:
                with self.at(statement):
                    self.statement(statement)
            except Problem as problem:
                self.source.report(problem)
                self.poison(statement)
            except Poisoned:
                self.poison(statement)

    def at(self, node: ast.AST) -> Any:  # noqa: ANN401 - a context manager
        line, begin, _ = self.source.span(node)
        return Located(self.source.filename, line, begin + 1)

    def poison(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        self.values[part.id] = POISON

    @property
    def values(self) -> MutableMapping[str, Any]:
        return self.expressions.scope.values

    @property
    def loops(self) -> LoopBuilder:
        """The builder of the statements, whose sizes may use all names."""
        return LoopBuilder(self.values)

    def inner(self, starts: list[Scalar] | None = None) -> Body:
        """A body for a nested region, whose bindings are not visible outside."""
        expressions = Expressions(self.expressions.scope.inner())
        return Body(
            self.source,
            expressions,
            self.depth + 1,
            self.starts if starts is None else starts,
            dict(self.assigned),
            self.initialized,
            self.title,
        )

    def path(self, node: ast.AST) -> str | None:
        """The T language name of a node: ``serial`` for ``T.serial``."""
        found = self.expressions.scope.path(node) if isinstance(node, ast.expr) else None
        return found[1] if found is not None and found[0] == "T" else None

    # -- statements

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            self.assign(node)
        elif isinstance(node, ast.AugAssign):
            self.update(node)
        elif isinstance(node, ast.AnnAssign):
            self.annotated(node)
        elif isinstance(node, ast.For):
            self.loop(node)
        elif isinstance(node, ast.While):
            self.repeat(node)
        elif isinstance(node, ast.If):
            self.conditional(node)
        elif isinstance(node, ast.With):
            self.block(node)
        elif isinstance(node, ast.Expr):
            self.expression(node)
        elif isinstance(node, ast.Assert):
            self.check(node)
        elif isinstance(node, ast.Return):
            raise Problem(node, "a prim func returns nothing: it writes into its last buffers")
        elif isinstance(node, ast.Break | ast.Continue):
            raise Problem(node, "loops have no break or continue; use `while` with a condition, or `if`")
        elif not isinstance(node, ast.Pass):
            raise Problem(node, f"{type(node).__name__} is no statement of a prim func")

    def assign(self, node: ast.Assign) -> None:
        """A store ``B[i] = x``, a local scalar ``x = …``, an allocation, axes of a block."""
        if len(node.targets) != 1:
            raise Problem(node, "one target for each assignment")
        (target,) = node.targets
        if isinstance(target, ast.Subscript):
            self.store(target, node.value, lambda buffer: self.expressions.term(node.value))
            return
        path = self.path(node.value.func) if isinstance(node.value, ast.Call) else None
        if path is not None and path.startswith("axis."):
            raise Problem(node, f"T.{path} stands at the beginning of a T.block")
        if not isinstance(target, ast.Name):
            raise Problem(target, "only names and elements of buffers can be assigned")
        if path in ("alloc_buffer", "decl_buffer", "alloc_local"):
            assert isinstance(node.value, ast.Call)
            self.allocate(target, node.value)
            return
        if isinstance(node.value, ast.Name) and isinstance(self.values.get(node.value.id), Buffer):
            raise Problem(node, "buffers have one name each")
        self.bind(target, self.expressions.term(node.value))

    def bind(self, target: ast.Name, term: Term) -> None:
        """Bind a local scalar, once on each path."""
        name = target.id
        old = self.values.get(name)
        if isinstance(old, Buffer):
            raise Problem(target, f"'{name}' is a buffer; store to an element of it, as in {name}[i] = …")
        if old is not None and old is not POISON and self.assigned.get(name, -1) != self.depth:
            raise Problem(
                target,
                f"'{name}' has a value already, which a loop or branch cannot change; use an element of a "
                'buffer: x = T.alloc_buffer((1,), "float32"), then x[0] = …',
            )
        self.values[name] = term
        self.assigned[name] = self.depth

    def annotated(self, node: ast.AnnAssign) -> None:
        """``x: T.float32 = …``."""
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise Problem(node, "write x: T.float32 = …")
        path = self.path(node.annotation)
        if path is None:
            raise Problem(node.annotation, "expected T.float32 or another dtype")
        wanted = self.expressions.dtype_name(ast.copy_location(ast.Constant(path), node.annotation))
        term = self.expressions.term(node.value)
        if isinstance(term, Scalar) and str(term.dtype) == "index" and wanted == "int64":
            self.bind(node.target, term)
            return
        if isinstance(term, Scalar) and term.dtype.name != wanted:
            raise Problem(
                node.annotation,
                f"'{node.target.id}' is declared {wanted}, but its value is {term.dtype}",
                "DTypeError",
            )
        if not isinstance(term, Scalar):
            call = ast.copy_location(ast.Call(node.annotation, [node.value], []), node.value)
            term = self.expressions.cast(call, wanted, [node.value])
        self.bind(node.target, term)

    def update(self, node: ast.AugAssign) -> None:
        """``B[i] += x``."""
        if not isinstance(node.target, ast.Subscript):
            raise Problem(node, "local scalars do not change; update an element of a buffer")
        name = OPERATORS.get(type(node.op))
        if name is None:
            raise Problem(node, "a prim func has no matrix product; write the loops")
        target = node.target
        buffer = self.expressions.buffer(target.value)
        places = [self.expressions.index(item) for item in self.expressions.indices(target, buffer)]
        old = buffer.load(places)
        value = self.expressions.apply(node, name, [old, self.expressions.term(node.value)])
        self.stored(memref.store(self.expressions.stored(node.value, value, buffer), buffer.ssa, places))

    def store(self, target: ast.Subscript, at: ast.expr, value: Callable[[Buffer], Term]) -> None:
        buffer = self.expressions.buffer(target.value)
        places = [self.expressions.index(item) for item in self.expressions.indices(target, buffer)]
        self.stored(memref.store(self.expressions.stored(at, value(buffer), buffer), buffer.ssa, places))

    def stored(self, made: ir.OpView) -> None:
        """Give a store the name of its block, by which schedules find it."""
        if self.title:
            made.operation.location = renamed(self.title, made.operation.location)

    def allocate(self, target: ast.Name, call: ast.Call) -> None:
        """``B = T.alloc_buffer((n, m), "float32")``: freed at the end of the enclosing block."""
        scope = self.expressions.scope
        shape_node = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "shape"), None)
        shape, dtype = read_buffer_type(call, *_allocated(call), scope)
        assert shape_node is not None
        items = shape_node.elts if isinstance(shape_node, ast.Tuple | ast.List) else [shape_node]
        sizes = []
        for dim, item in zip(shape, items, strict=True):
            if not isinstance(dim, int):
                text = item.value if isinstance(item, ast.Constant) else None
                given = ast.parse(text, mode="eval").body if isinstance(text, str) else item
                sizes.append(self.expressions.size(placed(given, item)))
        if target.id in self.values and self.values[target.id] is not POISON:
            raise Problem(target, f"'{target.id}' has a meaning already")
        node = next((keyword.value for keyword in call.keywords if keyword.arg == "scope"), None)
        memory = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        self.values[target.id] = self.loops.alloc_sized(shape, sizes, dtype, target.id, memory)

    def expression(self, node: ast.Expr) -> None:
        """``T.evaluate(…)``, ``T.reads``, strings."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        path = self.path(node.value.func) if isinstance(node.value, ast.Call) else None
        if path in ACCEPTED:
            self.accept(node.value, path)
            return
        if path == "where":
            raise Problem(node, "T.where stands at the beginning of a T.block")
        if path == "evaluate" and isinstance(node.value, ast.Call) and len(node.value.args) == 1:
            self.expressions.term(node.value.args[0])
            return
        raise Problem(node, "this does nothing: store its value into a buffer, or write T.evaluate(…)")

    def accept(self, call: ast.expr, path: str | None) -> None:
        """Check ``T.reads(A[i, j])`` and ``T.writes``: the buffers must exist and have these dimensions."""
        if path not in ("reads", "writes") or not isinstance(call, ast.Call):
            return
        regions: list[ast.expr] = []
        for item in call.args:
            regions += item.elts if isinstance(item, ast.List | ast.Tuple) else [item]
        for region in regions:
            if isinstance(region, ast.Name):
                self.expressions.buffer(region)
                continue
            if not isinstance(region, ast.Subscript):
                raise Problem(region, f"T.{path} takes parts of buffers, such as A[i, j] or A[0:n]")
            buffer = self.expressions.buffer(region.value)
            given = region.slice.elts if isinstance(region.slice, ast.Tuple) else [region.slice]
            if len(given) != buffer.rank:
                raise Problem(region, f"'{buffer.name}' has {buffer.rank} dimensions, {len(given)} given", "ShapeError")

    def check(self, node: ast.Assert) -> None:
        """``assert c, "message"``: raises an error from the call, and does not end the process."""
        condition = self.expressions.condition(node.test)
        message = node.msg.value if isinstance(node.msg, ast.Constant) else ast.unparse(node.test)
        self.loops.check(condition, str(message))

    # -- control

    def conditional(self, node: ast.If) -> None:
        with self.loops.when(self.expressions.condition(node.test)):
            self.inner().run(node.body)
        if node.orelse:
            with self.loops.otherwise():
                self.inner().run(node.orelse)

    def repeat(self, node: ast.While) -> None:
        if node.orelse:
            raise Problem(node.orelse[0], "`else` of a loop is not part of a prim func")
        with self.loops.repeat(lambda: self.expressions.condition(node.test)):
            self.inner().run(node.body)

    def loop(self, node: ast.For) -> None:
        """``for i in T.serial(n)``, ``range``, ``for i, j in T.grid(n, m)``."""
        if node.orelse:
            raise Problem(node.orelse[0], "`else` of a loop is not part of a prim func")
        for reduction in reductions(self, node):
            if reduction.block not in self.initialized:
                self.initialized.add(reduction.block)
                store_initial(self, reduction)
        kind, ranges = self.ranges(node.iter)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if len(targets) != len(ranges):
            raise Problem(node.target, f"{len(targets)} loop variables for {len(ranges)} loops")
        self.nest(targets, ranges, kind, node.body)

    def nest(
        self,
        targets: Sequence[ast.expr],
        ranges: Sequence[tuple[ir.Value, ir.Value, ir.Value]],
        kind: str,
        statements: Sequence[ast.stmt],
    ) -> None:
        if not targets:
            self.run(statements)
            return
        start, stop, step = ranges[0]
        target = targets[0]
        if not isinstance(target, ast.Name):
            raise Problem(target, "a loop variable is a name")
        self.free_name(target)
        with self.loops.ranged(start, stop, step, kind) as variable:
            inner = self.inner()
            inner.values[target.id] = variable
            inner.nest(targets[1:], ranges[1:], kind, statements)

    def free_name(self, target: ast.Name) -> None:
        """Check that a loop variable does not hide a buffer; other loops may use the same name."""
        if isinstance(self.values.get(target.id), Buffer):
            raise Problem(target, f"'{target.id}' is a buffer")

    def ranges(self, node: ast.expr) -> tuple[str, list[tuple[ir.Value, ir.Value, ir.Value]]]:
        """The loop annotation, and begin, end and step of each loop of the nest."""
        if not isinstance(node, ast.Call):
            raise Problem(node, "a loop runs over range(n), T.serial(n), T.grid(n, m), …")
        name = self.path(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "range":
            name = "serial"
        if name not in (*KINDS, "grid"):
            raise Problem(node, "a loop runs over range(n), T.serial(n), T.grid(n, m), T.parallel, T.unroll, …")
        for keyword in node.keywords:
            if keyword.arg != "annotations":
                raise Problem(keyword, f"a loop takes no argument '{keyword.arg}'")
        if not node.args or (name != "grid" and len(node.args) > 3):
            raise Problem(node, "a loop takes its end, or begin and end", "ArgumentError")
        terms = [self.expressions.index(a, "the bound of a loop") for a in node.args]
        if len(terms) == 3 and name != "grid":
            step = node.args[2].value if isinstance(node.args[2], ast.Constant) else 0
            if not isinstance(step, int) or step < 1:
                raise Problem(node.args[2], "the step of a loop is a positive integer, written out")
            return str(name), [(terms[0], terms[1], terms[2])]
        if len(terms) == 2 and name != "grid":
            return str(name), [(terms[0], terms[1], self.loops.index(1))]
        zero, one = (self.loops.index(end) for end in (0, 1))
        return "serial" if name == "grid" else str(name), [(zero, end, one) for end in terms]

    # -- blocks

    def block(self, node: ast.With) -> None:
        """``with T.block("name"):`` and ``with T.init():``."""
        call = node.items[0].context_expr
        name = self.path(call.func) if isinstance(call, ast.Call) else None
        if name == "init":
            self.initial(node)
            return
        if len(node.items) != 1 or name != "block":
            raise Problem(call, '`with` opens a T.block("name"), or T.init() in one')
        inner = self.inner(starts=[])
        inner.depth = self.depth
        inner.title = _title(call)
        rest = inner.axes(node.body)
        inner.guarded(rest)

    def guarded(self, statements: Sequence[ast.stmt]) -> None:
        """Emit the body of a block, under its T.where if it has one."""
        for number, statement in enumerate(statements):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(call, ast.Call) and self.path(call.func) == "where":
                rest = [*statements[:number], *statements[number + 1 :]]
                if len(call.args) != 1:
                    raise Problem(call, "T.where takes one condition", "ArgumentError")
                with self.loops.when(self.expressions.condition(call.args[0])):
                    self.inner().guarded(rest)
                return
        self.run(statements)

    def axes(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Parse the axes of a block; return the remaining statements."""
        rest: list[ast.stmt] = []
        for statement in statements:
            call = statement.value if isinstance(statement, ast.Assign) else None
            name = self.path(call.func) if isinstance(call, ast.Call) else None
            if not isinstance(statement, ast.Assign) or name is None or not name.startswith("axis."):
                rest.append(statement)
                continue
            assert isinstance(call, ast.Call)
            try:
                with self.at(statement):
                    self.axis(statement, call, name.removeprefix("axis."))
            except Problem as problem:
                self.source.report(problem)
                self.poison(statement)
            except Poisoned:
                self.poison(statement)
        return rest

    def axis(self, node: ast.Assign, call: ast.Call, kind: str) -> None:
        """``vi = T.axis.spatial(n, i)``, ``vi, vk = T.axis.remap("SR", [i, k])``."""
        target = node.targets[0]
        if kind == "remap":
            names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            kinds, bindings = remapped(call)
            if not len(names) == len(kinds) == len(bindings):
                raise Problem(
                    node,
                    f"{len(names)} axes, {len(kinds)} kinds and {len(bindings)} bindings must be as many",
                )
            for name, letter, binding in zip(names, kinds, bindings, strict=True):
                self.bind_axis(name, letter == "R", binding, None)
            return
        if kind not in AXES:
            raise Problem(call, f"T.axis.{kind} is none of {', '.join(AXES)}, remap")
        if len(call.args) != 2:
            raise Problem(call, f"T.axis.{kind} takes the extent and what the axis is bound to", "ArgumentError")
        extent, binding = call.args
        start = extent.elts[0] if isinstance(extent, ast.Tuple) else None
        ends = extent.elts[1:] if isinstance(extent, ast.Tuple) else [extent]
        for end in ends:
            self.expressions.index(end, "the extent of an axis")
        self.bind_axis(target, AXES[kind], binding, start)

    def bind_axis(self, target: ast.expr, reduces: bool, binding: ast.expr, start: ast.expr | None) -> None:
        if not isinstance(target, ast.Name):
            raise Problem(target, "an axis is a name")
        value = self.expressions.index(binding, "the axis")
        self.values[target.id] = Scalar(value, INDEX)
        self.assigned[target.id] = self.depth
        if reduces and self.starts is not None:
            first = self.loops.index(0) if start is None else self.expressions.index(start)
            self.starts.append(Scalar(value, INDEX) == Scalar(first, INDEX))

    def initial(self, node: ast.With) -> None:
        """``with T.init():``, executed in the first iteration of all reduction axes."""
        if not self.starts:
            if self.starts is None:
                raise Problem(node, "T.init() stands in a T.block")
            self.inner().run(node.body)
            return
        condition = self.starts[0]
        for other in self.starts[1:]:
            condition = condition & other
        with self.loops.when(condition):
            self.inner().run(node.body)


def _title(call: ast.expr) -> str:
    """The name in T.block."""
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""


def _allocated(call: ast.Call) -> tuple[list[ast.expr], list[ast.keyword]]:
    """The arguments of an allocation that give its shape and dtype."""
    return list(call.args[:2]), call.keywords
