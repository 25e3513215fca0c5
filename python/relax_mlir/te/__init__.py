"""Tensor expressions: each element of a tensor is a function of its indices.

A computation consists of `placeholder`, `compute` and reductions over a `reduce_axis`. `create_prim_func` builds a prim
func from it, `BlockBuilder.emit_te` a call. The names are those of TVM's `te`. Symbols (`var`) are those of
`relax_mlir.symbolic`; sizes and indices are exact integers, which mix with int64.
"""

from relax_mlir.te import intrin
from relax_mlir.te.expressions import IterVar, Range
from relax_mlir.te.extern import ExternOp, call_packed, call_prim, extern
from relax_mlir.te.functions import (
    abs,
    acos,
    acosh,
    add,
    all,
    any,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cast,
    ceil,
    ceildiv,
    clz,
    const,
    cos,
    cosh,
    div,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    floordiv,
    floormod,
    fmod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    max_value,
    maximum,
    min_value,
    minimum,
    multiply,
    nearbyint,
    popcount,
    power,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    sqrt,
    subtract,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from relax_mlir.te.prim_func import create_prim_func
from relax_mlir.te.recurrence import ScanOp, scan
from relax_mlir.te.reductions import comm_reducer, max, min, prod, reduce_axis, sum
from relax_mlir.te.schedule import (
    BufferPattern,
    Schedule,
    Stage,
    TensorIntrin,
    Trace,
    create_schedule,
    decl_buffer,
    decl_tensor_intrin,
    lower,
)
from relax_mlir.te.tensors import (
    ComputeOp,
    Operation,
    PlaceholderOp,
    Tensor,
    TensorSlice,
    compute,
    placeholder,
    size_var,
    tag_scope,
    thread_axis,
    var,
)

__all__ = [
    "BufferPattern", "ComputeOp", "ExternOp", "IterVar", "Operation", "PlaceholderOp", "Range", "ScanOp",
    "Schedule", "Stage", "Tensor", "TensorIntrin", "TensorSlice", "Trace", "abs", "acos", "acosh", "add",
    "all", "any", "asin", "asinh", "atan", "atan2", "atanh", "call_packed", "call_prim", "cast", "ceil",
    "ceildiv", "clz", "comm_reducer", "compute", "const", "cos", "cosh", "create_prim_func",
    "create_schedule", "decl_buffer", "decl_tensor_intrin", "div", "erf", "exp", "exp2", "expm1", "extern",
    "floor", "floordiv", "floormod", "fmod", "if_then_else", "indexdiv", "indexmod", "infinity", "intrin",
    "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "lower", "max", "max_value", "maximum",
    "min", "min_value", "minimum", "multiply", "nearbyint", "placeholder", "popcount", "power", "prod",
    "reduce_axis", "round", "rsqrt", "scan", "select", "sigmoid", "sin", "sinh", "size_var", "sqrt",
    "subtract", "sum", "tag_scope", "tan", "tanh", "thread_axis", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip
