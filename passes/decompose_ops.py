"""Pass ``decompose-ops``: decompose composite ops into simpler ops of the dialect."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.nn import head_group
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnknownNameError
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.symbolic import Dim
from relax_mlir.transform import FunctionPass, PassContext

Rule = Callable[[Binding], "Value | None"]


@dataclass(frozen=True)
class DecomposeOps(FunctionPass):
    """Decompose softmax, norms, attention, activations and other composite ops into simpler ops.

    `ops` names the ops to decompose (``nn_softmax,nn_gelu``); by default, all that the pass supports. Computations in
    16-bit floats remain in float32 where the composite op uses float32, and results agree with it within rounding. Ops
    of unknown rank, shape or dtype stay if the decomposition needs it.
    """

    name: ClassVar[str] = "decompose-ops"
    ops: tuple[str, ...] = ()

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        for op in self.ops:
            if op not in RULES:
                raise UnknownNameError("op that decompose-ops can replace", op, RULES)
        _Decompose(self.ops or tuple(RULES)).visit(function)


class _Decompose(ExprMutator):
    repeat = True

    def __init__(self, ops: Sequence[str]) -> None:
        self._ops = frozenset(ops)

    def visit_default(self, binding: Binding) -> Value | None:
        return RULES[binding.op](binding) if binding.op in self._ops else None


def _in_float32(rule: Callable[[Binding, list[Value]], Value | None]) -> Rule:
    """A rule that computes 16-bit float operands in float32 and rounds the result once."""

    def apply(binding: Binding) -> Value | None:
        dtype = binding.result.tensor_info.dtype
        if dtype is None or any(_rank(value) is None for value in binding.operands):
            return None
        if dtype.bits >= 32:
            return rule(binding, list(binding.operands))
        result = rule(binding, [R.astype(value, "float32") for value in binding.operands])
        return None if result is None else R.astype(result, dtype)

    return apply


def _rank(value: Value) -> int | None:
    return value.tensor_info.ndim


def _gelu(binding: Binding, operands: list[Value]) -> Value:
    (x,) = operands
    return x * 0.5 * (R.erf(x * math.sqrt(0.5)) + 1.0)


def _gelu_tanh(binding: Binding, operands: list[Value]) -> Value:
    (x,) = operands
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return x * 0.5 * (R.tanh(inner) + 1.0)


def _silu(binding: Binding, operands: list[Value]) -> Value:
    (x,) = operands
    return x / (R.exp(-x) + 1.0)


def _sigmoid(binding: Binding, operands: list[Value]) -> Value:
    (x,) = operands
    return 1.0 / (R.exp(-x) + 1.0)


def _relu(binding: Binding) -> Value | None:
    (x,) = binding.operands
    return None if x.dtype is None else R.maximum(x, 0)


def _square(binding: Binding) -> Value:
    (x,) = binding.operands
    return x * x


def _rsqrt(binding: Binding, operands: list[Value]) -> Value:
    return 1.0 / R.sqrt(operands[0])


def _shifted(x: Value, axis: int) -> Value:
    return x - R.max(x, axis=axis, keepdims=True)


def _softmax(binding: Binding, operands: list[Value]) -> Value | None:
    if not _has_elements(operands[0], [binding.attrs["axis"]]):
        return None
    return _softmax_of(operands[0], binding.attrs["axis"])


def _softmax_of(x: Value, axis: int) -> Value:
    weights = R.exp(_shifted(x, axis))
    return weights / R.sum(weights, axis=axis, keepdims=True)


def _log_softmax(binding: Binding, operands: list[Value]) -> Value | None:
    axis = binding.attrs["axis"]
    if not _has_elements(operands[0], [axis]):
        return None
    shifted = _shifted(operands[0], axis)
    return shifted - R.log(R.sum(R.exp(shifted), axis=axis, keepdims=True))


def _has_elements(x: Value, axes: Sequence[int]) -> bool:
    """True if no dimension at `axes` is the constant 0, in which case there is no maximum."""
    return all(x.shape[axis] != 0 for axis in axes)


def _parameter(value: Value, data: Value, axes: Sequence[int]) -> Value:
    """A parameter of a norm, whose dimensions are those of `data` at `axes`, reshaped to broadcast with `data`."""
    rank = _rank(data)
    assert rank is not None
    normal = [axis % rank for axis in axes]
    order = sorted(range(len(normal)), key=lambda index: normal[index])
    if order != list(range(len(normal))):
        value = R.permute_dims(value, order)
    missing = [axis for axis in range(min(normal), rank) if axis not in normal]
    return R.expand_dims(value, [axis - min(normal) for axis in missing]) if missing else value


def _layer_norm(binding: Binding, operands: list[Value]) -> Value:
    x, gamma, beta = operands
    attrs = binding.attrs
    axes = attrs["axes"]
    result = _standardised(x, axes, attrs["epsilon"])
    if attrs["scale"]:
        result = result * _parameter(gamma, x, axes)
    if attrs["center"]:
        result = result + _parameter(beta, x, axes)
    return result


def _group_norm(binding: Binding, operands: list[Value]) -> Value | None:
    x, attrs = operands[0], binding.attrs
    shape = x.tensor_info.known_shape
    if shape is None:
        return None
    channel, groups = attrs["channel_axis"] % len(shape), attrs["num_groups"]
    axes = [axis % len(shape) for axis in attrs["axes"]]
    part = symbolic.floordiv(shape[channel], groups)
    split = R.reshape(x, (*shape[:channel], groups, part, *shape[channel + 1 :]))
    reduced = [channel + 1, *(axis + (axis > channel) for axis in axes)]
    return _by_channel(R.reshape(_standardised(split, reduced, attrs["epsilon"]), shape), binding, operands)


def _instance_norm(binding: Binding, operands: list[Value]) -> Value:
    x, attrs = operands[0], binding.attrs
    return _by_channel(_standardised(x, attrs["axes"], attrs["epsilon"]), binding, operands)


def _standardised(x: Value, axes: Sequence[int], epsilon: float) -> Value:
    """`x` minus its mean over `axes`, divided by its standard deviation."""
    centred = x - R.mean(x, axis=axes, keepdims=True)
    return centred / R.sqrt(R.mean(centred * centred, axis=axes, keepdims=True) + epsilon)


def _by_channel(x: Value, binding: Binding, operands: list[Value]) -> Value:
    """`x` scaled and shifted by the parameters of a channel norm."""
    _, gamma, beta = operands
    axes = [binding.attrs["channel_axis"]]
    if binding.attrs["scale"]:
        x = x * _parameter(gamma, x, axes)
    return x + _parameter(beta, x, axes) if binding.attrs["center"] else x


def _rms_norm(binding: Binding, operands: list[Value]) -> Value:
    x, weight = operands
    axes = binding.attrs["axes"]
    mean = R.mean(x * x, axis=axes, keepdims=True)
    return x / R.sqrt(mean + binding.attrs["epsilon"]) * _parameter(weight, x, axes)


def _variance(binding: Binding, operands: list[Value]) -> Value:
    (x,) = operands
    centred = x - R.mean(x, axis=binding.attrs["axis"], keepdims=True)
    return R.mean(centred * centred, axis=binding.attrs["axis"], keepdims=binding.attrs["keepdims"])


def _std(binding: Binding, operands: list[Value]) -> Value:
    return R.sqrt(R.variance(operands[0], binding.attrs["axis"], binding.attrs["keepdims"]))


def _attention(binding: Binding, operands: list[Value]) -> Value | None:
    shapes = [value.tensor_info.known_shape for value in operands]
    if shapes[0] is None or shapes[1] is None:
        return None
    queries, keys, size = shapes[0][1], shapes[1][1], shapes[0][3]
    scale = binding.attrs["scale"]
    if keys == 0 or size == 0:
        return None
    if scale is None:
        if not isinstance(size, int):
            return None
        scale = 1 / math.sqrt(size)
    group = head_group(shapes[0][2], shapes[1][2])
    if group is None or (group > 1 and shapes[2] is None):
        return None
    shared = [_repeated(x, group) for x in operands[1:3]]
    query, key, value = (R.permute_dims(x, [0, 2, 1, 3]) for x in (operands[0], *shared))
    scores = R.matmul(query, R.permute_dims(key, [0, 1, 3, 2]))
    scores = scores * scale
    if len(operands) > 3:
        scores = scores + operands[3]
    if binding.attrs["causal_mask"] is not None:
        scores = R.where(_visible(queries, keys, binding.attrs["causal_mask"]), scores, -math.inf)
    return R.permute_dims(R.matmul(_softmax_of(scores, -1), value), [0, 2, 1, 3])


def _repeated(x: Value, group: int) -> Value:
    """Keys or values with each head repeated `group` times."""
    if group == 1:
        return x
    shape = x.tensor_info.known_shape
    assert shape is not None
    batch, length, heads, size = shape
    wide = R.broadcast_to(R.expand_dims(x, 3), (batch, length, heads, group, size))
    return R.reshape(wide, (batch, length, heads * group, size))


def _visible(queries: Dim, keys: Dim, mask: str) -> Value:
    """A ``(queries, keys)`` mask of visible keys; positions are offset so that none is negative."""
    if mask == "TopLeft":
        rows, columns = R.arange(queries), R.arange(keys)
    else:
        rows, columns = R.arange(keys, keys + queries), R.arange(queries, queries + keys)
    return R.less_equal(columns, R.expand_dims(rows, 1))


RULES: dict[str, Rule] = {
    "nn_attention": _in_float32(_attention),
    "nn_attention_bias": _in_float32(_attention),
    "nn_gelu": _in_float32(_gelu),
    "nn_gelu_tanh": _in_float32(_gelu_tanh),
    "nn_group_norm": _in_float32(_group_norm),
    "nn_instance_norm": _in_float32(_instance_norm),
    "nn_layer_norm": _in_float32(_layer_norm),
    "nn_log_softmax": _in_float32(_log_softmax),
    "nn_relu": _relu,
    "nn_rms_norm": _in_float32(_rms_norm),
    "nn_silu": _in_float32(_silu),
    "nn_softmax": _in_float32(_softmax),
    "rsqrt": _in_float32(_rsqrt),
    "sigmoid": _in_float32(_sigmoid),
    "square": _square,
    "std": _in_float32(_std),
    "variance": _in_float32(_variance),
}
"""Decomposition rule by op name; a rule returns None if the op stays."""
