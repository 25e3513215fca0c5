"""`PyExprVisitor` and `PyExprMutator`: a method per class of expressions, bindings and blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.control import flag_of
from relax_mlir.dialects.nodes import Node
from relax_mlir.dialects.structure import is_pure
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, RelaxError, UnknownNameError, expect
from relax_mlir.expr import (
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    LocalFunction,
    Loop,
    MatchCast,
    Op,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relax_mlir.expr.bindings import Binding, binding_of, is_hidden
from relax_mlir.expr.emitter import LITERALS, Emitter
from relax_mlir.ir_module import IRModule, functions_of, kept
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_effects_explicit
from relax_mlir.rewrite.mutator import replacement, scratch_function
from relax_mlir.rewrite.replace import Replacer

KINDS: tuple[tuple[type, str], ...] = (
    (DataflowVar, "dataflow_var"),
    (Var, "var"),
    (Constant, "constant"),
    (ShapeExpr, "shape_expr"),
    (PrimValue, "prim_value"),
    (Tuple, "tuple"),
    (TupleGetItem, "tuple_getitem"),
    (Call, "call"),
    (If, "if"),
    (Loop, "loop"),
    (SeqExpr, "seq"),
    (Function, "function"),
    (LocalFunction, "function"),
    (ExternFunc, "extern_func"),
    (GlobalVar, "global_var"),
    (Op, "op"),
)
"""The name of the method for each class of expressions."""


def _calls(name: str) -> Callable[[Any, Any], Any]:
    """A method whose default is the method `name`."""
    return lambda self, given: getattr(self, name)(given)


def _unchanged(self: Constructs, given: Any) -> Any:  # noqa: ANN401 - an expression
    """The default of a leaf."""
    return given


class Constructs:
    """Base of visitors and mutators with a method per construct.

    A method is called ``visit_call`` (the older name) or ``visit_call_`` (as in TVM). Unless it is overridden, the
    former calls the latter, which by default visits the nested constructs; `super` calls the default of either.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - passed on
        super().__init_subclass__(**kwargs)
        if Constructs in cls.__bases__:
            return  # visitors and mutators themselves
        known = {name for base in cls.__mro__[1:] for name in vars(base) if name.startswith("visit_")}
        for name in vars(cls):
            if name.startswith("visit_") and name not in known:
                hint = "ExprVisitor and ExprMutator of relax_mlir.rewrite have a method per op"
                raise UnknownNameError(f"method of class {cls.__name__}:", name, known, hint)

    def _dispatch(self, given: Any) -> Any:  # noqa: ANN401 - any expression; its method's result
        """Call the method of an expression.

        Raises:
            ArgumentError: it is no expression, or its method calls `visit_expr` on it again.
        """
        kind = next((name for cls, name in KINDS if isinstance(given, cls)), None)
        if kind is None:
            raise ArgumentError(
                f"{type(self).__name__}.visit_expr: {given!r} ({type(given).__name__}) is no expression"
            )
        with self._entered(given, kind):
            return getattr(self, f"visit_{kind}")(given)

    @contextlib.contextmanager
    def _entered(self, given: object, kind: str) -> Iterator[None]:
        """In the context, visiting the same expression is an error, as it would not terminate."""
        active: list[object] = vars(self).setdefault("_active", [])
        key = _key(given)
        if key is not None and key in active:
            raise ArgumentError(
                f"{type(self).__name__}.visit_{kind} visits its own expression {given!r} again, which never ends; "
                f"super().visit_{kind}_(…) visits what is inside"
            )
        active.append(key)
        try:
            yield
        finally:
            active.pop()

    # -- bindings and blocks

    def visit_binding_block(self, block: BindingBlock) -> Any:  # noqa: ANN401
        """A block of either kind."""
        if isinstance(block, DataflowBlock):
            return self.visit_dataflow_block(block)
        return self.visit_binding_block_(block)

    def visit_binding_block_(self, block: BindingBlock) -> Any:  # noqa: ANN401
        """A `BindingBlock`; by default its bindings, in order."""
        for binding in block.bindings:
            self.visit_binding(binding)

    visit_dataflow_block = _calls("visit_dataflow_block_")

    def visit_dataflow_block_(self, block: DataflowBlock) -> Any:  # noqa: ANN401
        """A `DataflowBlock`; by default its bindings, in order."""
        return Constructs.visit_binding_block_(self, block)

    def visit_binding(self, binding: Binding) -> Any:  # noqa: ANN401
        """A binding of either kind."""
        if isinstance(binding, MatchCast):
            return self.visit_match_cast(binding)
        return self.visit_var_binding(binding)

    visit_var_binding = _calls("visit_var_binding_")
    visit_match_cast = _calls("visit_match_cast_")
    visit_match_cast_ = _calls("visit_match_shape")

    def visit_var_def(self, var: Var) -> Any:  # noqa: ANN401
        """A variable of either kind at its binding, or a parameter."""
        if isinstance(var, DataflowVar):
            return self.visit_dataflow_var_def_(var)
        return self.visit_var_def_(var)

    def visit_var_def_(self, var: Var) -> Any:  # noqa: ANN401
        """A variable at its binding, or a parameter."""

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Any:  # noqa: ANN401
        """A variable of a dataflow block at its binding."""

    # -- expressions: leaves, which are returned unchanged

    visit_var = _calls("visit_var_")
    visit_dataflow_var = _calls("visit_dataflow_var_")
    visit_dataflow_var_ = _calls("visit_var")
    visit_constant = _calls("visit_constant_")
    visit_shape_expr = _calls("visit_shape_expr_")
    visit_prim_value = _calls("visit_prim_value_")
    visit_extern_func = _calls("visit_extern_func_")
    visit_global_var = _calls("visit_global_var_")
    visit_op = _calls("visit_op_")
    visit_var_ = visit_constant_ = visit_shape_expr_ = visit_prim_value_ = _unchanged
    visit_extern_func_ = visit_global_var_ = visit_op_ = _unchanged

    # -- expressions that hold others, whose defaults visitors and mutators define

    visit_tuple = _calls("visit_tuple_")
    visit_tuple_getitem = _calls("visit_tuple_getitem_")
    visit_call = _calls("visit_call_")
    visit_if = _calls("visit_if_")
    visit_loop = _calls("visit_loop_")
    visit_seq = _calls("visit_seq_expr_")
    visit_function = _calls("visit_function_")


def _key(given: object) -> Any:  # noqa: ANN401 - what two views of one expression share; None for leaves
    if isinstance(given, SeqExpr):
        return ("sequence", id(given)) if given.block is None else ("sequence", given.block)
    if isinstance(given, Function):
        return ("function", given.operation)
    if isinstance(given, Node):
        return ("node", given.operation if given.is_view else id(given))
    return None


# `PyExprVisitor`: a method per construct, called on a whole program in program order.


class PyExprVisitor(Constructs):
    """Visits every construct of a program in program order: functions, blocks, bindings, variables, expressions.

    Subclasses define the methods that they need, under the older names (``visit_call``) or those of TVM
    (``visit_call_``); ``super().visit_call_(call)`` visits the nested constructs. A method for an unknown construct is
    an error when the class is defined.

    >>> class CountCalls(PyExprVisitor):
    ...     count = 0
    ...
    ...     def visit_call_(self, call):
    ...         self.count += 1
    ...         super().visit_call_(call)
    """

    def visit(self, target: Any) -> None:  # noqa: ANN401 - a module, a function or an expression
        """Visit all Relax functions of an `IRModule`, one function, or an expression."""
        if not isinstance(target, IRModule):
            self.visit_expr(target)
            return
        for function in target.functions():
            if isinstance(function, Function):
                self.visit_expr(function)

    def visit_expr(self, expr: Any) -> Any:  # noqa: ANN401 - any expression; its method's result
        """Visit an expression: call its method.

        Raises:
            ArgumentError: `expr` is no expression, or its own method visits it again.
        """
        return self._dispatch(expr)

    def visit_var_binding_(self, binding: Binding) -> None:
        self.visit_expr(binding.value)
        for var in binding.vars or (binding.var,):
            self.visit_var_def(var)

    def visit_match_shape(self, binding: MatchCast) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_tuple_(self, value: Tuple) -> None:
        self._visit_all(value.fields)

    def visit_tuple_getitem_(self, value: TupleGetItem) -> None:
        self.visit_expr(value.tuple_value)

    def visit_call_(self, call: Call) -> None:
        self.visit_expr(call.op)
        self._visit_all(call.args)

    def _visit_all(self, given: tuple[Any, ...]) -> None:
        for item in given:
            # A GlobalVar is a string, too.
            if not isinstance(item, LITERALS) or hasattr(item, "name_hint"):
                self.visit_expr(item)

    def visit_if_(self, conditional: If) -> None:
        self.visit_expr(conditional.cond)
        self.visit_expr(conditional.true_branch)
        self.visit_expr(conditional.false_branch)

    def visit_loop_(self, loop: Loop) -> None:
        self._visit_all(loop.operands)
        for var in loop.params:
            self.visit_var_def(var)
        for body in loop.bodies:
            self.visit_expr(body)

    def visit_seq_expr_(self, seq: SeqExpr) -> None:
        for block in seq.blocks:
            self.visit_binding_block(block)
        self.visit_expr(seq.body)

    def visit_function_(self, function: Function | LocalFunction) -> None:
        for param in function.params:
            self.visit_var_def(param)
        self.visit_expr(function.body)


# `PyExprMutator`: a method per construct, which returns the replacement of an expression.


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
                raise ArgumentError(f"{type(self).__name__}: there is no module: give it, {type(self).__name__}(mod)")
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
            raise ArgumentError(f"{type(self).__name__}.visit_expr: visit a function of a module, not {expr!r} alone")
        if isinstance(expr, Node) and not isinstance(expr, SeqExpr) and expr.is_view and walk.is_new(expr.operation):
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
        views = entry_block(around.operation).operations
        functions = {view.name.value: view for view in views if isinstance(view, func.FuncOp)}
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


def _is_same(made: Any, given: Any) -> bool:  # noqa: ANN401 - expressions
    """True if an expression is unchanged."""
    if made is given:
        return True
    if isinstance(made, Value) and isinstance(given, Value):
        return made.same_as(given)
    return not isinstance(made, Value) and not isinstance(given, Value) and bool(made == given)
