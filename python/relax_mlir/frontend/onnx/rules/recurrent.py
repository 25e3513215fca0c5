"""Recurrent layers, as loops over the steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError
from relax_mlir.frontend.onnx.node import Node, constant
from relax_mlir.frontend.onnx.registry import rule
from relax_mlir.frontend.onnx.rows import with_row
from relax_mlir.symbolic import Dim, Expr

Activation = Callable[[Value], Value]
Step = Callable[[Value, Sequence[Value]], list[Value]]
"""From what the input gives and the states to the new states, the first of which is the output."""

_PLAIN: dict[str, Activation] = {
    "relu": R.nn.relu,
    "tanh": R.tanh,
    "sigmoid": R.sigmoid,
    "softsign": lambda x: R.divide(x, R.add(R.abs(x), _like(1, x))),
    "softplus": lambda x: R.log_add_exp(x, _like(0, x)),
}
_DEFAULTS = {
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, 0.0),
    "thresholdedrelu": (1.0, 0.0),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, 0.0),
}


def _like(number: float, x: Value) -> Value:
    dtype = x.tensor_info.dtype
    assert dtype is not None
    return constant(number, dtype.name)


def _activation(name: str, alpha: float | None, beta: float | None) -> Activation:
    key = name.lower()
    if key in _PLAIN:
        return _PLAIN[key]
    if key not in _DEFAULTS:
        raise ArgumentError(f"the activation is {name!r}, which ONNX does not define")
    a = _DEFAULTS[key][0] if alpha is None else alpha
    b = _DEFAULTS[key][1] if beta is None else beta

    def apply(x: Value) -> Value:
        zero = _like(0, x)
        if key == "affine":
            return R.add(R.multiply(x, _like(a, x)), _like(b, x))
        if key == "leakyrelu":
            return R.where(R.less(x, zero), R.multiply(x, _like(a, x)), x)
        if key == "thresholdedrelu":
            return R.where(R.greater(x, _like(a, x)), x, zero)
        if key == "scaledtanh":
            return R.multiply(R.tanh(R.multiply(x, _like(b, x))), _like(a, x))
        if key == "hardsigmoid":
            line = R.add(R.multiply(x, _like(a, x)), _like(b, x))
            return R.maximum(R.minimum(line, _like(1, x)), zero)
        below = R.multiply(R.subtract(R.exp(R.minimum(x, zero)), _like(1, x)), _like(a, x))
        return R.where(R.less(x, zero), below, x)

    return apply


@dataclass
class _Layer:
    """What the three kinds of layers share."""

    node: Node
    gates: int
    default: Sequence[str]

    def __post_init__(self) -> None:
        node = self.node
        direction = node.attr("direction", "forward")
        self.backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(
            direction
        )
        if self.backwards is None:
            raise ArgumentError(f"the direction is {direction!r}")
        self.batch_first = bool(node.attr("layout", 0))
        self.dtype = node.dtype()
        x = node.tensor(0)
        self.x = R.permute_dims(x, [1, 0, 2]) if self.batch_first else x
        shape = self.x.tensor_info.known_shape
        assert shape is not None
        self.steps, self.batch, self.width = shape
        hidden = node.shape(2)[2]
        self.hidden: int = node.attr("hidden_size", hidden)
        if hidden != self.hidden:
            raise ArgumentError(f"hidden_size is {self.hidden}, but the weights are for {hidden}")
        self.lengths = R.astype(node.tensor(4), "int64") if node.has(4) else None

    def activations(self, direction: int) -> list[Activation]:
        names = self.node.attr("activations")
        count = len(self.default)
        names = list(self.default) * len(self.backwards or ()) if names is None else [_text(n) for n in names]
        alphas = self.node.attr("activation_alpha") or []
        betas = self.node.attr("activation_beta") or []
        chosen = []
        for place in range(direction * count, direction * count + count):
            if place >= len(names):
                raise ArgumentError(f"{len(names)} activations for {len(self.backwards or ())} directions")
            alpha = alphas[place] if place < len(alphas) else None
            beta = betas[place] if place < len(betas) else None
            chosen.append(self._clipped(_activation(names[place], alpha, beta)))
        return chosen

    def _clipped(self, function: Activation) -> Activation:
        limit = self.node.attr("clip")
        if limit is None:
            return function

        def apply(x: Value) -> Value:
            return function(R.maximum(R.minimum(x, _like(limit, x)), _like(-limit, x)))

        return apply

    def part(self, index: int, direction: int) -> Value:
        """What an input has for a direction, without that axis."""
        x = self.node.tensor(index)
        return R.squeeze(R.strided_slice(x, [0], [direction], [direction + 1]), [0])

    def initial(self, index: int, direction: int) -> Value:
        """The initial state of a direction: that of an input, or zeros."""
        if not self.node.has(index):
            return R.full([self.batch, self.hidden], constant(0, self.dtype))
        x = self.node.tensor(index)
        axis = 1 if self.batch_first else 0
        return R.squeeze(R.strided_slice(x, [axis], [direction], [direction + 1]), [axis])

    def biases(self, direction: int) -> tuple[Value, Value]:
        """The biases of the input and of the state."""
        size = self.gates * self.hidden
        if not self.node.has(3):
            zero = R.full([size], constant(0, self.dtype))
            return zero, zero
        both = self.part(3, direction)
        return R.strided_slice(both, [0], [0], [size]), R.strided_slice(both, [0], [size], [2 * size])

    def cut(self, x: Value, number: int, count: int = 1) -> Value:
        """Gates `number` and following of the last axis."""
        axis = (x.ndim or 1) - 1
        start = number * self.hidden
        return R.strided_slice(x, [axis], [start], [start + count * self.hidden])

    def run(
        self, states: int, make_step: Callable[[int], tuple[Value, Step]], initial: Sequence[int]
    ) -> list[Value]:
        """The output of all steps and the last states, each with an axis for the directions."""
        outputs, finals = [], []
        assert self.backwards is not None
        for direction, backwards in enumerate(self.backwards):
            inputs, step = make_step(direction)
            start = [self.initial(index, direction) for index in initial]
            output, *last = self._loop(inputs, step, start, backwards)
            outputs.append(output)
            finals.append(last)
        whole = _stack(outputs, 1)
        last = [_stack([final[k] for final in finals], 0) for k in range(states)]
        if not self.batch_first:
            return [whole, *last]
        return [R.permute_dims(whole, [2, 0, 1, 3]), *(R.permute_dims(state, [1, 0, 2]) for state in last)]

    def _loop(self, inputs: Value, step: Step, start: Sequence[Value], backwards: bool) -> list[Value]:
        converter = self.node.converter
        steps = self.steps
        buffer = R.full([steps, self.batch, self.hidden], constant(0, self.dtype))

        def emit(i: Expr, output: Value, *states: Value) -> tuple[Value, ...]:
            with converter.block():
                at: Dim = steps - 1 - i if backwards else i
                x = R.squeeze(R.strided_slice(inputs, [0], [at], [at + 1], assume_inbound=True), [0])
                fresh = step(x, states)
                shown = fresh[0]
                if self.lengths is not None:
                    runs = R.expand_dims(R.greater(self.lengths, R.prim_to_tensor(R.prim_value(at))), 1)
                    fresh = [R.where(runs, new, old) for new, old in zip(fresh, states, strict=True)]
                    shown = R.where(runs, shown, constant(0, self.dtype))
                return (with_row(self.node, output, shown, at), *fresh)

        return list(R.for_loop(0, steps, emit, [buffer, *start]))

    def projected(self, direction: int, bias: Value) -> Value:
        """What the input gives to the gates, for all steps at once."""
        weights = self.part(1, direction)
        return R.add(R.matmul(self.x, R.permute_dims(weights)), bias)


def _stack(values: Sequence[Value], axis: int) -> Value:
    rows = [R.expand_dims(value, axis) for value in values]
    return rows[0] if len(rows) == 1 else R.concat(rows, axis)


def _text(name: Any) -> str:  # noqa: ANN401 - bytes or a string
    return name.decode() if isinstance(name, bytes) else str(name)


@rule("RNN")
def _rnn(node: Node) -> list[Value]:
    layer = _Layer(node, 1, ["Tanh"])

    def make(direction: int) -> tuple[Value, Step]:
        (f,) = layer.activations(direction)
        first, second = layer.biases(direction)
        recurrent = R.permute_dims(layer.part(2, direction))

        def step(x: Value, states: Sequence[Value]) -> list[Value]:
            return [f(R.add(x, R.matmul(states[0], recurrent)))]

        return layer.projected(direction, R.add(first, second)), step

    return layer.run(1, make, [5])


@rule("GRU")
def _gru(node: Node) -> list[Value]:
    layer = _Layer(node, 3, ["Sigmoid", "Tanh"])
    inside = bool(node.attr("linear_before_reset", 0))

    def make(direction: int) -> tuple[Value, Step]:
        f, g = layer.activations(direction)
        first, second = layer.biases(direction)
        recurrent = R.permute_dims(layer.part(2, direction))
        gates, candidate = layer.cut(recurrent, 0, 2), layer.cut(recurrent, 2)
        gate_bias, candidate_bias = layer.cut(second, 0, 2), layer.cut(second, 2)
        one = constant(1, layer.dtype)

        def step(x: Value, states: Sequence[Value]) -> list[Value]:
            h = states[0]
            both = f(R.add(R.add(layer.cut(x, 0, 2), R.matmul(h, gates)), gate_bias))
            update, reset = layer.cut(both, 0), layer.cut(both, 1)
            if inside:
                inner = R.multiply(reset, R.add(R.matmul(h, candidate), candidate_bias))
            else:
                inner = R.add(R.matmul(R.multiply(reset, h), candidate), candidate_bias)
            proposed = g(R.add(layer.cut(x, 2), inner))
            return [R.add(R.multiply(R.subtract(one, update), proposed), R.multiply(update, h))]

        return layer.projected(direction, first), step

    return layer.run(1, make, [5])


@rule("LSTM")
def _lstm(node: Node) -> list[Value]:
    layer = _Layer(node, 4, ["Sigmoid", "Tanh", "Tanh"])
    couples = bool(node.attr("input_forget", 0))

    def make(direction: int) -> tuple[Value, Step]:
        f, g, h_activation = layer.activations(direction)
        first, second = layer.biases(direction)
        recurrent = R.permute_dims(layer.part(2, direction))
        peepholes = layer.part(7, direction) if node.has(7) else None

        def peep(state: Value, number: int) -> Value | None:
            return None if peepholes is None else R.multiply(state, layer.cut(peepholes, number))

        def step(x: Value, states: Sequence[Value]) -> list[Value]:
            h, c = states
            gates = R.add(x, R.matmul(h, recurrent))
            i = f(_plus(layer.cut(gates, 0), peep(c, 0)))
            forget = (
                R.subtract(constant(1, layer.dtype), i)
                if couples
                else f(_plus(layer.cut(gates, 2), peep(c, 2)))
            )
            cell = R.add(R.multiply(forget, c), R.multiply(i, g(layer.cut(gates, 3))))
            o = f(_plus(layer.cut(gates, 1), peep(cell, 1)))
            return [R.multiply(o, h_activation(cell)), cell]

        return layer.projected(direction, R.add(first, second)), step

    return layer.run(2, make, [5, 6])


def _plus(x: Value, y: Value | None) -> Value:
    return x if y is None else R.add(x, y)
