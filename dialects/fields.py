"""Types of the fields of op classes, from which builders are derived: operands and attributes, with conversions.

``axis: Int = -1`` declares an integer attribute and a parameter of the builder. ``Int | None`` is ``unit`` for None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

from relax_mlir.dialects import structure
from relax_mlir.dialects.base import Parameter
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import (
    bool_attr,
    dim_attr,
    double_attr,
    doubles_attr,
    dtype_attr,
    int_attr,
    ints_attr,
    text_attr,
)
from relax_mlir.dialects.types import DimLike, Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value
from relax_mlir.mlir import ext, ir


def _operand(value: Any, what: str) -> Value:  # noqa: ANN401 - an argument
    return value if isinstance(value, Value) else as_value(value, what=what)


def _value(value: Any, what: str) -> Any:  # noqa: ANN401 - an argument
    """`value` unchanged: `create` refuses everything but values."""
    return value


def _scalar(dtype: str) -> Callable[[Any, str], Value]:
    return lambda value, what: as_value(value, Tensor((), dtype), what)


def _tuple(value: Any, what: str) -> Value:  # noqa: ANN401 - an argument
    name, _, parameter = what.partition(": ")
    return structure.tuple_of(name, value, parameter.strip("'"))


def _dtype(value: Any, what: str) -> ir.Attribute:  # noqa: ANN401 - an argument
    return dtype_attr(value)


_ANY = ext.Operand[Any]

Operand: TypeAlias = Annotated[ir.Value, Parameter(_ANY, _operand, ValueLike, "ValueLike")]
"""A value or an array."""

PeerOperand: TypeAlias = Annotated[ir.Value, Parameter(_ANY, _operand, ValueLike, "ValueLike", is_peer=True)]
"""A value, an array, or a number, which takes the dtype of the first tensor among the peers."""

OptionalOperand: TypeAlias = Annotated[ir.Value | None, Parameter(_ANY, _operand, ValueLike | None, "ValueLike | None")]
"""A value or an array that `RelaxOp.prepare` sets if None is given."""

ValueOperand: TypeAlias = Annotated[ir.Value, Parameter(_ANY, _value, Value, "Value")]
"""A value."""

Float32Operand: TypeAlias = Annotated[ir.Value, Parameter(_ANY, _scalar("float32"), ValueLike, "ValueLike")]
"""A value, an array, or a number, which becomes a float32."""

Int32Operand: TypeAlias = Annotated[ir.Value, Parameter(_ANY, _scalar("int32"), ValueLike, "ValueLike")]
"""A value, an array, or a number, which becomes an int32."""

Int64Operand: TypeAlias = Annotated[ir.Value, Parameter(_ANY, _scalar("int64"), ValueLike, "ValueLike")]
"""A value, an array, or a number, which becomes an int64."""

TupleOperand: TypeAlias = Annotated[
    ir.Value, Parameter(_ANY, _tuple, Value | Sequence[ValueLike], "Value | Sequence[ValueLike]")
]
"""Tensors, as a sequence or a tuple value."""

Int: TypeAlias = Annotated[int, Parameter(ir.IntegerAttr, int_attr, int, "int")]

Ints: TypeAlias = Annotated[
    int | Sequence[int], Parameter(ir.ArrayAttr, ints_attr, int | Sequence[int], "int | Sequence[int]")
]
"""A list of integers; one integer counts as a list of it."""

Bool: TypeAlias = Annotated[bool, Parameter(ir.IntegerAttr, bool_attr, bool, "bool")]

Float: TypeAlias = Annotated[float, Parameter(ir.FloatAttr, double_attr, float, "float")]

Floats: TypeAlias = Annotated[
    float | Sequence[float],
    Parameter(ir.ArrayAttr, doubles_attr, float | Sequence[float], "float | Sequence[float]"),
]
"""A list of floats; one number counts as a list of it."""

Text: TypeAlias = Annotated[str, Parameter(ir.StringAttr, text_attr, str, "str")]

TextOrDefault: TypeAlias = Annotated[str | None, Parameter(ir.StringAttr, text_attr, str | None, "str | None")]
"""A string that `RelaxOp.prepare` sets if None is given."""

DTypeName: TypeAlias = Annotated[str | DType, Parameter(ir.TypeAttr, _dtype, str | DType, "str | DType")]

Size: TypeAlias = Annotated[DimLike, Parameter(ir.StringAttr | ir.IntegerAttr, dim_attr, DimLike, "DimLike")]
"""A dimension: an integer or a symbolic expression."""
