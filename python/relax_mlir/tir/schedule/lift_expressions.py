"""T language expressions as tensor expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.error import UnsupportedError
from relax_mlir.te import functions
from relax_mlir.te.expressions import BOOL, Expr, IterVar, Limit, Load, Number, Size, as_expr, index
from relax_mlir.te.tensors import Tensor

BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Pow: functions.power,
}
COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
RENAMED = {"max": "maximum", "min": "minimum", "Select": "select", "pow": "power"}
LIMITS = ("min_value", "max_value", "infinity")


@dataclass
class Elements:
    """Converts the expressions of one computation."""

    axes: Mapping[str, IterVar]
    tensors: Mapping[str, Tensor]
    symbols: set[str]
    scalars: dict[str, Expr] = field(default_factory=dict)
    current: dict[str, Expr] = field(default_factory=dict)
    """The current values of the elements being computed, by their text."""

    def expression(self, node: ast.expr) -> Expr:
        """Convert an expression; raises `UnsupportedError` if tensor expressions cannot represent it."""
        return as_expr(self.value(node))

    def value(self, node: ast.expr) -> Any:  # noqa: ANN401 - an expression or a number
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return Number(node.value)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Subscript):
            return self.element(node)
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](self.expression(node.left), self.expression(node.right))
        if isinstance(node, ast.UnaryOp):
            operand = self.expression(node.operand)
            return (
                operand
                if isinstance(node.op, ast.UAdd)
                else -operand
                if isinstance(node.op, ast.USub)
                else ~operand
            )
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return COMPARISONS[type(node.ops[0])](
                self.expression(node.left), self.expression(node.comparators[0])
            )
        if isinstance(node, ast.BoolOp):
            join = functions.all if isinstance(node.op, ast.And) else functions.any
            return join(*map(self.expression, node.values))
        if isinstance(node, ast.IfExp):
            return functions.if_then_else(*map(self.expression, (node.test, node.body, node.orelse)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self.call(node, node.func.attr)
        raise UnsupportedError(f"tir.Schedule: `{ast.unparse(node)[:60]}` has no form in tensor expressions")

    def name(self, node: ast.Name) -> Expr:
        if node.id in self.axes:
            return self.axes[node.id]
        if node.id in self.scalars:
            return self.scalars[node.id]
        if node.id in self.symbols:
            return Size(symbolic.symbol(node.id))
        raise UnsupportedError(f"tir.Schedule: '{node.id}' is no axis, scalar or size")

    def element(self, node: ast.Subscript) -> Expr:
        name = ast.unparse(node.value)
        if ast.unparse(node) in self.current:
            return self.current[ast.unparse(node)]
        if name not in self.tensors:
            raise UnsupportedError(
                f"tir.Schedule: `{ast.unparse(node)[:60]}` reads '{name}' before it is filled, or to fill it"
            )
        places = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        return Load(self.tensors[name], [index(name, self.value(place)) for place in places])

    def call(self, node: ast.Call, name: str) -> Any:  # noqa: ANN401 - an expression
        if name in LIMITS:
            return Limit(name, dtypes.dtype(str(ast.literal_eval(node.args[0]))))
        if name == "cast":
            return self.expression(node.args[0]).astype(str(ast.literal_eval(node.args[1])))
        arguments = [self.expression(item) for item in node.args]
        if name == "bool" and arguments[0].kind == BOOL:
            return arguments[0]
        if name in dtypes.DTYPES and len(arguments) == 1:
            return arguments[0].astype(name)
        if name == "bitwise_not":
            return ~arguments[0]
        found = getattr(functions, RENAMED.get(name, name), None)
        if not callable(found) or name.startswith("_"):
            raise UnsupportedError(f"tir.Schedule: T.{name} has no form in tensor expressions")
        return found(*arguments)
