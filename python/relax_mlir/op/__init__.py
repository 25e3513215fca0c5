"""All op builders: ``from relax_mlir import op as R``, then ``R.add(x, y)``, ``R.nn.relu(x)``.

Each function emits its op at the current insertion point of a `BlockBuilder` and returns its value.
"""

from __future__ import annotations

from relax_mlir.dialects.binary import (
    add,
    atan2,
    divide,
    ewise_fma,
    floor_divide,
    floor_mod,
    log_add_exp,
    maximum,
    minimum,
    mod,
    multiply,
    power,
    subtract,
)
from relax_mlir.dialects.bitwise import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    left_shift,
    right_shift,
)
from relax_mlir.dialects.calls import (
    call_dps_packed,
    call_packed,
    call_pure_packed,
)
from relax_mlir.dialects.calls_of_python import (
    call_inplace_packed,
    call_py_func,
)
from relax_mlir.dialects.cast import (
    astype,
)
from relax_mlir.dialects.closures import invoke_closure, invoke_pure_closure
from relax_mlir.dialects.collapse import (
    collapse_sum_like,
    collapse_sum_to,
)
from relax_mlir.dialects.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from relax_mlir.dialects.control import (
    if_then_else,
)
from relax_mlir.dialects.create import (
    arange,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from relax_mlir.dialects.data_dependent import (
    nonzero,
    unique,
)
from relax_mlir.dialects.dynamic_slices import (
    dynamic_strided_slice,
)
from relax_mlir.dialects.effects import assert_op, print
from relax_mlir.dialects.einsum import (
    einsum,
)
from relax_mlir.dialects.extern_func import ExternFunc, extern_func
from relax_mlir.dialects.gather import gather_elements, gather_nd, index_tensor
from relax_mlir.dialects.infer_rules import (
    register_infer,
    unregister_infer,
)
from relax_mlir.dialects.inplace import call_tir_inplace
from relax_mlir.dialects.integers import (
    prim_to_tensor,
)
from relax_mlir.dialects.layout_transform import (
    layout_transform,
)
from relax_mlir.dialects.linear_algebra import (
    matmul,
)
from relax_mlir.dialects.logical import (
    logical_and,
    logical_or,
    logical_xor,
)
from relax_mlir.dialects.loops import (
    for_loop,
    while_loop,
)
from relax_mlir.dialects.manipulate import (
    broadcast_to,
    concat,
    permute_dims,
    split,
    strided_slice,
    take,
)
from relax_mlir.dialects.memory import (
    call_prim,
)
from relax_mlir.dialects.one_hot import (
    one_hot,
)
from relax_mlir.dialects.quantiles import (
    bucketize,
    median,
    multinomial_from_uniform,
    searchsorted,
)
from relax_mlir.dialects.quantization import dequantize, quantize
from relax_mlir.dialects.reduce import (
    argmax,
    argmin,
    logical_all,
    logical_any,
    logsumexp,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    variance,
)
from relax_mlir.dialects.repetition import (
    flip,
    repeat,
    roll,
    tile,
)
from relax_mlir.dialects.reverse_sequence import (
    reverse_sequence,
)
from relax_mlir.dialects.scan import cumprod, cumsum
from relax_mlir.dialects.scatter import index_put, scatter_elements, scatter_nd
from relax_mlir.dialects.select import (
    clip,
    where,
)
from relax_mlir.dialects.shape_first import call_tir, call_tir_dyn
from relax_mlir.dialects.shape_functions import (
    bind_shape,
    ewise_add,
    shape_equal,
    shaped,
)
from relax_mlir.dialects.shape_values import (
    shape_to_tensor,
    size,
    tensor_to_shape,
)
from relax_mlir.dialects.signal import (
    hamming_window,
)
from relax_mlir.dialects.slice_updates import (
    slice_scatter,
)
from relax_mlir.dialects.sorting import argsort, sort, topk
from relax_mlir.dialects.stacking import (
    meshgrid,
    outer,
    stack,
)
from relax_mlir.dialects.structure import (
    constant,
    make_tuple,
    match_shape,
    prim_value,
    shape_expr,
    shape_of,
    tuple_get_item,
)
from relax_mlir.dialects.triangle import (
    eye,
    eye_like,
    tril,
    triu,
)
from relax_mlir.dialects.trigonometric import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)
from relax_mlir.dialects.unary import (
    abs,
    bitwise_not,
    ceil,
    erf,
    exp,
    expm1,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    log10,
    logical_not,
    negative,
    round,
    rsqrt,
    sigmoid,
    sign,
    sqrt,
    square,
    trunc,
)
from relax_mlir.dialects.views import expand_dims, flatten, reshape, squeeze
from relax_mlir.op import (
    grad,
    image,
    memory,
    nn,
    random,
    vision,
    vm,
)
from relax_mlir.op.op_registry import Op, infer_rule, register_op_attr, unregister_op

const = constant
match_cast = match_shape
dot = matmul
any = logical_any
all = logical_all

__all__ = [
    "ExternFunc",
    "Op",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "assert_op",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bind_shape",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "bucketize",
    "call_dps_packed",
    "call_inplace_packed",
    "call_packed",
    "call_prim",
    "call_pure_packed",
    "call_py_func",
    "call_tir",
    "call_tir_dyn",
    "call_tir_inplace",
    "ceil",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concat",
    "const",
    "constant",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "dequantize",
    "divide",
    "dot",
    "dynamic_strided_slice",
    "einsum",
    "equal",
    "erf",
    "ewise_add",
    "ewise_fma",
    "exp",
    "expand_dims",
    "expm1",
    "extern_func",
    "eye",
    "eye_like",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "floor_mod",
    "for_loop",
    "full",
    "full_like",
    "gather_elements",
    "gather_nd",
    "grad",
    "greater",
    "greater_equal",
    "hamming_window",
    "if_then_else",
    "image",
    "index_put",
    "index_tensor",
    "infer_rule",
    "invoke_closure",
    "invoke_pure_closure",
    "isfinite",
    "isinf",
    "isnan",
    "layout_transform",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_add_exp",
    "logical_all",
    "logical_and",
    "logical_any",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "make_tuple",
    "match_cast",
    "match_shape",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "memory",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "multinomial_from_uniform",
    "multiply",
    "negative",
    "nn",
    "nonzero",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "outer",
    "permute_dims",
    "power",
    "prim_to_tensor",
    "prim_value",
    "print",
    "prod",
    "quantize",
    "random",
    "register_infer",
    "register_op_attr",
    "repeat",
    "reshape",
    "reverse_sequence",
    "right_shift",
    "roll",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "shape_equal",
    "shape_expr",
    "shape_of",
    "shape_to_tensor",
    "shaped",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "size",
    "slice_scatter",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tensor_to_shape",
    "tile",
    "topk",
    "tril",
    "triu",
    "trunc",
    "tuple_get_item",
    "unique",
    "unregister_infer",
    "unregister_op",
    "variance",
    "vision",
    "vm",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]
