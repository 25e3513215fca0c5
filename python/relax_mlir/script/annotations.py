"""Annotations of a script: ``R.Tensor[(n, 4), "f32"]`` and ``R.Tensor(("n", 4), "float32")`` to struct infos."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.types import Callable, Object, Prim, Shape, StructInfo, Tensor, Tuple, as_dim
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, UnknownNameError
from relax_mlir.script.attributes import of_value, shape
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim

ORDER = {
    "Tensor": ("shape", "dtype"),
    "Shape": ("values",),
    "Prim": ("dtype",),
    "Callable": ("params", "result", "pure"),
}
"""Arguments of annotations by position."""
KINDS = ("Tensor", "Shape", "Prim", "Tuple", "Object", "Callable")


def read_annotation(node: ast.expr, scope: Scope) -> StructInfo:
    """The struct info that an annotation says; raises `Problem`."""
    head, arguments, keywords = _parts(node)
    path = scope.path(head)
    if path is None or path[0] != "R":
        raise Problem(
            node, "expected an annotation: R.Tensor, R.Shape, R.Prim, R.Tuple, R.Callable or R.Object"
        )
    kind = path[1]
    if kind not in KINDS:
        raise Problem.of(head, UnknownNameError("annotation", f"R.{kind}", [f"R.{k}" for k in KINDS]))
    allowed = {
        "Tensor": {"shape", "dtype", "ndim"},
        "Shape": {"values", "ndim"},
        "Prim": {"dtype", "value"},
        "Callable": {"params", "result", "pure"},
    }
    for keyword in keywords:
        if keyword.arg not in allowed.get(kind, ()):
            raise Problem(keyword, f"R.{kind} takes no argument '{keyword.arg}'")
    named = {k.arg: k.value for k in keywords}
    for name in ORDER.get(kind, ())[: len(arguments)]:
        if name in named:
            raise Problem(named[name], f"R.{kind}: '{name}' is given twice", "ArgumentError")
    try:
        return _read(kind, node, arguments, named, scope)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def _parts(node: ast.expr) -> tuple[ast.expr, list[ast.expr], list[ast.keyword]]:
    """Head, arguments and keywords of an annotation in any of its spellings."""
    if isinstance(node, ast.Call):
        return node.func, list(node.args), node.keywords
    if isinstance(node, ast.Subscript):
        inside = node.slice
        return node.value, _subscripts(inside), []
    return node, [], []


def _subscripts(inside: ast.expr) -> list[ast.expr]:
    """``[(n, 4), "f32"]`` has two arguments; ``[(n, 4)]``, which is ``[n, 4]`` to Python, one."""
    if not isinstance(inside, ast.Tuple):
        return [inside]
    is_shape = all(isinstance(e, ast.Name | ast.BinOp) or _is_integer(e) for e in inside.elts)
    unknown_dtype = len(inside.elts) == 2 and _is_unknown(inside.elts[0])
    return [inside] if is_shape and not unknown_dtype else list(inside.elts)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_unknown(node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "_"
    return isinstance(node, ast.Constant) and node.value in (None, "?", "_")


def _read(
    kind: str, node: ast.expr, arguments: list[ast.expr], named: dict[str | None, ast.expr], scope: Scope
) -> StructInfo:
    limit = {"Tensor": 2, "Shape": 1, "Prim": 1, "Object": 0, "Callable": 3}.get(kind)
    if limit is not None and len(arguments) > limit:
        raise Problem(node, f"R.{kind} takes at most {limit} arguments, {len(arguments)} given")
    if kind == "Tensor":
        return _tensor(arguments, named, scope)
    if kind == "Shape":
        values = [*arguments, *([named["values"]] if "values" in named else [])]
        return Shape(read_dims(values[0], scope) if values else None, ndim=_ndim(named))
    if kind == "Prim":
        value = read_dim(named["value"], scope) if "value" in named else None
        return Prim(_dtype([*arguments, named.get("dtype")][0]) or "int64", value)
    if kind == "Object":
        return Object()
    if kind == "Callable":
        return _callable(node, arguments, named, scope)
    if len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
        arguments = list(arguments[0].elts)
    return Tuple([read_annotation(a, scope) for a in arguments])


def _callable(
    node: ast.expr, arguments: list[ast.expr], named: dict[str | None, ast.expr], scope: Scope
) -> Callable:
    parts = dict(zip(("params", "result", "pure"), arguments, strict=False)) | {
        str(k): v for k, v in named.items()
    }
    flag = parts.get("pure", ast.Constant(False))
    if not isinstance(flag, ast.Constant) or not isinstance(flag.value, bool):
        raise Problem(flag, "pure is True or False")
    if "params" not in parts:
        return Callable(pure=flag.value)
    if not isinstance(parts["params"], ast.Tuple | ast.List) or "result" not in parts:
        raise Problem(
            node,
            "R.Callable takes a tuple of the parameters, and the result: R.Callable((R.Object(),), R.Object())",
        )
    params = [read_annotation(item, scope) for item in parts["params"].elts]
    return Callable(params, read_annotation(parts["result"], scope), flag.value)


def _tensor(arguments: list[ast.expr], named: dict[str | None, ast.expr], scope: Scope) -> Tensor:
    if len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and not _is_unknown(arguments[0]):
        arguments, named = [], {**named, "dtype": arguments[0]}
    first, second, *_ = [*arguments, None, None]
    shape, dtype = first or named.get("shape"), second or named.get("dtype")
    dims = None if shape is None or _is_unknown(shape) else read_dims(shape, scope)
    return Tensor(dims, _dtype(dtype), ndim=_ndim(named))


def _dtype(node: ast.expr | None) -> str | None:
    if node is None or _is_unknown(node):
        return None
    if isinstance(node, ast.Name):
        return node.id  # f32, which formatters make of "f32"
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise Problem(node, 'expected a dtype such as "float32"', "DTypeError")
    return node.value


def _ndim(named: dict[str | None, ast.expr]) -> int | None:
    node = named.get("ndim")
    if node is None:
        return None
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int) or node.value < 0:
        raise Problem(node, "ndim is not a natural number")
    return node.value


def read_dims(node: ast.expr, scope: Scope) -> list[Dim | None]:
    """The dimensions of a written shape: a tuple or list of integers, symbols, expressions, and unknowns."""
    if isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
        value = scope.lookup(node.value)
        if isinstance(value, Value):
            return list(shape(node, value))
    if not isinstance(node, ast.Tuple | ast.List):
        raise Problem(node, "expected a shape: a tuple such as (n, 4), or (n,) with one dimension")
    return [read_dim(item, scope) for item in node.elts]


def read_dim(node: ast.expr, scope: Scope) -> Dim | None:
    """One dimension: ``n``, ``"n"``, ``n * 4``, 4, a captured int; ``_``, None and "?" are unknown."""
    if _is_unknown(node):
        return None
    text = node.value if isinstance(node, ast.Constant) else ast.unparse(_Captured(scope).visit(node))
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise Problem(node, f"{text!r} is not a dimension: an integer, a symbol or an expression of them")
    try:
        return as_dim(text)
    except RelaxError as error:
        raise Problem.of(node, error) from None


class _Captured(ast.NodeTransformer):
    """Replaces integers and symbolic expressions by their values; the other names are symbols."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``x.shape[0]``."""
        base, index = node.value, node.slice
        if (
            not isinstance(base, ast.Attribute)
            or base.attr != "shape"
            or not isinstance(base.value, ast.Name)
        ):
            return node
        value, position = self.scope.lookup(base.value), _position(index)
        if not isinstance(value, Value) or position is None:
            return node
        dims = shape(node, value)
        if not -len(dims) <= position < len(dims):
            raise Problem(node, f"dimension {position} of {value.struct_info} does not exist", "ShapeError")
        return ast.parse(str(dims[position]), mode="eval").body

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """``x.ndim``."""
        value = self.scope.lookup(node.value) if isinstance(node.value, ast.Name) else None
        if node.attr == "ndim" and isinstance(value, Value):
            return ast.copy_location(ast.Constant(of_value(node, value)), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """``T.int64(4)``."""
        path = self.scope.path(node.func)
        if path in (("T", "int64"), ("T", "int32")) and len(node.args) == 1 and not node.keywords:
            return self.visit(node.args[0])  # type: ignore[no-any-return]  # it is an expression
        return self.generic_visit(node)  # type: ignore[return-value]  # likewise

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.scope.values.get(node.id, self.scope.captured.get(node.id))
        if isinstance(value, int) and not isinstance(value, bool):
            return ast.copy_location(ast.Constant(value), node)
        if isinstance(value, symbolic.Expr):
            return ast.parse(str(value), mode="eval").body
        if isinstance(value, Value) and isinstance(value.struct_info, Prim):
            if value.struct_info.value is not None:
                return ast.parse(str(value.struct_info.value), mode="eval").body
            raise Problem(
                node,
                f"'{node.id}' is an integer known at run time only; "
                f"R.match_shape({node.id}, (m,)) gives it the symbol m",
                "ShapeError",
            )
        return node


def _position(node: ast.expr) -> int | None:
    """An index that is written out."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, int):
        return None
    return -inner.value if negative else inner.value


def symbols_of(dims: Sequence[Dim | None]) -> set[str]:
    """The symbols that dimensions use."""
    return {name for dim in dims if dim is not None for name in symbolic.symbols(dim)}
