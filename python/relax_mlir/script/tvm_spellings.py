"""Calls of TVM that say what has another form here, in a script.

| TVM | Here |
|---|---|
| ``R.grad.start_checkpoint(x)``, ``R.grad.end_checkpoint(x)`` | ``x``: they mark what gradients compute twice |
| ``R.call_tir_with_grad(cls.f, args, out, te_grad_name=…)`` | ``R.call_tir(cls.f, args, out)``: likewise |
| ``R.null_value()`` | None: an argument that is not given |
| ``R.ExternFunc("runtime.TVMTensorCreateView", …)(x, shape, dtype, offset)`` | ``R.memory.view(…)`` |
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.memory_view import view
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.script.call_arguments import (
    arguments,
    check_arguments,
    named_arguments,
)
from relax_mlir.script.source import Problem
from relax_mlir.script.tir_calls import read_call_tir

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions

VIEW = "runtime.TVMTensorCreateView"
"""The function of TVM's runtime that `memory.view` becomes there."""
OF_GRADIENTS = ("te_grad_name", "te_grad_kwargs")


def checkpoint(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.grad.start_checkpoint(x)``: the tensor itself."""
    value = expressions.value(named_arguments(node, ("input",), 1)["input"])
    if not isinstance(value.struct_info, Tensor):
        message = f"{ast.unparse(node.func)} takes a tensor, not {value.struct_info}"
        raise Problem(node, message, "ArgumentError")
    return value


def call_tir_with_grad(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir_with_grad(cls.f, args, out, te_grad_name="g")``: a `call_tir`."""
    kept = [keyword for keyword in node.keywords if keyword.arg not in OF_GRADIENTS]
    return read_call_tir(calls, expressions, ast.copy_location(ast.Call(node.func, node.args, kept), node))


def null_value(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.null_value()``."""
    named_arguments(node, (), 0)


def is_view(expressions: Expressions, node: ast.expr) -> bool:
    """Whether a callee is ``R.ExternFunc("runtime.TVMTensorCreateView", …)``."""
    if not isinstance(node, ast.Call) or expressions.scope.path(node.func) != ("R", "ExternFunc"):
        return False
    name = node.args[0] if node.args else None
    return isinstance(name, ast.Constant) and name.value == VIEW


def view_of_runtime(expressions: Expressions, node: ast.Call) -> Value:
    """``R.ExternFunc("runtime.TVMTensorCreateView", …)(x, shape, dtype, offset)``: a `memory.view`."""
    args, kwargs = arguments(expressions, node)
    check_arguments(node, "R.memory.view", view, args, kwargs)
    return expressions.apply(node, view, *args, **kwargs)


READERS: dict[str, Callable[..., Any]] = {
    "grad.start_checkpoint": checkpoint,
    "grad.end_checkpoint": checkpoint,
    "call_tir_with_grad": call_tir_with_grad,
    "null_value": null_value,
}
"""The calls that this file reads."""
