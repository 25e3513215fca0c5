"""``R.call_tir(shape, f, [x])``, the order of the first design: the result's shape, the callee, the arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.analysis.declared_sizes import prim_params
from relax_mlir.dialects.calls import CallTirOp, call_dps_packed
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.shape_functions import bind_shape
from relax_mlir.dialects.types import Shape, Tensor, Tuple, as_dim, dims_attr
from relax_mlir.dialects.value import Value, create
from relax_mlir.error import UnknownNameError
from relax_mlir.mlir import func, ir
from relax_mlir.script.call_arguments import packed_arguments
from relax_mlir.script.dimensions import read_dims, symbols_of
from relax_mlir.script.source import Problem
from relax_mlir.script.tir_calls import prim_arguments
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions


def is_shape_first(calls: Calls, expressions: Expressions, node: ast.Call) -> bool:
    """Whether a `call_tir` begins with the shape of its result."""
    if len(node.args) < 3 or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    first, second = node.args[:2]
    if calls.callee(first) is not None or isinstance(first, ast.Constant):
        return False
    return _named(calls, expressions, second) is not None or _is_text(second)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _named(calls: Calls, expressions: Expressions, node: ast.expr) -> str | None:
    """The function of the module that an expression names: ``cls.f``, or ``f`` where nothing hides it."""
    callee = calls.callee(node)
    if callee is not None or not isinstance(node, ast.Name) or node.id in expressions.scope.values:
        return callee
    try:
        calls.signatures.require(node.id)
    except UnknownNameError:
        return None
    return node.id


def shape_first(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """The call; the dtypes are the prim func's, or (of a registered function) that of its first tensor.

    A tuple of shapes in the place of one makes a tuple of results.
    """
    written, callee, arguments = node.args[:3]
    several = _shapes(expressions, written)
    shapes = [_dims(expressions, shape) for shape in several or [written]]
    if _is_text(callee):
        assert isinstance(callee, ast.Constant) and isinstance(callee.value, str)
        values = packed_arguments(expressions, arguments)
        dtype = next(filter(None, map(_dtype, values)), None)
        if dtype is None:
            raise Problem(
                node, "the dtype of the result is not known: write call_tir(f, args, R.Tensor(...))"
            )
        found = [Tensor(dims, dtype) for dims in shapes]
        results = found if several else found[0]
        return expressions.apply(node, call_dps_packed, callee.value, values, results)
    name = _named(calls, expressions, callee)
    assert name is not None
    target = calls.signatures.signature(name)
    params = None if not isinstance(target, func.FuncOp) else prim_params(target)
    operands = prim_arguments(expressions, arguments, [p.dtype for p in params or ()])
    extra = read_dims(_tir_vars(node), expressions.scope)
    if params is None:
        raise Problem(
            node, f"'{name}' is no prim func written in script: write call_tir(f, args, R.Tensor(...))"
        )
    outs = [p for p in params if p.shape is not None][-len(shapes) :]
    if len(outs) < len(shapes):
        raise Problem(node, f"prim func '{name}' has {len(outs)} buffers for {len(shapes)} results")

    def build() -> Value:
        attributes = {
            "callee": ir.FlatSymbolRefAttr.get(name),
            "tir_vars": dims_attr([as_dim(v) for v in extra]),
        }
        infos = [Tensor(dims, out.dtype) for dims, out in zip(shapes, outs, strict=True)]
        return create(CallTirOp, [operands], attributes, [Tuple(infos) if several else infos[0]])[0]

    return expressions.apply(node, build)


def _shapes(expressions: Expressions, node: ast.expr) -> list[ast.expr] | None:
    """The shapes of several results, ``((n, m), (m,))``; None where there is one."""
    if not isinstance(node, ast.Tuple | ast.List) or not node.elts:
        return None
    return list(node.elts) if all(_is_shape(expressions, item) for item in node.elts) else None


def _is_shape(expressions: Expressions, node: ast.expr) -> bool:
    """Whether an entry is a shape, written out or a value, rather than a dimension."""
    if isinstance(node, ast.Name):
        found = expressions.scope.values.get(node.id)
        is_value = isinstance(found, Value) and isinstance(found.struct_info, Shape)
        return is_value or isinstance(found, tuple)
    return isinstance(node, ast.Tuple | ast.List)


def _dtype(item: Any) -> DType | None:  # noqa: ANN401 - a value or a literal
    """The dtype of a tensor."""
    info = item.struct_info if isinstance(item, Value) else None
    return info.dtype if isinstance(info, Tensor) else None


def _dims(expressions: Expressions, node: ast.expr) -> list[Dim | None]:
    """The dimensions of a written shape, or of a shape value, which get symbols where they are not known."""
    if isinstance(node, ast.Tuple | ast.List | ast.Name):
        return read_dims(node, expressions.scope)
    value = expressions.value(node)
    if isinstance(value.struct_info, Shape):
        value = expressions.apply(node, bind_shape, value)
    info = value.struct_info
    if not isinstance(info, Shape) or info.values is None:
        raise Problem(
            node, f"the shape of the result is {info}; match_shape it to a known one first", "ShapeError"
        )
    expressions.scope.symbols |= symbols_of(info.values)
    return list(info.values)


def _tir_vars(node: ast.Call) -> ast.expr:
    if len(node.args) > 3:
        return node.args[3]
    for keyword in node.keywords:
        if keyword.arg != "tir_vars":
            raise Problem(keyword, f"call_tir takes no argument '{keyword.arg}' here")
        return keyword.value
    return ast.copy_location(ast.Tuple([], ast.Load()), node)
