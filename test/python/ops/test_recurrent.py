"""LSTM, GRU and RNN against torch, and against their formulas in NumPy, sequence by sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import FLOATS, TOLERANCE, Array
from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from scipy import special

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
SIZES = ((1, 1), (4, 3), (7, 2), (0, 2), (3, 0))
HIDDEN, INPUTS = 5, 3


def compared(found: Any, wants: Any, dtype: str, what: object) -> None:
    for have, want in zip(map(to_numpy, found), wants, strict=True):
        assert (have.dtype, have.shape) == (dtypes.dtype(dtype).numpy, want.shape), what
        tolerance = TOLERANCE[dtype] * 3
        np.testing.assert_allclose(have.astype(np.float64), want, tolerance, tolerance, err_msg=str(what))


def infos(kind: str, dtype: str) -> dict[str, Tensor]:
    rows = GATES[kind] * HIDDEN
    found = {
        "x": Tensor(("t", "b", INPUTS), dtype),
        "w": Tensor((rows, INPUTS), dtype),
        "r": Tensor((rows, HIDDEN), dtype),
        "wb": Tensor((rows,), dtype),
        "rb": Tensor((rows,), dtype),
        "h": Tensor(("b", HIDDEN), dtype),
    }
    return found | ({"c": Tensor(("b", HIDDEN), dtype)} if kind == "lstm" else {})


def drawn(kind: str, dtype: str, steps: int, batch: int) -> list[Array]:
    rng = np.random.default_rng([steps, batch])
    sizes = {"t": steps, "b": batch}
    shapes = [[symbolic.evaluate(d, sizes) for d in i.known_shape or ()] for i in infos(kind, dtype).values()]
    return [rng.uniform(-1, 1, shape).astype(dtypes.dtype(dtype).numpy) for shape in shapes]


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_torch_gives(dtype: str) -> None:
    bb = rx.BlockBuilder()
    others = FLOATS[1:]
    kinds = sweep.turn(dtype, others if dtype in others else [dtype], list(GATES))
    for kind in kinds:
        params = [rx.Var(name, info) for name, info in infos(kind, dtype).items()]
        with bb.function(kind, params):
            bb.emit_func_output(getattr(R.nn, kind)(*params))
    executable = rx.build(bb.get())
    for kind in kinds:
        for steps, batch in SIZES:
            arrays = drawn(kind, dtype, steps, batch)
            found = executable[kind](*arrays)
            if not steps or not batch:
                assert to_numpy(found[0]).shape == (steps, batch, HIDDEN)
                np.testing.assert_array_equal(to_numpy(found[1]), arrays[5])
                continue
            net = getattr(torch.nn, kind.upper())(INPUTS, HIDDEN, dtype=torch.float64)
            data, *weights = [torch.tensor(a.astype(np.float64)) for a in arrays[:5]]
            names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
            first = [torch.tensor(a.astype(np.float64))[None] for a in arrays[5:]]
            state = tuple(first) if kind == "lstm" else first[0]
            with torch.no_grad():
                out, last = torch.func.functional_call(
                    net, dict(zip(names, weights, strict=True)), (data, state)
                )
            lasts = last if kind == "lstm" else (last,)
            compared(found, [out.numpy(), *(part[0].numpy() for part in lasts)], dtype, (kind, steps, batch))


def by_formula(kind: str, arrays: dict[str, Array], **options: Any) -> list[Array]:
    """ONNX's formulas, for one entry of the batch after the other."""
    x, w, r, wb, rb = (arrays[name].astype(np.float64) for name in ("x", "w", "r", "wb", "rb"))
    steps, batch, _ = x.shape
    functions = options.get("functions", [special.expit, np.tanh, np.tanh])
    clip = options.get("clip", np.inf)
    count = GATES[kind]
    states = np.zeros((steps, batch, HIDDEN))
    lasts = [arrays["h"].astype(np.float64), arrays.get("c", arrays["h"]).astype(np.float64)]
    for b in range(batch):
        length = int(np.clip(options["lengths"][b], 0, steps)) if "lengths" in options else steps
        h, c = lasts[0][b], lasts[1][b]
        order = range(length)
        for t in reversed(order) if options.get("reverse") else order:
            given = (w @ x[t, b] + wb).reshape(count, HIDDEN)
            back = (r @ h + rb).reshape(count, HIDDEN)

            def held(value: Array) -> Array:
                return np.clip(value, -clip, clip)

            if kind == "rnn":
                h = functions[0](held(given[0] + back[0]))
            elif kind == "gru":
                reset, update = (functions[0](held(given[n] + back[n])) for n in (0, 1))
                if options.get("after", True):
                    inner = reset * back[2]
                else:
                    inner = r[2 * HIDDEN :] @ (reset * h) + rb[2 * HIDDEN :]
                h = (1 - update) * functions[1](held(given[2] + inner)) + update * h
            else:
                peep = options.get("peepholes", np.zeros((3, HIDDEN)))
                total = given + back
                enter = functions[0](held(total[0] + peep[0] * c))
                stay = 1 - enter if options.get("coupled") else functions[0](held(total[1] + peep[1] * c))
                c = stay * c + enter * functions[1](held(total[2]))
                h = functions[0](held(total[3] + peep[2] * c)) * functions[2](c)
            states[t, b] = h
        lasts[0][b], lasts[1][b] = h, c
    return [states, lasts[0], *([lasts[1]] if kind == "lstm" else [])]


def hardsigmoid(x: Array) -> Array:
    return np.clip(0.3 * x + 0.4, 0, 1)


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "reverse": ("lstm", {"reverse": True}, {"reverse": True}),
    "lengths": ("lstm", {}, {"lengths": None}),
    "both": ("lstm", {"reverse": True}, {"reverse": True, "lengths": None}),
    "peepholes": ("lstm", {"peepholes": None}, {"peepholes": None}),
    "coupled": ("lstm", {"input_forget": True, "clip": 0.3}, {"coupled": True, "clip": 0.3}),
    "functions": (
        "lstm",
        {"activations": [("hardsigmoid", 0.3, 0.4), "softsign", ("scaledtanh", 1.5, 0.5)]},
        {"functions": [hardsigmoid, lambda x: x / (1 + np.abs(x)), lambda x: 1.5 * np.tanh(0.5 * x)]},
    ),
    "gru_before": ("gru", {"reset_after": False}, {"after": False}),
    "gru_both": ("gru", {"reverse": True, "clip": 0.5}, {"reverse": True, "lengths": None, "clip": 0.5}),
    "gru_before_lengths": ("gru", {"reset_after": False}, {"after": False, "lengths": None}),
    "rnn_relu": (
        "rnn",
        {"activations": ["relu"], "reverse": True},
        {"functions": [lambda x: np.maximum(x, 0)], "reverse": True},
    ),
    "rnn_lengths": (
        "rnn",
        {"activations": [("leakyrelu", 0.25)]},
        {"functions": [lambda x: np.where(x > 0, x, x * 0.25)], "lengths": None},
    ),
    "rnn_affine": ("rnn", {"activations": [("affine", 0.5, 0.1)]}, {"functions": [lambda x: 0.5 * x + 0.1]}),
    "rnn_elu": (
        "rnn",
        {"activations": [("elu", 0.7)]},
        {"functions": [lambda x: np.where(x > 0, x, 0.7 * np.expm1(x))]},
    ),
    "rnn_softplus": ("rnn", {"activations": ["softplus"]}, {"functions": [lambda x: np.log1p(np.exp(x))]}),
    "rnn_threshold": (
        "rnn",
        {"activations": [("thresholdedrelu", 0.2)]},
        {"functions": [lambda x: np.where(x > 0.2, x, 0)]},
    ),
}


IN_OTHERS = ("reverse", "lengths", "gru_before")
"""Cases of one option that other cases also have, with one more; `make soak` runs them."""


def test_options() -> None:
    cases = {name: case for name, case in CASES.items() if sweep.ALL or name not in IN_OTHERS}
    bb = rx.BlockBuilder()
    for name, (kind, options, meaning) in cases.items():
        given = infos(kind, "float32") | {"n": Tensor(("b",), "int32"), "p": Tensor((3, HIDDEN), "float32")}
        params = {key: rx.Var(key, info) for key, info in given.items()}
        more: dict[str, Any] = dict(options)
        if "lengths" in meaning:
            more["lengths"] = params["n"]
        if "peepholes" in options:
            more["peepholes"] = params["p"]
        with bb.function(name, list(params.values())):
            bb.emit_func_output(getattr(R.nn, kind)(*list(params.values())[:-2], **more))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(3)
    for name, (kind, _, meaning) in cases.items():
        for steps, batch in ((4, 3), (1, 2), (6, 4)):
            arrays = drawn(kind, "float32", steps, batch)
            lengths = rng.integers(0, steps + 1, batch).astype(np.int32)
            lengths[0] = steps
            peepholes = rng.uniform(-1, 1, (3, HIDDEN)).astype(np.float32)
            found = executable[name](*arrays, lengths, peepholes)
            real = {"lengths": lengths, "peepholes": peepholes.astype(np.float64)}
            told = {key: real.get(key, value) if value is None else value for key, value in meaning.items()}
            want = by_formula(kind, dict(zip(infos(kind, "float32"), arrays, strict=True)), **told)
            compared(found, want, "float32", (name, steps, batch))


def test_gate_orders_and_missing_operands() -> None:
    """ONNX's orders of gates; without biases and states."""
    bb = rx.BlockBuilder()
    orders = {"lstm": ("ifgo", "iofg"), "gru": ("rzn", "zrn")}
    for kind, (_, other) in orders.items():
        given = list(infos(kind, "float32").items())
        params = [rx.Var(name, info) for name, info in given[:5]]
        with bb.function(kind, params):
            bb.emit_func_output(getattr(R.nn, kind)(*params, gate_order=other))
        with bb.function(f"{kind}_plain", params[:3]):
            bb.emit_func_output(getattr(R.nn, kind)(*params[:3]))
    executable = rx.build(bb.get())
    for kind, (own, other) in orders.items():
        arrays = drawn(kind, "float32", 3, 2)
        named = dict(zip(infos(kind, "float32"), arrays, strict=True))
        nothing = {name: np.zeros_like(named[name]) for name in named if name in ("h", "c")}
        moved = [
            np.concatenate([np.split(a, GATES[kind])[own.index(letter)] for letter in other])
            for a in arrays[1:5]
        ]
        want = by_formula(kind, named | nothing)
        compared(executable[kind](arrays[0], *moved), want, "float32", kind)
        nothing |= {name: np.zeros_like(named[name]) for name in ("wb", "rb")}
        compared(executable[f"{kind}_plain"](*arrays[:3]), by_formula(kind, named | nothing), "float32", kind)


def test_lengths_out_of_range_are_held() -> None:
    bb = rx.BlockBuilder()
    given = infos("rnn", "float32") | {"n": Tensor(("b",), "int64")}
    params = [rx.Var(name, info) for name, info in given.items()]
    with bb.function("main", params):
        bb.emit_func_output(R.nn.rnn(*params, reverse=True))
    arrays = drawn("rnn", "float32", 3, 3)
    lengths = np.array([-5, 99, 2])
    want = by_formula(
        "rnn", dict(zip(given, arrays, strict=False)), lengths=lengths, reverse=True, functions=[np.tanh]
    )
    compared(rx.build(bb.get())["main"](*arrays, lengths), want, "float32", "lengths")


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda x, w, r: R.nn.lstm(x, w, w),
            ShapeError,
            "dimension 1 of operand 'recurrent'|dimension 0 of operand",
        ),
        (
            lambda x, w, r: R.nn.lstm(x, w, r, gate_order="ifco"),
            ArgumentError,
            "an order of the letters ifgo",
        ),
        (lambda x, w, r: R.nn.lstm(x, w, r, activations=["tanh"]), ArgumentError, "expected 3 of"),
        (lambda x, w, r: R.nn.lstm(x, w, r, activations=["cos"] * 3), ArgumentError, "activations is"),
        (lambda x, w, r: R.nn.lstm(x, w, r, clip=0.0), ArgumentError, "clip is 0.0"),
        (lambda x, w, r: R.nn.lstm(x, w, r, lengths=R.ones((2,))), DTypeError, "expected integers"),
        (
            lambda x, w, r: R.nn.lstm(x, w, r, lengths=R.ones((2,), "int32")),
            ShapeError,
            "operand 'lengths' is 2",
        ),
        (lambda x, w, r: R.nn.lstm(x, w, r, peepholes=R.ones((2, 5))), ShapeError, "has 2 rows"),
        (
            lambda x, w, r: R.nn.gru(x, w, r),
            ShapeError,
            "dimension 0 of operand 'recurrent' is 20, expected 15",
        ),
        (lambda x, w, r: R.nn.rnn(w, w, r), ShapeError, "'data' is .*, expected 3 dimensions"),
        (lambda x, w, r: R.nn.lstm(x, w, R.astype(r, "float64")), DTypeError, "float64"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    shapes = {"x": ("t", "b", 3), "w": (20, 3), "r": (20, 5)}
    params = [rx.Var(name, Tensor(shape, "float32")) for name, shape in shapes.items()]
    with pytest.raises(error, match=message), bb.function("main", params):
        bb.emit_func_output(build(*params))
