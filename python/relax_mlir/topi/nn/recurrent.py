"""Recurrent layers: loops over steps, and a complete long short-term memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.recurrence import scan
from relax_mlir.te.tensors import Tensor, compute, placeholder
from relax_mlir.topi.common import computed, held, require, require_equal, require_float, size
from relax_mlir.topi.elementwise import cast

Activation = Callable[[Expr], Expr]
RECURRENT = "recurrent"
"""The tag of recurrent computations."""


def lstm(
    Xs: Tensor,
    Wi: Tensor,
    Wh: Tensor,
    Bi: Tensor | None = None,
    Bh: Tensor | None = None,
    h_init: Tensor | None = None,
    c_init: Tensor | None = None,
    proj: Tensor | None = None,
    p_i: Tensor | None = None,
    p_f: Tensor | None = None,
    p_o: Tensor | None = None,
    f_act: Activation = functions.sigmoid,
    g_act: Activation = functions.tanh,
    h_act: Activation = functions.tanh,
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> list[Tensor]:
    """The hidden states and the cells after every step.

    Args:
        Xs: ``(steps, batch, inputs)``, floats; 16-bit floats are computed in float32.
        Wi, Wh: ``(4 * hidden, inputs)`` and ``(4 * hidden, hidden or projection)``: the gates one after the other.
        Bi, Bh: ``(4 * hidden,)``, added to the gates.
        h_init, c_init: ``(batch, hidden or projection)`` and ``(batch, hidden)``; 0 by default.
        proj: ``(projection, hidden)``, which multiplies the hidden state.
        p_i, p_f, p_o: ``(batch, hidden)``: the peephole weights of the cell for the input, forget and output gates.
        f_act, g_act, h_act: the activations of the gates, of the new cell, and of the cell in the hidden state.
        reverse: process the steps from last to first; each result is at the index of its step.
        weight_layout: the order of the gates: an order of the letters ``IFGO``.

    Returns:
        ``(steps, batch, hidden or projection)`` and ``(steps, batch, hidden)``.
    """
    given = {"Xs": Xs, "Wi": Wi, "Wh": Wh, "Bi": Bi, "Bh": Bh, "h_init": h_init, "c_init": c_init}
    given |= {"proj": proj, "p_i": p_i, "p_f": p_f, "p_o": p_o}
    tensors = _checked_lstm(given, weight_layout)
    kind = Xs.dtype
    if kind in ("float16", "bfloat16"):
        wide = {name: cast(tensor, "float32") for name, tensor in tensors.items()}
        states = lstm(**wide, f_act=f_act, g_act=g_act, h_act=h_act, reverse=reverse, weight_layout=weight_layout)
        return [cast(state, kind) for state in states]
    return _Lstm(tensors, f_act, g_act, h_act, reverse, weight_layout).states()


def _checked_lstm(given: Mapping[str, Tensor | None], weight_layout: str) -> dict[str, Tensor]:
    """The tensors that are given, by parameter.

    Raises:
        ArgumentError: `weight_layout` is no order of IFGO.
        ShapeError: a tensor has another shape than the others need.
        DTypeError: a tensor has another dtype than the inputs, or the inputs are no floats.
    """
    what = "topi.nn.lstm"
    if not isinstance(weight_layout, str) or sorted(weight_layout) != sorted("IFGO"):
        raise ArgumentError(f"{what}: 'weight_layout' is {weight_layout!r}, expected an order of IFGO")
    inputs, weights, _ = (require(f"{what}: '{n}'", given[n]) for n in ("Xs", "Wi", "Wh"))
    require_float(what, inputs)
    if inputs.ndim != 3 or weights.ndim != 2 or not symbolic.prove_divisible(weights.shape[0], 4):
        raise ShapeError(f"{what}: {inputs} and {weights} are not (steps, batch, inputs) and (4 * hidden, inputs)")
    _, batch, features = inputs.shape
    gates = weights.shape[0]
    hidden, proj = symbolic.floordiv(gates, 4), given["proj"]
    state_size = proj.shape[0] if isinstance(proj, Tensor) and proj.ndim else hidden
    shapes: dict[str, tuple[Dim, ...]] = {
        "Wi": (gates, features),
        "Wh": (gates, state_size),
        "Bi": (gates,),
        "Bh": (gates,),
        "h_init": (batch, state_size),
        "c_init": (batch, hidden),
        "proj": (state_size, hidden),
        "p_i": (batch, hidden),
        "p_f": (batch, hidden),
        "p_o": (batch, hidden),
    }
    tensors = {"Xs": inputs}
    for name, shape in shapes.items():
        if given[name] is None:
            continue
        tensor = require(f"{what}: '{name}'", given[name])
        require_equal(f"{what}: '{name}'", tensor.shape, shape)
        if tensor.dtype != inputs.dtype:
            raise DTypeError(f"{what}: '{name}' has dtype {tensor.dtype}, and 'Xs' {inputs.dtype}")
        tensors[name] = tensor
    return tensors


@dataclass
class _Lstm:
    """The computation of an LSTM layer in one dtype; `tensors` are the operands by parameter of `lstm`."""

    tensors: Mapping[str, Tensor]
    f_act: Activation
    g_act: Activation
    h_act: Activation
    reverse: bool
    weight_layout: str

    def __post_init__(self) -> None:
        inputs, weights, recurrent = (self.tensors[name] for name in ("Xs", "Wi", "Wh"))
        self.steps, self.batch, features = inputs.shape
        self.hidden, state_size = symbolic.floordiv(weights.shape[0], 4), recurrent.shape[1]
        self.width = width = as_expr(size(self.hidden))
        feature = reductions.reduce_axis((0, features), "k")
        self.given = computed(
            (self.steps, self.batch, 4, self.hidden),
            lambda t, b, g, j: reductions.sum(inputs(t, b, feature) * weights(g * width + j, feature), feature),
            "T_lstm_inputs",
            RECURRENT,
        )
        self.h_state = placeholder((self.steps + 1, self.batch, state_size), inputs.dtype, "h_state")
        self.c_state = placeholder((self.steps + 1, self.batch, self.hidden), inputs.dtype, "c_state")
        # Transposed so that every step accumulates contiguous rows.
        turned = computed((state_size, weights.shape[0]), lambda r, j: recurrent(j, r), "T_lstm_turned", RECURRENT)
        back = reductions.reduce_axis((0, state_size), "r")
        self.fed = compute(
            (self.steps + 1, 4, self.batch, self.hidden),
            lambda t, g, b, j: reductions.sum(self.h_state(t - 1, b, back) * turned(back, g * width + j), back),
            "fed",
        )

    def states(self) -> list[Tensor]:
        """The hidden states and the cells after every step."""
        c_next = compute(self.c_state.shape, self.cell, "c_next")

        def output(t: Expr, b: Expr, j: Expr) -> Expr:
            now = c_next(t, b, j)
            return self.f_act(self.peeped("O", t, b, j, now)) * self.h_act(now)

        h_next = compute((self.steps + 1, self.batch, self.hidden), output, "h_next")
        if "proj" in self.tensors:
            h_next = self.projected(h_next)
        first = [
            self.initial("h_init", self.h_state, "h_first"),
            self.initial("c_init", self.c_state, "c_first"),
        ]
        found = scan(first, [h_next, c_next], [self.h_state, self.c_state], name="T_lstm")
        return [self.after(found[0], "T_lstm_hidden"), self.after(found[1], "T_lstm_cells")]

    def initial(self, name: str, state: Tensor, title: str) -> Tensor:
        """The state before the first step; 0 if it is not given."""
        zero = functions.const(0, state.dtype)
        value = self.tensors.get(name)
        first = compute((1, *state.shape[1:]), lambda _, b, j: zero if value is None else value(b, j), title)
        assert isinstance(first, Tensor)
        return first

    def gate(self, letter: str, t: Expr, b: Expr, j: Expr) -> Expr:
        """The sum of inputs, states and biases of a gate."""
        number = self.weight_layout.index(letter)
        own = size(self.steps) - t if self.reverse else t - 1
        total: Expr = self.given(own, b, number, j) + self.fed(t, number, b, j)
        for name in ("Bi", "Bh"):
            if name in self.tensors:
                total = total + self.tensors[name](self.width * number + j)
        return total

    def peeped(self, letter: str, t: Expr, b: Expr, j: Expr, cell: Expr) -> Expr:
        """A gate, with the weighted cell if there are peephole weights."""
        total, weights = self.gate(letter, t, b, j), self.tensors.get(f"p_{letter.lower()}")
        return total if weights is None else total + weights(b, j) * cell

    def cell(self, t: Expr, b: Expr, j: Expr) -> Expr:
        """The cell after step `t`."""
        before = self.c_state(t - 1, b, j)
        i, f = (self.peeped(letter, t, b, j, before) for letter in "IF")
        return self.f_act(f) * before + self.f_act(i) * self.g_act(self.gate("G", t, b, j))

    def projected(self, state: Tensor) -> Tensor:
        """The hidden state times the projection."""
        weights, tap = self.tensors["proj"], reductions.reduce_axis((0, self.hidden), "p")
        return computed(
            self.h_state.shape,
            lambda t, b, j: reductions.sum(state(t, b, tap) * weights(j, tap), tap),
            "h_projected",
            RECURRENT,
        )

    def after(self, state: Tensor, name: str) -> Tensor:
        """The states after each step, at the index of the step."""
        return computed(
            (self.steps, *state.shape[1:]),
            lambda t, b, j: state(size(self.steps) - t if self.reverse else t + 1, b, j),
            name,
            RECURRENT,
        )


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
            compute((1, self.batch, self.hidden), lambda _, b, j, s=own: s(b, j), f"{name}_first") for own in first
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
