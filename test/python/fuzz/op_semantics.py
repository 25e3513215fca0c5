"""Semantics of Relax ops of the IR: which attributes the functions of `reference` get, and what is not compared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import paths  # noqa: F401 - the next imports need it
import reference
from reference import OPS, Array, is_float, numpy_dtype
from relax_mlir import symbolic
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.dtypes import from_element_type
from relax_mlir.dialects.types import Tensor
from relax_mlir.mlir import ir


class UnknownMeaningError(Exception):
    """The interpreter does not know these semantics: the mutant is not compared."""


class FailsError(Exception):
    """The program fails here."""


class Sizes(tuple[int, ...]):
    """The value of a shape."""


Dim = Callable[[Any], int]
"""The value of a dimension or expression of symbols."""
Semantics = Callable[[OpArgs, Sequence[Any], Dim], Any]
DIMENSIONS = frozenset({"begin", "end", "start", "step", "depth", "count", "pad_width"})
"""Attributes that are dimensions, or lists of them."""


def _attribute(args: OpArgs, name: str, dim: Dim) -> Any:
    """The value of an attribute: None for ``unit``, the name of a dtype, a number, text or a list."""
    return _read(args.attrs[name], dim if name in DIMENSIONS else None)


def _read(attribute: ir.Attribute, dim: Dim | None) -> Any:
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.ArrayAttr):
        return [_read(item, dim) for item in attribute]
    if isinstance(attribute, ir.TypeAttr):
        return from_element_type(attribute.value).name
    return attribute.value if dim is None else dim(attribute)


def _by_attributes(name: str, *attributes: str) -> Semantics:
    """The reference of an op, after its guard, on the operands and these attributes."""

    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        if name in GUARDS:
            GUARDS[name](args, values, dim)
        try:
            return OPS[name](*values, *(_attribute(args, each, dim) for each in attributes))
        except (IndexError, ValueError) as error:
            raise FailsError(str(error)) from None

    return compute


def _dtype(args: OpArgs, name: str) -> str:
    if args.is_unit(name):
        return _dtype_of(args)
    return from_element_type(ir.TypeAttr(args.attrs[name]).value).name


def _dtype_of(args: OpArgs) -> str:
    """The dtype of the first operand."""
    info = args.infos[0]
    assert isinstance(info, Tensor) and info.dtype is not None
    return info.dtype.name


def _no_wide_shift(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    x, y = values
    if ((y < 0) | (y >= 8 * x.dtype.itemsize)).any():
        raise UnknownMeaningError("a shift by the width")


def _no_negative_position(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if isinstance(args.attrs["sections"], ir.ArrayAttr) and any(p < 0 for p in args.ints_attr("sections")):
        raise UnknownMeaningError("a negative position")


def _any_index(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if args.str_attr("mode") not in ("clip", "wrap", "nan"):
        raise UnknownMeaningError("take with checked or promised indices")


def _no_promise(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if args.bool_attr("assume_inbound"):
        raise UnknownMeaningError("a promise")


def _few_indices(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    x, indices = values
    axis = _axis(args.int_attr("axis"), x)
    if any(n > m for i, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True)) if i != axis):
        raise UnknownMeaningError("more indices than elements")


def _integers(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    """The position of a float among others depends on its rounding."""
    if any(array.dtype == np.float64 for array in values):
        raise UnknownMeaningError("places of floats")


def _integers_or_values(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if args.str_attr("ret_type") != "values":
        _integers(args, values, dim)


def _fitting_groups(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    channels, groups = (
        values[0].shape[_axis(args.int_attr("channel_axis"), values[0])],
        args.int_attr("num_groups"),
    )
    if groups <= 0 or channels % groups:
        raise UnknownMeaningError("groups that do not fit")


def _channels(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if any(weight.shape != (values[0].shape[args.int_attr("axis")],) for weight in values[1:]):
        raise FailsError("weights of another size")


def _some_dimensions(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if not values[0].ndim:
        raise UnknownMeaningError("the position of a scalar")


def _integer_bounds(args: OpArgs, values: Sequence[Any], dim: Dim) -> None:
    if any(isinstance(args.attrs[name], ir.FloatAttr) for name in ("start", "end", "step")):
        raise UnknownMeaningError("a range of floats")


CONVOLUTIONS = tuple(f"nn.conv{count}d" for count in (1, 2, 3))
POOLINGS = tuple(f"nn.{kind}_pool{count}d" for kind in ("avg", "max") for count in (1, 2, 3))
GUARDS: dict[str, Callable[[OpArgs, Sequence[Any], Dim], None]] = {
    "left_shift": _no_wide_shift,
    "right_shift": _no_wide_shift,
    "split": _no_negative_position,
    "take": _any_index,
    "strided_slice": _no_promise,
    "gather_elements": _few_indices,
    "argsort": _integers,
    "bucketize": _integers,
    "topk": _integers_or_values,
    "nn.group_norm": _fitting_groups,
    "nn.batch_norm": _channels,
    "nonzero": _some_dimensions,
    "arange": _integer_bounds,
}
"""What the interpreter does not know, or what fails, by op name."""


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
    return found.astype(np.float64) if is_float(target) else found


def _axis(axis: int, x: Array) -> int:
    """An axis; negative ones count from the end."""
    if not -x.ndim <= axis < x.ndim:
        raise FailsError(f"axis {axis} of {x.ndim}")
    return axis % x.ndim


def _layout_transform(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    """The shape is that of the largest positions of elements, which is correct if the last ones are not padding."""
    (x,) = values
    text = args.str_attr("index_map")
    index_map = eval(text, {})
    places = {at: index_map(*at) for at in itertools.product(*map(range, x.shape))}
    shape = [1 + max(column) for column in zip(*places.values(), strict=True)]
    padding = args.attrs["pad_value"]
    found = np.full(shape, 0 if isinstance(padding, ir.UnitAttr) else padding.value, x.dtype)
    for at, place in places.items():
        found[place] = x[at]
    return found


def _eye(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    rows, columns = (dim(item) for item in ir.ArrayAttr(args.attrs["shape"]))
    return np.asarray(OPS["eye"](rows, columns, args.int_attr("k"), _dtype(args, "dtype")))


def _squeeze(args: OpArgs, values: Sequence[Any], dim: Dim) -> Array:
    """The shape rule decides which dimensions go where no axes are given."""
    info = args.infos[0]
    assert isinstance(info, Tensor)
    if args.is_unit("axes") and (info.shape is None or None in info.shape):
        raise UnknownMeaningError("squeeze of unknown sizes")
    ones = [i for i, size in enumerate(info.shape or ()) if size == 1]
    return np.asarray(OPS["squeeze"](values[0], ones if args.is_unit("axes") else args.ints_attr("axes")))


def _pooling(name: str) -> Semantics:
    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        dtype = _dtype_of(args)
        limits = ml_dtypes.finfo(numpy_dtype(dtype)) if is_float(dtype) else np.iinfo(dtype)
        try:
            return OPS[name](values[0], *(_attribute(args, each, dim) for each in WINDOWS), nothing=float(limits.min))
        except ValueError as error:
            raise FailsError(str(error)) from None

    return compute


WINDOWS = (
    *("pool_size", "strides", "padding", "dilation"),
    *("ceil_mode", "count_include_pad", "layout", "out_layout"),
)
NORM = ("axes", "epsilon")
WEIGHTED = (*NORM, "center", "scale")
KERNELS = (
    *("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_layout"),
    "out_dtype",
)
PLAIN = (
    *(reference.FLOAT_UNARY | reference.NUMBER_UNARY | reference.PREDICATES | reference.COMPARISONS),
    *(reference.FLOAT_BINARY | reference.NUMBER_BINARY | reference.INTEGER_BINARY | reference.DIVISIONS),
    *("bitwise_not", "ewise_fma", "where", "nn.relu6", "nn.selu", "nn.hardswish"),
    *("reshape", "flatten", "broadcast_to", "full", "full_like", "outer", "size", "nonzero", "index_tensor"),
    *("dynamic_strided_slice", "nn.batch_flatten", "nn.dropout", "multinomial_from_uniform"),
)
"""Ops whose attributes do not change the result, as it is represented here."""
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(PLAIN, ()),
    **dict.fromkeys(reference.REDUCTIONS, ("axis", "keepdims")),
    "argmax": ("axis", "keepdims"),
    "argmin": ("axis", "keepdims"),
    "matmul": ("out_dtype",),
    "clip": ("min", "max"),
    "astype": ("dtype",),
    "nn.leakyrelu": ("alpha",),
    "nn.prelu": ("axis",),
    "nn.elu": ("alpha",),
    "nn.hardsigmoid": ("alpha", "beta"),
    "nn.softplus": ("beta", "threshold"),
    "expand_dims": ("axes",),
    "permute_dims": ("axes",),
    "concat": ("axis",),
    "stack": ("axis",),
    "split": ("sections", "axis"),
    "take": ("axis", "mode"),
    "strided_slice": ("axes", "begin", "end", "strides"),
    "flip": ("axis",),
    "tile": ("repeats",),
    "repeat": ("repeats", "axis"),
    "roll": ("shift", "axis"),
    "ones": ("dtype",),
    "zeros": ("dtype",),
    "arange": ("start", "end", "step", "dtype"),
    "tril": ("k",),
    "triu": ("k",),
    "meshgrid": ("indexing",),
    "einsum": ("subscripts",),
    "gather_elements": ("axis",),
    "gather_nd": ("batch_dims",),
    "scatter_elements": ("axis", "reduction"),
    "scatter_nd": ("reduction",),
    "index_put": ("accumulate",),
    "slice_scatter": ("start", "end", "step", "axis"),
    "reverse_sequence": ("seq_axis", "batch_axis"),
    "sort": ("axis", "descending"),
    "argsort": ("axis", "descending", "dtype"),
    "topk": ("k", "axis", "ret_type", "largest", "dtype"),
    "bucketize": ("out_int32", "right"),
    "one_hot": ("depth", "axis"),
    "random.words": ("count",),
    "nn.pad": ("pad_width", "pad_mode", "pad_value"),
    "nn.pixel_shuffle": ("upscale_factor",),
    "nn.softmax": ("axis",),
    "nn.log_softmax": ("axis",),
    "nn.layer_norm": WEIGHTED,
    "nn.rms_norm": NORM,
    "nn.group_norm": ("num_groups", "channel_axis", *WEIGHTED),
    "nn.instance_norm": ("channel_axis", *WEIGHTED),
    "nn.batch_norm": ("axis", "epsilon", "center", "scale", "momentum", "training"),
    **dict.fromkeys(CONVOLUTIONS, KERNELS),
}
"""The attributes that the reference of an op gets after the operands."""


def _typed(name: str, *attributes: str) -> Semantics:
    """The same, where the dtype of the operand is that of the result unless an attribute says another."""

    def compute(args: OpArgs, values: Sequence[Any], dim: Dim) -> Any:
        read = (_dtype(args, each) if each == "dtype" else _attribute(args, each, dim) for each in attributes)
        return OPS[name](*values, *read)

    return compute


SEMANTICS: dict[str, Semantics] = {
    **{name.replace(".", "_"): _by_attributes(name, *attributes) for name, attributes in ATTRIBUTES.items()},
    **{name.replace(".", "_"): _pooling(name) for name in POOLINGS},
    **{name: _typed(name, "axis", "dtype", "exclusive") for name in ("cumsum", "cumprod")},
    **{name: _typed(name, "dtype") for name in ("ones_like", "zeros_like")},
    "eye": _eye,
    "eye_like": _typed("eye_like", "k", "dtype"),
    "squeeze": _squeeze,
    "memory_view": _view,
    "layout_transform": _layout_transform,
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


def expression(dim: Any) -> symbolic.Dim:
    """An attribute, integer or text as a dimension."""
    if isinstance(dim, ir.IntegerAttr):
        return int(dim.value)
    if isinstance(dim, ir.StringAttr):
        return symbolic.parse(dim.value)
    if isinstance(dim, int | symbolic.Expr):
        return dim
    raise UnknownMeaningError(f"dimension {dim}")
