"""Shapes and dimensions of a script: ``(n, 4)``, ``["n * 2", T.int64(4)]``, ``x.shape``, a shape value."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from relax_mlir import symbolic
from relax_mlir.dialects.shape_functions import bind_shape
from relax_mlir.dialects.types import Prim, Shape, as_dim
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.script.attributes import of_value, shape
from relax_mlir.script.scope import POISON, Scope
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.script.symbols import INTEGERS, require_exact
from relax_mlir.symbolic import Dim

FUNCTIONS = {
    "max": "max",
    "min": "min",
    "ceildiv": "ceildiv",
    "floordiv": "floordiv",
    "floormod": "floormod",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Max": "max",
    "Min": "min",
}
"""Functions of ``T`` that are allowed in dimensions."""
OPERATORS: dict[str, type[ast.operator]] = {"Add": ast.Add, "Sub": ast.Sub, "Mul": ast.Mult}
"""Functions of ``T`` that denote arithmetic operators of dimensions."""
DIMENSIONS = frozenset({*FUNCTIONS, *OPERATORS, "Cast", "cast"})
"""Calls below ``T`` that are allowed in a dimension, apart from typed integers such as ``T.int64(4)``."""


def is_unknown(node: ast.expr) -> bool:
    """True for the spellings of an unknown: ``_``, None, "?"."""
    if isinstance(node, ast.Name):
        return node.id == "_"
    return isinstance(node, ast.Constant) and node.value in (None, "?", "_")


def read_dims(node: ast.expr, scope: Scope) -> list[Dim | None]:
    """Return the dimensions of a shape: a tuple or list, ``R.shape([...])``, ``x.shape``, or the name of a shape.

    Unknown entries of a shape value are bound to new symbols. Raises `Problem`.
    """
    if isinstance(node, ast.Tuple | ast.List):
        return [dim for item in node.elts for dim in _items(item, scope)]
    if isinstance(node, ast.Call) and scope.path(node.func) in (("R", "shape"), ("R", "ShapeExpr")):
        if len(node.args) == 1 and not node.keywords:
            return read_dims(node.args[0], scope)
    elif isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
        value = scope.lookup(node.value)
        if isinstance(value, Value):
            return list(shape(node, value))
    elif isinstance(node, ast.Name):
        found = scope.values.get(node.id, scope.captured.get(node.id))
        if found is POISON:
            raise Poisoned(node.id)
        if isinstance(found, Value) and isinstance(found.struct_info, Shape):
            return _of_value(node, found, scope)
        if isinstance(found, tuple | list):
            return [_captured(node, item) for item in found]
        if isinstance(found, int | symbolic.Expr) or (found is None and node.id in scope.symbols):
            raise Problem(node, f"'{node.id}' is one integer; a shape of one dimension is ({node.id},)")
    raise Problem(node, "expected a shape: a tuple such as (n, 4), or (n,) with one dimension")


def _items(node: ast.expr, scope: Scope) -> list[Dim | None]:
    """One dimension, or those of ``*shape``."""
    return read_dims(node.value, scope) if isinstance(node, ast.Starred) else [read_dim(node, scope)]


def _of_value(node: ast.expr, value: Value, scope: Scope) -> list[Dim | None]:
    """Return the entries of a shape value; a `match_shape` binds unknown ones to new symbols."""
    try:
        info = bind_shape(value).struct_info
    except RelaxError as error:
        raise Problem.of(node, error) from None
    assert isinstance(info, Shape)
    if info.values is None:
        message = (
            f"the rank of '{ast.unparse(node)}' is unknown: declare it, R.Shape(ndim=…), or match_shape it"
        )
        raise Problem(node, message, "ShapeError")
    scope.add_symbols(symbols_of(info.values))
    return list(info.values)


def _captured(node: ast.expr, item: Any) -> Dim | None:  # noqa: ANN401 - an entry of a Python tuple
    """Convert an entry of a captured Python shape."""
    if isinstance(item, bool) or not isinstance(item, int | str | symbolic.Expr | TypeVar):
        raise Problem(node, f"{item!r} is not a dimension: an integer, a symbol or an expression of them")
    try:
        return as_dim(item.__name__ if isinstance(item, TypeVar) else item)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def read_dim(node: ast.expr, scope: Scope) -> Dim | None:
    """Read one dimension: ``n``, ``"n"``, ``n * 4``, 4, a captured int; ``_``, None and "?" are unknown."""
    if is_unknown(node):
        return None
    text = node.value if isinstance(node, ast.Constant) else ast.unparse(_Captured(scope).visit(node))
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise Problem(node, f"{text!r} is not a dimension: an integer, a symbol or an expression of them")
    if isinstance(text, str) and "T." in text:
        text = _without_prefixes(node, text, scope)
    try:
        return as_dim(text)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def _without_prefixes(node: ast.expr, text: str, scope: Scope) -> str:
    """Return the text of a dimension with functions of ``T`` replaced, as TVM prints them."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Problem(node, f"{text!r} is no dimension: {error.msg}", "ParseError") from None
    for part in ast.walk(tree):
        ast.copy_location(part, node)
    return ast.unparse(_Functions(scope).visit(tree))


class _Functions(ast.NodeTransformer):
    """Replace functions of ``T``: ``T.max(a, b)`` by ``max(a, b)``, ``T.int64(4)`` by 4."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def expression(self, node: ast.expr) -> ast.expr:
        found: ast.expr = self.visit(node)
        return found

    def function(self, node: ast.Call) -> str | None:
        """Return ``max`` for ``T.max``. In a string, ``T`` always denotes TVM's module."""
        path = self.scope.path(node.func)
        if path is not None:
            return path[1] if path[0] == "T" else None
        called = node.func
        is_prefixed = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
        return called.attr if is_prefixed and called.value.id == "T" else None  # type: ignore[attr-defined]  # as has been checked

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = self.function(node)
        if name is None:
            return self.generic_visit(node)  # type: ignore[return-value]  # it is an expression
        if node.keywords:
            raise Problem(node.keywords[0], f"T.{name} takes no argument by name in a dimension")
        if name in INTEGERS and len(node.args) == 1:
            return self.integer(node, name, node.args[0])
        if name in ("Cast", "cast") and len(node.args) == 2:
            return self.cast(node)
        arguments = [self.visit(item) for item in node.args]
        if name in OPERATORS and len(arguments) == 2:
            return ast.copy_location(ast.BinOp(arguments[0], OPERATORS[name](), arguments[1]), node)
        if name in FUNCTIONS:
            return ast.copy_location(ast.Call(ast.Name(FUNCTIONS[name], ast.Load()), arguments, []), node)
        known = ", ".join(f"T.{f}" for f in (*FUNCTIONS, *OPERATORS, *INTEGERS))
        raise Problem(node, f"T.{name} has no meaning in a dimension; it may hold {known}")

    def cast(self, node: ast.Call) -> ast.expr:
        """Return ``n`` for ``T.Cast("int64", n)``; dimensions are always 64 bits wide."""
        texts = [a for a in node.args if isinstance(a, ast.Constant) and a.value in INTEGERS]
        others = [a for a in node.args if a not in texts]
        if len(others) != 1:
            raise Problem(node, 'a dimension is an int64: write T.Cast("int64", n)', "DTypeError")
        return self.integer(node, str(texts[0].value), others[0])

    def integer(self, node: ast.Call, dtype: str, argument: ast.expr) -> ast.expr:
        """Return `argument` of ``T.int32(argument)``, which is read as an int64."""
        found = self.expression(argument)
        try:
            value = ast.literal_eval(found)
        except ValueError:
            value = None  # an expression of symbols
        require_exact(node, dtype, value, ast.unparse(found))
        return found


class _Captured(_Functions):
    """Also replace captured integers and symbolic expressions by their values; other names are symbols."""

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

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.scope.values.get(node.id, self.scope.captured.get(node.id))
        if isinstance(value, int) and not isinstance(value, bool):
            return ast.copy_location(ast.Constant(value), node)
        if isinstance(value, symbolic.Expr):
            return ast.parse(str(value), mode="eval").body
        if isinstance(value, TypeVar):
            return ast.copy_location(ast.Name(value.__name__, ast.Load()), node)
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
    """Return an index that is a literal."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, int):
        return None
    return -inner.value if negative else inner.value


def symbols_of(dims: Sequence[Dim | None]) -> set[str]:
    """Return the symbols used by dimensions."""
    return {name for dim in dims if dim is not None for name in symbolic.symbols(dim)}
