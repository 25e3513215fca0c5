"""Recurrent layers, step by step, with the input's contribution to the gates precomputed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.compute import compute
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.recurrence import scan
from relax_mlir.te.tensors import Tensor, placeholder
from relax_mlir.topi.common import computed, held, size
from relax_mlir.topi.nn.lstm import RECURRENT, Activation

FUNCTIONS: dict[str, Callable[[Expr, float, float], Expr]] = {
    "affine": lambda x, a, b: x * a + b,
    "elu": lambda x, a, b: functions.select(x > 0, x, functions.expm1(x) * a),
    "hardsigmoid": lambda x, a, b: functions.maximum(functions.minimum(x * a + b, 1.0), 0.0),
    "leakyrelu": lambda x, a, b: functions.select(x > 0, x, x * a),
    "relu": lambda x, a, b: functions.maximum(x, 0.0),
    "scaledtanh": lambda x, a, b: functions.tanh(x * b) * a,
    "sigmoid": lambda x, a, b: functions.sigmoid(x),
    "softplus": lambda x, a, b: functions.maximum(x, 0.0) + functions.log1p(functions.exp(-functions.abs(x))),
    "softsign": lambda x, a, b: x / (functions.abs(x) + 1.0),
    "tanh": lambda x, a, b: functions.tanh(x),
    "thresholdedrelu": lambda x, a, b: functions.select(x > a, x, functions.const(0, x.dtype)),
}
"""The activations of gates, with ONNX's parameters alpha and beta."""


def function_of(name: str, alpha: float, beta: float) -> Activation:
    """The activation of a name."""
    if name not in FUNCTIONS:
        raise ArgumentError(f"topi.nn: the function {name!r} is none of {', '.join(FUNCTIONS)}")
    return lambda x: FUNCTIONS[name](x, float(alpha), float(beta))


@dataclass
class Recurrence:
    """The steps of a layer: `gates` are ``(steps, batch, count * hidden)``, floats of 32 bits or more.

    `recurrent` is ``(hidden, count * hidden)``: every step accumulates its rows. `lengths`: the number of steps of each
    entry of the batch, or None.
    """

    gates: Tensor
    recurrent: Tensor
    lengths: Tensor | None
    reverse: bool
    clip: float | None

    def __post_init__(self) -> None:
        self.steps, self.batch, _ = self.gates.shape
        self.hidden, _ = self.recurrent.shape
        if self.lengths is None:
            self.counts: Tensor | None = None
            return
        given = self.lengths
        last = as_expr(size(self.steps)).astype("int64")

        def count(b: Expr) -> Expr:
            own = given(b).astype("int64")
            return functions.maximum(functions.minimum(own, last), functions.const(0, "int64"))

        self.counts = computed((self.batch,), count, "T_lengths", RECURRENT)

    @property
    def whole(self) -> tuple[Dim, Dim, Dim]:
        """The shape of a state at all steps, including the initial one."""
        return (self.steps + 1, self.batch, self.hidden)

    def gate(self, number: int, t: Expr, b: Expr, j: Expr) -> Expr:
        """The input's contribution to a gate at step `t`, counted from 1."""
        place: Expr
        if not self.reverse:
            place = t - 1
        elif self.counts is None:
            place = size(self.steps) - t
        else:
            place = held(self.counts(b) - t.astype("int64"), self.steps)
        return self.gates(place, b, as_expr(size(self.hidden)) * number + j)

    def fed(self, state: Tensor, numbers: Sequence[int], name: str, before: int = 1) -> Tensor:
        """The products of a state, `before` steps earlier, with the recurrent weights of some gates."""
        back = reductions.reduce_axis((0, self.hidden), "r")
        width, first = as_expr(size(self.hidden)), numbers[0]
        weights = self.recurrent
        found = compute(
            (self.steps + 1, len(numbers), self.batch, self.hidden),
            lambda t, g, b, j: reductions.sum(
                state(t - before if before else t, b, back) * weights(back, (g + first) * width + j), back
            ),
            name,
        )
        assert isinstance(found, Tensor)
        return found

    def held(self, x: Expr) -> Expr:
        """The argument of an activation, clamped if `clip` is set."""
        if self.clip is None:
            return x
        return functions.maximum(functions.minimum(x, float(self.clip)), -float(self.clip))

    def kept(self, new: Expr, old: Expr, t: Expr, b: Expr) -> Expr:
        """The new state if entry `b` has step `t`, else the old one."""
        if self.counts is None:
            return new
        return functions.select(t.astype("int64") <= self.counts(b), new, old)

    def state(self, name: str) -> Tensor:
        """A placeholder for a state at all steps."""
        return placeholder(self.whole, self.gates.dtype, name)

    def scanned(
        self, first: Sequence[Tensor], update: Sequence[Tensor], states: Sequence[Tensor], name: str
    ) -> list[Tensor]:
        """All hidden states, and the last value of each state."""
        begin = [
            compute((1, self.batch, self.hidden), lambda _, b, j, s=own: s(b, j), f"{name}_first")
            for own in first
        ]
        found = scan(begin, list(update), list(states), name=name)
        last = [
            computed(
                (self.batch, self.hidden),
                lambda b, j, s=state: s(size(self.steps), b, j),
                f"{name}_last",
                RECURRENT,
            )
            for state in found
        ]
        return [self._outputs(found[0], name), *last]

    def _outputs(self, state: Tensor, name: str) -> Tensor:
        """The states at the indices of their steps; 0 after the last step of an entry."""

        def output(p: Expr, b: Expr, j: Expr) -> Expr:
            if self.counts is None:
                return state(size(self.steps) - p if self.reverse else p + 1, b, j)
            count = self.counts(b)
            place = p.astype("int64") + 1
            if self.reverse:
                place = count - p.astype("int64")
            item = state(held(place, self.steps + 1), b, j)
            return functions.select(p.astype("int64") < count, item, functions.const(0, state.dtype))

        return computed((self.steps, self.batch, self.hidden), output, f"{name}_states", RECURRENT)


def rnn_steps(layer: Recurrence, hidden: Tensor, f: Activation) -> list[Tensor]:
    """``h = f(gates + h @ recurrent)``."""
    state = layer.state("h_state")
    fed = layer.fed(state, [0], "fed")

    def value(t: Expr, b: Expr, j: Expr) -> Expr:
        new = f(layer.held(layer.gate(0, t, b, j) + fed(t, 0, b, j)))
        return layer.kept(new, state(t - 1, b, j), t, b)

    return layer.scanned([hidden], [compute(layer.whole, value, "h_next")], [state], "T_rnn")


def gru_steps(
    layer: Recurrence, bias: Tensor, hidden: Tensor, f: Activation, g: Activation, reset_after: bool
) -> list[Tensor]:
    """A GRU layer; the gates are reset, update and new."""
    state = layer.state("h_state")
    width = as_expr(size(layer.hidden))
    fed = layer.fed(state, [0, 1, 2] if reset_after else [0, 1], "fed")

    def gated(number: int, t: Expr, b: Expr, j: Expr) -> Expr:
        total = layer.gate(number, t, b, j) + fed(t, number, b, j) + bias(width * number + j)
        return f(layer.held(total))

    if reset_after:

        def new(t: Expr, b: Expr, j: Expr) -> Expr:
            own = gated(0, t, b, j) * (fed(t, 2, b, j) + bias(width * 2 + j))
            return g(layer.held(layer.gate(2, t, b, j) + own))

    else:
        reset = compute(layer.whole, lambda t, b, j: gated(0, t, b, j) * state(t - 1, b, j), "reset")
        last = layer.fed(reset, [2], "fed_new", 0)

        def new(t: Expr, b: Expr, j: Expr) -> Expr:
            return g(layer.held(layer.gate(2, t, b, j) + last(t, 0, b, j) + bias(width * 2 + j)))

    def value(t: Expr, b: Expr, j: Expr) -> Expr:
        update, old = gated(1, t, b, j), state(t - 1, b, j)
        return layer.kept((1.0 - update) * new(t, b, j) + update * old, old, t, b)

    return layer.scanned([hidden], [compute(layer.whole, value, "h_next")], [state], "T_gru")


def lstm_steps(
    layer: Recurrence,
    hidden: Tensor,
    cell: Tensor,
    peepholes: Tensor | None,
    activations: Sequence[Activation],
    input_forget: bool,
) -> list[Tensor]:
    """An LSTM layer with gates input, forget, cell, output; `peepholes` ``(3, hidden)``: input, forget, output."""
    f, g, h = activations
    state, cells = layer.state("h_state"), layer.state("c_state")
    fed = layer.fed(state, [0, 1, 2, 3], "fed")

    def gate(number: int, t: Expr, b: Expr, j: Expr) -> Expr:
        return layer.gate(number, t, b, j) + fed(t, number, b, j)

    def peeped(number: int, row: int, now: Expr, t: Expr, b: Expr, j: Expr) -> Expr:
        total = gate(number, t, b, j)
        return f(layer.held(total if peepholes is None else total + peepholes(row, j) * now))

    def next_cell(t: Expr, b: Expr, j: Expr) -> Expr:
        before = cells(t - 1, b, j)
        entering = peeped(0, 0, before, t, b, j)
        staying = 1.0 - entering if input_forget else peeped(1, 1, before, t, b, j)
        new = staying * before + entering * g(layer.held(gate(2, t, b, j)))
        return layer.kept(new, before, t, b)

    c_next = compute(layer.whole, next_cell, "c_next")

    def next_hidden(t: Expr, b: Expr, j: Expr) -> Expr:
        now = c_next(t, b, j)
        return layer.kept(peeped(3, 2, now, t, b, j) * h(now), state(t - 1, b, j), t, b)

    h_next = compute(layer.whole, next_hidden, "h_next")
    return layer.scanned([hidden, cell], [h_next, c_next], [state, cells], "T_lstm")


def known_rows(tensor: Tensor) -> Tensor | None:
    """A tensor, or None if it has no rows."""
    return None if symbolic.prove_equal(tensor.shape[0], 0) else tensor
