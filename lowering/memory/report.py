"""What `plan-memory` has decided, as text that stays with the function: formulas of the symbols, slots, lifetimes.

The attribute `relax.memory_plan` holds JSON, which `runtime/memory_plan.py` reads. Formulas are those of `symbolic`,
over the symbols of the function's signature; functions without one have symbols named after their arguments
(``arg0_1``: the size of dimension 1 of argument 0). A size that no such formula gives is a symbol of its own,
``unnamed0``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.error import ParseError
from relax_mlir.ir_queries import callee_of
from relax_mlir.lowering.abi.signature import Value, signature_of
from relax_mlir.lowering.memory.entry_sizes import Key
from relax_mlir.lowering.memory.liveness import Buffer
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim

MEMORY_PLAN = "relax.memory_plan"

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


def _dims_of(text: str) -> list[str]:
    """The dimensions in the text of a type, ``Tensor((n, 2 * m), "float32")``; none if it names none."""
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return []
    dims = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return [ast.unparse(dim) for dim in dims.elts] if isinstance(dims, ast.Tuple | ast.List) else []


def _dim(text: str, default: str) -> Dim:
    try:
        return symbolic.parse(text)
    except ParseError:
        return symbolic.symbol(default)


@dataclass
class Formulas:
    """Formulas for the keys of `EntrySizes` of one function."""

    function: func.FuncOp
    _names: dict[Key, Dim] = field(default_factory=dict)
    _unnamed: dict[Key, Dim] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if SIGNATURE in self.function.attributes:
            number = 0
            for parameter in signature_of(self.function.operation).params:
                for leaf in parameter.leaves():
                    number = self._name(leaf, number)

    def _name(self, value: Value, number: int) -> int:
        """Name what a parameter tells, whose first argument is `number`; the number behind its last."""
        if value.is_handle:
            return number + 2
        texts = _dims_of(value.type)
        if value.kind == "tensor":
            for i, text in enumerate(texts):
                self._names["dim", number, i] = _dim(text, f"arg{number}_{i}")
            return number + 1
        if value.kind == "int":
            self._names["argument", number] = _dim(value.name, f"arg{number}")
            return number + 1
        for i in range(value.ndim or 0):
            if i < len(texts):
                self._names["argument", number + i] = _dim(texts[i], f"arg{number + i}")
        return number + (value.ndim or 0)

    def dim(self, key: Key) -> Dim:
        """The formula of an index value."""
        if key in self._names:
            return self._names[key]
        if key[0] == "constant":
            return int(key[1].split(":")[0])
        if key[0] in ("dim", "argument"):
            return symbolic.symbol("arg" + "_".join(map(str, key[1:])))
        if key[0] not in _FORMULAS:
            return self._unnamed.setdefault(key, symbolic.symbol(f"unnamed{len(self._unnamed)}"))
        return _FORMULAS[key[0]](*(self.dim(operand) for operand in key[3:]))

    def bytes(self, key: Key) -> Dim:
        """The formula of a `bytes_key`."""
        return symbolic.product([key[1], *(self.dim(k) for k in key[2:])])


def _maker(buffer: Buffer) -> str:
    """What first uses a buffer: the function that is called, or the operation."""
    uses = [use.owner.operation for use in buffer.alloc.results[0].uses]
    calls = [op for op in uses if op.name == "func.call"]
    return callee_of(calls[-1]) if calls else uses[-1].name if uses else ""


def describe(
    buffer: Buffer, kind: str, size: Dim | None, slot: int | None = None, in_place: bool = False
) -> dict[str, Any]:
    """The entry of a buffer; called before the buffer is replaced. `kind`: workspace, stack or call."""
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
    function: func.FuncOp, buffers: Sequence[dict[str, Any]], slots: Sequence[Dim], alignment: int
) -> None:
    """Write the plan on the function; `slots` are their sizes in the order in which they lie in the workspace."""
    end: Dim = 0
    places = []
    for size in slots:
        places.append({"offset": str(end), "bytes": str(size)})
        end = end + symbolic.ceildiv(size, alignment) * alignment
    name = function.name.value
    plan = {"function": name, "bytes": str(end), "slots": places, "buffers": list(buffers)}
    function.attributes[MEMORY_PLAN] = ir.StringAttr.get(json.dumps(plan, sort_keys=True))
