"""Initial values of blocks with empty reductions: these are stored before the loops, which do not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.ir_queries import is_used
from relax_mlir.mlir import arith, ir, scf
from relax_mlir.script.source import Problem
from relax_mlir.tir.values import INDEX, Scalar

if TYPE_CHECKING:
    from relax_mlir.tir.statements import Body

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
    condition = _is_empty(body, spans)
    op = scf.IfOp(condition, [])
    with ir.InsertionPoint(op.then_block):
        _nest(body.inner(), reduction, reduction.loops)
        scf.YieldOp([])
    _erase_unused(op.then_block)


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


def _is_empty(body: Body, spans: Sequence[Span]) -> ir.Value:
    empty: ir.Value | None = None
    for span in spans:
        stop, start = body.expressions.index(span.stop), body.expressions.index(span.start)
        over = arith.cmpi(arith.CmpIPredicate.sle, stop, start)
        empty = over if empty is None else arith.ori(empty, over)
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
    op = scf.ForOp(start, stop, step)
    with ir.InsertionPoint(op.body):
        inner = body.inner()
        inner.values[span.name] = Scalar(op.induction_variable, INDEX)
        _loops(inner, reduction, others, rest)
        scf.YieldOp([])


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
    from relax_mlir.tir.block_syntax import AXES, remapped

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
