"""Attributes of values in a script: ``x.shape``, ``x.dtype`` and ``x.ndim``, resolved at parse time."""

from __future__ import annotations

import ast
from typing import Any

from relax_mlir import op
from relax_mlir.dialects.python_protocols import Dims
from relax_mlir.dialects.types import Shape, Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.script.python_names import ATTRIBUTES
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim

KNOWN = ("shape", "dtype", "ndim")


def of_value(node: ast.Attribute, value: Value) -> Any:  # noqa: ANN401 - dimensions, a text or an int
    """Return the attribute of `value` that `node` reads. Raises `Problem`."""
    info, text = value.struct_info, ast.unparse(node.value)
    if node.attr == "shape" and isinstance(info, Tensor | Shape):
        return shape(node, value) if _is_known(info) else _shape_value(node, value)
    if node.attr in ("dtype", "ndim") and isinstance(info, Tensor):
        found = value.dtype if node.attr == "dtype" else value.ndim
        if found is None:
            raise Problem(
                node, f"the value is {info}: its {node.attr} is known at run time only", "ShapeError"
            )
        return found
    if node.attr in ATTRIBUTES and not hasattr(op, node.attr):
        hint = f"write {ATTRIBUTES[node.attr].format(text)}"
    elif callable(getattr(op, node.attr, None)):
        hint = f"the ops are functions: R.{node.attr}({text}, …)"
    else:
        hint = f"tensors have {', '.join(KNOWN)}; the ops are functions, as in R.exp({text})"
    raise Problem(node, f"a value has no attribute '{node.attr}' in a script; {hint}")


def _is_known(info: Tensor | Shape) -> bool:
    dims = info.shape if isinstance(info, Tensor) else info.values
    return dims is not None and None not in dims


def _shape_value(node: ast.AST, value: Value) -> Value:
    """The shape of a partially unknown tensor, as a shape value."""
    if isinstance(value.struct_info, Shape):
        return value
    try:
        return op.shape_of(value)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def shape(node: ast.AST, value: Value) -> tuple[Dim, ...]:
    """Return the dimensions of a tensor, or the entries of a shape, as integers and symbolic expressions."""
    info = value.struct_info
    dims = info.shape if isinstance(info, Tensor) else info.values if isinstance(info, Shape) else None
    known = None if dims is None else tuple(dim for dim in dims if dim is not None)
    if known is None or dims is None or len(known) != len(dims):
        raise Problem(
            node,
            f"the value is {info}: not all of its shape is known here; R.match_shape gives it names, "
            "and R.shape_of is the shape as a value",
            "ShapeError",
        )
    return Dims(known)
