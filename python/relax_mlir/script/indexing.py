"""Elements and slices of tensors: ``x[i]``, ``x[1:3, ::2]``, ``x[..., None]``."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects import integers
from relax_mlir.dialects.manipulate import strided_slice
from relax_mlir.dialects.slicing import TO_THE_END, TO_THE_START
from relax_mlir.dialects.structure import match_shape
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import expand_dims, squeeze
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions

END, START = max(TO_THE_END), min(TO_THE_START)


@dataclass
class _Plan:
    """What an index takes of each axis: slices, then the axes that single elements leave, then new ones."""

    axes: list[int] = field(default_factory=list)
    begin: list[Dim] = field(default_factory=list)
    end: list[Dim] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    single: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)

    def take(self, axis: int, begin: Dim, end: Dim, stride: int = 1) -> None:
        self.axes.append(axis)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def elements(expressions: Expressions, node: ast.Subscript, x: Value) -> Value:
    """The elements of tensor `x` that the index in `node` takes, as NumPy's basic indexing does.

    An element that does not exist is an error, at the latest at run time.
    """
    info = x.tensor_info
    if info.shape is None:
        raise Problem(
            node, f"the value is {info}; indexing needs its rank: match_shape it first", "ShapeError"
        )
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    plan = _plan(expressions, node, parts, len(info.shape))
    return expressions.apply(node, _emit, x, plan)  # type: ignore[no-any-return]  # it is a value


def _plan(expressions: Expressions, node: ast.Subscript, parts: list[ast.expr], rank: int) -> _Plan:
    plan, axis, position = _Plan(), 0, 0
    taken = sum(not _is(part, None) and not _is(part, ...) for part in parts)
    if taken > rank:
        raise Problem(node.slice, f"{taken} indices for a tensor of rank {rank}", "ShapeError")
    if sum(_is(part, ...) for part in parts) > 1:
        raise Problem(node.slice, "an index has one `...`")
    for part in parts:
        if _is(part, None):
            plan.fresh.append(position)
            position += 1
        elif _is(part, ...):
            axis += rank - taken
            position += rank - taken
        elif isinstance(part, ast.Slice):
            _slice(expressions, part, plan, axis)
            axis, position = axis + 1, position + 1
        else:
            where = _integer(expressions, part)
            plan.take(axis, where, END if where == -1 else where + 1)
            plan.single.append(axis)
            axis += 1
    return plan


def _is(part: ast.expr, value: object) -> bool:
    return isinstance(part, ast.Constant) and part.value is value


def _slice(expressions: Expressions, part: ast.Slice, plan: _Plan, axis: int) -> None:
    step = 1 if part.step is None else expressions.evaluate(part.step)
    if not isinstance(step, int) or isinstance(step, bool) or step == 0:
        raise Problem(part, "the step of a slice is an int other than 0")
    if part.lower is None and part.upper is None and step == 1:
        return
    begin: Dim = (0 if step > 0 else END) if part.lower is None else _integer(expressions, part.lower)
    end: Dim = (END if step > 0 else START) if part.upper is None else _integer(expressions, part.upper)
    plan.take(axis, begin, end, step)


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


def _emit(x: Value, plan: _Plan) -> Value:
    if plan.axes:
        x = strided_slice(x, plan.axes, plan.begin, plan.end, plan.strides)
    if plan.single:
        x = _one_each(x, plan.single)
        x = squeeze(x, plan.single)
    return expand_dims(x, plan.fresh) if plan.fresh else x


def _one_each(x: Value, axes: list[int]) -> Value:
    """`x`, whose `axes` have one element each: what is not proved is checked at run time."""
    info = x.struct_info
    assert isinstance(info, Tensor) and info.shape is not None
    if all(info.shape[axis] == 1 for axis in axes):
        return x
    return match_shape(x, [1 if axis in axes else dim for axis, dim in enumerate(info.shape)])
