"""``R.func_attr({...})``: attributes of a function and bounds of its symbols."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import FORCE_PURE, SYMBOL_BOUNDS
from relax_mlir.dialects.type_queries import parameter_symbols
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import ir
from relax_mlir.script.scope import Scope, is_path
from relax_mlir.script.source import Problem

if TYPE_CHECKING:
    from relax_mlir.script.statements import Block

NAME = "global_symbol"
"""TVM's attribute for the exported name of a function, which is the function's symbol here."""
LOWER, UPPER = "tir_var_lower_bound", "tir_var_upper_bound"
"""TVM's dictionaries of bounds of symbols."""
Bounds = dict[str, tuple[int, int | None]]


def function_attributes(block: Block, node: ast.Call) -> None:
    """Record the attributes of the function whose body is `block`. Raises `Problem`."""
    if not block.is_body:
        raise Problem(node, "R.func_attr stands at the beginning of a function")
    given = block.expressions.evaluate(node.args[0]) if len(node.args) == 1 else None
    if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
        raise Problem(node, "R.func_attr takes a dictionary of names and values")
    bounds = _bounds(block, node, given)
    if bounds:
        block.expressions.apply(node, block.builder.bound_symbols, bounds)
    for name, value in given.items():
        if name == NAME:
            _check_name(block, node, value)
        elif name != FORCE_PURE or value:
            flag = True if name == FORCE_PURE and not isinstance(value, ir.Attribute) else value
            block.attributes[name] = block.expressions.apply(node, attribute, name, flag)


def exported_name(node: ast.FunctionDef, scope: Scope) -> str:
    """Return the exported name of a function: ``global_symbol`` if set, else its own name."""
    for statement in node.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not is_path(scope.path(call.func), "R", "func_attr"):
            continue
        given = call.args[0] if call.args else None
        for key, value in zip(given.keys, given.values, strict=True) if isinstance(given, ast.Dict) else ():
            if isinstance(key, ast.Constant) and key.value == NAME and isinstance(value, ast.Constant):
                is_name = isinstance(value.value, str) and value.value.isidentifier()
                return str(value.value) if is_name else node.name
    return node.name


def _bounds(block: Block, node: ast.Call, given: dict[str, Any]) -> Bounds:
    """Remove the bounds of the parameters' symbols from `given` and return them."""
    found: Bounds = {}
    if block.owner is None:
        return found  # a nested function keeps all its attributes
    for name in ("symbol_bounds", SYMBOL_BOUNDS):
        if name in given and not isinstance(given[name], ir.Attribute):
            found |= given.pop(name)
    defined = set(parameter_symbols(block.owner.params))
    for name in (LOWER, UPPER):
        entries = given.pop(name, {})
        if not isinstance(entries, Mapping) or not all(type(bound) is int for bound in entries.values()):
            raise Problem(node, f"'{name}' is a dictionary of symbols and integers", "ArgumentError")
        for symbol in sorted(defined & set(entries)):
            low, high = found.get(symbol, (0, None))
            found[symbol] = (entries[symbol], high) if name == LOWER else (low, entries[symbol])
        rest = {symbol: bound for symbol, bound in entries.items() if symbol not in defined}
        if rest:
            given[name] = rest
    return found


def _check_name(block: Block, node: ast.Call, value: object) -> None:
    """Raise `Problem` unless `value` is the exported name of a public function."""
    name = "the function" if block.owner is None else block.owner.name
    if block.owner is None or block.owner.private:
        message = f"'{name}' is private: it has no '{NAME}', by which it would be called from outside"
        raise Problem(node, message, "ArgumentError")
    if value != name:
        message = f"'{NAME}' is {value!r}, but the function is exported as '{name}': give it that name"
        raise Problem(node, message, "ArgumentError")


def attribute(name: str, value: Any) -> ir.Attribute:  # noqa: ANN401 - a Python literal or an attribute
    """Convert a Python literal to a function attribute."""
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, list | tuple):
        return ir.ArrayAttr.get([attribute(name, item) for item in value])
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return ir.DictAttr.get({key: attribute(f"{name}.{key}", item) for key, item in value.items()})
    raise ArgumentError(f"attribute '{name}': {value!r} is neither a literal nor an I.attribute")
