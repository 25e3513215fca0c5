"""Types of the names below ``R``, for type checkers and editors: annotations, statements, decorators and all ops."""

import builtins
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any as _Any

from relax_mlir.op import Op as Op
from relax_mlir.op import abs as abs
from relax_mlir.op import acos as acos
from relax_mlir.op import acosh as acosh
from relax_mlir.op import add as add
from relax_mlir.op import all as all
from relax_mlir.op import any as any
from relax_mlir.op import arange as arange
from relax_mlir.op import argmax as argmax
from relax_mlir.op import argmin as argmin
from relax_mlir.op import argsort as argsort
from relax_mlir.op import asin as asin
from relax_mlir.op import asinh as asinh
from relax_mlir.op import astype as astype
from relax_mlir.op import atan as atan
from relax_mlir.op import atan2 as atan2
from relax_mlir.op import atanh as atanh
from relax_mlir.op import bind_shape as bind_shape
from relax_mlir.op import bitwise_and as bitwise_and
from relax_mlir.op import bitwise_not as bitwise_not
from relax_mlir.op import bitwise_or as bitwise_or
from relax_mlir.op import bitwise_xor as bitwise_xor
from relax_mlir.op import broadcast_to as broadcast_to
from relax_mlir.op import bucketize as bucketize
from relax_mlir.op import ceil as ceil
from relax_mlir.op import clip as clip
from relax_mlir.op import collapse_sum_like as collapse_sum_like
from relax_mlir.op import collapse_sum_to as collapse_sum_to
from relax_mlir.op import concat as concat
from relax_mlir.op import cos as cos
from relax_mlir.op import cosh as cosh
from relax_mlir.op import cumprod as cumprod
from relax_mlir.op import cumsum as cumsum
from relax_mlir.op import dequantize as dequantize
from relax_mlir.op import divide as divide
from relax_mlir.op import dot as dot
from relax_mlir.op import dynamic_strided_slice as dynamic_strided_slice
from relax_mlir.op import einsum as einsum
from relax_mlir.op import equal as equal
from relax_mlir.op import erf as erf
from relax_mlir.op import ewise_add as ewise_add
from relax_mlir.op import ewise_fma as ewise_fma
from relax_mlir.op import exp as exp
from relax_mlir.op import expand_dims as expand_dims
from relax_mlir.op import expm1 as expm1
from relax_mlir.op import extern_func as extern_func
from relax_mlir.op import eye as eye
from relax_mlir.op import eye_like as eye_like
from relax_mlir.op import flatten as flatten
from relax_mlir.op import flip as flip
from relax_mlir.op import floor as floor
from relax_mlir.op import floor_divide as floor_divide
from relax_mlir.op import floor_mod as floor_mod
from relax_mlir.op import for_loop as for_loop
from relax_mlir.op import full as full
from relax_mlir.op import full_like as full_like
from relax_mlir.op import gather_elements as gather_elements
from relax_mlir.op import gather_nd as gather_nd
from relax_mlir.op import grad as grad
from relax_mlir.op import greater as greater
from relax_mlir.op import greater_equal as greater_equal
from relax_mlir.op import hamming_window as hamming_window
from relax_mlir.op import if_then_else as if_then_else
from relax_mlir.op import image as image
from relax_mlir.op import index_put as index_put
from relax_mlir.op import index_tensor as index_tensor
from relax_mlir.op import infer_rule as infer_rule
from relax_mlir.op import isfinite as isfinite
from relax_mlir.op import isinf as isinf
from relax_mlir.op import isnan as isnan
from relax_mlir.op import left_shift as left_shift
from relax_mlir.op import less as less
from relax_mlir.op import less_equal as less_equal
from relax_mlir.op import log as log
from relax_mlir.op import log1p as log1p
from relax_mlir.op import log2 as log2
from relax_mlir.op import log10 as log10
from relax_mlir.op import log_add_exp as log_add_exp
from relax_mlir.op import logical_all as logical_all
from relax_mlir.op import logical_and as logical_and
from relax_mlir.op import logical_any as logical_any
from relax_mlir.op import logical_not as logical_not
from relax_mlir.op import logical_or as logical_or
from relax_mlir.op import logical_xor as logical_xor
from relax_mlir.op import logsumexp as logsumexp
from relax_mlir.op import matmul as matmul
from relax_mlir.op import max as max
from relax_mlir.op import maximum as maximum
from relax_mlir.op import mean as mean
from relax_mlir.op import median as median
from relax_mlir.op import memory as memory
from relax_mlir.op import meshgrid as meshgrid
from relax_mlir.op import min as min
from relax_mlir.op import minimum as minimum
from relax_mlir.op import mod as mod
from relax_mlir.op import multinomial_from_uniform as multinomial_from_uniform
from relax_mlir.op import multiply as multiply
from relax_mlir.op import negative as negative
from relax_mlir.op import nn as nn
from relax_mlir.op import nonzero as nonzero
from relax_mlir.op import not_equal as not_equal
from relax_mlir.op import one_hot as one_hot
from relax_mlir.op import ones as ones
from relax_mlir.op import ones_like as ones_like
from relax_mlir.op import outer as outer
from relax_mlir.op import permute_dims as permute_dims
from relax_mlir.op import power as power
from relax_mlir.op import prim_to_tensor as prim_to_tensor
from relax_mlir.op import prod as prod
from relax_mlir.op import quantize as quantize
from relax_mlir.op import random as random
from relax_mlir.op import register_infer as register_infer
from relax_mlir.op import register_op_attr as register_op_attr
from relax_mlir.op import repeat as repeat
from relax_mlir.op import reshape as reshape
from relax_mlir.op import reverse_sequence as reverse_sequence
from relax_mlir.op import right_shift as right_shift
from relax_mlir.op import roll as roll
from relax_mlir.op import round as round
from relax_mlir.op import rsqrt as rsqrt
from relax_mlir.op import scatter_elements as scatter_elements
from relax_mlir.op import scatter_nd as scatter_nd
from relax_mlir.op import searchsorted as searchsorted
from relax_mlir.op import shape_equal as shape_equal
from relax_mlir.op import shape_of as shape_of
from relax_mlir.op import shape_to_tensor as shape_to_tensor
from relax_mlir.op import shaped as shaped
from relax_mlir.op import sigmoid as sigmoid
from relax_mlir.op import sign as sign
from relax_mlir.op import sin as sin
from relax_mlir.op import sinh as sinh
from relax_mlir.op import size as size
from relax_mlir.op import slice_scatter as slice_scatter
from relax_mlir.op import sort as sort
from relax_mlir.op import split as split
from relax_mlir.op import sqrt as sqrt
from relax_mlir.op import square as square
from relax_mlir.op import squeeze as squeeze
from relax_mlir.op import stack as stack
from relax_mlir.op import std as std
from relax_mlir.op import strided_slice as strided_slice
from relax_mlir.op import subtract as subtract
from relax_mlir.op import sum as sum
from relax_mlir.op import take as take
from relax_mlir.op import tan as tan
from relax_mlir.op import tanh as tanh
from relax_mlir.op import tensor_to_shape as tensor_to_shape
from relax_mlir.op import tile as tile
from relax_mlir.op import topk as topk
from relax_mlir.op import tril as tril
from relax_mlir.op import triu as triu
from relax_mlir.op import trunc as trunc
from relax_mlir.op import tuple_get_item as tuple_get_item
from relax_mlir.op import unique as unique
from relax_mlir.op import unregister_infer as unregister_infer
from relax_mlir.op import unregister_op as unregister_op
from relax_mlir.op import variance as variance
from relax_mlir.op import vision as vision
from relax_mlir.op import vm as vm
from relax_mlir.op import where as where
from relax_mlir.op import while_loop as while_loop
from relax_mlir.op import zeros as zeros
from relax_mlir.op import zeros_like as zeros_like
from relax_mlir.script.decorators import function as function

class Annotation:
    """An annotation in a signature."""
    def __init__(self, *arguments: _Any, **named: _Any) -> None: ...
    def __class_getitem__(cls, item: _Any) -> _Any: ...

class Tensor(Annotation):
    """A tensor: its shape and dtype, each of which may be left out."""

class Shape(Annotation):
    """A shape value."""

class Prim(Annotation):
    """A symbolic integer."""

class Tuple(Annotation):
    """A tuple of values."""

class Callable(Annotation):
    """A function as a value."""

class Object(Annotation):
    """An opaque object."""

Any = Object

def dataflow() -> AbstractContextManager[None]: ...
def output(*values: _Any) -> None: ...
def outputs(*values: _Any) -> None: ...
def range(*bounds: _Any) -> _Any: ...
def func_attr(attributes: Mapping[builtins.str, _Any]) -> None: ...
def shape(values: _Any) -> _Any: ...
def emit_te(function: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def ExternFunc(*args: _Any, **kwargs: _Any) -> _Any: ...
def ShapeExpr(*args: _Any, **kwargs: _Any) -> _Any: ...
def assert_op(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_dps_packed(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_inplace_packed(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_packed(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_prim(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_pure_packed(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_py_func(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_tir(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_tir_dyn(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_tir_inplace(*args: _Any, **kwargs: _Any) -> _Any: ...
def call_tir_with_grad(*args: _Any, **kwargs: _Any) -> _Any: ...
def const(*args: _Any, **kwargs: _Any) -> _Any: ...
def constant(*args: _Any, **kwargs: _Any) -> _Any: ...
def dtype(*args: _Any, **kwargs: _Any) -> _Any: ...
def invoke_closure(*args: _Any, **kwargs: _Any) -> _Any: ...
def invoke_pure_closure(*args: _Any, **kwargs: _Any) -> _Any: ...
def layout_transform(*args: _Any, **kwargs: _Any) -> _Any: ...
def make_closure(*args: _Any, **kwargs: _Any) -> _Any: ...
def make_tuple(*args: _Any, **kwargs: _Any) -> _Any: ...
def wrap_param(*args: _Any, **kwargs: _Any) -> _Any: ...
def match_cast(*args: _Any, **kwargs: _Any) -> _Any: ...
def match_shape(*args: _Any, **kwargs: _Any) -> _Any: ...
def null_value(*args: _Any, **kwargs: _Any) -> _Any: ...
def op(*args: _Any, **kwargs: _Any) -> _Any: ...
def prim_value(*args: _Any, **kwargs: _Any) -> _Any: ...
def print(*args: _Any, **kwargs: _Any) -> _Any: ...
def shape_expr(*args: _Any, **kwargs: _Any) -> _Any: ...
def str(*args: _Any, **kwargs: _Any) -> _Any: ...
def tuple(*args: _Any, **kwargs: _Any) -> _Any: ...
def __getattr__(name: builtins.str) -> _Any: ...
