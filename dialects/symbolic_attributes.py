"""Attributes of Relax ops that hold dimensions, whose symbols are substituted together with those of types."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

from relax_mlir import symbolic
from relax_mlir.dialects.base import op_classes
from relax_mlir.dialects.dialect import import_families
from relax_mlir.dialects.types import UNKNOWN, as_dim, dims_attr
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim


@functools.cache
def _names() -> dict[str, tuple[str, ...]]:
    import_families()
    return {name: cls.dim_attributes() for name, cls in op_classes().items() if cls.dim_attributes()}


def dim_attribute_names(op: ir.Operation) -> tuple[str, ...]:
    """The names of the attributes of `op` that hold dimensions or lists of them, present or not."""
    return _names().get(op.name, ())


def dim_attributes(op: ir.Operation) -> Iterator[tuple[str, list[Dim | None]]]:
    """Name and dimensions of each attribute of `op` that holds some; floats and ``unit`` are skipped."""
    for name in dim_attribute_names(op):
        if name in op.attributes:
            yield name, list(dims_in(op.attributes[name]))


def dims_in(attribute: ir.Attribute) -> Iterator[Dim | None]:
    """The dimensions that an attribute holds, in order."""
    if isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from dims_in(item)
    elif isinstance(attribute, ir.IntegerAttr):
        yield int(attribute.value)
    elif isinstance(attribute, ir.StringAttr):
        yield _dim(attribute.value)


def _dim(text: str) -> Dim | None:
    """A dimension, or a bound of a slice, which may be negative."""
    return as_dim(text) if text == UNKNOWN else symbolic.parse(text)


def substitute_attributes(op: ir.Operation, mapping: Mapping[str, Dim]) -> None:
    """Replace symbols in the attributes of `op` that hold dimensions."""
    for name in dim_attribute_names(op):
        if name in op.attributes:
            op.attributes[name] = _substituted(op.attributes[name], mapping)


def _substituted(attribute: ir.Attribute, mapping: Mapping[str, Dim]) -> ir.Attribute:
    if isinstance(attribute, ir.ArrayAttr):
        return ir.ArrayAttr.get([_substituted(item, mapping) for item in attribute])
    if isinstance(attribute, ir.StringAttr) and attribute.value != UNKNOWN:
        dim = symbolic.substitute(symbolic.parse(attribute.value), dict(mapping))
        changed: ir.Attribute = dims_attr([dim])[0]
        return changed
    return attribute
