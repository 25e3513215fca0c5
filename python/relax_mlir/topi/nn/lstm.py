"""A long short-term memory: a recurrence along the first dimension."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.symbolic import Dim
from relax_mlir.te import functions, reductions
from relax_mlir.te.compute import compute
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.recurrence import scan
from relax_mlir.te.tensors import Tensor, placeholder
from relax_mlir.topi.common import computed, require, require_equal, require_float, size
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
    what = "topi.nn.lstm"
    if not isinstance(weight_layout, str) or sorted(weight_layout) != sorted("IFGO"):
        raise ArgumentError(f"{what}: 'weight_layout' is {weight_layout!r}, expected an order of IFGO")
    inputs, weights, recurrent = (
        require(f"{what}: '{n}'", t) for n, t in (("Xs", Xs), ("Wi", Wi), ("Wh", Wh))
    )
    require_float(what, inputs)
    if inputs.ndim != 3 or weights.ndim != 2 or not symbolic.prove_divisible(weights.shape[0], 4):
        raise ShapeError(
            f"{what}: {inputs} and {weights} are not (steps, batch, inputs) and (4 * hidden, inputs)"
        )
    steps, batch, features = inputs.shape
    hidden = symbolic.floordiv(weights.shape[0], 4)
    state_size = proj.shape[0] if isinstance(proj, Tensor) and proj.ndim else hidden
    shapes: dict[str, tuple[Tensor | None, tuple[Dim, ...]]] = {
        "Wi": (weights, (weights.shape[0], features)),
        "Wh": (recurrent, (weights.shape[0], state_size)),
        "Bi": (Bi, (weights.shape[0],)),
        "Bh": (Bh, (weights.shape[0],)),
        "h_init": (h_init, (batch, state_size)),
        "c_init": (c_init, (batch, hidden)),
        "proj": (proj, (state_size, hidden)),
        "p_i": (p_i, (batch, hidden)),
        "p_f": (p_f, (batch, hidden)),
        "p_o": (p_o, (batch, hidden)),
    }
    for name, (tensor, shape) in shapes.items():
        if tensor is None:
            continue
        require_equal(f"{what}: '{name}'", require(f"{what}: '{name}'", tensor).shape, shape)
        if tensor.dtype != inputs.dtype:
            raise DTypeError(f"{what}: '{name}' has dtype {tensor.dtype}, and 'Xs' {inputs.dtype}")
    kind = inputs.dtype
    if kind in ("float16", "bfloat16"):

        def wide(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else cast(tensor, "float32")

        own = [cast(tensor, "float32") for tensor in (inputs, weights, recurrent)]
        states = lstm(
            own[0],
            own[1],
            own[2],
            wide(Bi),
            wide(Bh),
            wide(h_init),
            wide(c_init),
            wide(proj),
            wide(p_i),
            wide(p_f),
            wide(p_o),
            f_act,
            g_act,
            h_act,
            reverse,
            weight_layout,
        )
        return [cast(state, kind) for state in states]
    feature = reductions.reduce_axis((0, features), "k")
    given = computed(
        (steps, batch, 4, hidden),
        lambda t, b, g, j: reductions.sum(
            inputs(t, b, feature) * weights(g * as_expr(size(hidden)) + j, feature), feature
        ),
        "T_lstm_inputs",
        RECURRENT,
    )
    h_state = placeholder((steps + 1, batch, state_size), kind, "h_state")
    c_state = placeholder((steps + 1, batch, hidden), kind, "c_state")
    zero = functions.const(0, kind)
    h_first = compute(
        (1, batch, state_size), lambda _, b, j: zero if h_init is None else h_init(b, j), "h_first"
    )
    c_first = compute((1, batch, hidden), lambda _, b, j: zero if c_init is None else c_init(b, j), "c_first")
    width = as_expr(size(hidden))
    back = reductions.reduce_axis((0, state_size), "r")
    # Transposed so that every step accumulates contiguous rows.
    turned = computed(
        (state_size, weights.shape[0]), lambda r, j: recurrent(j, r), "T_lstm_turned", RECURRENT
    )
    fed = compute(
        (steps + 1, 4, batch, hidden),
        lambda t, g, b, j: reductions.sum(h_state(t - 1, b, back) * turned(back, g * width + j), back),
        "fed",
    )

    def gate(letter: str, t: Expr, b: Expr, j: Expr) -> Expr:
        number = weight_layout.index(letter)
        own = size(steps) - t if reverse else t - 1
        total: Expr = given(own, b, number, j) + fed(t, number, b, j)
        for bias in (Bi, Bh):
            if bias is not None:
                total = total + bias(width * number + j)
        return total

    def cell(t: Expr, b: Expr, j: Expr) -> Expr:
        before = c_state(t - 1, b, j)
        i, f, g = (gate(letter, t, b, j) for letter in "IFG")
        i = i if p_i is None else i + p_i(b, j) * before
        f = f if p_f is None else f + p_f(b, j) * before
        return f_act(f) * before + f_act(i) * g_act(g)

    c_next = compute(c_state.shape, cell, "c_next")

    def output(t: Expr, b: Expr, j: Expr) -> Expr:
        o, now = gate("O", t, b, j), c_next(t, b, j)
        o = o if p_o is None else o + p_o(b, j) * now
        return f_act(o) * h_act(now)

    h_next = compute((steps + 1, batch, hidden), output, "h_next")
    if proj is not None:
        whole = proj
        tap = reductions.reduce_axis((0, hidden), "p")
        inner = h_next
        h_next = compute(
            h_state.shape,
            lambda t, b, j: reductions.sum(inner(t, b, tap) * whole(j, tap), tap),
            "h_projected",
        )
    found = scan([h_first, c_first], [h_next, c_next], [h_state, c_state], name="T_lstm")

    def after(state: Tensor, name: str) -> Tensor:
        return computed(
            (steps, *state.shape[1:]),
            lambda t, b, j: state(size(steps) - t if reverse else t + 1, b, j),
            name,
            RECURRENT,
        )

    return [after(found[0], "T_lstm_hidden"), after(found[1], "T_lstm_cells")]
