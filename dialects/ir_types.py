"""The types and the attribute that the dialect adds to MLIR, in the Python DSL.

The DSL reads annotations as objects: this file does without ``from __future__ import annotations``.
"""

from relax_mlir.dialects.dialect import Relax
from relax_mlir.mlir import ir


class ShapeAttr(Relax.Attribute, name="shape"):  # type: ignore[misc, name-defined, call-arg]  # untyped DSL
    """Symbolic dimensions of a tensor type, its encoding: canonical expressions, integers, or "?"."""

    dims: ir.ArrayAttr


class AnyType(Relax.Type, name="any"):  # type: ignore[misc, name-defined, call-arg]  # untyped DSL
    """Element type of a tensor whose dtype is unknown."""


class ShapeValueType(Relax.Type, name="shape_value"):  # type: ignore[misc, name-defined, call-arg]  # untyped DSL
    """A shape as a value; its parameter is a list of dimensions, or ``unit`` when the rank is unknown."""

    dims: ir.ArrayAttr | ir.UnitAttr


class CallableType(Relax.Type, name="callable"):  # type: ignore[misc, name-defined, call-arg]  # untyped DSL
    """A function as a value: types of its parameters and of its result (``unit``: unknown), and whether it is pure."""

    inputs: ir.ArrayAttr | ir.UnitAttr
    result: ir.TypeAttr | ir.UnitAttr
    pure: ir.IntegerAttr


class ObjectType(Relax.Type, name="object"):  # type: ignore[misc, name-defined, call-arg]  # untyped DSL
    """An opaque object: random state, a library's handle."""
