"""The types and the attribute that the dialect adds to MLIR, in the Python DSL.

The DSL evaluates annotations: this file omits ``from __future__ import annotations``.
"""

from relax_mlir.dialects.dialect import Relax
from relax_mlir.mlir import ir


class ShapeAttr(Relax.Attribute, name="shape"):
    """Symbolic dimensions of a tensor type, as its encoding: canonical expressions, integers, or "?"."""

    dims: ir.ArrayAttr


class AnyType(Relax.Type, name="any"):
    """Element type of a tensor whose dtype is unknown."""


class ShapeValueType(Relax.Type, name="shape_value"):
    """A shape as a value; its parameter is a list of dimensions, or ``unit`` if the rank is unknown."""

    dims: ir.ArrayAttr | ir.UnitAttr


class CallableType(Relax.Type, name="callable"):
    """A function as a value: types of its parameters and result (``unit``: unknown), and its purity."""

    inputs: ir.ArrayAttr | ir.UnitAttr
    result: ir.TypeAttr | ir.UnitAttr
    pure: ir.IntegerAttr


class ObjectType(Relax.Type, name="object"):
    """An opaque object: random state, a library's handle."""
