"""Write attributes of functions, modules and calls as Python text that reads back as the same attributes."""

from __future__ import annotations

from relax_mlir.mlir import ir
from relax_mlir.script.builder_calls import python_text, python_value, quoted


def dictionary_text(value: ir.Attribute) -> str:
    """Write a dictionary of attributes as Python. A unit attribute becomes None."""
    items = (f"{quoted(item.name)}: {_entry(item.attr)}" for item in ir.DictAttr(value))
    return f"{{{', '.join(items)}}}"


def _entry(value: ir.Attribute) -> str:
    return "None" if isinstance(value, ir.UnitAttr) else attribute_text(value)


def attribute_text(value: ir.Attribute) -> str:
    """Write an attribute as a Python literal if the literal implies its type, else as ``I.attribute("…")``."""
    if isinstance(value, ir.DictAttr):
        return dictionary_text(value)
    if isinstance(value, ir.ArrayAttr):
        return f"[{', '.join(map(attribute_text, value))}]"
    plain = isinstance(value, ir.StringAttr | ir.BoolAttr | ir.TypeAttr)
    plain = plain or (isinstance(value, ir.IntegerAttr) and str(value.type) == "i64")
    plain = plain or (isinstance(value, ir.FloatAttr) and str(value.type) == "f64")
    try:
        return python_text(python_value(value)) if plain else f"I.attribute({quoted(str(value))})"
    except ValueError:
        return f"I.attribute({quoted(str(value))})"
