"""Symbols declared as in TVM, ``m = T.int64()``, and typed numbers, ``T.int64(4)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir import symbolic
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions
    from relax_mlir.script.scope import Scope

INTEGERS = ("int64", "int32")
"""Integer types of typed integers."""
SYMBOL = "int64"
"""The type of symbols."""
FLOATS = ("float16", "float32", "float64")
IMMEDIATE = {"IntImm": INTEGERS, "FloatImm": FLOATS}
"""TVM's typed numbers whose dtype is a string."""
NAMED = ("Var", "SizeVar", "var")
"""``T.Var("m", "int64")``; ``T.var("int64")``."""


def declared(scope: Scope, target: ast.expr, value: ast.expr) -> dict[str, Expr] | None:
    """Return the symbols declared by ``m = T.int64()`` or ``m, n = T.int64(), T.int64()``; None for other code."""
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        parts = [declared(scope, *pair) for pair in zip(target.elts, value.elts, strict=False)]
        if not parts or len(target.elts) != len(value.elts) or any(part is None for part in parts):
            return None
        return {name: symbol for part in parts if part is not None for name, symbol in part.items()}
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return None
    path = scope.path(value.func)
    if path is None or path[0] != "T":
        return None
    name = _name(target, value, path[1])
    return None if name is None else {target.id: symbolic.symbol(name)}


def _name(target: ast.Name, node: ast.Call, kind: str) -> str | None:
    """Return the symbol's name; None if the call declares none."""
    if kind in INTEGERS and not node.args:
        for keyword in node.keywords:
            if keyword.arg != "is_size_var":
                raise Problem(keyword, f"T.{kind}() takes is_size_var, not '{keyword.arg}'", "ArgumentError")
        if kind != SYMBOL:
            raise Problem(
                node, f"symbols are integers of 64 bits: write {target.id} = T.{SYMBOL}()", "DTypeError"
            )
        return target.id
    if kind not in NAMED:
        return None
    written = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
    texts = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else None for a in written]
    dtype = texts[-1] if kind == "var" or len(texts) > 1 else "int64"
    if not texts or texts[0] is None or dtype != SYMBOL:
        raise Problem(node, 'a symbol is declared by `m = T.int64()`, or `m = T.Var("m", "int64")`')
    name = target.id if kind == "var" else texts[0]
    if not symbolic.is_identifier(name):
        raise Problem(node, f"{name!r} is no name of a symbol")
    return name


def number(expressions: Expressions, node: ast.Call, kind: str) -> Any:  # noqa: ANN401 - a number or an expression
    """Return the number of ``T.int64(4)``, ``T.float32(1.5)`` or ``T.FloatImm("float32", 1.5)`` as an operand."""
    if kind in IMMEDIATE and len(node.args) == 2 and not node.keywords:
        dtype = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if dtype not in IMMEDIATE[kind]:
            raise Problem(
                node, f"the first argument of T.{kind} is one of {', '.join(IMMEDIATE[kind])}", "DTypeError"
            )
        return number(
            expressions, ast.copy_location(ast.Call(node.func, node.args[1:], []), node), str(dtype)
        )
    if kind not in (*INTEGERS, *FLOATS, "bool"):
        hint = "stands in the body of a function with @T.prim_func"
        raise Problem(
            node, f"T.{kind} {hint}" if kind not in NAMED else f"a symbol is declared by `m = T.{kind}(…)`"
        )
    if len(node.args) != 1 or node.keywords:
        raise Problem(node, f"a symbol is declared on a line of its own: `m = T.{kind}()`")
    found = expressions.evaluate(node.args[0])
    if kind in INTEGERS and isinstance(found, int | Expr) and not isinstance(found, bool):
        require_exact(node, kind, found, str(found))
        return found
    if kind in FLOATS and isinstance(found, int | float) and not isinstance(found, bool):
        return float(found)
    if kind == "bool" and isinstance(found, bool | int):
        return bool(found)
    raise Problem(node, f"T.{kind} in a Relax function takes a number that is written out", "ArgumentError")


def require_exact(node: ast.expr, dtype: str, value: object, text: str) -> None:
    """Raise `Problem` if an integer of `dtype` may not hold `value`, which is written as `text`: symbols are int64."""
    if dtype == "int64" or (isinstance(value, int) and -(2**31) <= value < 2**31):
        return
    message = f"{dtype} may not hold {text}, and a dimension is an int64: write T.int64({text})"
    raise Problem(node, message, "DTypeError")
