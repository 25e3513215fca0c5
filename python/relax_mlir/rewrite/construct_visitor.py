"""`PyExprVisitor`: a method per construct, called on a whole program in program order."""

from __future__ import annotations

from typing import Any

from relax_mlir.expr import Call, Function, If, LocalFunction, Loop, MatchCast, SeqExpr, Tuple, TupleGetItem
from relax_mlir.expr.bindings import Binding
from relax_mlir.ir_module import IRModule
from relax_mlir.rewrite.constructs import Constructs

LITERALS = (str, bool, int, float)


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
