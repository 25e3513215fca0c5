"""Annotated assignments: an annotation refines or coarsens a value, and what it leaves out stays as inferred.

``y: R.Tensor((n, 4)) = x`` keeps the dtype of ``x``, ``s: R.Shape = shape_of(x)`` keeps the rank and values. What is
written as unknown (``_``, None, "?") is unknown from there on.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from relax_mlir.dialects.base import implies
from relax_mlir.dialects.structure import constant, match_shape, shape_expr
from relax_mlir.dialects.types import Callable, Object, Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.ir_queries import defining_op
from relax_mlir.script import packed_calls
from relax_mlir.script.annotations import parts_of, read_annotation
from relax_mlir.script.builtin_calls import as_op
from relax_mlir.script.dimensions import read_dims
from relax_mlir.script.scope import Scope, is_path
from relax_mlir.script.source import Problem

if TYPE_CHECKING:
    from relax_mlir.script.statements import Block


def annotated_value(block: Block, node: ast.AnnAssign) -> tuple[Value | None, StructInfo]:
    """Return the value of ``y: annotation = x`` and its struct info from there on. Raises `Problem`.

    The value is None for a call that is evaluated for its side effects; its result is the empty tuple.
    """
    if node.value is None:
        raise Problem(node, "a declaration without a value")
    scope = block.expressions.scope
    problem: Problem | None = None
    info: StructInfo | None = None
    try:
        info = _of_the_call(block, node) or read_annotation(node.annotation, scope)
    except Problem as error:
        problem = error
    value = _value(block, node.value, info)
    if problem is not None or info is None:
        raise problem or Problem(node.annotation, "no annotation")
    known = Tuple() if value is None else value.struct_info
    wanted = refined(node.annotation, scope, info, known)
    if not implies(known, wanted):
        raise Problem(
            node.annotation,
            f"'{ast.unparse(node.target)}' is annotated as {info}, but its value is {known}; "
            "R.match_shape asserts at run time what is not known here",
            "ShapeError",
        )
    return value, wanted


def _of_the_call(block: Block, node: ast.AnnAssign) -> StructInfo | None:
    """The annotation of ``R.call_tir(s, ...)`` as ``R.Tensor[s, "f32"]``, without the shape if the rank is unknown."""
    scope, call = block.expressions.scope, node.value
    kind, _, named = parts_of(node.annotation, scope)
    shape = named.get("shape") if kind == "Tensor" else None
    if not isinstance(shape, ast.Name) or not isinstance(call, ast.Call):
        return None
    value = scope.values.get(shape.id)
    if not isinstance(value, Value) or value.struct_info != Shape():
        return None
    given = [ast.unparse(item) for item in (*call.args, *(k.value for k in call.keywords))]
    if not is_path(block.path(call.func), "R", "call_tir") or shape.id not in given:
        return None
    return read_annotation(_without_shape(node.annotation, named), scope)


def _without_shape(annotation: ast.expr, named: dict[str, ast.expr]) -> ast.expr:
    """Return the annotation of a tensor without its shape."""
    head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    keywords = [ast.keyword(name, part) for name, part in named.items() if name != "shape"]
    call = ast.Call(head.func if isinstance(head, ast.Call) else head, [], keywords)
    return ast.fix_missing_locations(ast.copy_location(call, annotation))


def _value(block: Block, node: ast.expr, info: StructInfo | None) -> Value | None:
    """Return the value of an expression annotated as `info`; None for a call without a result."""
    expressions = block.expressions
    if isinstance(info, Shape) and isinstance(node, ast.Tuple | ast.List):
        return expressions.apply(node, shape_expr, read_dims(node, expressions.scope))
    if info is not None and isinstance(node, ast.Call):
        path = block.path(node.func)
        if is_path(path, "R", "call_packed", "call_pure_packed") and as_op(expressions, node) is None:
            pure = is_path(path, "R", "call_pure_packed") or (block.in_dataflow and isinstance(info, Shape))
            return packed_calls.annotated_call(expressions, node, info, pure=pure)
    found = expressions.evaluate(node)
    if found is None and not isinstance(node, ast.Constant):
        return None
    if isinstance(found, int | float) and isinstance(info, Tensor) and info.shape == ():
        dtype = None if info.dtype is None else info.dtype.name
        return expressions.apply(node, constant, found, dtype)
    value = expressions.relax_value(node, found)
    if isinstance(node, ast.Call) and is_path(block.path(node.func), "R", "match_shape", "match_cast"):
        return _with_dtype(block, node, value, info)
    return value


def _with_dtype(block: Block, node: ast.expr, value: Value, info: StructInfo | None) -> Value:
    """Return the result of a `match_shape`; one more `match_shape` asserts the annotated dtype if it is unknown."""
    known = value.struct_info
    if not isinstance(info, Tensor) or not isinstance(known, Tensor):
        return value
    if info.dtype is None or known.dtype is not None or known.shape is None:
        return value
    return block.expressions.apply(node, match_shape, value, known.shape, info.dtype.name)


def refined(node: ast.expr, scope: Scope, info: StructInfo, known: StructInfo) -> StructInfo:
    """Return `info`, which the annotation `node` gives, completed from the `known` struct info."""
    _, arguments, named = parts_of(node, scope)
    if isinstance(info, Object):
        return known
    if isinstance(info, Shape) and isinstance(known, Shape):
        return info if arguments or "values" in named else _of_rank(info, named, known)
    if isinstance(info, Callable) and isinstance(known, Callable):
        return info if arguments or named else known
    if isinstance(info, Tuple) and isinstance(known, Tuple) and len(info.fields) == len(known.fields):
        items = list(arguments)
        if len(items) == 1 and isinstance(items[0], ast.List | ast.Tuple):
            items = list(items[0].elts)
        pairs = zip(items, info.fields, known.fields, strict=False)
        return Tuple([refined(*(item, scope, field, other)) for item, field, other in pairs])
    if isinstance(info, Tuple) and isinstance(known, Tuple) and not arguments:
        return known
    if not isinstance(info, Tensor) or not isinstance(known, Tensor):
        return info
    dtype = info.dtype if "dtype" in named else known.dtype
    keeps_shape = "shape" not in named and ("ndim" not in named or info.ndim == known.ndim)
    return Tensor(known.shape if keeps_shape else info.shape, dtype)


def _of_rank(info: Shape, named: dict[str, ast.expr], known: Shape) -> Shape:
    """Complete the annotation of a shape that gives at most the rank."""
    return info if "ndim" in named and info.ndim is not None and info.ndim != known.ndim else known


def coarsened(value: Value, info: StructInfo) -> Value:
    """Give the result of a Relax op the struct info of its annotation."""
    defining = defining_op(value.ssa)
    if defining is None or not defining.name.startswith("relax.") or defining.name == "relax.dataflow":
        return value
    return retyped(value, info)


def retyped(value: Value, info: StructInfo) -> Value:
    """Give `value` another struct info, which its known one implies."""
    if str(value.struct_info) != str(info) or value.ssa.type != info.to_type():
        value.ssa.set_type(info.to_type())
    return Value(value.ssa)
