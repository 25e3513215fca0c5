"""`PyExprMutator`: a method per construct, which returns the replacement of an expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.control import flag_of
from relax_mlir.dialects.nodes import Node
from relax_mlir.dialects.structure import is_pure
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.expr import (
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    If,
    LocalFunction,
    Loop,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relax_mlir.expr.bindings import Binding, binding_of
from relax_mlir.expr.emitter import LITERALS, Emitter
from relax_mlir.expr.program import is_hidden
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import functions_of, kept
from relax_mlir.passes.explicit_effects import make_effects_explicit
from relax_mlir.rewrite.constructs import Constructs
from relax_mlir.rewrite.mutator import replacement, scratch_function
from relax_mlir.rewrite.replace import Replacer


class PyExprMutator(Constructs):
    """Visits a function like a `PyExprVisitor`, and builds a new function from the results of the methods.

    The method of an expression returns its replacement: the expression itself or None to keep it, a new expression
    (``Call("relax.multiply", call.args)``), the result of a builder (``R.multiply(x, y)``,
    ``self.builder_.emit_te(…)``), a number or an array. ``super().visit_call_(call)`` and `visit_expr_post_order`
    return the call with its arguments rewritten. If the method of a binding returns a value, this replaces the bound
    value.

    New expressions are emitted by the builders, with deduced shapes and dtypes, before the binding, and get its name
    and location; they are not visited. Unused values are removed, and the types of the users of a new value are deduced
    again. The original function does not change. If a function with `call_packed` changes, its effects are explicit in
    the new function.

    >>> class Double(PyExprMutator):
    ...     def visit_call_(self, call):
    ...         call = super().visit_call_(call)
    ...         return Call("relax.multiply", call.args) if call.op == Op.get("relax.add") else call
    >>> new_module = Double().visit_module(module)
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        expect(f"{type(self).__name__}: 'mod'", mod, IRModule | None, "an IRModule or None")
        self._given = mod
        self._builder: BlockBuilder | None = None
        self._walk: _Walk | None = None

    @property
    def builder_(self) -> BlockBuilder:
        """The builder of a copy of the module, for the prim funcs that methods create and the functions that they add.

        ``self.builder_.update_func(name, function)`` and ``self.builder_.get()`` return the new module.
        """
        if self._builder is None:
            if self._given is None:
                raise ArgumentError(
                    f"{type(self).__name__}: there is no module: give it, {type(self).__name__}(mod)"
                )
            self._builder = BlockBuilder(self._given.clone())
        return self._builder

    def visit_module(self, mod: IRModule) -> IRModule:
        """Visit all Relax functions; return a new, verified module."""
        expect(f"{type(self).__name__}.visit_module: 'mod'", mod, IRModule, "an IRModule")
        self._given, self._builder = mod, None
        for name, function in list(mod.functions.items()):
            if isinstance(function, Function):
                made = self.visit_expr(function)
                if made is not function:
                    self.builder_.update_func(name, made)
        return self.builder_.get()

    def visit_expr(self, expr: Any) -> Any:  # noqa: ANN401 - any expression; its replacement
        """The replacement of an expression. For a function of a module: a new one, or the same if nothing changes.

        Raises:
            ArgumentError: `expr` is no expression, or its own method visits it again; a method returned no expression.
            ShapeError, DTypeError: a user of a new value does not accept it.
        """
        if isinstance(expr, Function) and self._walk is None:
            return self._new_function(expr)
        walk = self._walk
        if walk is None:
            raise ArgumentError(
                f"{type(self).__name__}.visit_expr: visit a function of a module, not {expr!r} alone"
            )
        if (
            isinstance(expr, Node)
            and not isinstance(expr, SeqExpr)
            and expr.is_view
            and walk.is_new(expr.operation)
        ):
            return expr
        found = self._dispatch(expr)
        return expr if found is None else found

    def visit_expr_post_order(self, expr: Any) -> Any:  # noqa: ANN401 - any expression
        """The expression with the expressions in it rewritten, without calling its method."""
        if isinstance(expr, Call):
            return PyExprMutator.visit_call_(self, expr)
        if isinstance(expr, Tuple):
            return PyExprMutator.visit_tuple_(self, expr)
        if isinstance(expr, TupleGetItem):
            return PyExprMutator.visit_tuple_getitem_(self, expr)
        return PyExprMutator.visit_if_(self, expr) if isinstance(expr, If) else expr

    def lookup_binding(self, var: Any) -> Value | None:  # noqa: ANN401 - any expression
        """The expression to which a variable is bound; None for a parameter, and for anything but a variable."""
        identity = var._identity if isinstance(var, Var) else None
        op = None if identity is None else defining_op(identity)
        return None if op is None or self._walk is None else self._walk.program.node(op)

    # -- defaults

    def visit_binding(self, binding: Binding) -> Any:  # noqa: ANN401
        walk = self._current()
        walk.replacer.refresh(binding.operation)
        with walk.emitting(binding):
            given = super().visit_binding(binding)
            if given is not None:
                walk.settle(type(self).__name__, binding, given)

    def visit_var_binding_(self, binding: Binding) -> Any:  # noqa: ANN401
        value = binding.value
        made = self.visit_expr(value)
        for var in binding.vars or (binding.var,):
            self.visit_var_def(var)
        if made is not value:
            self._current().settle(type(self).__name__, binding, made)

    def visit_match_shape(self, binding: MatchCast) -> Any:  # noqa: ANN401
        value = binding.value
        made = self.visit_expr(value)
        self.visit_var_def(binding.var)
        if made is not value:
            self._current().operand(binding.operation, 0, made)

    def visit_binding_block_(self, block: BindingBlock) -> Any:  # noqa: ANN401
        for op in block.ops:
            self._current().replacer.refresh(op)
            if not is_hidden(op):
                self.visit_binding(binding_of(op, self._current().program))

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:  # noqa: ANN401
        PyExprMutator.visit_binding_block_(self, block)
        around = block.ops[0].parent if block.ops else None
        if around is not None:
            self._current().refresh_around(around.operation)

    def visit_tuple_(self, value: Tuple) -> Any:  # noqa: ANN401
        fields = self._all(value.fields)
        return value if fields is None else Tuple(fields)

    def visit_tuple_getitem_(self, value: TupleGetItem) -> Any:  # noqa: ANN401
        whole = self.visit_expr(value.tuple_value)
        return (
            value
            if whole is value.tuple_value or whole.same_as(value.tuple_value)
            else TupleGetItem(whole, value.index)
        )

    def visit_call_(self, call: Call) -> Any:  # noqa: ANN401
        op, args = call.op, call.args
        made_op, made = self.visit_expr(op), self._all(args)
        if made is None and _is_same(made_op, op):
            return call
        return Call(made_op, args if made is None else made, call.attrs, call.sinfo_args)

    def _all(self, given: Sequence[Any]) -> list[Any] | None:
        """The replacements of some expressions; None if all are kept."""
        made = [
            item if isinstance(item, LITERALS) and not hasattr(item, "name_hint") else self.visit_expr(item)
            for item in given
        ]
        return None if all(map(_is_same, made, given)) else made

    def visit_if_(self, conditional: If) -> Any:  # noqa: ANN401
        given = conditional.cond
        made = self.visit_expr(given)
        if not _is_same(made, given):
            self._current().condition(conditional.operation, made)
        self.visit_expr(conditional.true_branch)
        self.visit_expr(conditional.false_branch)
        self._current().refresh_around(conditional.operation)
        return conditional

    def visit_loop_(self, loop: Loop) -> Any:  # noqa: ANN401
        for index, given in enumerate(loop.operands):
            made = self.visit_expr(given)
            if not _is_same(made, given):
                self._current().operand(loop.operation, index, made)
        for var in loop.params:
            self.visit_var_def(var)
        for body in loop.bodies:
            self.visit_expr(body)
        self._current().refresh_around(loop.operation)
        return loop

    def visit_seq_expr_(self, seq: SeqExpr) -> Any:  # noqa: ANN401
        if seq.block is None:
            return seq  # there is no branch
        walk, end = self._current(), seq.block.operations[-1].operation
        with walk.sequence():
            for block in seq.blocks:
                self.visit_binding_block(block)
            self._visit_end(walk, end)
        return seq

    def _visit_end(self, walk: _Walk, end: ir.Operation) -> None:
        """Visit the value of a sequence, the operand of the last op of its block."""
        if end.name == "scf.condition":
            given = walk.program.expression(end.operands[0])
            made = self.visit_expr(given)
            if not _is_same(made, given):
                walk.condition(end, made)
            first = 1
        else:
            first = 0
        for index in range(first, len(end.operands)):
            given = walk.program.expression(end.operands[index])
            made = self.visit_expr(given)
            if not _is_same(made, given):
                walk.operand(end, index, made)

    def visit_function_(self, function: Function | LocalFunction) -> Any:  # noqa: ANN401
        for param in function.params:
            self.visit_var_def(param)
        self.visit_expr(function.body)
        if isinstance(function, LocalFunction):
            self._current().refresh_around(function.operation)
        return function

    # -- the walk

    def _current(self) -> _Walk:
        if self._walk is None:
            raise ArgumentError(f"{type(self).__name__}: this is called while a function is visited")
        return self._walk

    def _new_function(self, function: Function) -> func.FuncOp:
        around = function.operation.parent
        if around is None or around.operation.name != "builtin.module":
            raise ArgumentError(f"{type(self).__name__}.visit_expr: {function!r} stands in no module")
        source = IRModule(vars(function)["relax_module"])
        if self._given is None:
            self._given = source
        work = source.clone()
        name = function.name.value
        copy = work[name]
        assert isinstance(copy, Function)
        with work.context, ir.Location.unknown():
            self._walk = _Walk(copy, self.builder_)
            try:
                made = self._dispatch(copy)
                changed = self._walk.finish()
            finally:
                self._walk.close()
                self._walk = None
        if isinstance(made, func.FuncOp) and made is not copy:
            return made
        return kept(work.mlir, copy) if changed else function


class _Walk:
    """The state of one walk over a copy of a function."""

    def __init__(self, function: Function, builder: BlockBuilder) -> None:
        make_effects_explicit(function)
        self.program = function.program
        self._function = function.operation
        around = function.operation.parent
        assert around is not None, "it stands in a module"
        scratch = scratch_function(around.operation)
        functions = {view.name.value: view for view in _functions(around.operation)}
        for view in functions_of(builder.mod.mlir):
            functions.setdefault(view.name.value, view)
        self.replacer = Replacer(functions, scratch.operation, scratch.add_entry_block())
        self._new: set[ir.Value] = set()
        self._marks: list[int] = []
        self._editing = builder.editing(function)
        self._editing.__enter__()
        self._changed = False

    def close(self) -> None:
        """End the walk; emitted ops that have not been placed are discarded."""
        self._editing.__exit__(None, None, None)
        self.program.retire()
        self.replacer.scratch.erase()

    def is_new(self, op: ir.Operation) -> bool:
        """True if this walk has created the op."""
        return len(op.results) > 0 and op.results[0] in self._new

    @contextmanager
    def emitting(self, binding: Binding) -> Iterator[None]:
        """In the context, builders emit ops for a binding; at its end, ops not yet placed are inserted before it."""
        self._marks.append(len(self.replacer.emitted()))
        try:
            with ir.InsertionPoint(self.replacer.scratch_block):
                yield
            self._place(binding.operation, None)
        except RelaxError as error:
            if " was visited" not in str(error):
                error.add_hint(f"while {binding!r} of function '{binding.function}' was visited")
            raise
        finally:
            self._marks.pop()

    def settle(self, who: str, binding: Binding, given: Any) -> None:  # noqa: ANN401 - result of a method
        """Replace the bound value of the binding by the result of a method."""
        if isinstance(given, Node) and given.is_view and given.operation == binding.operation:
            return
        has_result = len(binding.operation.results) > 0
        if not has_result and isinstance(given, Call):
            Emitter().call(given)
            value = None
        else:
            value = replacement(given, binding, who)
        if value is not None:
            _ = value.ssa  # emits a new expression
        self._place(binding.operation, value)
        if not has_result:
            self.replacer.remove(binding.operation)
            self._changed = True

    def _place(self, op: ir.Operation, value: Value | None) -> None:
        emitted = self.replacer.emitted()[self._marks[-1] :]
        parent = op.parent
        in_dataflow = parent is not None and parent.operation.name == "relax.dataflow"
        for item in emitted:
            if in_dataflow and not is_pure(item):
                raise ArgumentError(
                    f"{binding_of(item).op} is emitted in a dataflow block, which holds pure ops without control "
                    "flow only"
                )
            self._new.update(item.results)
        self._changed = self._changed or bool(emitted) or value is not None
        self.replacer.place(op, emitted, value)

    @contextmanager
    def sequence(self) -> Iterator[None]:
        """In the context, emitted ops belong in the blocks of a sequence."""
        self._marks.append(len(self.replacer.emitted()))
        try:
            with ir.InsertionPoint(self.replacer.scratch_block):
                yield
        finally:
            self._marks.pop()

    def operand(self, op: ir.Operation, index: int, given: Any) -> None:  # noqa: ANN401 - an expression or a number
        """Replace an operand of an op by `given`; a `match_shape` restores the operand's type if needed."""
        old = self.program.expression(op.operands[index])
        value = replacement(given, binding_of(op), "visit_expr", old)
        assert value is not None, "an operand has a value"
        ssa = value.ssa
        self._place(op, None)
        self.replacer.exchange(op, index, ssa)
        self._changed = True

    def condition(self, op: ir.Operation, given: Any) -> None:  # noqa: ANN401 - an expression
        """Replace the condition of an op by `given`, a bool tensor of rank 0."""
        if not isinstance(given, Value):
            raise ArgumentError(f"a condition is replaced by {given!r}, expected a bool tensor of rank 0")
        flag = given.ssa
        if not isinstance(flag.type, ir.IntegerType) or flag.type.width != 1:
            flag = flag_of("if", given)
        self._place(op, None)
        self.replacer.exchange(op, 0, flag)
        self._changed = True

    def refresh_around(self, op: ir.Operation) -> None:
        """Deduce the results of an op whose regions have been visited."""
        self.replacer.refresh_results(op)

    def finish(self) -> bool:
        """Deduce types up to the function's type, and remove unused values; true if anything has changed."""
        if self._changed:
            self._refresh(entry_block(self._function))
            self.replacer.sweep()
        return self._changed

    def _refresh(self, block: ir.Block) -> None:
        """Refresh all ops again, in order, since a method may not have visited every part."""
        for view in list(block.operations):
            op = view.operation
            self.replacer.refresh(op)
            for region in op.regions:
                for nested in region.blocks:
                    self._refresh(nested)
            if len(op.regions) and not has_trait(op, EndsBlock):
                self.replacer.refresh_results(op)


def _functions(module: ir.Operation) -> list[func.FuncOp]:
    return [view for view in entry_block(module).operations if isinstance(view, func.FuncOp)]


def _is_same(made: Any, given: Any) -> bool:  # noqa: ANN401 - expressions
    """True if an expression is unchanged."""
    if made is given:
        return True
    if isinstance(made, Value) and isinstance(given, Value):
        return made.same_as(given)
    return not isinstance(made, Value) and not isinstance(given, Value) and bool(made == given)
