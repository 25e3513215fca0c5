"""The functions that construct patterns, with the names of TVM's ``relax.dpl``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relax_mlir.dialects.types import DimLike
from relax_mlir.dialects.value import Value
from relax_mlir.dpl.expression_patterns import (
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    PrimArrPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
)
from relax_mlir.dpl.narrowing import AttrPattern, DataTypePattern
from relax_mlir.dpl.patterns import DFPattern
from relax_mlir.error import expect
from relax_mlir.op.op_registry import Op

Arguments = Sequence[DFPattern] | TuplePattern | None
"""Patterns of the arguments of a call; None matches any arguments."""


def wildcard() -> WildcardPattern:
    """Match any value."""
    return WildcardPattern()


def is_op(op_name: str) -> ExprPattern:
    """Match an op: ``is_op("relax.add")(x, y)`` matches its calls, ``is_op("relax.add")`` calls with any arguments.

    Raises:
        UnknownNameError: no such op.
    """
    return ExprPattern(Op.get(op_name))


def is_expr(expr: Value) -> ExprPattern:
    """Match one value of a program, or a constant equal to it."""
    return ExprPattern(expr)


def is_var(name: str = "") -> VarPattern:
    """Match a parameter or the variable of a binding; with this name, if one is given."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Match a variable that is visible only in its dataflow block; with this name, if one is given."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Match a function of the module; with this name, if one is given."""
    return GlobalVarPattern(name)


def is_extern_func(global_symbol: str = "") -> ExternFuncPattern:
    """Match a packed function; with this name, if one is given."""
    return ExternFuncPattern(global_symbol)


def is_const() -> ConstantPattern:
    """Match a constant tensor."""
    return ConstantPattern()


def is_tuple(fields: Sequence[DFPattern], unordered: bool = False) -> TuplePattern:
    """Match a tuple of these fields, in order, or with `unordered` in any order."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Match field `index` of a tuple; None matches any field."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[DimLike]) -> PrimArrPattern:
    """Match a shape value whose dimensions are proved equal to these; ``"?"`` matches any dimension."""
    return PrimArrPattern(shape)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Match a tensor of this dtype that `pattern` matches; None matches any."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Match a call that `pattern` matches and whose attributes have these values; None matches any call."""
    return AttrPattern(pattern or wildcard(), attrs)


def is_call_tir(
    func_name: str, args: Arguments = None, tir_vars: Sequence[DimLike] | None = None
) -> CallPattern:
    """Match a `call_tir` of a prim func of the module.

    Args:
        func_name: name of the prim func.
        args: patterns of the arguments; None matches any.
        tir_vars: the symbolic integers that are passed in addition; None matches any, including none.
    """
    given = [is_gv(func_name), _listed("is_call_tir", args)]
    if tir_vars is None:
        return CallPattern(is_op("relax.call_tir"), given, varg_default_wildcard=True)
    return CallPattern(is_op("relax.call_tir"), [*given, is_shape(tir_vars)])


def is_call_dps_packed(func_name: str, args: Arguments = None) -> CallPattern:
    """Match a `call_dps_packed` of a packed function.

    Args:
        func_name: name of the packed function.
        args: patterns of the arguments; None matches any.
    """
    given = [is_extern_func(func_name), _listed("is_call_dps_packed", args)]
    return CallPattern(is_op("relax.call_dps_packed"), given)


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> DFPattern:
    """Match a call of a packed function that returns its results: `call_packed` or `call_pure_packed`.

    Args:
        func_name: name of the packed function.
        args: patterns of the arguments; None matches any.
    """
    expect("is_call_packed: 'args'", args, list | tuple | None, "a list of patterns, or None for any")
    callee, given, any_args = is_extern_func(func_name), list(args or ()), args is None
    pure = CallPattern(is_op("relax.call_pure_packed"), [callee, *given], any_args)
    return CallPattern(callee, given, any_args) | pure


def _listed(where: str, args: Arguments) -> DFPattern:
    """The pattern of the argument tuple."""
    if args is None or isinstance(args, TuplePattern):
        return args or wildcard()
    expect(f"{where}: 'args'", args, list | tuple, "a list of patterns, is_tuple([...]), or None for any")
    return is_tuple(args)
