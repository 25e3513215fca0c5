"""The index of a subscript in a script: ``x[i]``, ``x[1:3, ::2]``, ``x[..., None]``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects import indexing, integers
from relax_mlir.dialects.value import Value
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions


def elements(expressions: Expressions, node: ast.Subscript, x: Value) -> Value:
    """Return the elements of tensor `x` at the index in `node` (see `relax_mlir.dialects.indexing`)."""
    written = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    parts = [_part(expressions, part) for part in written]
    taken = sum(part is not None and part is not ... for part in parts)
    if x.ndim is not None and taken > x.ndim:
        raise Problem(node.slice, f"{taken} indices for a tensor of rank {x.ndim}", "ShapeError")
    return expressions.apply(node, indexing.elements, x, parts)


def _part(expressions: Expressions, part: ast.expr) -> object:
    if isinstance(part, ast.Constant) and (part.value is None or part.value is ...):
        return part.value
    if not isinstance(part, ast.Slice):
        return _integer(expressions, part)
    step = 1 if part.step is None else expressions.evaluate(part.step)
    if not isinstance(step, int) or isinstance(step, bool) or step == 0:
        raise Problem(part, "the step of a slice is an int other than 0")
    lower, upper = (None if end is None else _integer(expressions, end) for end in (part.lower, part.upper))
    return slice(lower, upper, step)


def _integer(expressions: Expressions, part: ast.expr) -> Dim:
    found: Any = expressions.evaluate(part)
    if isinstance(found, int | Expr) and not isinstance(found, bool):
        return found
    if integers.is_integer(found):
        text = ast.unparse(part)
        raise Problem(
            part, f"`{text}` is known at run time only; R.match_shape({text}, (i,)) gives it a symbol"
        )
    if isinstance(found, Value):
        raise Problem(part, "an index is an integer; R.take takes the elements that a tensor of indices says")
    raise Problem(part, f"`{ast.unparse(part)}` is no index: an integer, a slice, `...` or None")
