"""Layers of neural networks: activations, normalisations, recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import op as R
from relax_mlir import topi
from relax_mlir.dialects.recurrent import ACTIVATIONS, DEFAULTS, Activation, rearranged
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.registry import Node, constant, matched, rule
from relax_mlir.symbolic import Dim

# Activation functions, softmax and related ops.


@rule("Relu")
def _relu(node: Node) -> Value:
    return R.nn.relu(node.tensor(0))


@rule("LeakyRelu")
def _leaky_relu(node: Node) -> Value:
    x = node.tensor(0)
    return R.where(R.less(x, node.const(0)), R.multiply(x, node.const(node.attr("alpha", 0.01))), x)


@rule("PRelu")
def _prelu(node: Node) -> Value:
    x, slope = node.tensor(0), node.tensor(1)
    if node.opset < 7 and node.rank(1) == 1 and node.rank(0) > 2 and node.shape(1) != (1,):
        slope = R.reshape(slope, [*node.shape(1), *[1] * (node.rank(0) - 2)])
    return R.where(R.less(x, node.const(0)), R.multiply(x, slope), x)


@rule("Elu")
def _elu(node: Node) -> Value:
    return exponential_below_zero(node, node.attr("alpha", 1.0))


@rule("Selu")
def _selu(node: Node) -> Value:
    gamma = node.attr("gamma", 1.05070102214813232421875)
    inner = exponential_below_zero(node, node.attr("alpha", 1.67326319217681884765625))
    return R.multiply(inner, node.const(gamma))


@rule("Celu")
def _celu(node: Node) -> Value:
    alpha = node.attr("alpha", 1.0)
    return exponential_below_zero(node, alpha, alpha)


def exponential_below_zero(node: Node, alpha: float, divisor: float = 1.0) -> Value:
    """Return x where it is positive, else alpha·(exp(x / divisor) - 1)."""
    x = node.tensor(0)
    below = R.minimum(x, node.const(0))
    scaled = below if divisor == 1.0 else R.divide(below, node.const(divisor))
    curve = R.multiply(R.subtract(R.exp(scaled), node.const(1)), node.const(alpha))
    return R.where(R.greater(x, node.const(0)), x, curve)


@rule("ThresholdedRelu")
def _thresholded_relu(node: Node) -> Value:
    x = node.tensor(0)
    return R.where(R.greater(x, node.const(node.attr("alpha", 1.0))), x, node.const(0))


@rule("HardSigmoid", "HardSwish")
def _hard_sigmoid(node: Node) -> Value:
    x, is_swish = node.tensor(0), node.op == "HardSwish"
    alpha, beta = (1 / 6, 0.5) if is_swish else (node.attr("alpha", 0.2), node.attr("beta", 0.5))
    line = R.add(R.multiply(x, node.const(alpha)), node.const(beta))
    found = R.maximum(R.minimum(line, node.const(1)), node.const(0))
    return R.multiply(x, found) if is_swish else found


@rule("Softplus", "Mish")
def _softplus(node: Node) -> Value:
    """Compute log(1 + exp(x)) without overflow."""
    x = node.tensor(0)
    soft = R.log_add_exp(x, node.const(0))
    return soft if node.op == "Softplus" else R.multiply(x, R.tanh(soft))


@rule("Softsign")
def _softsign(node: Node) -> Value:
    x = node.tensor(0)
    return R.divide(x, R.add(R.abs(x), node.const(1)))


@rule("Gelu")
def _gelu(node: Node) -> Value:
    return (R.nn.gelu_tanh if node.attr("approximate", "none") == "tanh" else R.nn.gelu)(node.tensor(0))


@rule("Swish")
def _swish(node: Node) -> Value:
    x = node.tensor(0)
    alpha = node.attr("alpha", 1.0)
    return R.nn.silu(x) if alpha == 1.0 else R.multiply(x, R.sigmoid(R.multiply(x, node.const(alpha))))


@rule("Shrink")
def _shrink(node: Node) -> Value:
    x, bias, edge = node.tensor(0), node.const(node.attr("bias", 0.0)), node.attr("lambd", 0.5)
    above = R.where(R.greater(x, node.const(edge)), R.subtract(x, bias), node.const(0))
    return R.where(R.less(x, node.const(-edge)), R.add(x, bias), above)


@rule("Softmax", "LogSoftmax", "Hardmax", since=13)
def _softmax(node: Node) -> Value:
    return _ALONG_AXIS[node.op](node.tensor(0), node.axis(default=-1))


@rule("Softmax", "LogSoftmax", "Hardmax", until=12)
def _on_rows(node: Node) -> Value:
    """Apply an op to the rows of a matrix that flattens all axes from `axis` on: the semantics before opset 13."""
    function, shape, axis = _ALONG_AXIS[node.op], node.shape(), node.axis(default=1)
    if axis == len(shape) - 1:
        return function(node.tensor(0), axis)
    rows, columns = math.prod(shape[:axis]), math.prod(shape[axis:])
    return R.reshape(function(R.reshape(node.tensor(0), [rows, columns]), 1), list(shape))


def _hardmax(x: Value, axis: int) -> Value:
    """Return 1 at the first of the largest elements along `axis`, 0 at the others."""
    info = x.tensor_info
    assert info.known_shape is not None
    axis %= len(info.known_shape)
    size = info.known_shape[axis]
    places = R.reshape(R.arange(0, size, 1, "int64"), [size if i == axis else 1 for i in range(info.ndim or 1)])
    first = R.argmax(x, axis, True)
    return R.astype(R.equal(R.astype(first, "int64"), places), str(x.dtype))


_ALONG_AXIS: dict[str, Callable[[Value, int], Value]] = {
    "Hardmax": _hardmax,
    "LogSoftmax": R.nn.log_softmax,
    "Softmax": R.nn.softmax,
}


# Normalisations.


@rule("BatchNormalization")
def _batch_normalization(node: Node) -> list[Value | None]:
    x, scale, bias, mean, variance = (node.tensor(i) for i in range(5))
    epsilon, momentum = node.attr("epsilon", 1e-5), node.attr("momentum", 0.9)
    if node.attr("training_mode", 0):
        axes = [axis for axis in range(node.rank()) if axis != 1]
        seen_mean, seen_variance = R.mean(x, axes), R.variance(x, axes)
        kept, rest = node.const(momentum, node.dtype(3)), node.const(1 - momentum, node.dtype(3))
        running = [
            R.add(R.multiply(old, kept), R.multiply(R.astype(new, node.dtype(3)), rest))
            for old, new in ((mean, seen_mean), (variance, seen_variance))
        ]
        return [_normalized(node, x, scale, bias, seen_mean, seen_variance, epsilon), *running]
    return [_normalized(node, x, scale, bias, mean, variance, epsilon), mean, variance, None, None]


def _normalized(node: Node, x: Value, scale: Value, bias: Value, mean: Value, variance: Value, epsilon: float) -> Value:
    """Return (x - mean) / sqrt(variance + epsilon)·scale + bias, with one value per channel."""
    dtype = node.dtype()
    scale, bias, mean, variance = (R.astype(part, dtype) for part in (scale, bias, mean, variance))
    if dtype == "float32" and node.rank() >= 2:
        result = R.nn.batch_norm(x, scale, bias, mean, variance, 1, epsilon, training=False)
        return R.tuple_get_item(result, 0)
    shape: list[Dim] = [*node.shape(1), *[1] * (node.rank() - 2)]
    factor = R.multiply(scale, R.rsqrt(R.add(variance, constant(epsilon, dtype))))
    offset = R.subtract(bias, R.multiply(mean, factor))
    return R.add(R.multiply(x, R.reshape(factor, shape)), R.reshape(offset, shape))


@rule("InstanceNormalization")
def _instance_normalization(node: Node) -> Value:
    axes = list(range(2, node.rank()))
    return R.nn.instance_norm(node.tensor(0), node.tensor(1), node.tensor(2), 1, axes, node.attr("epsilon", 1e-5))


@rule("LayerNormalization")
def _layer_normalization(node: Node) -> list[Value | None]:
    axis = node.axis(default=-1)
    axes = list(range(axis, node.rank()))
    x, epsilon, dtype = node.tensor(0), node.attr("epsilon", 1e-5), node.dtype()
    wants_mean = any(node.proto.output[1:])
    parameters = list(node.shape(1)) == list(node.shape()[axis:])
    if not wants_mean and parameters and dtype == "float32":
        bias = node.tensor(2) if node.has(2) else R.zeros(list(node.shape(1)), dtype)
        return [R.nn.layer_norm(x, node.tensor(1), bias, axes, epsilon)]
    wide = R.astype(x, "float32") if dtype in ("float16", "bfloat16") else x
    inner = "float32" if dtype in ("float16", "bfloat16") else dtype
    mean = R.mean(wide, axes, True)
    centred = R.subtract(wide, mean)
    variance = R.mean(R.multiply(centred, centred), axes, True)
    inverse = R.divide(constant(1, inner), R.sqrt(R.add(variance, constant(epsilon, inner))))
    result = R.multiply(R.astype(R.multiply(centred, inverse), dtype), node.tensor(1))
    if node.has(2):
        result = R.add(result, node.tensor(2))
    return [result, mean, inverse]


@rule("RMSNormalization")
def _rms_normalization(node: Node) -> Value:
    axis = node.axis(default=-1)
    axes = list(range(axis, node.rank()))
    x, epsilon, dtype = node.tensor(0), node.attr("epsilon", 1e-5), node.dtype()
    if dtype == "float32" and list(node.shape(1)) == list(node.shape()[axis:]):
        return R.nn.rms_norm(x, node.tensor(1), axes, epsilon)
    inner = "float32" if dtype in ("float16", "bfloat16") else dtype
    wide = R.astype(x, inner)
    square = R.mean(R.multiply(wide, wide), axes, True)
    inverse = R.divide(constant(1, inner), R.sqrt(R.add(square, constant(epsilon, inner))))
    return R.multiply(R.astype(R.multiply(wide, inverse), node.dtype(1)), node.tensor(1))


@rule("LpNormalization")
def _lp_normalization(node: Node) -> Value:
    axis, p = node.axis(default=-1), node.attr("p", 2)
    x = node.tensor(0)
    norm = R.sum(R.abs(x), axis, True) if p == 1 else R.sqrt(R.sum(R.multiply(x, x), axis, True))
    zero = node.const(0)
    return R.where(R.equal(norm, zero), zero, R.divide(x, R.where(R.equal(norm, zero), node.const(1), norm)))


@rule("LRN")
def _lrn(node: Node) -> Value:
    result: Value = node.te(
        topi.nn.lrn,
        node.tensor(0),
        node.required("size"),
        1,
        node.attr("alpha", 1e-4),
        node.attr("beta", 0.75),
        node.attr("bias", 1.0),
    )
    return result


# Recurrent layers: one op of this project per direction.


_BACKWARDS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


@dataclass
class _Layer:
    """Shared code of the three layer types, with the number of gates and the default activations."""

    node: Node
    gates: int
    default: Sequence[str]

    def __post_init__(self) -> None:
        node = self.node
        direction = node.attr("direction", "forward")
        if direction not in _BACKWARDS:
            raise ArgumentError(f"the direction is {direction!r}")
        self.backwards = _BACKWARDS[direction]
        self.batch_first = bool(node.attr("layout", 0))
        for index in (0, 1, 2, 5, 6):
            if node.has(index) and node.rank(index) != 3:
                raise ShapeError(f"input {index} has rank {node.rank(index)}, expected 3")
        x = node.tensor(0)
        self.x = R.permute_dims(x, [1, 0, 2]) if self.batch_first else x
        self.batch = node.shape(0)[0 if self.batch_first else 1]
        hidden = node.shape(2)[2]
        self.hidden: int = node.attr("hidden_size", hidden)
        if hidden != self.hidden:
            raise ArgumentError(f"hidden_size is {self.hidden}, but the weights are for {hidden}")
        lengths = R.astype(node.tensor(4), "int32") if node.has(4) else None
        self.lengths = None if lengths is None else matched(lengths, [self.batch])

    def activations(self, direction: int) -> list[Activation]:
        """Return the activations of a direction, with the node's or ONNX's default parameters."""
        given = self.node.attr("activations")
        names = list(self.default) * len(self.backwards) if given is None else list(map(_text, given))
        alphas = self.node.attr("activation_alpha") or []
        betas = self.node.attr("activation_beta") or []
        chosen: list[Activation] = []
        for place in range(direction * len(self.default), (direction + 1) * len(self.default)):
            if place >= len(names):
                raise ArgumentError(f"{len(names)} activations for {len(self.backwards)} directions")
            name = names[place].lower()
            if name not in ACTIVATIONS:
                raise ArgumentError(f"the activation is {names[place]!r}, which ONNX does not define")
            alpha, beta = DEFAULTS.get(name, (0.0, 0.0))
            alpha = alphas[place] if place < len(alphas) else alpha
            beta = betas[place] if place < len(betas) else beta
            chosen.append((name, alpha, beta) if name in DEFAULTS else name)
        return chosen

    def part(self, index: int, direction: int) -> Value:
        """Return an input's slice for a direction."""
        return _taken(self.node.tensor(index), 0, direction)

    def initial(self, index: int, direction: int) -> Value | None:
        """Return the initial state of a direction, if the node has one."""
        if not self.node.has(index):
            return None
        state = _taken(self.node.tensor(index), 1 if self.batch_first else 0, direction)
        return matched(state, [self.batch, self.hidden])

    def biases(self, direction: int) -> list[Value | None]:
        """Return the biases of input and state."""
        if not self.node.has(3):
            return [None, None]
        both, count = self.part(3, direction), self.gates * self.hidden
        return [_slice(both, first, first + count) for first in (0, count)]

    def common(self, direction: int, backwards: bool) -> dict[str, Any]:
        """Return the arguments that all layer types take, for a direction."""
        bias, recurrent_bias = self.biases(direction)
        return {
            "data": self.x,
            "weight": self.part(1, direction),
            "recurrent": self.part(2, direction),
            "bias": bias,
            "recurrent_bias": recurrent_bias,
            "hidden": self.initial(5, direction),
            "lengths": self.lengths,
            "activations": self.activations(direction),
            "clip": self.node.attr("clip"),
            "reverse": backwards,
        }

    def run(self, layer: Callable[[int, bool], Value]) -> list[Value]:
        """Return the outputs of all steps and the last states, each with an axis for the directions."""
        found = [list(layer(direction, backwards)) for direction, backwards in enumerate(self.backwards)]
        outputs, *states = zip(*found, strict=True)
        whole, last = R.stack(outputs, 1), [R.stack(each, 0) for each in states]
        if not self.batch_first:
            return [whole, *last]
        return [R.permute_dims(whole, [2, 0, 1, 3]), *(R.permute_dims(state, [1, 0, 2]) for state in last)]


def _taken(x: Value, axis: int, index: int) -> Value:
    """Return `x` at an index of an axis."""
    return rearranged(
        x,
        lambda array: array[(slice(None),) * axis + (index,)],
        lambda value: R.squeeze(R.strided_slice(value, [axis], [index], [index + 1]), [axis]),
    )


def _slice(x: Value, begin: int, end: int) -> Value:
    return rearranged(x, lambda array: array[begin:end], lambda value: R.strided_slice(value, [0], [begin], [end]))


def _text(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name


@rule("RNN")
def _rnn(node: Node) -> list[Value]:
    layer = _Layer(node, 1, ["Tanh"])
    return layer.run(lambda *way: R.nn.rnn(**layer.common(*way)))


@rule("GRU")
def _gru(node: Node) -> list[Value]:
    layer, after = _Layer(node, 3, ["Sigmoid", "Tanh"]), bool(node.attr("linear_before_reset", 0))
    return layer.run(lambda *way: R.nn.gru(**layer.common(*way), reset_after=after, gate_order="zrn"))


@rule("LSTM")
def _lstm(node: Node) -> list[Value]:
    layer = _Layer(node, 4, ["Sigmoid", "Tanh", "Tanh"])

    def make(direction: int, backwards: bool) -> Value:
        return R.nn.lstm(
            **layer.common(direction, backwards),
            cell=layer.initial(6, direction),
            peepholes=_peepholes(layer, direction),
            input_forget=bool(node.attr("input_forget", 0)),
            gate_order="iofg",
        )

    return layer.run(make)


def _peepholes(layer: _Layer, direction: int) -> Value | None:
    """Return the peephole weights in the order input, forget, output; ONNX has another order."""
    if not layer.node.has(7):
        return None
    rows = R.split(layer.part(7, direction), 3, 0)
    return R.stack([rows[0], rows[2], rows[1]], 0)
