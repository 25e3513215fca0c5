"""LSTM, GRU and RNN: lengths, peepholes, activations, orders of gates, reversed sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from harness import FLOATS, TOLERANCE, Array, Suite, numbers
from reference import OPS

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
SIZES = [{"t": t, "b": b} for t, b in ((1, 1), (4, 3), (7, 2), (0, 2), (3, 0))]
HIDDEN, INPUTS = 5, 3


def operands(kind: str) -> list[str]:
    """The shapes of data, weights, biases and states."""
    rows = GATES[kind] * HIDDEN
    states = [f"b {HIDDEN}"] * (1 + (kind == "lstm"))
    return [f"t b {INPUTS}", f"{rows} {INPUTS}", f"{rows} {HIDDEN}", str(rows), str(rows), *states]


@pytest.mark.parametrize("dtype", FLOATS)
def test_layers(dtype: str) -> None:
    others = FLOATS[1:]
    suite = Suite((dtype, others if dtype in others else [dtype]), dtype=dtype)
    for kind in GATES:
        options = {"sizes": SIZES, "draw": numbers(-1, 1), "tolerance": 3 * TOLERANCE[dtype]}
        suite.use(f"nn.{kind}", *operands(kind), **options)
    suite.run()


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "reverse": ("lstm", {"reverse": True}),
    "lengths": ("lstm", {"lengths": True}),
    "both": ("lstm", {"reverse": True, "lengths": True}),
    "peepholes": ("lstm", {"peepholes": True}),
    "coupled": ("lstm", {"input_forget": True, "clip": 0.3}),
    "functions": (
        "lstm",
        {"activations": [("hardsigmoid", 0.3, 0.4), "softsign", ("scaledtanh", 1.5, 0.5)]},
    ),
    "gru_before": ("gru", {"reset_after": False}),
    "gru_both": ("gru", {"reverse": True, "clip": 0.5, "lengths": True}),
    "gru_before_lengths": ("gru", {"reset_after": False, "lengths": True}),
    "rnn_relu": ("rnn", {"activations": ["relu"], "reverse": True}),
    "rnn_lengths": ("rnn", {"activations": [("leakyrelu", 0.25)], "lengths": True}),
    "rnn_affine": ("rnn", {"activations": [("affine", 0.5, 0.1)]}),
    "rnn_elu": ("rnn", {"activations": [("elu", 0.7)]}),
    "rnn_softplus": ("rnn", {"activations": ["softplus"]}),
    "rnn_threshold": ("rnn", {"activations": [("thresholdedrelu", 0.2)]}),
    "rnn_held": ("rnn", {"reverse": True, "lengths": True}),
}
IN_OTHERS = ("reverse", "lengths", "gru_before")
"""Cases of one option that other cases also have, with one more; `make soak` runs them."""


def test_options() -> None:
    """Lengths out of range are limited."""
    suite = Suite()
    for name, (kind, options) in CASES.items():
        if name in IN_OTHERS and not sweep.ALL:
            continue

        def build(ops: Any, *xs: Any, kind: str = kind, options: dict[str, Any] = options) -> Any:
            *given, lengths, peepholes = xs
            more = {"lengths": lengths} if "lengths" in options else {}
            more |= {"peepholes": peepholes} if "peepholes" in options else {}
            return getattr(ops.nn, kind)(*given, **{**options, **more})

        shapes = [*operands(kind), "b int64", f"3 {HIDDEN}"]
        draws = [numbers(-1, 1)] * (len(shapes) - 2) + [numbers(-2, 8), numbers(-1, 1)]
        sizes = [{"t": t, "b": b} for t, b in ((4, 3), (1, 2), (6, 4))]
        suite.both(build, *shapes, sizes=sizes, draw=draws, tolerance=3 * TOLERANCE["float32"])
    suite.run()


def test_gate_orders_and_missing_operands() -> None:
    """ONNX's orders of gates; without biases and states."""
    suite = Suite()
    for kind, order in {"lstm": "iofg", "gru": "zrn"}.items():
        options = {"sizes": ({"t": 3, "b": 2},), "draw": numbers(-1, 1)}
        suite.use(f"nn.{kind}", *operands(kind)[:5], gate_order=order, **options)
        suite.use(f"nn.{kind}", *operands(kind)[:3], **options)
    suite.run()


@pytest.mark.parametrize("kind", GATES)
def test_references_are_those_of_torch(kind: str) -> None:
    rng = np.random.default_rng(3)
    sizes = {"t": 6, "b": 4}
    shapes = [[sizes.get(d) or int(d) for d in shape.split()] for shape in operands(kind)]
    arrays: list[Array] = [rng.uniform(-1, 1, shape) for shape in shapes]
    net = getattr(torch.nn, kind.upper())(INPUTS, HIDDEN, dtype=torch.float64)
    data, *weights = map(torch.tensor, arrays[:5])
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    first = [torch.tensor(state)[None] for state in arrays[5:]]
    state = tuple(first) if kind == "lstm" else first[0]
    with torch.no_grad():
        out, last = torch.func.functional_call(net, dict(zip(names, weights, strict=True)), (data, state))
    lasts = last if kind == "lstm" else (last,)
    for found, want in zip(OPS[f"nn.{kind}"](*arrays), [out, *(part[0] for part in lasts)], strict=True):
        np.testing.assert_allclose(found, want.numpy(), rtol=1e-10)
