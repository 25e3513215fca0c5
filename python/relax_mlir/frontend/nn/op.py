"""The ops of `relax_mlir.frontend.nn`: each takes tensors, emits ops of Relax, and returns tensors.

The names and arguments are those of TVM's ``relax.frontend.nn.op``. `name` is the name of the result in the printed
module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from relax_mlir import op as R
from relax_mlir.dialects.types import DimLike
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.frontend.nn.core import Nested, Tensor, current_builder, emitted, value_of, wrap_nested
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.symbolic import Expr

__all__ = [
    "add",
    "arange",
    "argsort",
    "astype",
    "broadcast_to",
    "chunk",
    "concat",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv3d",
    "cumsum",
    "debug_func",
    "divide",
    "empty",
    "equal",
    "exp",
    "extern",
    "floor",
    "full",
    "gelu",
    "get_timestep_embedding",
    "greater",
    "greater_equal",
    "group_norm",
    "interpolate",
    "layer_norm",
    "less",
    "less_equal",
    "log",
    "matmul",
    "max",
    "maximum",
    "min",
    "minimum",
    "multinomial_from_uniform",
    "multiply",
    "negative",
    "not_equal",
    "ones",
    "pad",
    "permute",
    "permute_dims",
    "prelu",
    "print_",
    "relu",
    "relu6",
    "repeat",
    "reshape",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "subtract",
    "sum",
    "take",
    "tanh",
    "tensor_expr_op",
    "tensor_ir_inplace_op",
    "tensor_ir_op",
    "topk",
    "triu",
    "unsqueeze",
    "where",
    "zeros",
]

Operand: TypeAlias = "Tensor | float"
Output: TypeAlias = "Tensor | Sequence[Tensor]"


def add(a: Operand, b: Operand, name: str = "add") -> Tensor:
    """``a + b``, with NumPy's broadcasting."""
    return emitted(R.add, name, a, b)


def subtract(a: Operand, b: Operand, name: str = "subtract") -> Tensor:
    """``a - b``, with NumPy's broadcasting."""
    return emitted(R.subtract, name, a, b)


def multiply(a: Operand, b: Operand, name: str = "mul") -> Tensor:
    """``a * b``, with NumPy's broadcasting."""
    return emitted(R.multiply, name, a, b)


def divide(a: Operand, b: Operand, name: str = "divide") -> Tensor:
    """``a / b``, with NumPy's broadcasting; floats only."""
    return emitted(R.divide, name, a, b)


def maximum(x1: Operand, x2: Operand, name: str = "maximum") -> Tensor:
    """The larger of two elements."""
    return emitted(R.maximum, name, x1, x2)


def minimum(x1: Operand, x2: Operand, name: str = "minimum") -> Tensor:
    """The smaller of two elements."""
    return emitted(R.minimum, name, x1, x2)


def less(a: Operand, b: Operand, name: str = "less") -> Tensor:
    """``a < b``, as bool."""
    return emitted(R.less, name, a, b)


def less_equal(a: Operand, b: Operand, name: str = "less_equal") -> Tensor:
    """``a <= b``, as bool."""
    return emitted(R.less_equal, name, a, b)


def greater(a: Operand, b: Operand, name: str = "greater") -> Tensor:
    """``a > b``, as bool."""
    return emitted(R.greater, name, a, b)


def greater_equal(a: Operand, b: Operand, name: str = "greater_equal") -> Tensor:
    """``a >= b``, as bool."""
    return emitted(R.greater_equal, name, a, b)


def equal(a: Operand, b: Operand, name: str = "equal") -> Tensor:
    """``a == b``, as bool."""
    return emitted(R.equal, name, a, b)


def not_equal(a: Operand, b: Operand, name: str = "not_equal") -> Tensor:
    """``a != b``, as bool."""
    return emitted(R.not_equal, name, a, b)


def where(condition: Tensor, x1: Operand, x2: Operand, name: str = "where") -> Tensor:
    """`x1` where `condition` is True or not zero, else `x2`."""
    given = value_of(condition)
    flags = given if condition.dtype == "bool" else R.astype(given, "bool")
    return emitted(R.where, name, flags, x1, x2)


def negative(x: Tensor, name: str = "neg") -> Tensor:
    """``-x``."""
    return emitted(R.negative, name, x)


def exp(x: Tensor, name: str = "exp") -> Tensor:
    """The exponential of each element."""
    return emitted(R.exp, name, x)


def log(x: Tensor, name: str = "log") -> Tensor:
    """The natural logarithm of each element."""
    return emitted(R.log, name, x)


def floor(x: Tensor, name: str = "floor") -> Tensor:
    """The largest integer that is not above each element."""
    return emitted(R.floor, name, x)


def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """The square root of each element."""
    return emitted(R.sqrt, name, x)


def square(x: Tensor, name: str = "square") -> Tensor:
    """``x * x``."""
    return emitted(R.square, name, x)


def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """The hyperbolic tangent of each element."""
    return emitted(R.tanh, name, x)


def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """``1 / (1 + exp(-x))``."""
    return emitted(R.sigmoid, name, x)


def relu(x: Tensor, name: str = "relu") -> Tensor:
    """``max(x, 0)``."""
    return emitted(R.nn.relu, name, x)


def relu6(x: Tensor, name: str = "relu6") -> Tensor:
    """``min(max(x, 0), 6)``."""
    return emitted(R.nn.relu6, name, x)


def silu(x: Tensor, name: str = "silu") -> Tensor:
    """``x * sigmoid(x)``."""
    return emitted(R.nn.silu, name, x)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """The Gaussian error linear unit; `approximate` is None, or ``"tanh"``."""
    if approximate not in (None, "none", "tanh"):
        raise ArgumentError(f"gelu: 'approximate' is {approximate!r}, expected None or 'tanh'")
    return emitted(R.nn.gelu_tanh if approximate == "tanh" else R.nn.gelu, name, x)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """``log(1 + exp(beta * x)) / beta``; ``x`` where ``beta * x`` is above the threshold."""
    return emitted(R.nn.softplus, name, x, beta, threshold)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """``x`` where it is positive, else ``alpha * x``; `alpha` has an element for each channel, dimension 1."""
    return emitted(R.nn.prelu, name, x, alpha)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis."""
    return emitted(R.nn.softmax, name, x, axis=axis)


def sum(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """The sum along axes; None: of all elements."""
    return emitted(R.sum, name, x, axis=axis, keepdims=keepdims)


def max(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """The maximum along axes; None: of all elements."""
    return emitted(R.max, name, x, axis=axis, keepdims=keepdims)


def min(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """The minimum along axes; None: of all elements."""
    return emitted(R.min, name, x, axis=axis, keepdims=keepdims)


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """The cumulative sum along an axis; None: of the flattened tensor."""
    return emitted(R.cumsum, name, data, axis, dtype, bool(exclusive))


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """The elements in order along an axis."""
    return emitted(R.sort, name, x, axis, descending)


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """The indices of the elements in order along an axis."""
    return emitted(R.argsort, name, data, axis, descending, dtype)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Nested:
    """The `k` largest or smallest elements along an axis, and their indices: ``ret_type`` both, values or indices."""
    return wrap_nested(R.topk(value_of(data), k, axis, ret_type, largest, dtype), name)


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """Indices drawn with the probabilities `prob` (batch, n) by uniform samples (m, 1); see the op of Relax."""
    rows = uniform_sample.shape[0]
    indices = (
        value_of(sample_indices) if sample_indices is not None else R.reshape(R.arange(rows, dtype="int64"), (rows, 1))
    )
    return emitted(R.multinomial_from_uniform, name, prob, uniform_sample, indices, dtype)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """The matrix product, as NumPy's; `out_dtype` is the dtype of the accumulation and the result."""
    return emitted(R.matmul, name, a, b, out_dtype)


def _convolution(
    build: Callable[..., Value],
    name: str,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: int | Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    groups: int,
    layout: str,
) -> Tensor:
    """A convolution, and the bias of each channel."""
    kernel = {"kernel_layout": f"{layout[1:-1]}IO"} if layout.endswith("C") else {}
    result = emitted(
        build,
        name,
        x,
        weight,
        strides=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
        data_layout=layout,
        **kernel,
    )
    if bias is None:
        return result
    shape = [-1 if letter == "C" else 1 for letter in layout]
    return emitted(R.add, name, result, R.reshape(value_of(bias), shape))


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    name: str = "conv1d",
) -> Tensor:
    """A convolution of sequences; the weight is in the layout OIW, for data in NWC in WIO."""
    return _convolution(R.nn.conv1d, name, x, weight, bias, stride, padding, dilation, groups, data_layout)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str = "NCHW",
    name: str = "conv2d",
) -> Tensor:
    """A convolution of images; the weight is in the layout OIHW, for data in NHWC in HWIO."""
    return _convolution(R.nn.conv2d, name, x, weight, bias, stride, padding, dilation, groups, data_layout)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    data_layout: str = "NCDHW",
    name: str = "conv3d",
) -> Tensor:
    """A convolution of volumes; the weight is in the layout OIDHW, for data in NDHWC in DHWIO."""
    return _convolution(R.nn.conv3d, name, x, weight, bias, stride, padding, dilation, groups, data_layout)


def conv1d_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
    name: str = "conv1d_transpose",
) -> Tensor:
    """The transposed convolution of (batch, channels, width) with (channels, out // groups, width)."""
    build = partial(R.nn.conv1d_transpose, output_padding=output_padding)
    return _convolution(build, name, x, weight, bias, stride, padding, dilation, groups, "NCW")


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str = "layer_norm",
) -> Tensor:
    """Normalise the last dimensions, which have the shape `normalized_shape`, to mean 0 and variance 1."""
    shape = [normalized_shape] if isinstance(normalized_shape, int | Expr) else list(normalized_shape)
    scale = R.ones(shape, x.dtype) if weight is None else value_of(weight)
    offset = R.zeros(shape, x.dtype) if bias is None else value_of(bias)
    axes = list(range(-len(shape), 0))
    return emitted(R.nn.layer_norm, name, x, scale, offset, axes=axes, epsilon=eps)


def rms_norm(
    x: Tensor, weight: Tensor, axes: int | Sequence[int], epsilon: float = 1e-5, name: str = "rms_norm"
) -> Tensor:
    """Divide by the root of the mean square along `axes`, and multiply by `weight`."""
    return emitted(R.nn.rms_norm, name, x, weight, axes=axes, epsilon=epsilon)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float = 1e-5,
    channel_axis: int = 1,
    axes: Sequence[int] | None = None,
    name: str = "group_norm",
) -> Tensor:
    """Normalise each group of channels, over the channels of the group and `axes` (None: those after the channels)."""
    channels = [x.shape[channel_axis]]
    scale = R.ones(channels, x.dtype) if weight is None else value_of(weight)
    offset = R.zeros(channels, x.dtype) if bias is None else value_of(bias)
    over = list(range(2, x.ndim)) if axes is None else list(axes)
    return emitted(R.nn.group_norm, name, x, scale, offset, num_groups, channel_axis, over, eps)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool | None = False,
    scale: float | None = None,
    name: str = "scaled_dot_product_attention",
) -> Tensor:
    """Attention of tensors (batch, sequence, heads, size); `attn_mask` is added to the products."""
    causal = "TopLeft" if is_causal else None
    return emitted(R.nn.attention, name, query, key, value, value_of(attn_mask), scale, causal)


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """Insert a dimension of size 1."""
    return emitted(R.expand_dims, name, x, dim)


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """Remove a dimension of size 1."""
    return emitted(R.squeeze, name, x, axis)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Join tensors along a dimension."""
    return emitted(R.concat, name, list(x), dim)


def split(ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split") -> Nested:
    """Parts along an axis: a number of equal ones, or the indices at which they begin."""
    return wrap_nested(R.split(value_of(ary), indices_or_sections, axis), name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> Nested:
    """Equal parts along a dimension."""
    return split(x, chunks, dim, name)


def reshape(x: Tensor, shape: Sequence[DimLike], name: str = "reshape") -> Tensor:
    """The elements in another shape; -1 is inferred."""
    return emitted(R.reshape, name, x, list(shape))


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str = "permute_dims") -> Tensor:
    """The dimensions in another order; None: reversed."""
    return emitted(R.permute_dims, name or "permute_dims", x, axes)


def permute(x: Tensor, axes: Sequence[int] | None, name: str = "permute") -> Tensor:
    """The same as `permute_dims`."""
    return permute_dims(x, axes, name)


def broadcast_to(x: Tensor, shape: Sequence[DimLike], name: str = "broadcast_to") -> Tensor:
    """Repeat dimensions of size 1."""
    return emitted(R.broadcast_to, name, x, list(shape))


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Repeat each element along an axis; None: of the flattened tensor."""
    return emitted(R.repeat, name, x, repeats, axis)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """The elements at indices along an axis; None: of the flattened tensor."""
    return emitted(R.take, name, x, indices, axis)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """Convert the elements; the tensor itself if it has the dtype."""
    return x if x.dtype == dtype else emitted(R.astype, name, x, dtype)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "pad") -> Tensor:
    """Add elements around a tensor; `pad` has two numbers for each dimension, the last one first, as in PyTorch."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    return emitted(R.nn.pad, name, x, [width for pair in widths for width in pair], mode, value)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """The upper triangle of matrices, zeros below `diagonal`."""
    return emitted(R.triu, name, x, diagonal)


def full(shape: Sequence[DimLike], fill_value: Operand, dtype: str = "float32", name: str = "full") -> Tensor:
    """A tensor of equal elements."""
    return emitted(R.full, name, list(shape), fill_value, dtype)


def zeros(shape: Sequence[DimLike], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """A tensor of zeros."""
    return emitted(R.zeros, name, list(shape), dtype)


def ones(shape: Sequence[DimLike], dtype: str = "float32", name: str = "ones") -> Tensor:
    """A tensor of ones."""
    return emitted(R.ones, name, list(shape), dtype)


def empty(shape: Sequence[DimLike], dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor whose elements do not matter; they are zeros here, so that results do not vary."""
    return zeros(shape, dtype, name)


def arange(start: DimLike, end: DimLike = None, step: int = 1, dtype: str = "float32", name: str = "arange") -> Tensor:
    """The numbers from `start` up to, and without, `end`."""
    return emitted(R.arange, name, start, end, step, dtype)


def interpolate(
    x: Tensor,
    size: int | Sequence[DimLike] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool | None = None,
    data_layout: str = "NCHW",
    name: str = "interpolate",
) -> Tensor:
    """Resize images to a size or by a factor: `mode` is nearest, bilinear or bicubic."""
    if recompute_scale_factor or antialias:
        raise UnsupportedError("interpolate: recompute_scale_factor and antialias are not supported: leave them out")
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate takes either 'size' or 'scale_factor'")
    if size is None:
        assert scale_factor is not None
        factors = [scale_factor] * 2 if isinstance(scale_factor, int | float) else list(scale_factor)
        dims = [x.shape[data_layout.index(letter)] for letter in "HW"]
        size = [_scaled(dim, factor) for dim, factor in zip(dims, factors, strict=True)]
    if mode.startswith("nearest"):
        method, coordinates, rounding = "nearest_neighbor", "asymmetric", "floor"
    else:
        method, rounding = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode), ""
        coordinates = "align_corners" if align_corners else "half_pixel"
    return emitted(
        R.image.resize2d,
        name,
        x,
        size,
        layout=data_layout,
        method=method,
        coordinate_transformation_mode=coordinates,
        **({"rounding_method": rounding} if rounding else {}),
    )


def _scaled(dim: Any, factor: float) -> Nested:  # noqa: ANN401 - a dimension
    if isinstance(dim, int):
        return math.floor(dim * factor)
    if float(factor).is_integer():
        return dim * int(factor)
    raise UnsupportedError(f"interpolate: the symbolic size {dim} times {factor} is no size: give 'size'")


def get_timestep_embedding(
    x: Tensor,
    embedding_dim: int,
    flip_sin_to_cos: bool = False,
    downscale_freq_shift: float = 1,
    scale: float = 1,
    max_period: int = 10000,
    name: str = "get_timestep_embedding",
) -> Tensor:
    """The sinusoidal embedding of time steps (n,), of shape (n, embedding_dim), float32 (Ho et al., 2020)."""
    half = embedding_dim // 2
    exponent = R.multiply(R.arange(half, dtype="float32"), -math.log(max_period) / (half - downscale_freq_shift))
    steps = R.expand_dims(R.astype(value_of(x), "float32"), 1)
    angles = R.multiply(R.multiply(steps, R.expand_dims(R.exp(exponent), 0)), float(scale))
    parts = [R.cos(angles), R.sin(angles)] if flip_sin_to_cos else [R.sin(angles), R.cos(angles)]
    joined = R.concat(parts, -1)
    if embedding_dim % 2:
        joined = R.nn.pad(joined, (0, 0, 0, 1))
    return Tensor(_expr=wrap_nested(joined, name)._expr)


# Functions of other kinds: tensor expressions, prim funcs, and registered functions.


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Nested],
    *,
    attrs: dict[str, Any] | None = None,
) -> Nested:
    """Call a function of tensor expressions, as `BlockBuilder.emit_te` does.

    Args:
        tensor_expr_func: takes te tensors in place of tensors, and the other arguments.
        name_hint: the name of the prim func and of the result.
        args: tensors, symbols and numbers.
        attrs: attributes of the prim func; none are supported.
    """
    if attrs:
        raise UnsupportedError("tensor_expr_op: 'attrs' are not supported: leave them out")
    builder = current_builder("tensor_expr_op")
    value = builder.emit_te(tensor_expr_func, *map(value_of, args), primfunc_name_hint=name_hint)
    return wrap_nested(R.make_tuple(*value) if isinstance(value, tuple) else value, name_hint)


def _infos(out: Output) -> Nested:
    return out.struct_info if isinstance(out, Tensor) else [each.struct_info for each in out]


def _split(args: Any) -> tuple[list[Value], list[Any]]:  # noqa: ANN401 - a tensor, or tensors and symbols
    """The tensors, and the symbols and integers after them."""
    given = [args] if isinstance(args, Tensor) else list(args)
    tensors = [value_of(item) for item in given if isinstance(item, Tensor)]
    return tensors, [item for item in given if not isinstance(item, Tensor)]


def _added(func: Any, name_hint: str) -> Nested:  # noqa: ANN401 - the name of a function
    if not isinstance(func, IRModule) or len(functions_of(func.mlir)) != 1:
        raise ArgumentError(
            f"'{name_hint}': 'func' is {func!r}, expected the module of one prim func, as @T.prim_func gives"
        )
    (function,) = functions_of(func.mlir)
    return current_builder(name_hint).add_func(function, name_hint)


def tensor_ir_op(func: IRModule, name_hint: str, args: Nested, out: Output) -> Nested:
    """Call a prim func in destination-passing style.

    Args:
        func: the module of the prim func, ``@T.prim_func``.
        name_hint: its name in the exported module.
        args: a tensor, or tensors followed by symbols.
        out: the shape and dtype of the results: `Tensor.placeholder`.
    """
    tensors, symbols = _split(args)
    return wrap_nested(R.call_tir(_added(func, name_hint), tensors, _infos(out), tir_vars=symbols), name_hint)


def tensor_ir_inplace_op(
    func: IRModule, name_hint: str, args: Nested, inplace_indices: int | Sequence[int], out: Output
) -> Nested:
    """As `tensor_ir_op`; the results are the arguments at `inplace_indices`, which the prim func changes."""
    tensors, symbols = _split(args)
    indices = [inplace_indices] if isinstance(inplace_indices, int) else list(inplace_indices)
    call = R.call_tir_inplace(_added(func, name_hint), tensors, indices, _infos(out), tir_vars=symbols)
    return wrap_nested(call, name_hint)


def extern(name: str, args: Sequence[Nested], out: Output) -> Nested:
    """Call a registered function in destination-passing style: it gets the arguments, then the results to fill."""
    call = R.call_dps_packed(name, [value_of(item) for item in args], _infos(out))
    return wrap_nested(call, name.rpartition(".")[2])


def debug_func(name: str, *args: Nested, _line_info: str | None = None) -> None:
    """Call a registered function with the line of the call and the arguments; needs ``export_tvm(debug=True)``."""
    _require_debug("debug_func")
    R.call_packed(name, _line_info or "", *map(value_of, args))


def print_(tensor: Tensor) -> None:
    """Print a tensor at run time; needs ``export_tvm(debug=True)``."""
    _require_debug("print_")
    R.print(value_of(tensor))


def _require_debug(what: str) -> None:
    from relax_mlir.frontend.nn.modules import IOEffect

    if not IOEffect.instance().is_active:
        raise ArgumentError(f"{what} has effects: export the module with export_tvm(debug=True)")
