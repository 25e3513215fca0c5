"""``R.match_shape(x, (n, 4))`` and ``R.match_cast(x, annotation)`` in a script: run-time checks that define symbols."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.structure import make_tuple, match_shape, tuple_get_item
from relax_mlir.dialects.types import Object, Shape, StructInfo, Tensor, Tuple, as_dim
from relax_mlir.dialects.value import Value
from relax_mlir.script.annotations import read_annotation
from relax_mlir.script.call_arguments import named_arguments
from relax_mlir.script.dimensions import read_dims, symbols_of
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions


def read_match(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.match_shape(x, (n, 4))``; also ``R.match_cast(x, R.Tensor(("n", 4), "float32"))``."""
    parts = named_arguments(node, ("value", "pattern", "dtype"), 2)
    value = expressions.value(parts["value"])
    dtype = expressions.evaluate(parts["dtype"]) if "dtype" in parts else None
    if _is_shape(expressions, parts["pattern"]):
        pattern = read_dims(parts["pattern"], expressions.scope)
        return _matched(expressions, node, value, pattern, dtype)
    info = read_annotation(parts["pattern"], expressions.scope)
    return _cast(expressions, node, parts["pattern"], value, info, dtype)


def _is_shape(expressions: Expressions, pattern: ast.expr) -> bool:
    """True if a pattern is a shape (``(n, 4)``, ``R.shape([n, 4])``, ``x.shape``, or a name), not an annotation."""
    scope = expressions.scope
    path = scope.path(pattern.func if isinstance(pattern, ast.Call) else pattern)
    if path is not None:
        return path in (("R", "shape"), ("R", "ShapeExpr"))
    if isinstance(pattern, ast.Name):
        found = scope.values.get(pattern.id, scope.captured.get(pattern.id))
        return isinstance(found, Value | Expr | tuple | list | int)
    return isinstance(pattern, ast.Tuple | ast.List | ast.Attribute)


def _cast(
    expressions: Expressions,
    node: ast.Call,
    pattern: ast.expr,
    value: Value,
    info: StructInfo,
    dtype: Any,  # noqa: ANN401 - what the script says, checked by the builder
) -> Value:
    """Return `value`, checked against an annotation; a tuple is checked field by field."""
    if isinstance(info, Object):
        return value  # R.Any accepts any value
    if isinstance(info, Tuple):
        known = value.struct_info
        if not isinstance(known, Tuple) or len(known.fields) != len(info.fields):
            message = f"the value is {known}, which is no tuple of {len(info.fields)} fields"
            raise Problem(node, message, "ShapeError")
        fields = []
        for number, field in enumerate(info.fields):
            item = expressions.apply(node, tuple_get_item, value, number)
            fields.append(_cast(expressions, node, pattern, item, field, None))
        return expressions.apply(node, make_tuple, *fields)
    if isinstance(info, Tensor) and info.shape is not None:
        return _matched(expressions, node, value, info.shape, dtype or (info.dtype and info.dtype.name))
    if isinstance(info, Shape) and info.values is not None:
        return _matched(expressions, node, value, info.values, dtype)
    raise Problem(pattern, "the pattern is a shape of known rank, such as (n, 4)")


def _matched(
    expressions: Expressions,
    node: ast.Call,
    value: Value,
    pattern: Sequence[Any],
    dtype: Any,  # noqa: ANN401 - what the script says, checked by the builder
) -> Value:
    result = expressions.apply(node, match_shape, value, pattern, dtype)
    expressions.scope.add_symbols(symbols_of([as_dim(p) for p in pattern]))
    return result
