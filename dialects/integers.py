"""Arithmetic of integer values (`Prim`): upstream's ``arith`` ops on ``i64``."""

from __future__ import annotations

import numpy as np
from relax_mlir.dialects.location import user_location
from relax_mlir.dialects.structure import prim_value
from relax_mlir.dialects.types import Prim, Tensor
from relax_mlir.dialects.value import Value, require_insertion_point
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import arith, ir, tensor
from relax_mlir.symbolic import Expr

ARITHMETIC = {
    "add": "arith.addi",
    "subtract": "arith.subi",
    "multiply": "arith.muli",
    "floor_divide": "arith.floordivsi",
}
"""Builder of a tensor op → the corresponding op on integers."""

COMPARISONS = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "slt",
    "less_equal": "sle",
    "greater": "sgt",
    "greater_equal": "sge",
}
"""Builder of a tensor comparison → the predicate on integers."""

Integer = Value | Expr | int


def is_integer(item: object) -> bool:
    """True if `item` is an integer value."""
    return isinstance(item, Value) and isinstance(item.struct_info, Prim)


def as_integer(what: str, item: object) -> Value:
    """`item`, an integer value, a symbolic expression or an int, as a value; raises `ArgumentError`."""
    if is_integer(item):
        assert isinstance(item, Value)
        return item
    if isinstance(item, np.integer):
        item = int(item)
    if isinstance(item, Expr) or (isinstance(item, int) and not isinstance(item, bool)):
        return prim_value(item)
    shown = item.struct_info if isinstance(item, Value) else repr(item)
    raise ArgumentError(f"{what}: {shown} is no integer, but the other operand is one")


def arithmetic(name: str, left: object, right: object) -> Value:
    """Arithmetic such as ``left + right`` on integers, wrapping around at 64 bits.

    `name` is the name of the tensor op. ``%`` is Python's; a divisor that is not positive is an error at run time.

    Raises:
        ArgumentError: an operand is not an integer, or integers do not have the op.
    """
    require_insertion_point(name)
    if name == "floor_mod":
        right = as_integer(name, right)
        quotient = arithmetic("floor_divide", left, right)
        return arithmetic("subtract", left, arithmetic("multiply", quotient, right))
    if name not in ARITHMETIC:
        cast = ', op.astype(tensor, "float64") one that is divided' if name == "divide" else ""
        raise ArgumentError(
            f"{name}: integers take +, -, *, //, % and comparisons; op.prim_to_tensor makes a tensor of one{cast}"
        )
    operands = [as_integer(name, left).ssa, as_integer(name, right).ssa]
    i64 = ir.IntegerType.get_signless(64)
    op = ir.Operation.create(ARITHMETIC[name], results=[i64], operands=operands, loc=user_location())
    return Value(op.results[0])


def comparison(name: str, left: object, right: object) -> ir.Value:
    """A comparison such as ``left < right`` on integers, as an ``i1``."""
    require_insertion_point(name)
    predicate = getattr(arith.CmpIPredicate, COMPARISONS[name])
    operands = [as_integer(name, left).ssa, as_integer(name, right).ssa]
    with user_location():
        found: ir.Value = arith.cmpi(predicate, *operands)
    return found


def prim_to_tensor(value: Integer) -> Value:
    """An integer as an int64 tensor of rank 0.

    Raises:
        ArgumentError: `value` is no integer.
    """
    require_insertion_point("prim_to_tensor")
    return as_tensor(as_integer("prim_to_tensor", value).ssa)


def as_elements(item: object, other: object) -> object:
    """Convert an integer used together with a tensor to a rank-0 tensor of its dtype; other items are unchanged."""
    if not isinstance(other, Value) or not isinstance(other.struct_info, Tensor):
        return item
    if not is_integer(item) and not isinstance(item, Expr):
        return item
    from relax_mlir.dialects.cast import astype  # its operators use this module

    number = prim_to_tensor(item)  # type: ignore[arg-type]  # as has been checked
    dtype = other.struct_info.dtype
    return number if dtype is None or dtype.name == "int64" else astype(number, dtype.name)


def as_tensor(scalar: ir.Value) -> Value:
    """An ``i1`` or ``i64`` as a rank-0 tensor of dtype bool or int64."""
    with user_location():
        return Value(tensor.from_elements(ir.RankedTensorType.get([], scalar.type), [scalar]))


def compare(name: str, left: object, right: object) -> Value:
    """`comparison` as a bool tensor of rank 0."""
    return as_tensor(comparison(name, left, right))
