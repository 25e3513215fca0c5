"""Recurrent layers of inputs and weights: one matrix product for all steps, then the steps."""

from collections.abc import Sequence

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects.binary import add
from relax_mlir.dialects.create import zeros
from relax_mlir.dialects.linear_algebra import matmul
from relax_mlir.dialects.manipulate import concat, permute_dims, split
from relax_mlir.dialects.rearranged import Array, rearranged
from relax_mlir.dialects.recurrent import Activation, gru_steps, lstm_steps, rnn_steps
from relax_mlir.dialects.types import Tensor, dim_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.symbolic import Dim


def lstm(
    data: ValueLike,
    weight: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike | None = None,
    recurrent_bias: ValueLike | None = None,
    hidden: ValueLike | None = None,
    cell: ValueLike | None = None,
    lengths: ValueLike | None = None,
    peepholes: ValueLike | None = None,
    activations: Sequence[Activation] = ("sigmoid", "tanh", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    input_forget: bool = False,
    gate_order: str = "ifgo",
) -> Value:
    """A long short-term memory of `data`, ``(steps, batch, inputs)``: a tuple of three, see `LstmStepsOp`.

    `weight` is ``(4 * hidden, inputs)``, `recurrent` ``(4 * hidden, hidden)``, and the biases ``(4 * hidden,)``, with
    the gates in the order `gate_order` (the default is torch's; ONNX's is ``iofg``). `hidden` and `cell` default to 0.
    """
    require_insertion_point("nn.lstm")
    layer = _Layer("lstm", as_value(data), as_value(weight), as_value(recurrent), "ifgo", gate_order)
    gates = layer.gates([bias, recurrent_bias])
    none = zeros([0, layer.hidden], layer.dtype)
    return lstm_steps(
        gates,
        layer.steps,
        layer.state(hidden),
        layer.state(cell),
        layer.lengths(lengths),
        none if peepholes is None else peepholes,
        activations,
        clip,
        reverse,
        input_forget,
    )


def gru(
    data: ValueLike,
    weight: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike | None = None,
    recurrent_bias: ValueLike | None = None,
    hidden: ValueLike | None = None,
    lengths: ValueLike | None = None,
    activations: Sequence[Activation] = ("sigmoid", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    reset_after: bool = True,
    gate_order: str = "rzn",
) -> Value:
    """A gated recurrent unit of `data`, ``(steps, batch, inputs)``: a tuple of two, see `GruStepsOp`.

    Weights and biases are as in `lstm`, for three gates in the order `gate_order` (the default is torch's; ONNX's is
    ``zrn``). torch always has `reset_after`; ONNX calls it ``linear_before_reset``.
    """
    require_insertion_point("nn.gru")
    layer = _Layer("gru", as_value(data), as_value(weight), as_value(recurrent), "rzn", gate_order)
    own = zeros([layer.hidden * 3], layer.dtype) if recurrent_bias is None else as_value(recurrent_bias)
    return gru_steps(
        layer.gates([bias]),
        layer.steps,
        layer.in_order(own),
        layer.state(hidden),
        layer.lengths(lengths),
        activations,
        clip,
        reverse,
        reset_after,
    )


def rnn(
    data: ValueLike,
    weight: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike | None = None,
    recurrent_bias: ValueLike | None = None,
    hidden: ValueLike | None = None,
    lengths: ValueLike | None = None,
    activations: Sequence[Activation] = ("tanh",),
    clip: float | None = None,
    reverse: bool = False,
) -> Value:
    """A recurrent layer of `data`, ``(steps, batch, inputs)``: a tuple of two, see `RnnStepsOp`.

    `weight` is ``(hidden, inputs)``, `recurrent` ``(hidden, hidden)``, the biases ``(hidden,)``.
    """
    require_insertion_point("nn.rnn")
    layer = _Layer("rnn", as_value(data), as_value(weight), as_value(recurrent), "h", "h")
    gates = layer.gates([bias, recurrent_bias])
    return rnn_steps(
        gates, layer.steps, layer.state(hidden), layer.lengths(lengths), activations, clip, reverse
    )


class _Layer:
    """The operands of a layer, and the operands of its steps."""

    def __init__(
        self, what: str, data: Value, weight: Value, recurrent: Value, wanted: str, given: str
    ) -> None:
        if not isinstance(given, str) or sorted(given) != sorted(wanted):
            raise ArgumentError(
                f"{what}: 'gate_order' is {given!r}, expected an order of the letters {wanted}"
            )
        self.what, self.data, self.weight, self.recurrent = what, data, weight, recurrent
        self._order = [given.index(letter) for letter in wanted]
        self.hidden = self._known("recurrent", recurrent, 2, 1)
        self.batch = self._known("data", data, 3, 1)
        info: Tensor = data.tensor_info
        if info.dtype is None:
            raise ShapeError(f"{what}: the dtype of 'data', {info}, is not known; match_shape it first")
        self.dtype = info.dtype

    def _known(self, name: str, value: Value, rank: int, axis: int) -> Dim:
        shape = value.tensor_info.shape
        dim = shape[axis] if shape is not None and len(shape) == rank else None
        if dim is None:
            raise ShapeError(
                f"{self.what}: '{name}' is {value.tensor_info}, expected {rank} dimensions of which {axis} is known; "
                "match_shape it first"
            )
        return dim

    def in_order(self, value: Value) -> Value:
        """Weights or biases with the gates in the order of the steps op."""
        if self._order == sorted(self._order):
            return value
        shape = value.tensor_info.shape
        size = None if not shape else shape[0]
        if size is None or not symbolic.prove_equal(size, self.hidden * len(self._order)):
            raise ShapeError(
                f"{self.what}: {value.tensor_info} has not {len(self._order)} gates of {self.hidden} in its first "
                "dimension"
            )

        def of_elements(array: Array) -> Array:
            parts = np.split(array, len(self._order))
            return np.concatenate([parts[number] for number in self._order])

        def by_ops(value: Value) -> Value:
            parts = split(value, len(self._order), 0)
            return concat([parts[number] for number in self._order], 0)

        return rearranged(value, of_elements, by_ops)

    @property
    def steps(self) -> Value:
        """The recurrent weights in the form of the steps op."""
        shape, wanted = self.recurrent.tensor_info.shape, self.hidden * len(self._order)
        rows = None if shape is None else shape[0]
        if rows is not None and not symbolic.prove_equal(rows, wanted):
            raise ShapeError(
                f"{self.what}: dimension 0 of operand 'recurrent' is {dim_text(rows)}, expected {dim_text(wanted)}"
            )
        return rearranged(self.in_order(self.recurrent), np.transpose, lambda x: permute_dims(x, [1, 0]))

    def gates(self, biases: Sequence[ValueLike | None]) -> Value:
        """The products of inputs and weights for all steps, plus biases."""
        found = matmul(self.data, permute_dims(self.in_order(self.weight), [1, 0]))
        given = [self.in_order(as_value(bias)) for bias in biases if bias is not None]
        for bias in given[1:]:
            given = [add(given[0], bias)]
        return add(found, given[0]) if given else found

    def state(self, given: ValueLike | None) -> Value:
        """An initial state, 0 by default."""
        return zeros([self.batch, self.hidden], self.dtype) if given is None else as_value(given)

    def lengths(self, given: ValueLike | None) -> Value:
        """The number of steps of each batch entry, all by default."""
        return zeros([0], "int32") if given is None else as_value(given)
