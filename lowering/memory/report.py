"""The report of `plan-memory`: formulas of the symbols, slots, and live ranges, as an attribute of the function.

The attribute `relax.memory_plan` holds JSON, which `runtime/memory.py` reads. Formulas are those of `symbolic`,
over the symbols of the function's signature; functions without one have symbols named after their arguments
(``arg0_1``: the size of dimension 1 of argument 0). A size without such a formula is a new symbol, ``unnamed0``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.error import ParseError
from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.analysis.buffers import (
    ALIGNMENT,
    Argument,
    Buffer,
    Bytes,
    Constant,
    DimOf,
    Formula,
    lay_out,
)
from relax_mlir.lowering.base.signature import MEMORY_PLAN, Value, signature_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

_FORMULAS: dict[str, Callable[..., Dim]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": symbolic.floordiv,
    "arith.divui": symbolic.floordiv,
    "arith.floordivsi": symbolic.floordiv,
    "arith.ceildivsi": symbolic.ceildiv,
    "arith.ceildivui": symbolic.ceildiv,
    "arith.remsi": symbolic.floormod,
    "arith.remui": symbolic.floormod,
    "arith.minsi": symbolic.minimum,
    "arith.minui": symbolic.minimum,
    "arith.maxsi": symbolic.maximum,
    "arith.maxui": symbolic.maximum,
    "arith.index_cast": lambda a: a,
    "arith.index_castui": lambda a: a,
}


def _dim(text: str, default: str) -> Dim:
    try:
        return symbolic.parse(text)
    except ParseError:
        return symbolic.symbol(default)


@dataclass
class Formulas:
    """Converts formulas of one function to dimensions; the `Arithmetic` that lays out workspaces in dimensions."""

    function: func.FuncOp
    _names: dict[Formula, Dim] = field(default_factory=dict)
    _unnamed: dict[Formula, Dim] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if SIGNATURE in self.function.attributes:
            number = 0
            for parameter in signature_of(self.function.operation).params:
                for leaf in parameter.leaves():
                    number = self._name(leaf, number)

    def _name(self, value: Value, number: int) -> int:
        """Name the sizes of a parameter whose first argument is `number`; return the number after its last argument."""
        if value.is_handle:
            return number + 2
        if value.kind == "tensor":
            for i, dim in enumerate(value.shape):
                self._names[DimOf(number, i)] = _dim(str(dim), f"arg{number}_{i}")
            return number + 1
        if value.kind == "int":
            self._names[Argument(number)] = _dim(value.name, f"arg{number}")
            return number + 1
        for i, dim in enumerate(value.shape):
            self._names[Argument(number + i)] = _dim(str(dim), f"arg{number + i}")
        return number + (value.ndim or 0)

    def dim(self, formula: Formula) -> Dim:
        """The dimension of an integer formula; a new symbol if `symbolic` has no such formula."""
        if formula in self._names:
            return self._names[formula]
        if isinstance(formula, Constant):
            return formula.value
        if isinstance(formula, Argument):
            return symbolic.symbol(f"arg{formula.number}")
        if isinstance(formula, DimOf):
            return symbolic.symbol(f"arg{formula.argument}_{formula.axis}")
        if formula.op not in _FORMULAS:
            return self._unnamed.setdefault(formula, symbolic.symbol(f"unnamed{len(self._unnamed)}"))
        return _FORMULAS[formula.op](*map(self.dim, formula.operands))

    def bytes(self, size: Bytes) -> Dim:
        return symbolic.product([size.factor, *map(self.dim, size.sizes)])

    def maximum(self, a: Dim, b: Dim) -> Dim:
        return symbolic.maximum(a, b)

    def aligned(self, size: Dim) -> Dim:
        return symbolic.ceildiv(size, ALIGNMENT) * ALIGNMENT

    def add(self, a: Dim, b: Dim) -> Dim:
        return a + b


def _maker(buffer: Buffer) -> str:
    """The first user of a buffer: the called function, or the name of the operation."""
    uses = [use.owner.operation for use in buffer.alloc.results[0].uses]
    calls = [op for op in uses if op.name == "func.call"]
    return callee_of(calls[-1]) if calls else uses[-1].name if uses else ""


def describe(
    buffer: Buffer, kind: str, size: Dim | None, slot: int | None = None, in_place: bool = False
) -> dict[str, Any]:
    """The entry of a buffer; must be called before the buffer is replaced. `kind`: workspace, stack or call."""
    return {
        "kind": kind,
        "op": _maker(buffer),
        "location": location_text(buffer.alloc.location),
        "type": str(buffer.type),
        "bytes": None if size is None else str(size),
        "slot": slot,
        "in_place": in_place,
        "first": buffer.first,
        "last": buffer.last,
    }


def record(
    function: func.FuncOp,
    buffers: Sequence[dict[str, Any]],
    slots: Sequence[Sequence[Bytes]],
    formulas: Formulas,
) -> None:
    """Write the plan to the function; `slots` are the sizes in each slot, in workspace order."""
    places, end = lay_out(slots, formulas)
    plan = {
        "function": function.name.value,
        "bytes": str(end),
        "slots": [{"offset": str(place.offset), "bytes": str(place.size)} for place in places],
        "buffers": list(buffers),
    }
    function.attributes[MEMORY_PLAN] = ir.StringAttr.get(json.dumps(plan, sort_keys=True))
