"""Print the expressions of a prim func: units of the IR as T language text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.prim_params import PrimParam
from relax_mlir.mlir import func, ir
from relax_mlir.tir.templates import OPERATORS, PREFIXES
from relax_mlir.tir.units import Cutter, NoForm, Unit
from relax_mlir.tir.values import INDEX

MAX_DEPTH = 40
"""The maximum nesting depth of expressions; deeper ones are bound to names."""


@dataclass
class ExpressionPrinter:
    """Prints expressions; raises `NoForm`. Expressions are nested in their user if that preserves the op order."""

    function: func.FuncOp
    params: Sequence[PrimParam]
    cutter: Cutter
    names: dict[ir.Value, str] = field(default_factory=dict)
    inline: dict[ir.Value, Callable[[], str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=lambda: {"T", "R", "I", "cls", "range", "min", "max", "abs"})

    def fresh(self, base: str) -> str:
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}{count}"
        self.taken.add(name)
        return name

    def text(self, value: ir.Value) -> str:
        if value in self.inline:
            return self.inline[value]()
        if value not in self.names:
            raise NoForm
        return self.names[value]

    def claim(self, units: Sequence[Unit], position: int, within: set[int], depth: int = 0) -> int:
        """Nest expressions in the unit at `position` if parsing creates their ops at the same place.

        Returns the position of the first unit that the text creates. Expressions deeper than `MAX_DEPTH` are not
            nested.
        """
        unit = units[position]
        first = self.claim_literals(units, position, within)
        for number, operand in reversed(list(enumerate(unit.operands))):
            if operand in self.inline:
                continue
            defining = units[first - 1] if first else None
            if (
                defining is None
                or not defining.is_expression
                or defining.result != operand
                or depth >= MAX_DEPTH
                or not self.used_once(operand, unit)
            ):
                continue
            within.add(first - 1)
            first = self.claim(units, first - 1, within, depth + 1)
            self.put(operand, defining, index=number in unit.index_operands)
        return first

    def put(self, value: ir.Value, defining: Unit, *, index: bool) -> None:
        """Use the expression of `defining` as the text of `value`."""
        self.inline[value] = lambda: self.expression(defining, index=index)

    @staticmethod
    def used_once(value: ir.Value, unit: Unit) -> bool:
        """True if a value is a single operand of `unit` and has no other use."""
        inside = list(unit.ops)
        return unit.operands.count(value) == 1 and all(use.owner.operation in inside for use in value.uses)

    def claim_literals(self, units: Sequence[Unit], position: int, within: set[int]) -> int:
        """Nest literals that take their dtype from the other operands; their constants come right before the unit."""
        unit = units[position]
        first = position
        if unit.kind == "store":
            candidates = [unit.operands[-1]]
            wanted: list[DType | None] = [self.cutter.buffers[unit.last.operands[1]]]
        elif unit.kind == "function" and unit.template is not None and len(unit.operands) > 1:
            if unit.template.name == "Select":
                candidates, wanted = unit.operands[1:], list(unit.template.arguments[1:])
            else:
                candidates, wanted = unit.operands, list(unit.template.arguments)
        else:
            return first
        defining_ops = [self.cutter.units.get(v) for v in candidates]
        if unit.kind != "store" and all(m is not None and m.kind == "constant" for m in defining_ops):
            return first
        for value, defining, dtype in reversed(list(zip(candidates, defining_ops, wanted, strict=True))):
            if (
                defining is None
                or defining.kind != "constant"
                or not first
                or units[first - 1] is not defining
            ):
                continue
            if not self.used_once(value, unit) or dtype is None:
                continue
            literal = self.literal(defining, dtype)
            if literal is None:
                continue
            self.inline[value] = _constantly(literal)
            first -= 1
            within.add(first)
        return first

    def literal(self, unit: Unit, dtype: DType) -> str | None:
        """A constant as a bare literal; None for infinities and NaN, which have no literal."""
        value = unit.last.attributes["value"]
        if dtype.is_float:
            number = float(ir.FloatAttr(value).value)
            return repr(number) if math.isfinite(number) else None
        return self.integer(unit, dtype)

    @staticmethod
    def integer(unit: Unit, dtype: DType) -> str:
        number = int(ir.IntegerAttr(unit.last.attributes["value"]).value)
        if dtype.kind == "bool":
            return str(bool(number))
        if dtype.kind == "uint" and number < 0:
            number += 1 << dtype.bits
        return str(number)

    def expression(self, unit: Unit, *, index: bool = False) -> str:
        """The text of a unit, in parentheses if it is an operator."""
        if unit.kind == "constant":
            return self.constant(unit, index=index)
        if unit.kind == "load":
            return self.element(unit.last.operands[0], unit.operands)
        if unit.kind == "choice":
            return self.choice(unit)
        if unit.template is None:
            raise NoForm
        name, parts = unit.template.name, [self.text(v) for v in unit.operands]
        if unit.template.literal:
            value = ir.IntegerAttr(unit.ops[0].attributes["value"]).value
            dtype = unit.template.arguments[0]
            number = int(value) + ((1 << dtype.bits) if dtype.kind == "uint" and int(value) < 0 else 0)
            return f"({parts[0]} {OPERATORS[name]} {number})"
        if name == "cast":
            if unit.template.result is INDEX:
                return parts[0] if index else f"T.index({parts[0]})"
            return f"T.{unit.template.result}({parts[0]})"
        if name == "reinterpret":
            return f'T.{name}("{unit.template.result}", {parts[0]})'
        if name in OPERATORS:
            return f"({parts[0]} {OPERATORS[name]} {parts[1]})"
        if name in PREFIXES:
            return f"({PREFIXES[name]}{parts[0]})"
        return f"T.{name}({', '.join(parts)})"

    def constant(self, unit: Unit, *, index: bool) -> str:
        """A constant with its dtype; a bare integer if an index is expected."""
        dtype = unit.dtype
        assert dtype is not None
        if dtype is INDEX:
            return self.integer(unit, dtype) if index else f"T.index({self.integer(unit, dtype)})"
        bare = self.literal(unit, dtype)
        if bare is None:
            number = float(ir.FloatAttr(unit.last.attributes["value"]).value)
            bare = f'"{number}"'
        return f"T.{dtype}({bare})"

    def element(self, buffer: ir.Value, places: Sequence[ir.Value]) -> str:
        return f"{self.text(buffer)}[{', '.join(map(self.text, places)) or '()'}]"

    def choice(self, unit: Unit) -> str:
        """``T.if_then_else(c, a, b)``: each branch is one expression."""
        parts = [self.text(unit.operands[0])]
        for region in unit.last.regions:
            parts.append(self.branch([view.operation for view in region.blocks[0].operations]))
        return f"T.if_then_else({', '.join(parts)})"

    def branch(self, ops: Sequence[ir.Operation]) -> str:
        """The single value of a block, an expression that covers all of its ops."""
        value = ops[-1].operands[0]
        units = self.cutter.cut(ops[:-1])
        if not units or units[-1].result != value:
            if units:
                raise NoForm
            return self.text(value)
        if self.claim(units, len(units) - 1, set()) != 0:
            raise NoForm
        return self.expression(units[-1])

    def let(self, unit: Unit) -> list[str]:
        """Bind an expression to a new name."""
        text = self.expression(unit)
        self.names[unit.result] = self.fresh("v")
        return [f"{self.names[unit.result]} = {text}"]


def _constantly(text: str) -> Callable[[], str]:
    return lambda: text
