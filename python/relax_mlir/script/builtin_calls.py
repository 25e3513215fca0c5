"""Virtual machine builtins in the form of the first Relax design, as packed functions with named arguments.

``R.call_packed("vm.builtin.alloc_shape_heap", size=4)`` is read as ``R.vm.alloc_shape_heap(4)``, and so on. Calls in
the form of bytecode, whose arguments are all values, remain calls of packed functions.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions

PREFIX = "vm.builtin."
OPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "alloc_shape_heap": ("vm.alloc_shape_heap", ("size",)),
    "store_shape": ("vm.store_shape", ("shape", "heap", "indices")),
    "load_shape": ("vm.load_shape", ("heap", "indices")),
    "alloc_storage": ("vm.alloc_storage", ("size", "device", "storage_scope", "dtype")),
    "alloc_tensor": ("vm.alloc_tensor", ("storage", "shape", "offset", "dtype")),
    "shape_of": ("shape_of", ("x",)),
    "call_tir_dyn": ("vm.call_tir_dyn", ("callee", "args", "tir_vars")),
    "free_shape_heap": ("vm.kill_object", ("value",)),
    "free_storage": ("vm.kill_object", ("value",)),
    "free_tensor": ("vm.kill_object", ("value",)),
}
"""Builtin → op and argument names."""
SHAPES = (ast.Tuple, ast.List)


def as_op(expressions: Expressions, node: ast.Call) -> ast.Call | None:
    """Rewrite a `call_packed` of a builtin as a call of its op; return None for any other call.

    The form with op arguments is recognised by keyword arguments, or by a tuple or list as the last argument, where
    bytecode has integers. The callee may also be a function of the module: ``R.call_packed(cls.f, x, out)`` is read as
    ``cls.f(x, out)``.
    """
    name = node.args[0] if node.args else None
    if name is not None and expressions.calls.named(expressions, name) is not None:
        return ast.copy_location(ast.Call(name, node.args[1:], node.keywords), node)
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    if not isinstance(node.func, ast.Attribute) or not name.value.startswith(PREFIX):
        return None
    builtin = name.value.removeprefix(PREFIX)
    if builtin not in OPS:
        return None
    op, names = OPS[builtin]
    given = node.args[1:]
    is_design = builtin == "shape_of" or builtin.startswith("free_")
    is_design = is_design or any(keyword.arg in names for keyword in node.keywords)
    is_design = is_design or any(isinstance(item, SHAPES) for item in given[-1:])
    if not is_design or any(keyword.arg not in names for keyword in node.keywords):
        return None
    if builtin == "call_tir_dyn":
        given = [given[0], ast.Tuple(given[1:], ast.Load())] if given else given
    keywords = [ast.keyword(str(k.arg), _argument(builtin, str(k.arg), k.value)) for k in node.keywords]
    positional = [_argument(builtin, key, item) for key, item in zip(names, given, strict=False)]
    function: ast.expr = node.func.value
    for part in op.split("."):
        function = ast.Attribute(function, part, ast.Load())
    call = ast.Call(function, [*positional, *given[len(names) :]], keywords)
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _argument(builtin: str, name: str, node: ast.expr) -> ast.expr:
    """Convert an argument to the form that the op takes: indices as a list, the size of a shape heap as an integer."""
    if name == "size" and builtin == "alloc_shape_heap" and isinstance(node, SHAPES) and len(node.elts) == 1:
        return node.elts[0]
    if name == "indices" and isinstance(node, ast.Tuple):
        return ast.copy_location(ast.List(node.elts, ast.Load()), node)
    return node
