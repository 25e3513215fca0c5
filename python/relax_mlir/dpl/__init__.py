"""The dataflow pattern language, with the names of TVM's ``relax.dpl``.

A pattern matches values of a program: `is_op`, `wildcard`, `is_const`, …; operators combine and narrow patterns.
`DFPattern.match` tests one value, and a `PatternContext` matches several patterns in a block. `rewrite_call` and
`rewrite_bindings` replace what patterns match. The pass ``fuse-ops-by-pattern`` outlines matches into functions.
"""

from relax_mlir.dpl.pattern_context import PatternContext, PatternSeq
from relax_mlir.dpl.patterns import (
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    NotPattern,
    OrPattern,
    PrimArrPattern,
    ShapePattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
    has_attr,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_extern_func,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from relax_mlir.dpl.rewrite import rewrite_bindings, rewrite_call

__all__ = [
    "AndPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DataTypePattern",
    "DataflowVarPattern", "ExprPattern", "ExternFuncPattern", "GlobalVarPattern", "NotPattern", "OrPattern",
    "PatternContext", "PatternSeq", "PrimArrPattern", "ShapePattern", "StructInfoPattern",
    "TupleGetItemPattern", "TuplePattern", "TypePattern", "UnorderedTuplePattern", "VarPattern",
    "WildcardPattern", "has_attr", "has_dtype", "is_call_dps_packed", "is_call_packed", "is_call_tir",
    "is_const", "is_dfv", "is_expr", "is_extern_func", "is_gv", "is_op", "is_shape", "is_tuple",
    "is_tuple_get_item", "is_var", "rewrite_bindings", "rewrite_call", "wildcard",
]  # fmt: skip
