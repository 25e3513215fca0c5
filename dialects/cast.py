"""Conversion between dtypes."""

from typing import Any

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.value import Value, create_one, require_insertion_point
from relax_mlir.mlir import ext, ir


class AstypeOp(RelaxOp, name="astype", traits=[ext.Pure]):
    """Conversion of each element to `dtype`.

    Floats to integers: the integer part; values out of range saturate, and NaN gives 0. Integers to narrower ones: the
    low bits. To bool: true for nonzero elements. Between floats: the nearest value.

    Example: ``[1.9, -1.9, 300.0]`` to int8 gives ``[1, -1, 127]``.
    """

    op_pattern = OpPatternKind.ELEMWISE

    x: ext.Operand[Any]
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0).with_dtype(dtype_of(args, "dtype"))


def dtype_of(args: OpArgs, name: str) -> DType:
    """The dtype in attribute `name`, an element type; raises `DTypeError` for a type that Relax does not have."""
    return dtypes.from_element_type(ir.TypeAttr(args.attrs[name]).value)


def dtype_attr(dtype: str | DType) -> ir.TypeAttr:
    """`dtype` as an attribute; needs a current context."""
    return ir.TypeAttr.get(dtypes.dtype(dtype).element_type())


def astype(x: Value, dtype: str | DType) -> Value:
    """`x` converted to `dtype` (see `AstypeOp`)."""
    require_insertion_point("astype")
    return create_one(AstypeOp, [x], {"dtype": dtype_attr(dtype)})
