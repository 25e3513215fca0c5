"""Semantics of Relax ops of the IR on NumPy arrays (floats as float64): by op name, on attributes and values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import indexing_semantics
import ml_dtypes
import numpy as np
import ordering_semantics
import paths  # noqa: F401 - the next imports need it
import references
import references_nn
import references_windows
from difference import Array, Inexact, numpy_dtype
from meanings import FailsError, Sizes, UnknownMeaningError, in_range
from relax_mlir import symbolic
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.dtypes import from_element_type
from relax_mlir.dialects.types import Tensor
from relax_mlir.mlir import ir

CONVOLUTIONS = ("nn_conv1d", "nn_conv2d", "nn_conv3d")
POOLINGS = tuple(f"nn_{kind}_pool{count}d" for kind in ("avg", "max") for count in (1, 2, 3))
Dim = Callable[[Any], int]
"""The value of a dimension or expression of symbols."""
Semantics = Callable[[OpArgs, Sequence[Any], Dim], Any]


def _axes(args: OpArgs, name: str, rank: int) -> tuple[int, ...]:
    if args.is_unit(name):
        return tuple(range(rank))
    value = args.attrs[name]
    found = args.ints_attr(name) if isinstance(value, ir.ArrayAttr) else [args.int_attr(name)]
    return tuple(sorted(axis % rank for axis in found))


def _dtype(args: OpArgs, name: str) -> str:
    if args.is_unit(name):
        return _dtype_of(args)
    return from_element_type(ir.TypeAttr(args.attrs[name]).value).name


def _dtype_of(args: OpArgs) -> str:
    """The dtype of the first operand."""
    info = args.infos[0]
    assert isinstance(info, Tensor) and info.dtype is not None
    return info.dtype.name


def _zeros(sizes: Sequence[int], dtype: str, value: float) -> Array:
    kind = np.float64 if references.is_float(dtype) else numpy_dtype(dtype)
    return np.full(tuple(sizes), value, kind)


def _plain(function: Callable[..., Any]) -> Semantics:
    return lambda args, values, dim: function(*values)


def _power(x: Array, y: Array) -> Any:
    if x.dtype != np.float64 and (np.asarray(y) < 0).any():
        raise UnknownMeaningError("a negative power of an integer")
    return np.power(x, y)


def _shift(function: Callable[..., Array]) -> Callable[..., Array]:
    def compute(x: Array, y: Array) -> Array:
        if ((y < 0) | (y >= 8 * x.dtype.itemsize)).any():
            raise UnknownMeaningError("a shift by the width")
        return function(x, y)

    return compute


def _mod(x: Array, y: Array) -> Any:
    value = references.INTEGER_BINARY["floor_mod"](x, y)
    return Inexact(value, np.maximum(np.abs(x), np.abs(y))) if x.dtype == np.float64 else value


def _floor_divide(x: Array, y: Array) -> Array:
    return references.INTEGER_BINARY["floor_divide"](x, y)


def _fma(x: Array, y: Array, z: Array) -> Any:
    value = x * y + z
    return Inexact(value, np.abs(x * y) + np.abs(z)) if x.dtype == np.float64 else value


def _reduce(name: str) -> Semantics:
    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        x = values[0]
        try:
            return references.reduce(name, x, _axes(args, "axis", x.ndim), args.bool_attr("keepdims"))
        except ValueError as error:
            raise FailsError(f"no elements to reduce: {error}") from None

    return compute


def _truth(function: Callable[..., Any]) -> Semantics:
    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        axes = _axes(args, "axis", values[0].ndim)
        return np.asarray(function(values[0], axis=axes, keepdims=args.bool_attr("keepdims")))

    return compute


def _roll(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    shifts = tuple(args.ints_attr("shift"))
    if args.is_unit("axis"):
        return np.roll(values[0], shifts[0])
    return np.roll(values[0], shifts, tuple(args.ints_attr("axis")))


def _gather_elements(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, indices = values
    axis = _axis(args.int_attr("axis"), x)
    size, others = x.shape[axis], [slice(None)] * x.ndim
    found = indices.astype(np.int64)
    if ((found < -size) | (found >= size)).any():
        raise FailsError("an index out of range")
    for number, count in enumerate(indices.shape):
        if number != axis and count > x.shape[number]:
            raise UnknownMeaningError("more indices than elements")
        others[number] = slice(None) if number == axis else slice(count)
    return np.take_along_axis(x[tuple(others)], np.where(found < 0, found + size, found), axis)


def _position(name: str) -> Semantics:
    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        axis = None if args.is_unit("axis") else args.int_attr("axis")
        x = values[0]
        if x.size == 0 and (axis is None or x.shape[axis] == 0):
            kept = np.sum(x, axis=axis, keepdims=args.bool_attr("keepdims"))
            if np.size(kept):
                raise FailsError("no elements to reduce")
            return np.asarray(kept, np.int64)
        found = getattr(np, name)(x, axis=axis, keepdims=args.bool_attr("keepdims"))
        return np.asarray(found, np.int64)

    return compute


def _clip(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x = values[0]
    for name, function in (("min", np.maximum), ("max", np.minimum)):
        if not args.is_unit(name):
            attribute = args.attrs[name]
            bound = args.float_attr(name) if isinstance(attribute, ir.FloatAttr) else args.int_attr(name)
            x = function(x, np.asarray(bound).astype(x.dtype))
    return x


def _scan(name: str) -> Semantics:
    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        axis = None if args.is_unit("axis") else args.int_attr("axis")
        return references_nn.scan(name, values[0], axis, _dtype(args, "dtype"), args.bool_attr("exclusive"))

    return compute


def _reshape(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, sizes = values
    if math.prod(sizes) != x.size:
        raise FailsError(f"{x.shape} as {sizes}")
    return x.reshape(sizes)


def _view(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, sizes = np.asarray(values[0]), values[1]
    info = args.infos[0]
    assert isinstance(info, Tensor) and info.dtype is not None
    if x.dtype.kind == "f" and np.isnan(x).any():
        raise UnknownMeaningError("the bits of a NaN")
    target, begin = _dtype(args, "dtype"), dim(args.attrs["relative_byte_offset"])
    kind = numpy_dtype("uint8" if target == "bool" else target)
    raw = x.astype(info.dtype.numpy).tobytes()
    end = begin + math.prod(sizes) * kind.itemsize
    if not 0 <= begin <= end <= len(raw):
        raise FailsError(f"bytes {begin} to {end} of {len(raw)}")
    found = np.frombuffer(raw[begin:end], kind).reshape(sizes)
    if target == "bool":
        return found != 0
    return found.astype(np.float64) if references.is_float(target) else found


def _broadcast(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    try:
        return np.broadcast_to(values[0], values[1])
    except ValueError as error:
        raise FailsError(str(error)) from None


def _expand_dims(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    return np.expand_dims(values[0], tuple(args.ints_attr("axes")))


def _squeeze(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    info = args.infos[0]
    assert isinstance(info, Tensor)
    if args.is_unit("axes"):
        if info.shape is None or None in info.shape:
            raise UnknownMeaningError("squeeze of unknown sizes")
        return np.squeeze(values[0], tuple(i for i, d in enumerate(info.shape) if d == 1))
    return np.squeeze(values[0], tuple(args.ints_attr("axes")))


def _axis(axis: int, x: Array) -> int:
    """An axis; negative ones count from the end."""
    if not -x.ndim <= axis < x.ndim:
        raise FailsError(f"axis {axis} of {x.ndim}")
    return axis % x.ndim


def _permute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    return np.transpose(values[0], None if args.is_unit("axes") else args.ints_attr("axes"))


def _split(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    sections = args.attrs["sections"]
    cut = args.ints_attr("sections") if isinstance(sections, ir.ArrayAttr) else args.int_attr("sections")
    x, axis = values[0], _axis(args.int_attr("axis"), values[0])
    if isinstance(cut, list) and any(p < 0 for p in cut):
        raise UnknownMeaningError("a negative position")
    return references.split(x, cut, axis)


def _take(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x, indices = values
    axis = 0 if args.is_unit("axis") else _axis(args.int_attr("axis"), x)
    if args.str_attr("mode") not in ("clip", "wrap"):
        raise UnknownMeaningError("take by nan")
    return references.take(x, indices, axis, args.str_attr("mode"))


def _slice(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    x = values[0]
    if args.bool_attr("assume_inbound"):
        raise UnknownMeaningError("a promise")
    axes = args.ints_attr("axes")
    strides = [1] * len(axes) if args.is_unit("strides") else args.ints_attr("strides")
    bounds = [[dim(item) for item in ir.ArrayAttr(args.attrs[name])] for name in ("begin", "end")]
    for axis, begin, end, stride in zip(axes, *bounds, strides, strict=True):
        x = references.sliced(x, _axis(axis, x), begin, end, stride)
    return x


def _arange(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    if any(isinstance(args.attrs[name], ir.FloatAttr) for name in ("start", "end", "step")):
        raise UnknownMeaningError("a range of floats")
    start, end, step = (dim(args.attrs[name]) for name in ("start", "end", "step"))
    return np.asarray(range(start, end, step), object).astype(numpy_dtype(_dtype(args, "dtype")))


def _eye(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    rows, columns = (dim(item) for item in ir.ArrayAttr(args.attrs["shape"]))
    return np.eye(rows, columns, max(min(args.int_attr("k"), columns), -rows))


def _triangle(name: str) -> Semantics:
    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
        x = values[0]
        return getattr(np, name)(x, max(min(args.int_attr("k"), x.shape[-1]), -x.shape[-2]))

    return compute


def _softmax(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    """Values below the smallest normal f32 may be rounded to anything."""
    value = references.softmax(values[0], args.int_attr("axis"))
    return Inexact(value, np.abs(value) + 2.0**-100)


def _norm_axes(args: OpArgs, x: Array) -> int:
    axes = [_axis(axis, x) for axis in args.ints_attr("axes")]
    if sorted(axes) != list(range(x.ndim - len(axes), x.ndim)):
        raise UnknownMeaningError("a norm over other axes than the last")
    return len(axes)


def _plain_norm(args: OpArgs) -> None:
    if not (args.bool_attr("center") and args.bool_attr("scale")):
        raise UnknownMeaningError("a norm without weights")


def _layer_norm(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    _plain_norm(args)
    epsilon = args.float_attr("epsilon")
    return references_nn.norm(values[0], tuple(values[1:]), _norm_axes(args, values[0]), epsilon)


def _rms_norm(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    epsilon = args.float_attr("epsilon")
    return references_nn.norm(values[0], tuple(values[1:]), _norm_axes(args, values[0]), epsilon)


def _group_norm(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    _plain_norm(args)
    x, gamma, beta = values
    channel = _axis(args.int_attr("channel_axis"), x)
    groups = args.int_attr("num_groups") if "num_groups" in args.attrs else x.shape[channel]
    if groups <= 0 or x.shape[channel] % groups:
        raise UnknownMeaningError("groups that do not fit")
    axes = tuple(_axis(axis, x) for axis in args.ints_attr("axes"))
    return references_nn.group_norm(x, gamma, beta, groups, channel, axes, args.float_attr("epsilon"))


def _unique(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    raise UnknownMeaningError("unique")


def _elementwise() -> dict[str, Semantics]:
    tables = (
        references.FLOAT_UNARY,
        references.NUMBER_UNARY,
        references.PREDICATES,
        references.COMPARISONS,
        references.FLOAT_BINARY,
        references.NUMBER_BINARY,
        references.INTEGER_BINARY,
    )
    named = {name.replace(".", "_"): _plain(f) for table in tables for name, f in table.items()}
    more = ("sinh", "cosh", "tan", "expm1", "log1p", "log2", "log10")
    inverse = ("arcsin", "arccos", "arccosh", "arctanh")
    named |= {name: _plain(getattr(np, name)) for name in more}
    named |= {name.replace("arc", "a"): _plain(getattr(np, name)) for name in inverse}
    return named


SEMANTICS: dict[str, Semantics] = {
    **_elementwise(),
    **{name: in_range(f) for name, f in (indexing_semantics.MEANINGS | ordering_semantics.MEANINGS).items()},
    "power": _plain(_power),
    "floor_mod": _plain(_mod),
    "mod": _plain(_mod),
    "floor_divide": _plain(_floor_divide),
    "left_shift": _plain(_shift(np.left_shift)),
    "right_shift": _plain(_shift(np.right_shift)),
    "bitwise_not": _plain(np.invert),
    "ewise_fma": _plain(_fma),
    "nn_relu6": _plain(lambda x: np.clip(x, 0, 6)),
    "nn_leakyrelu": lambda args, values, dim: np.where(
        values[0] > 0, values[0], values[0] * args.float_attr("alpha")
    ),
    "where": _plain(np.where),
    "clip": _clip,
    "astype": lambda args, values, dim: references.convert(values[0], _dtype(args, "dtype")),
    **{name: _reduce(name) for name in ("sum", "max", "min", "prod", "mean", "variance", "std")},
    "logical_any": _truth(np.any),
    "logical_all": _truth(np.all),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "cumsum": _scan("cumsum"),
    "cumprod": _scan("cumprod"),
    "matmul": lambda args, values, dim: _matmul(args, values),
    "reshape": _reshape,
    "flatten": lambda args, values, dim: values[0].reshape(-1),
    "memory_view": _view,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "permute_dims": _permute,
    "broadcast_to": _broadcast,
    "concat": lambda args, values, dim: _concat(args, values[0]),
    "split": _split,
    "take": _take,
    "strided_slice": _slice,
    "flip": lambda args, values, dim: np.flip(values[0], args.int_attr("axis")),
    "tile": lambda args, values, dim: np.tile(values[0], args.ints_attr("repeats")),
    "repeat": lambda args, values, dim: np.repeat(
        values[0], args.int_attr("repeats"), None if args.is_unit("axis") else args.int_attr("axis")
    ),
    "full": lambda args, values, dim: np.broadcast_to(values[1], values[0]),
    "full_like": lambda args, values, dim: np.broadcast_to(values[1], values[0].shape),
    "ones": lambda args, values, dim: _zeros(values[0], _dtype(args, "dtype"), 1),
    "zeros": lambda args, values, dim: _zeros(values[0], _dtype(args, "dtype"), 0),
    "ones_like": lambda args, values, dim: _zeros(values[0].shape, _dtype(args, "dtype"), 1),
    "zeros_like": lambda args, values, dim: _zeros(values[0].shape, _dtype(args, "dtype"), 0),
    "arange": _arange,
    "eye": _eye,
    "eye_like": lambda args, values, dim: np.eye(
        *values[0].shape, max(min(args.int_attr("k"), values[0].shape[1]), -values[0].shape[0])
    ),
    "stack": lambda args, values, dim: np.stack(values[0], args.int_attr("axis")),
    "outer": lambda args, values, dim: np.multiply.outer(*values),
    "roll": _roll,
    "size": lambda args, values, dim: np.asarray(values[0].size, np.int64),
    "gather_elements": _gather_elements,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "nonzero": lambda args, values, dim: (
        np.stack(np.nonzero(values[0])) if values[0].ndim else _unique(args, values, dim)
    ),
    "unique": _unique,
    **{name: lambda args, values, dim: _convolution(args, values) for name in CONVOLUTIONS},
    **{name: lambda args, values, dim: _pooling(args, values, dim) for name in POOLINGS},
    "nn_batch_norm": lambda args, values, dim: _batch_norm(args, values, dim),
    "nn_softmax": _softmax,
    "nn_log_softmax": lambda args, values, dim: references.log_softmax(values[0], args.int_attr("axis")),
    "nn_layer_norm": _layer_norm,
    "nn_rms_norm": _rms_norm,
    "nn_group_norm": _group_norm,
    "nn_instance_norm": _group_norm,
    "shape_of": lambda args, values, dim: Sizes(values[0].shape),
    "shape_to_tensor": lambda args, values, dim: np.asarray(values[0], np.int64).reshape(-1),
    "tensor_to_shape": lambda args, values, dim: _as_shape(values[0]),
    "shape_equal": lambda args, values, dim: np.asarray(tuple(values[0]) == tuple(values[1])),
    "shape_expr": lambda args, values, dim: Sizes(dim(item) for item in ir.ArrayAttr(args.attrs["values"])),
    "prim_value": lambda args, values, dim: dim(args.attrs["value"]),
}


def _as_shape(x: Array) -> Sizes:
    if (x < 0).any():
        raise FailsError("a negative size")
    return Sizes(int(v) for v in x)


def _matmul(args: OpArgs, values: Sequence[Any]) -> Any:
    if not args.is_unit("out_dtype"):
        raise UnknownMeaningError("matmul with out_dtype")
    try:
        return references.matmul(*values)
    except ValueError as error:
        raise FailsError(str(error)) from None


def _convolution(args: OpArgs, values: Sequence[Any]) -> Any:
    if not args.is_unit("out_dtype"):
        raise UnknownMeaningError("a convolution with out_dtype")
    first, second, third = (args.str_attr(f"{name}_layout") for name in ("data", "kernel", "out"))
    numbers = [args.ints_attr(name) for name in ("strides", "padding", "dilation")]
    try:
        return references_nn.convolution(*values, (first, second, third), *numbers, args.int_attr("groups"))
    except ValueError as error:
        raise FailsError(str(error)) from None


def _pooling(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    numbers = [args.ints_attr(name) for name in ("pool_size", "strides", "padding", "dilation")]
    flags = args.bool_attr("ceil_mode"), args.bool_attr("count_include_pad")
    layouts = args.str_attr("layout"), args.str_attr("out_layout")
    dtype = _dtype_of(args)
    limits = ml_dtypes.finfo(numpy_dtype(dtype)) if references.is_float(dtype) else np.iinfo(dtype)
    try:
        return references_windows.pooling(
            values[0], "avg" in args.op, *numbers, *flags, layouts, float(limits.min)
        )
    except ValueError as error:
        raise FailsError(str(error)) from None


def _batch_norm(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
    x, *weights = values
    if any(weight.shape != (x.shape[args.int_attr("axis")],) for weight in weights):
        raise FailsError("weights of another size")
    flags = [args.bool_attr(name) for name in ("center", "scale")]
    return references_windows.batch_norm(
        x,
        weights,
        args.int_attr("axis"),
        args.float_attr("epsilon"),
        *flags,
        args.float_attr("momentum"),
        args.bool_attr("training"),
    )


def _concat(args: OpArgs, parts: Sequence[Array]) -> Array:
    try:
        return np.concatenate(parts, args.int_attr("axis"))
    except ValueError as error:
        raise FailsError(str(error)) from None


def expression(dim: Any) -> symbolic.Dim:
    """An attribute, integer or text as a dimension."""
    if isinstance(dim, ir.IntegerAttr):
        return int(dim.value)
    if isinstance(dim, ir.StringAttr):
        return symbolic.parse(dim.value)
    if isinstance(dim, int | symbolic.Expr):
        return dim
    raise UnknownMeaningError(f"dimension {dim}")
