"""Split a block of a prim func into units: T language functions, loads, constants, and statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import ir
from relax_mlir.tir.templates import LITERAL, Template, step_of
from relax_mlir.tir.values import INDEX


class NoForm(Exception):
    """The IR cannot be expressed in the T language."""


@dataclass
class Unit:
    """Consecutive ops: an expression if it has a result, else a statement."""

    kind: str
    ops: Sequence[ir.Operation]
    operands: list[ir.Value]
    dtype: DType | None = None
    template: Template | None = None
    index_operands: frozenset[int] = frozenset()
    """The indices of operands where an index is expected."""

    @property
    def last(self) -> ir.Operation:
        return self.ops[-1]

    @property
    def result(self) -> ir.Value:
        value: ir.Value = self.last.results[0]
        return value

    @property
    def is_expression(self) -> bool:
        return len(self.last.results) == 1 and self.kind != "alloc"


@dataclass
class Cutter:
    """Splits blocks into units; `types` are the known dtypes of values."""

    templates: Mapping[str, Sequence[Template]]
    types: dict[ir.Value, DType]
    buffers: dict[ir.Value, DType]
    units: dict[ir.Value, Unit] = field(default_factory=dict)

    def cut(self, ops: Sequence[ir.Operation]) -> list[Unit]:
        found: list[Unit] = []
        position = 0
        while position < len(ops):
            unit = self.unit(ops, position)
            found.append(unit)
            position += len(unit.ops)
            if unit.is_expression:
                self.units[unit.result] = unit
                if unit.dtype is not None:
                    self.types[unit.result] = unit.dtype
        return found

    def unit(self, ops: Sequence[ir.Operation], position: int) -> Unit:
        op = ops[position]
        for template in self.templates.get(op.name, ()):
            operands = self.match(template, ops, position)
            if operands is not None:
                covered = ops[position : position + len(template.steps)]
                return Unit("function", covered, operands, template.result, template)
        operands = list(op.operands)
        if op.name == "arith.constant":
            return Unit("constant", [op], [], _constant_dtype(op))
        if op.name in ("memref.load", "memref.store"):
            first = 1 if op.name == "memref.load" else 2
            places = operands[first:]
            dtype = self.buffers.get(operands[first - 1])
            if dtype is None:
                raise NoForm
            if op.name == "memref.load":
                return Unit("load", [op], places, dtype, index_operands=frozenset(range(len(places))))
            return Unit("store", [op], [*places, operands[0]], index_operands=frozenset(range(len(places))))
        kinds = {
            "memref.alloc": "alloc",
            "scf.for": "for",
            "scf.while": "while",
            "scf.if": "if",
            "cf.assert": "assert",
            "linalg.index": "axis",
        }
        if op.name not in kinds or (op.name == "scf.for" and len(op.results)):
            raise NoForm
        kind = kinds[op.name]
        if kind == "if" and len(op.results) == 1:
            return Unit("choice", [op], operands, self.yielded(op))
        return Unit(kind, [op], operands, INDEX if kind == "axis" else None)

    def yielded(self, op: ir.Operation) -> DType | None:
        """The dtype of a conditional expression: that of the yielded values."""
        found: DType | None = None
        for region in op.regions:
            inner = [view.operation for view in region.blocks[0].operations]
            units = self.cut(inner[:-1])
            value = inner[-1].operands[0]
            defining = self.units.get(value)
            constant = defining is not None and defining.kind == "constant" and defining in units
            found = found if constant and found is not None else self.types.get(value, found)
        return found

    def match(self, template: Template, ops: Sequence[ir.Operation], position: int) -> list[ir.Value] | None:
        """The arguments, if the ops from `position` on match a template."""
        steps = template.steps
        covered = ops[position : position + len(steps)]
        if len(covered) != len(steps):
            return None
        arguments: dict[int, ir.Value] = {}
        for step, op in zip(steps, covered, strict=True):
            if op.name != step.name or len(op.operands) != len(step.operands):
                return None
            found = step_of(op, step.operands)
            if found is None or found.type != step.type:
                return None
            if found.attributes != step.attributes and step.attributes != LITERAL:
                return None
            for operand, (kind, number) in zip(op.operands, step.operands, strict=True):
                wanted = (
                    arguments.setdefault(number, operand) if kind == "arg" else covered[number].results[0]
                )
                if operand != wanted:
                    return None
        inside = set(covered)
        for op in covered[:-1]:
            if any(use.owner.operation not in inside for use in op.results[0].uses):
                return None
        if len(arguments) != len(template.arguments):
            return None
        values = [arguments[i] for i in range(len(arguments))]
        return values if self.fits(template, values) else None

    def fits(self, template: Template, values: Sequence[ir.Value]) -> bool:
        """True if the values have the template's dtypes; a constant matches any dtype of its storage type."""
        constants = 0
        for value, wanted in zip(values, template.arguments, strict=True):
            defining = self.units.get(value)
            known = self.types.get(value)
            if defining is not None and defining.kind == "constant":
                constants += 1
                if value.type != wanted.storage_type():
                    return False
            elif known != wanted:
                return False
        return constants < len(values) or all(
            self.types.get(v) == w for v, w in zip(values, template.arguments, strict=True)
        )


def _constant_dtype(op: ir.Operation) -> DType:
    """The dtype of a constant; integers are signed."""
    type_ = op.results[0].type
    return INDEX if isinstance(type_, ir.IndexType) else dtypes.from_element_type(type_)
