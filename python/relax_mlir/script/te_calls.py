"""``R.emit_te(function, x, …)`` in a script: the tensor expression function runs while the script is parsed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir.script.call_arguments import arguments
from relax_mlir.script.source import Problem

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions

HINT = "primfunc_name_hint"


def read_emit_te(calls: Calls, expressions: Expressions, node: ast.Call) -> Any:  # noqa: ANN401 - a value, or several
    """Emit the call of the generated prim func. Raises `Problem`."""
    if not calls.runs_python:
        raise Problem(
            node,
            "emit_te runs a Python function, which `parse` never does: use the decorators, or BlockBuilder.emit_te",
            "UnsupportedError",
        )
    if not node.args:
        raise Problem(node, "emit_te takes a function of tensor expressions, then its arguments")
    function = _function(expressions, node.args[0])
    rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
    args, kwargs = arguments(expressions, rest)
    hint = kwargs.pop(HINT, None)
    return expressions.apply(node, calls.signatures.emit_te, function, args, kwargs, hint)


def _function(expressions: Expressions, node: ast.expr) -> Callable[..., Any]:
    """Return the Python function of a name or a lambda."""
    if isinstance(node, ast.Lambda):
        code = compile(ast.fix_missing_locations(ast.Expression(node)), expressions.source.filename, "eval")
        found = eval(code, dict(expressions.scope.captured))
    else:
        found = expressions.evaluate(node)
    if not callable(found):
        raise Problem(node, f"`{ast.unparse(node)[:40]}` is no Python function", "ArgumentError")
    return found  # type: ignore[no-any-return]  # callable, as has been checked
