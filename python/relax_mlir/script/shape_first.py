"""``R.call_tir(shape, f, [x])``, the order of the first Relax design: result shape, callee, arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from relax_mlir.dialects.shape_first import ShapeLike, call_prim_func, call_registered, declared_params
from relax_mlir.dialects.type_queries import all_dims
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.script.call_arguments import named_arguments, packed_arguments
from relax_mlir.script.dimensions import read_dims, symbols_of
from relax_mlir.script.packed_calls import registered_name
from relax_mlir.script.source import Problem
from relax_mlir.script.tir_calls import prim_arguments, tir_variables, unpacked

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions


def is_shape_first(calls: Calls, expressions: Expressions, node: ast.Call) -> bool:
    """True if the first argument of a `call_tir` is the shape of its result."""
    if len(node.args) < 3 or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    first, second = node.args[:2]
    if calls.callee(first) is not None or registered_name(expressions, first) is not None:
        return False
    return calls.named(expressions, second) is not None or registered_name(expressions, second) is not None


def has_dtype(node: ast.Call) -> bool:
    """True if a `call_tir` gives the result's dtype as a keyword."""
    return any(keyword.arg == "dtype" for keyword in node.keywords)


def shape_first(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """Emit the call. The dtypes are the prim func's; for a registered function, that of its first tensor.

    A tuple of shapes instead of a shape gives a tuple of results.
    """
    given = named_arguments(node, ("shape", "callee", "args", "tir_vars"), 3)
    return _call(calls, expressions, node, given)


def shape_and_dtype(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir(f, [x], (n, m), dtype="float32")``: the arguments precede the result's shape and dtype."""
    given = named_arguments(node, ("callee", "args", "shape", "dtype", "tir_vars"), 4)
    return _call(calls, expressions, node, given)


def _call(calls: Calls, expressions: Expressions, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    given = unpacked(expressions, node, given)
    dtype = expressions.evaluate(given["dtype"]) if "dtype" in given else None
    several = _shapes(expressions, given["shape"])
    shapes = [_shape(expressions, shape) for shape in several or [given["shape"]]]
    results = shapes, several is not None
    name = registered_name(expressions, given["callee"])
    if name is not None:
        if "tir_vars" in given:
            raise Problem(
                given["tir_vars"], "a registered function takes no tir_vars; give them as arguments"
            )
        values = packed_arguments(expressions, given["args"])
        made = expressions.apply(node, call_registered, name, *results, values, dtype)
    else:
        callee = calls.named(expressions, given["callee"])
        target = None if callee is None else calls.signatures.signature(callee)
        if target is None:
            raise Problem(given["callee"], "call_tir calls a prim func of the module, cls.f, or a string")
        params = expressions.apply(node, declared_params, target)
        operands = prim_arguments(expressions, given["args"], [p.dtype for p in params])
        extra = tir_variables(expressions, given.get("tir_vars"))
        made = expressions.apply(node, call_prim_func, target, *results, operands, extra, dtype)
    expressions.scope.add_symbols(symbols_of(list(all_dims(made.struct_info))))
    return made


def _shapes(expressions: Expressions, node: ast.expr) -> list[ast.expr] | None:
    """Return the shapes of several results, ``((n, m), (m,))``; None for a single one."""
    if not isinstance(node, ast.Tuple | ast.List) or not node.elts:
        return None
    return list(node.elts) if all(_is_shape(expressions, item) for item in node.elts) else None


def _is_shape(expressions: Expressions, node: ast.expr) -> bool:
    """True if an entry is a shape, literal or value, rather than a dimension."""
    if isinstance(node, ast.Name):
        found = expressions.scope.values.get(node.id)
        is_value = isinstance(found, Value) and isinstance(found.struct_info, Shape)
        return is_value or isinstance(found, tuple)
    return isinstance(node, ast.Tuple | ast.List)


def _shape(expressions: Expressions, node: ast.expr) -> ShapeLike:
    """Read a shape literal or a shape value."""
    is_name = isinstance(node, ast.Name)
    is_value = not isinstance(node, ast.Tuple | ast.List)
    if is_name:
        assert isinstance(node, ast.Name)
        is_value = isinstance(expressions.scope.values.get(node.id), Value)
    if not is_value:
        return read_dims(node, expressions.scope)
    value = expressions.value(node)
    info = value.struct_info
    if isinstance(info, Tensor):
        text = ast.unparse(node)
        raise Problem(node, f"'{text}' is {info}; its shape is {text}.shape", "ShapeError")
    if not isinstance(info, Shape):
        raise Problem(node, f"the shape of the result is {info}, expected a shape", "ShapeError")
    return value
