"""A pattern language over dataflow, by the names of TVM's ``relax.dpl``.

Patterns stand for values of a program: `is_op`, `wildcard`, `is_const`, … and what combines and narrows them.
`DFPattern.match` compares one with a value, a `PatternContext` finds several in a block, `rewrite_call` and
`rewrite_bindings` put something else in their place. The pass ``fuse-ops-by-pattern`` makes functions of finds.
"""

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
from relax_mlir.dpl.narrowing import (
    AttrPattern,
    DataTypePattern,
    ShapePattern,
    StructInfoPattern,
    TypePattern,
)
from relax_mlir.dpl.pattern_context import PatternContext, PatternSeq
from relax_mlir.dpl.pattern_functions import (
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
from relax_mlir.dpl.patterns import AndPattern, DFPattern, NotPattern, OrPattern
from relax_mlir.dpl.rewrite import rewrite_bindings, rewrite_call

__all__ = [
    "AndPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DataTypePattern",
    "DataflowVarPattern",
    "ExprPattern",
    "ExternFuncPattern",
    "GlobalVarPattern",
    "NotPattern",
    "OrPattern",
    "PatternContext",
    "PatternSeq",
    "PrimArrPattern",
    "ShapePattern",
    "StructInfoPattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "UnorderedTuplePattern",
    "VarPattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_extern_func",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "rewrite_bindings",
    "rewrite_call",
    "wildcard",
]
