"""Print ops as calls of their builders, if the call rebuilds the same op."""

from __future__ import annotations

import json
from typing import Any

from relax_mlir import op as builders
from relax_mlir.dialects.base import RelaxOp, ir_fields
from relax_mlir.dialects.location import located_at
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.mlir import func, ir
from relax_mlir.op.op_registry import written_name
from relax_mlir.script.constants import number_text

RENAMED = {
    "expand_dims": {"axes": "axis"},
    "squeeze": {"axes": "axis"},
    "split": {"sections": "indices_or_sections"},
}
"""Attributes whose builder argument has another name."""

PREFIX = "relax."


def keyword_arguments(op: ir.Operation, cls: type[RelaxOp]) -> dict[str, Any] | None:
    """Return the keyword arguments with which the builder rebuilds `op`, or None if the result differs."""
    name = op.name.removeprefix(PREFIX)
    renamed = RENAMED.get(name, {})
    arguments: dict[str, Any] = {}
    for attribute in ir_fields(cls)[1]:
        value = op.attributes[attribute]
        if isinstance(value, ir.UnitAttr):
            continue
        try:
            arguments[renamed.get(attribute, attribute)] = python_value(value)
        except ValueError:
            return None
    builder: Any = builders
    for part in written_name(op.name).split("."):
        builder = getattr(builder, part, None)
    return arguments if callable(builder) and _makes_it(op, builder, arguments) else None


def _makes_it(op: ir.Operation, builder: Any, arguments: dict[str, Any]) -> bool:  # noqa: ANN401 - a builder
    with ir.Location.unknown():
        scratch = ir.Module.create()
        with ir.InsertionPoint(scratch.body):
            holder = func.FuncOp(
                "f", ir.FunctionType.get([v.type for v in op.operands], []), visibility="private"
            )
        block = holder.add_entry_block()
    try:
        with ir.InsertionPoint(block), ir.Location.unknown(), located_at("", 0, 0):
            builder(*map(Value, block.arguments), **arguments)
    except (RelaxError, TypeError, ValueError, AttributeError):
        return False
    made = [view.operation for view in block.operations]
    return len(made) == 1 and made[0].name == op.name and _attributes(made[0]) == _attributes(op)


def _attributes(op: ir.Operation) -> dict[str, str]:
    named = [op.attributes[i] for i in range(len(op.attributes))]
    return {item.name: str(item.attr) for item in named}


def python_value(value: ir.Attribute) -> Any:  # noqa: ANN401 - a number, text, or a list of such
    """Return an attribute as a Python value. Raises `ValueError` for an attribute without a Python form."""
    if isinstance(value, ir.BoolAttr):
        return bool(value.value)
    if isinstance(value, ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
        return value.value
    if isinstance(value, ir.ArrayAttr):
        return [python_value(item) for item in value]
    if isinstance(value, ir.TypeAttr):
        try:
            info = struct_info(ir.RankedTensorType.get([], value.value, loc=ir.Location.unknown()))
        except (RelaxError, ir.MLIRError) as error:
            raise ValueError(str(error)) from None
        assert isinstance(info, Tensor) and info.dtype is not None
        return info.dtype.name
    if isinstance(value, ir.UnitAttr):
        return None
    raise ValueError(f"{value} has no Python form")


def python_text(value: Any) -> str:  # noqa: ANN401 - what `python_value` gives
    """Write a Python value as source text, with strings in double quotes."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(python_text, value))}]"
    return number_text(value)


def quoted(text: str) -> str:
    """A Python string literal in double quotes."""
    return json.dumps(text)
