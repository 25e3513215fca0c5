"""Neural networks as tensor expressions: pooling, attention, losses, recurrent layers, padding, gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from relax_mlir import topi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import dims_in
from relax_mlir.dialects.convolution import SPATIAL
from relax_mlir.dialects.nn import head_group
from relax_mlir.dialects.padding import filling
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Scalar, cast
from relax_mlir.lowering.legalize.reduce import pooled
from relax_mlir.lowering.strategy.op_strategy import (
    DEFAULT_PLEVEL,
    PLAIN,
    Compute,
    KernelRequest,
    OpImplementation,
    OpStrategy,
    Strategy,
)
from relax_mlir.scalars.arithmetic import compute_dtype
from relax_mlir.strategy.implementations import by_expression
from relax_mlir.target import Target
from relax_mlir.te import Tensor, functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import LoopOp
from relax_mlir.topi.common import computed, flattened, held, product
from relax_mlir.topi.indexing import scatter_vectors
from relax_mlir.topi.manipulate import reordered
from relax_mlir.topi.nn import recurrent
from relax_mlir.topi.nn.recurrent import Activation, Recurrence, function_of, known_rows
from relax_mlir.topi.tag import INJECTIVE

# Adaptive pooling by topi, or as a reduction.


def _pooled(attrs: Attrs, data: Tensor, out_type: StructInfo, kind: str) -> Tensor:
    """Adaptive pooling of any layout; means of 16-bit floats are computed in float32."""
    assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
    letters = SPATIAL[len(attrs.layout) - 2]
    sizes = dict(zip(attrs.out_layout, out_type.known_shape, strict=True))
    wide = compute_dtype(dtypes.dtype(data.dtype)).name if kind == "avg" else data.dtype
    given = data if wide == data.dtype else topi.cast(data, wide)
    function = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}[
        len(letters)
    ]
    found = function(given, [sizes[letter] for letter in letters], kind, attrs.layout)
    return reordered(
        "adaptive_pool",
        found if wide == data.dtype else topi.cast(found, data.dtype),
        attrs.layout,
        attrs.out_layout,
    )


def _averaged(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The mean of each window."""
    return _pooled(attrs, inputs[0], out_type, "avg")


def _greatest(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The maximum of each window."""
    return _pooled(attrs, inputs[0], out_type, "max")


def _strategy(compute: Compute, is_mean: bool) -> Strategy:
    """A reduction if one window covers the whole input, else a tensor expression."""

    def strategy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
        assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
        found = OpStrategy()
        found.add_implementation(compute, name=PLAIN)
        spatial = SPATIAL[len(attrs.layout) - 2]
        axes = [attrs.layout.index(letter) for letter in spatial]
        is_one = all(out_type.known_shape[attrs.out_layout.index(letter)] == 1 for letter in spatial)
        if is_one and attrs.out_layout == attrs.layout:
            rule = partial(pooled, axes=axes, is_mean=is_mean)
            found.add(OpImplementation("reduction", plevel=DEFAULT_PLEVEL + 1, rule=rule))
        return found

    return strategy


avg_pool = _strategy(_averaged, is_mean=True)
max_pool = _strategy(_greatest, is_mean=False)


# Losses by topi; 16-bit floats are computed in float32.


def widened(tensor: Tensor) -> Tensor:
    """Convert 16-bit floats to float32."""
    wide = compute_dtype(dtypes.dtype(tensor.dtype)).name
    return tensor if wide == tensor.dtype else topi.cast(tensor, wide)


def narrowed(tensor: Tensor, dtype: str) -> Tensor:
    """Convert a tensor to `dtype`."""
    return tensor if tensor.dtype == dtype else topi.cast(tensor, dtype)


@by_expression
def cross_entropy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The cross entropy of log probabilities."""
    predictions, labels = inputs
    return narrowed(
        topi.nn.cross_entropy_with_logits(widened(predictions), widened(labels)), predictions.dtype
    )


@by_expression
def nll_loss(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The negative log likelihood."""
    predictions, targets, weights = inputs
    found = topi.nn.nll_loss(
        widened(predictions), targets, widened(weights), attrs.reduction, attrs.ignore_index
    )
    return narrowed(found, predictions.dtype)


# Attention over packed sequences of different lengths, as loops over each sequence.

TAG = "attention"
"""The tag of the computed tensors."""


def attention_var_len(
    attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target
) -> OpStrategy:
    """A loop nest, annotated with the attention kernel that may replace it."""
    names = {"starts": inputs[3], "key_starts": inputs[4]}
    told: dict[str, str | float] = {
        name: "unsigned" if at.dtype.startswith("u") else "signed" for name, at in names.items()
    }
    told |= {name: attrs[name] for name in ("scale", "causal_mask") if attrs[name] is not None}
    found = OpStrategy()
    found.add(OpImplementation(PLAIN, _loops, kernel=KernelRequest("attention_var_len", told)))
    return found


def _loops(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """For each query of each sequence: the scores of the visible keys, their exponentials, and the weighted sum."""
    query, key, value, starts, key_starts, *_ = inputs
    wide = [widened(tensor) for tensor in (query, key, value)]
    kind, causal = wide[0].dtype, attrs.causal_mask
    _, rows, heads, width = query.shape
    columns, depth = key.shape[1], value.shape[3]
    group = head_group(heads, key.shape[2]) or 1

    def scale_of(b: LoopBuilder) -> Scalar:
        if attrs.scale is not None:
            return b.const(float(attrs.scale), kind)
        if isinstance(width, int) and width > 0:
            return b.const(1 / math.sqrt(width), kind)
        return b.call("rsqrt", cast(b.size(width), dtypes.dtype(kind)))

    def body(
        b: LoopBuilder,
        q: Buffer,
        k: Buffer,
        v: Buffer,
        q_at: Buffer,
        k_at: Buffer,
        out: Buffer,
        scores: Buffer,
    ) -> None:
        total, best = b.alloc((1,), kind, "total"), b.alloc((1,), kind, "best")
        with b.grid((1, rows, heads, depth)) as at:
            out[at] = 0
        with b.loop(starts.shape[0] - 1) as n:
            q_ends, k_ends = (
                [b.max(b.min(table[place].index(), size), 0) for place in (n, n + 1)]
                for table, size in ((q_at, rows), (k_at, columns))
            )
            # Causal mask: positions of key and query relative to the first, or to the last, key and query.
            anchor = {"TopLeft": 0, "BottomRight": 1}.get(causal)

            def if_seen(i: Scalar, j: Scalar, value: Scalar, other: float) -> Scalar:
                if anchor is None:
                    return value
                return b.select(j - k_ends[anchor] <= i - q_ends[anchor], value, other)

            with b.loop(*q_ends) as i, b.loop(heads) as h:
                best[0] = -math.inf
                total[0] = 0
                with b.loop(*k_ends) as j:
                    scores[j] = 0
                    with b.loop(width) as d:
                        scores[j] = scores[j] + q[0, i, h, d] * k[0, j, h // group, d]
                    scores[j] = if_seen(i, j, scores[j] * scale_of(b), -math.inf)
                    best[0] = b.max(best[0], scores[j])
                with b.loop(*k_ends) as j:
                    scores[j] = if_seen(i, j, b.call("exp", scores[j] - best[0]), 0)
                    total[0] = total[0] + scores[j]
                with b.loop(*k_ends) as j, b.loop(depth) as d:
                    share = if_seen(i, j, scores[j] / total[0], 0)
                    out[0, i, h, d] = out[0, i, h, d] + share * v[0, j, h // group, d]

    found = LoopOp(
        [*wide, starts, key_starts],
        [(1, rows, heads, depth), (columns,)],
        [kind, kind],
        body,
        "T_attention_var_len",
        TAG,
    ).outputs[0]
    return narrowed(found, query.dtype)


# Recurrent layers by topi; 16-bit floats are computed in float32.


def _layer(attrs: Attrs, gates: Tensor, weights: Tensor, lengths: Tensor) -> Recurrence:
    return Recurrence(widened(gates), widened(weights), known_rows(lengths), attrs.reverse, attrs.clip)


def _functions(attrs: Attrs) -> list[Activation]:
    return [function_of(*item) for item in zip(attrs.activations, attrs.alphas, attrs.betas, strict=True)]


def _results(found: Sequence[Tensor], dtype: str) -> list[Tensor]:
    return [narrowed(tensor, dtype) for tensor in found]


@by_expression
def rnn_steps(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """An RNN layer: one activation of the sum."""
    gates, weights, hidden, lengths = inputs
    layer = _layer(attrs, gates, weights, lengths)
    return _results(recurrent.rnn_steps(layer, widened(hidden), *_functions(attrs)), gates.dtype)


@by_expression
def gru_steps(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """A GRU layer with reset, update and new gates."""
    gates, weights, bias, hidden, lengths = inputs
    layer = _layer(attrs, gates, weights, lengths)
    f, g = _functions(attrs)
    found = recurrent.gru_steps(layer, widened(bias), widened(hidden), f, g, attrs.reset_after)
    return _results(found, gates.dtype)


@by_expression
def lstm_steps(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """An LSTM layer with input, forget, cell and output gates."""
    gates, weights, hidden, cell, lengths, peepholes = inputs
    layer = _layer(attrs, gates, weights, lengths)
    peeped = known_rows(peepholes)
    found = recurrent.lstm_steps(
        layer,
        widened(hidden),
        widened(cell),
        None if peeped is None else widened(peeped),
        _functions(attrs),
        attrs.input_forget,
    )
    return _results(found, gates.dtype)


# Move elements between channels, rows and columns, by topi.


@by_expression
def pixel_shuffle(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Groups of channels become squares of pixels."""
    return topi.nn.pixel_shuffle(inputs[0], attrs.upscale_factor)


@by_expression
def pixel_unshuffle(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Squares of pixels become groups of channels."""
    assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
    data, side = inputs[0], attrs.downscale_factor

    def value(*i: Expr) -> Expr:
        *outer, channel, row, column = i
        inside = channel % (side * side)
        return data(
            *outer, channel // (side * side), row * side + inside // side, column * side + inside % side
        )

    return computed(out_type.known_shape, value, "T_pixel_unshuffle", INJECTIVE)


# Padding by topi.


@by_expression
def pad(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """A padded tensor; the mode determines the padding values."""
    widths = [dim for dim in dims_in(attrs.raw["pad_width"]) if dim is not None]
    before, after, mode = widths[::2], widths[1::2], attrs.pad_mode
    if mode == "constant":
        return topi.nn.pad(inputs[0], before, after, filling(attrs.raw["pad_value"]))
    if mode in ("reflect", "symmetric"):
        return topi.nn.mirror_pad(inputs[0], before, after, mode.upper())
    return (topi.nn.edge_pad if mode == "replicate" else topi.nn.wrap_pad)(inputs[0], before, after)


# Gradients as tensor expressions; 16-bit floats are accumulated in float32.


def _pool_grad(attrs: Attrs, inputs: Sequence[Tensor], kind: str) -> Tensor:
    what = f"{kind}_pool2d_backward"
    grad = reordered(what, widened(inputs[0]), attrs.out_layout, "NCHW")
    data = reordered(what, widened(inputs[1]), attrs.layout, "NCHW")
    found = topi.nn.pool_grad(
        grad,
        data,
        attrs.pool_size,
        attrs.strides,
        attrs.padding,
        kind,
        attrs.ceil_mode,
        attrs.count_include_pad,
        dilation=attrs.dilation,
        counts=grad.shape[2:],
    )
    return reordered(what, narrowed(found, inputs[1].dtype), "NCHW", attrs.layout)


@by_expression
def max_pool2d_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Add each gradient to the maximum of its window."""
    return _pool_grad(attrs, inputs, "max")


@by_expression
def avg_pool2d_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Distribute each gradient evenly over its window."""
    return _pool_grad(attrs, inputs, "avg")


@by_expression
def nll_loss_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The gradient of the predictions; only those of the targets are not zero."""
    grad, predictions, targets, weights = inputs
    given, factors = widened(grad), widened(weights)
    place = 0 if predictions.ndim == 1 else 1
    zero, ignored = functions.const(0, factors.dtype), attrs.ignore_index

    def weight(*i: Expr) -> Expr:
        own = targets(*i).astype("int64")
        return functions.if_then_else(own != ignored, factors(own), zero)

    counted = computed(targets.shape, weight, "T_nll_weights", INJECTIVE)
    total = topi.sum(counted) if attrs.reduction == "mean" else None

    def value(*i: Expr) -> Expr:
        at = [*i[:place], *i[place + 1 :]]
        amount = given(*at) if attrs.reduction == "none" else given()
        if total is not None:
            amount = amount / total()
        return functions.select(targets(*at).astype("int64") == i[place], -counted(*at) * amount, zero)

    found = computed(predictions.shape, value, "T_nll_loss_backward", INJECTIVE)
    return narrowed(found, predictions.dtype)


@by_expression
def take_backward(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Scatter-add the gradients to the elements that were taken, with the axis moved to the front."""
    grad, data, indices = inputs
    axis = None if attrs.axis is None else attrs.axis % data.ndim
    before, after = ([], []) if axis is None else (list(data.shape[:axis]), list(data.shape[axis + 1 :]))
    length = product(data.shape) if axis is None else data.shape[axis]
    given, rank, count = widened(grad), indices.ndim, len(before)
    zeros = computed(
        (length, *before, *after), lambda *i: functions.const(0, given.dtype), "T_zeros", INJECTIVE
    )
    places = computed(
        (*indices.shape, 1), lambda *i: held(indices(*i[:-1]).astype("int64"), length), "T_places", INJECTIVE
    )
    moved = computed(
        (*indices.shape, *before, *after),
        lambda *i: given(*i[rank : rank + count], *i[:rank], *i[rank + count :]),
        "T_moved",
        INJECTIVE,
    )
    sums = scatter_vectors(zeros, places, moved, "add")

    def back(*i: Expr) -> Expr:
        if axis is None:
            return sums(flattened(i, data.shape))
        return sums(i[axis], *i[:axis], *i[axis + 1 :])

    found = computed(data.shape, back, "T_take_backward", INJECTIVE)
    return narrowed(found, data.dtype)
