"""Recurrent layers: one op of this project per direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import op as R
from relax_mlir.dialects.rearranged import rearranged
from relax_mlir.dialects.recurrent import ACTIVATIONS, DEFAULTS, Activation
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.frontend.onnx.aligned_operands import matched
from relax_mlir.frontend.onnx.node import Node
from relax_mlir.frontend.onnx.registry import rule

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
    return rearranged(
        x, lambda array: array[begin:end], lambda value: R.strided_slice(value, [0], [begin], [end])
    )


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
