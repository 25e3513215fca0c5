"""Calls of prim funcs in a script: `call_tir`, and calls on explicit memory."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.analysis.declared_sizes import filled_buffers
from relax_mlir.dialects import vm
from relax_mlir.dialects.calls import CallTirOp
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.memory import call_prim
from relax_mlir.dialects.structure import match_shape, prim_value
from relax_mlir.dialects.types import Tensor, Tuple, as_dim, dims_attr
from relax_mlir.dialects.value import Value, create
from relax_mlir.error import UnknownNameError
from relax_mlir.mlir import func, ir
from relax_mlir.script.call_arguments import OUT, destinations, named_arguments
from relax_mlir.script.dimensions import read_dims
from relax_mlir.script.packed_calls import dps_packed, registered_name
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
    from relax_mlir.script.expressions import Expressions

SPELLINGS = {**OUT, "gvar": "callee", "func": "callee"}
"""TVM's argument names of calls of prim funcs."""


def read_call_tir(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir(cls.prim, (x, y), R.Tensor(...), tir_vars=[...])``; `call_dps_packed` for a registered function."""
    parts = named_arguments(node, ("callee", "args", "out", "tir_vars"), 3, SPELLINGS)
    parts = unpacked(expressions, node, parts)
    if registered_name(expressions, parts["callee"]) is not None and "tir_vars" not in parts:
        return dps_packed(expressions, node, parts["callee"], parts["args"], parts["out"])
    callee = prim_func(calls, expressions, "call_tir", parts["callee"])
    operands = prim_arguments(expressions, parts["args"])
    out = destinations(expressions, parts["out"])
    extra = tir_variables(expressions, parts.get("tir_vars"))

    def build() -> Value:
        attributes = {
            "callee": ir.FlatSymbolRefAttr.get(callee),
            "tir_vars": dims_attr([as_dim(v) for v in extra]),
        }
        return create(CallTirOp, [operands], attributes, [out])[0]

    return expressions.apply(node, build)


def prim_arguments(expressions: Expressions, node: ast.expr, dtypes: Sequence[DType | None] = ()) -> Value:
    """Return the arguments of a prim func as one tuple; a single value becomes a tuple of one.

    `dtypes`: the dtypes that the prim func declares; a `match_shape` asserts them for tensors of unknown dtype.
    """
    if not isinstance(node, ast.Tuple | ast.List):
        value = _argument(expressions, node, expressions.evaluate(node))
        if isinstance(value.struct_info, Tuple):
            return value
        return expressions.relax_value(node, (_of_dtype(expressions, node, value, [*dtypes[:1], None][0]),))
    fields: list[Value] = []
    for item in node.elts:
        given = expressions.starred(item) if isinstance(item, ast.Starred) else [expressions.evaluate(item)]
        for found in given:
            dtype = dtypes[len(fields)] if len(fields) < len(dtypes) else None
            fields.append(_of_dtype(expressions, item, _argument(expressions, item, found), dtype))
    return expressions.relax_value(node, tuple(fields))


def _of_dtype(expressions: Expressions, node: ast.expr, value: Value, dtype: DType | None) -> Value:
    info = value.struct_info
    if dtype is None or not isinstance(info, Tensor) or info.dtype is not None or info.shape is None:
        return value
    return expressions.apply(node, match_shape, value, info.shape, dtype.name)


def _argument(expressions: Expressions, node: ast.expr, found: Any) -> Value:  # noqa: ANN401 - what `evaluate` gave
    """Convert one argument to a value; an int becomes an integer value."""
    if isinstance(found, int) and not isinstance(found, bool):
        return expressions.apply(node, prim_value, found)
    return expressions.relax_value(node, found)


def tir_variables(expressions: Expressions, node: ast.expr | None) -> list[Dim | None]:
    """Read the integers of ``tir_vars=``: a list, ``R.shape([...])``, or a shape value."""
    return [] if node is None else read_dims(node, expressions.scope)


def with_trailing_shape(parts: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Split the arguments of a `call_tir_dyn`: the last one is the shape for `tir_vars`."""
    given = parts.get("args")
    if "tir_vars" in parts or not isinstance(given, ast.Tuple | ast.List) or not given.elts:
        return parts
    arguments = ast.copy_location(ast.Tuple(given.elts[:-1], ast.Load()), given)
    return {**parts, "args": arguments, "tir_vars": given.elts[-1]}


def unpacked(expressions: Expressions, node: ast.Call, parts: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Split the arguments of ``R.call_tir_dyn(..., [x, (m,)], ...)`` if the last one is a shape."""
    given = parts["args"]
    if expressions.scope.path(node.func) != ("R", "call_tir_dyn") or not isinstance(
        given, ast.Tuple | ast.List
    ):
        return parts
    last = given.elts[-1] if given.elts else None
    is_shape = isinstance(last, ast.Tuple | ast.List) or (
        isinstance(last, ast.Call) and expressions.scope.path(last.func) == ("R", "shape")
    )
    return with_trailing_shape(parts) if is_shape else parts


def read_call_prim(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.call_prim(cls.prim, (x, out), outputs=1)``, for its side effects."""
    parts = named_arguments(node, ("callee", "args", "outputs"), 2)
    _call_on_memory(calls, expressions, node, parts, call_prim)


def read_call_tir_dyn(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.vm.call_tir_dyn(cls.prim, (x, out), R.shape([n]))``, for its side effects.

    TVM passes the shape as the last argument.
    """
    parts = named_arguments(node, ("callee", "args", "tir_vars", "outputs"), 2)
    parts = with_trailing_shape(parts)
    parts.setdefault("tir_vars", ast.copy_location(ast.Tuple([], ast.Load()), node))
    _call_on_memory(calls, expressions, node, parts, vm.call_tir_dyn)


def _call_on_memory(
    calls: Calls,
    expressions: Expressions,
    node: ast.Call,
    parts: dict[str, ast.expr],
    build: Callable[..., None],
) -> None:
    callee = prim_func(calls, expressions, ast.unparse(node.func).removeprefix("R."), parts["callee"])
    operands = [expressions.value(parts[name]) for name in ("args", "tir_vars") if name in parts]
    outputs = expressions.evaluate(parts["outputs"]) if "outputs" in parts else 1
    expressions.apply(node, build, callee, *operands, outputs=outputs)


def direct_call(expressions: Expressions, node: ast.Call, target: func.FuncOp) -> None:
    """``cls.prim(x, out)``, TVM's form of calls on explicit memory, which write the output tensors."""
    name = target.name.value
    outputs = filled_buffers(target)
    if len(node.args) + (outputs or 1) <= len(target.arguments):
        raise Problem(
            node,
            f"'{name}' is a prim func: call it by R.call_tir(cls.{name}, args, out); with all of its "
            f"{len(target.arguments)} arguments it fills the last of them",
        )
    if outputs is None:
        raise Problem(
            node,
            f"'{name}' is a prim func that does not fill its last buffers alone: call it by "
            f"R.call_prim(cls.{name}, args, outputs=…)",
        )
    written = ast.copy_location(ast.Tuple(list(node.args), ast.Load()), node)
    expressions.apply(node, call_prim, name, prim_arguments(expressions, written), outputs=outputs)


def prim_func(calls: Calls, expressions: Expressions, what: str, node: ast.expr) -> str:
    """Return the name of the prim func ``cls.f``, or ``f``, that the op `what` calls."""
    callee = calls.named(expressions, node)
    if callee is None:
        raise Problem(
            node,
            f"{what} calls a prim func of the module: write cls.f (R.call_dps_packed calls registered functions)",
        )
    try:
        calls.signatures.require(callee)
    except UnknownNameError as error:
        raise Problem.of(node, error) from None
    return callee
