"""`rewrite_call` and `rewrite_bindings`: new functions in which the values that patterns match are replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.capi import changed
from relax_mlir.dialects.structure import is_pure
from relax_mlir.dialects.value import Value, Var
from relax_mlir.dpl.pattern_context import PatternContext
from relax_mlir.dpl.patterns import DFPattern
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.expr.bindings import Program, binding_of
from relax_mlir.expr.compound import BindingBlock, Call, DataflowBlock, Function
from relax_mlir.ir_module import IRModule, kept
from relax_mlir.ir_queries import FunctionTable, defining_op, entry_block
from relax_mlir.mlir import func as func_dialect
from relax_mlir.mlir import ir
from relax_mlir.rewrite.constructs import PyExprMutator
from relax_mlir.rewrite.function_editing import sort_block
from relax_mlir.rewrite.mutator import replacement, scratch_function
from relax_mlir.rewrite.replace import Replacer

CallRewriter = Callable[[Call, dict[DFPattern, Any]], Any]
"""Takes a call and the values that the sub-patterns match. Returns the replacement: the call itself, another
expression, a value that it has emitted with builders, a number or an array."""

BindingsRewriter = Callable[[dict[DFPattern, Any], dict[Var, Value]], Mapping[Var, Any]]
"""Takes the values that the patterns match, and the expression of each variable of the block. Returns replacements
for some of these variables, each as a `CallRewriter` returns it."""

ROUNDS_PER_BINDING = 4
"""Maximum number of rewrites of a block by `rewrite_bindings`, per binding that it has at first."""


def rewrite_call(pattern: DFPattern, rewriter: CallRewriter, func: func_dialect.FuncOp) -> func_dialect.FuncOp:
    """A copy of `func` in which every call that `pattern` matches is replaced.

    Each call is visited once, in program order, with its rewritten arguments; the output of `rewriter` is not visited.
    `func` is unchanged; install the new function with ``mod["main"] = new``.

    >>> x, y = wildcard(), wildcard()
    >>> pattern = is_op("relax.add")(is_op("relax.multiply")(x, y), wildcard())
    >>> def rewriter(call, found):
    ...     return R.ewise_fma(found[x], found[y], call.args[1])
    >>> mod["main"] = rewrite_call(pattern, rewriter, mod["main"])

    Raises:
        ArgumentError: `func` is no function of a module, or `rewriter` returns no expression.
        ShapeError, DTypeError: a user of a replaced call does not accept the replacement.
    """
    expect("rewrite_call: 'pattern'", pattern, DFPattern, "a pattern")
    expect("rewrite_call: 'func'", func, Function, 'a Relax function of a module: mod["main"]')
    found: func_dialect.FuncOp = _Calls(pattern, rewriter).visit_expr(func)
    return found


class _Calls(PyExprMutator):
    def __init__(self, pattern: DFPattern, rewriter: CallRewriter) -> None:
        super().__init__()
        self._pattern, self._rewriter = pattern, rewriter

    def visit_call_(self, call: Call) -> Any:  # noqa: ANN401 - as the base
        found = self._pattern.extract_matched_expr(call)
        if found is None:
            return super().visit_call_(call)
        made = self._rewriter(call, found)
        if made is None:
            raise ArgumentError("rewrite_call: the rewriter gives None; give the call to leave it as it is")
        return made


def rewrite_bindings(ctx: PatternContext, rewriter: BindingsRewriter, func: func_dialect.FuncOp) -> func_dialect.FuncOp:
    """A copy of `func` in which variables of dataflow blocks that the patterns of `ctx` match are replaced.

    Each dataflow block is rewritten until the patterns match nothing, or `rewriter` returns an empty dictionary. Unused
    bindings are removed, and bindings are sorted so that definitions come before uses. `func` is unchanged.

    >>> with PatternContext() as ctx:
    ...     x, v, w = wildcard(), wildcard(), wildcard()
    ...     first, second = is_op("relax.matmul")(x, v), is_op("relax.matmul")(x, w)
    >>> def rewriter(found, bindings):
    ...     both = R.matmul(found[x], R.concat([found[v], found[w]], axis=1))
    ...     left, right = R.split(both, 2, axis=1)
    ...     return {found[first]: left, found[second]: right}
    >>> mod["main"] = rewrite_bindings(ctx, rewriter, mod["main"])

    Raises:
        ArgumentError: `func` is no function of a module; `rewriter` replaces something that is no variable of the
            block, emits an effect, returns a value that depends on what it replaces, or does not terminate.
        ShapeError, DTypeError: a user of a replaced variable does not accept the replacement.
    """
    expect("rewrite_bindings: 'ctx'", ctx, PatternContext, "a PatternContext")
    expect("rewrite_bindings: 'func'", func, Function, 'a Relax function of a module: mod["main"]')
    source = IRModule(vars(func)["relax_module"])
    work = source.clone()
    copy = work[func.name.value]
    assert isinstance(copy, Function)
    rewritten = False
    with work.context, ir.Location.unknown():
        for block in _dataflow_blocks(copy.operation):
            rewritten |= _Rewrite(copy, block, ctx, rewriter).run()
    if not rewritten:
        return func
    work.verify()
    return kept(work.mlir, copy)


def _dataflow_blocks(root: ir.Operation) -> list[ir.Operation]:
    found = []
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                op = view.operation
                found += [op] if op.name == "relax.dataflow" else _dataflow_blocks(op)
    return found


class _Rewrite:
    """The rewriting of one dataflow block."""

    def __init__(
        self,
        function: func_dialect.FuncOp,
        block: ir.Operation,
        ctx: PatternContext,
        rewriter: BindingsRewriter,
    ) -> None:
        self._function, self._block = function, block
        self._ctx, self._rewriter = ctx, rewriter

    def run(self) -> bool:
        """Rewrite until nothing matches; True if anything matched."""
        most = ROUNDS_PER_BINDING * len(entry_block(self._block).operations)
        for count in range(most):
            if not self._once():
                return count > 0
        raise ArgumentError(
            f"rewrite_bindings: the patterns still find something after {most} rounds: what the rewriter makes is "
            "found again"
        )

    def _once(self) -> bool:
        program = Program(self._function)
        inside = [view.operation for view in entry_block(self._block).operations]
        view = DataflowBlock.view(inside, program)
        found = self._ctx.match_dfb(view)
        if found is None:
            return False
        module = self._function.operation.parent
        assert module is not None, "it stands in a module"
        scratch = scratch_function(module.operation)
        body = scratch.add_entry_block()
        try:
            replacer = Replacer(FunctionTable(module.operation), scratch.operation, body)
            with ir.InsertionPoint(body):
                made = self._made(found, view)
            self._place(made, replacer, program)
        finally:
            program.retire()
            scratch.operation.erase()
        changed(self._function)
        return bool(made)

    def _made(self, found: dict[DFPattern, Any], view: BindingBlock) -> list[tuple[ir.Operation, Value]]:
        """The replaced ops, each with its replacement, in program order."""
        bindings = {var: binding.value for binding in view.bindings for var in binding.vars}
        given = self._rewriter(found, bindings)
        expect("rewrite_bindings: what the rewriter gives", given, Mapping, "a dictionary of variables")
        made = []
        for var, value in given.items():
            op = self._op_of(var)
            binding = binding_of(op)
            ready = replacement(value, binding, "rewrite_bindings: the rewriter")
            assert ready is not None, "bindings in dataflow blocks have a result"
            _ = ready.ssa  # a new expression is emitted here
            made.append((op, ready))
        order = {view.operation: index for index, view in enumerate(entry_block(self._block).operations)}
        return sorted(made, key=lambda pair: order[pair[0]])

    def _op_of(self, var: object) -> ir.Operation:
        identity = var._identity if isinstance(var, Value) else None
        op = None if identity is None else defining_op(identity)
        if op is None or op.parent is None or op.parent.operation != self._block:
            raise ArgumentError(
                f"rewrite_bindings: the rewriter gives something for {var!r}, which the block does not bind"
            )
        return op

    def _place(self, made: Sequence[tuple[ir.Operation, Value]], replacer: Replacer, program: Program) -> None:
        if not made:
            return
        emitted = replacer.emitted()
        for op in emitted:
            if not is_pure(op):
                raise ArgumentError(
                    f"rewrite_bindings: the rewriter emits {binding_of(op).op} for a dataflow block, which holds pure "
                    "ops only"
                )
        first = made[0][0]
        for op in emitted:
            op.move_before(first)
        for op, value in made:
            replacer.place(op, [], value)
        try:
            sort_block(entry_block(self._block))
        except RelaxError as error:
            error.add_hint(
                f"the rewriter gives, for {binding_of(first)!r}, what depends on the variable that it replaces"
            )
            raise
        for view in list(entry_block(self._function).operations):
            self._refresh(view.operation, replacer)
        replacer.sweep()

    def _refresh(self, op: ir.Operation, replacer: Replacer) -> None:
        """Deduce the types of an op and the ops in it again, in order."""
        replacer.refresh(op)
        for region in op.regions:
            for block in region.blocks:
                for view in list(block.operations):
                    self._refresh(view.operation, replacer)
        if len(op.regions):
            replacer.refresh_results(op)
