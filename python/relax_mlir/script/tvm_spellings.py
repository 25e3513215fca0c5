"""TVM calls in a script that have another form here.

| TVM | Here |
|---|---|
| ``R.call_tir_with_grad(cls.f, args, out, te_grad_name=…)`` | ``R.call_tir(cls.f, args, out)`` |
| ``R.null_value()`` | None: an omitted argument |
| ``R.wrap_param(x)``, ``R.builtin.stop_lift_params(x)`` | ``x`` |
| ``R.call_inplace_packed("f", x, inplace_indices=[0], out=…)`` | ``R.call_packed("f", x, out=…)``, checked |
| ``R.call_py_func("f", (x,), out=…)`` | ``R.call_packed("f", x, out=…)`` |
| ``R.layout_transform(x, index_map=T.index_map(lambda i: …))`` | the map as text |
| ``R.ExternFunc("runtime.TVMTensorCreateView", …)(x, shape, dtype, offset)`` | ``R.memory.view(…)`` |
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.calls_of_python import call_inplace_packed, call_py_func
from relax_mlir.dialects.layout_transform import layout_transform
from relax_mlir.dialects.memory_view import view
from relax_mlir.dialects.value import Value
from relax_mlir.script.call_arguments import (
    OUT,
    arguments,
    check_arguments,
    destinations,
    named_arguments,
    packed_arguments,
    packed_elements,
)
from relax_mlir.script.packed_calls import function_name
from relax_mlir.script.source import Problem
from relax_mlir.script.tir_calls import read_call_tir

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions

VIEW = "runtime.TVMTensorCreateView"
"""TVM's runtime function that corresponds to `memory.view`."""
OF_GRADIENTS = ("te_grad_name", "te_grad_kwargs")


def call_tir_with_grad(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir_with_grad(cls.f, args, out, te_grad_name="g")``: a `call_tir`."""
    kept = [keyword for keyword in node.keywords if keyword.arg not in OF_GRADIENTS]
    return read_call_tir(calls, expressions, ast.copy_location(ast.Call(node.func, node.args, kept), node))


def null_value(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.null_value()``."""
    named_arguments(node, (), 0)


def itself(name: str) -> Callable[..., Value]:
    """Return a reader of ``R.wrap_param(x)``, whose argument is called `name`; it returns the argument."""

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        return expressions.value(named_arguments(node, (name,), 1)[name])

    return read


def inplace_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_inplace_packed("f", x, inplace_indices=[0], out=R.Tensor((n,)))``."""
    given = {OUT.get(str(keyword.arg), str(keyword.arg)): keyword.value for keyword in node.keywords}
    for name in ("inplace_indices", "out"):
        if name not in given:
            raise Problem(node, f"R.call_inplace_packed: argument '{name}' is missing", "ArgumentError")
    unknown = given.keys() - {"inplace_indices", "out"}
    if unknown or not node.args:
        what = f"it has no argument '{min(unknown)}'" if unknown else "the name of the function is missing"
        raise Problem(
            node,
            f"{ast.unparse(node.func)}: {what}; expected (function, …, inplace_indices, out)",
            "ArgumentError",
        )
    return expressions.apply(
        node,
        call_inplace_packed,
        function_name(expressions, node.args[0]),
        *packed_elements(expressions, node.args[1:]),
        inplace_indices=expressions.evaluate(given["inplace_indices"]),
        out=destinations(expressions, given["out"]),
    )


def py_func(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_py_func("f", (x,), out=R.Tensor((n,)))``."""
    parts = named_arguments(node, ("func_name", "args", "out"), 3, OUT)
    args = packed_arguments(expressions, parts["args"])
    name, out = function_name(expressions, parts["func_name"]), destinations(expressions, parts["out"])
    return expressions.apply(node, call_py_func, name, args, out)


def transformed_layout(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.layout_transform(x, index_map=T.index_map(lambda i: (i // 4, i % 4)), pad_value=0)``."""
    names = ("x", "index_map", "pad_value", "axis_separators", "input_axis_separators")
    parts = named_arguments(node, names, 2)
    mapping = parts["index_map"]
    if isinstance(mapping, ast.Call) and expressions.scope.path(mapping.func) == ("T", "index_map"):
        mapping = named_arguments(mapping, ("mapping",), 1)["mapping"]
    text = ast.unparse(mapping) if isinstance(mapping, ast.Lambda) else expressions.evaluate(mapping)
    rest = {name: expressions.evaluate(parts[name]) for name in names[2:] if name in parts}
    return expressions.apply(node, layout_transform, expressions.value(parts["x"]), text, **rest)


def is_view(expressions: Expressions, node: ast.expr) -> bool:
    """True if a callee is ``R.ExternFunc("runtime.TVMTensorCreateView", …)``."""
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
    "call_tir_with_grad": call_tir_with_grad,
    "null_value": null_value,
    "wrap_param": itself("data"),
    "builtin.stop_lift_params": itself("x"),
    "call_inplace_packed": inplace_packed,
    "call_py_func": py_func,
    "layout_transform": transformed_layout,
}
"""The calls that this module reads."""
