"""User-given numbers, flags, strings and dtypes as attributes, checked with errors that name the parameter.

The integer of a `prim_value` (TVM's scripts write ``R.prim_value(0)``) is accepted in place of an int.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.types import INT64, dims_attr, fits_int64
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim, Expr
from relax_mlir.symbolic.expr import as_int


def integer(value: object, what: str) -> int:
    """`value` as a Python int; `what` names the op and its parameter. Raises `ArgumentError`."""
    if isinstance(value, Value):
        known = known_dimension(value)
        if not isinstance(known, int):
            shown = value.struct_info if known is None else known
            raise ArgumentError(f"{what} is {shown}, a value of the program; it is an int that is written out")
        return known
    found = None if isinstance(value, np.bool_) else as_int(value)
    if found is None:
        raise ArgumentError(f"{what} is {_shown(value)}, expected an int")
    if not fits_int64(found):
        raise ArgumentError(f"{what} is {found}, which does not fit 64 bits ({INT64[0]} to {INT64[1]})")
    return found


def integers(values: object, what: str) -> list[int]:
    """A list or tuple of integers as Python ints; one integer counts as a list of it. Raises `ArgumentError`."""
    if isinstance(values, list | tuple):
        return [integer(item, f"{what}[{index}]") for index, item in enumerate(values)]
    if isinstance(values, np.ndarray):
        return integers(values.tolist(), what)
    if isinstance(values, Value) or hasattr(values, "__index__"):
        return [integer(values, what)]
    raise ArgumentError(f"{what} is {_shown(values)}, expected an int or a list of ints")


def dimension(value: object, what: str) -> Dim:
    """An int, an expression or its text, or a `prim_value`, as a dimension. Raises `ArgumentError`."""
    if isinstance(value, Value):
        known = known_dimension(value)
        if known is None:
            raise ArgumentError(
                f"{what} is {value.struct_info}, a value of the program; it is an int or an expression of symbols: "
                'after op.match_shape(i, ("k",)) the symbol k stands for an integer i'
            )
        return known
    if isinstance(value, Expr | str):
        return symbolic.to_dim(value)
    return integer(value, what)


def int_attr(value: object, what: str) -> ir.IntegerAttr:
    """A 64-bit integer attribute."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), integer(value, what))


def maybe_int_attr(value: object, what: str) -> ir.Attribute:
    """Like `int_attr`; None gives ``unit``, an absent attribute."""
    return ir.UnitAttr.get() if value is None else int_attr(value, what)


def ints_attr(values: object, what: str) -> ir.ArrayAttr:
    """An array attribute of 64-bit integers; one integer counts as an array of it."""
    return ir.ArrayAttr.get([int_attr(v, what) for v in integers(values, what)])


def maybe_ints_attr(values: int | Sequence[int] | None, what: str) -> ir.Attribute:
    """Like `ints_attr`; None gives ``unit``, an absent attribute."""
    return ir.UnitAttr.get() if values is None else ints_attr(values, what)


def double_attr(value: object, what: str) -> ir.FloatAttr:
    """A 64-bit float attribute."""
    return ir.FloatAttr.get(ir.F64Type.get(), real(value, what))


def doubles_attr(values: object, what: str) -> ir.ArrayAttr:
    """An array attribute of 64-bit floats; one number counts as an array of it."""
    if not isinstance(values, list | tuple):
        values = [real(values, what)]
    return ir.ArrayAttr.get([double_attr(item, f"{what}[{i}]") for i, item in enumerate(values)])


def real(value: object, what: str) -> float:
    """`value` as a Python float; `what` is the op and its parameter. Raises `ArgumentError`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ArgumentError(f"{what} is {_shown(value)}, expected a float")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{what} is {value}, which is too large for a float") from None


def bool_attr(value: object, what: str) -> ir.BoolAttr:
    """A bool attribute; 0 and 1 are accepted, since ONNX and Python's arithmetic on bools produce them."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return ir.BoolAttr.get(bool(value))
    raise ArgumentError(f"{what} is {_shown(value)}, expected True or False")


def text_attr(value: object, what: str) -> ir.StringAttr:
    """A string attribute."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} is {_shown(value)}, expected a string")
    return ir.StringAttr.get(value)


def dtype_attr(dtype: str | DType) -> ir.TypeAttr:
    """`dtype` as an attribute; needs a current context."""
    return ir.TypeAttr.get(dtypes.dtype(dtype).element_type())


def dim_attr(value: object, what: str) -> ir.Attribute:
    """A dimension as an attribute: an integer, or the text of an expression."""
    attribute: ir.Attribute = dims_attr([dimension(value, what)])[0]
    return attribute


def literal_attr(name: str, value: Any) -> ir.Attribute:  # noqa: ANN401 - a Python literal or an attribute
    """Convert a Python literal to a function attribute."""
    if isinstance(value, ir.Attribute):
        return value
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, list | tuple):
        return ir.ArrayAttr.get([literal_attr(name, item) for item in value])
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return ir.DictAttr.get({key: literal_attr(f"{name}.{key}", item) for key, item in value.items()})
    raise ArgumentError(f"attribute '{name}': {value!r} is neither a literal nor an I.attribute")


def known_dimension(value: Value) -> Dim | None:
    """The integer or expression of a `relax.prim_value`; None for other values."""
    owner = value.ssa.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "relax.prim_value":
        return None
    attribute = owner.operation.attributes["value"]
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else symbolic.parse(attribute.value)


def _shown(value: object) -> str:
    if isinstance(value, Value):
        return f"{value.struct_info}, a value of the program"
    return f"{str(value)[:60]!r} ({type(value).__name__})" if isinstance(value, str) else f"{value!r:.60}"
