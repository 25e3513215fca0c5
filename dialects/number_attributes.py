"""Numbers as attributes."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.mlir import ir


def int_attr(value: int) -> ir.IntegerAttr:
    """A 64-bit integer."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def ints_attr(values: int | Sequence[int]) -> ir.ArrayAttr:
    """An array of 64-bit integers; one integer is an array of it."""
    return ir.ArrayAttr.get([int_attr(v) for v in ([values] if isinstance(values, int) else values)])


def maybe_ints_attr(values: int | Sequence[int] | None) -> ir.Attribute:
    """Like `ints_attr`, or ``unit``, which says "not given"."""
    return ir.UnitAttr.get() if values is None else ints_attr(values)


def double_attr(value: float) -> ir.FloatAttr:
    """A 64-bit float."""
    return ir.FloatAttr.get(ir.F64Type.get(), value)
