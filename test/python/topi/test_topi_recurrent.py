"""Activations, recurrences, gradients of pooling and Fourier transforms, against torch and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from relax_mlir import te, topi
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from topi_cases import check, random

N, M, T, B, D, H, W = (te.var(name) for name in ("n", "m", "t", "b", "d", "h", "w"))
F = torch.nn.functional
FLOATS = ("float32", "float64", "float16", "bfloat16")
LOOSE = {"float16": 4e-3, "bfloat16": 3e-2}


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float32", "bfloat16"))
def test_activations(dtype: str) -> None:
    x = te.placeholder((N, M), dtype, "x")
    nn = topi.nn
    pairs: dict[str, Any] = {
        "elu": (nn.elu, F.elu),
        "elu 0.5": (lambda x: nn.elu(x, 0.5), lambda t: F.elu(t, 0.5)),
        "selu": (nn.selu, F.selu),
        "silu": (nn.silu, F.silu),
        "gelu": (nn.gelu, F.gelu),
        "gelu_tanh": (nn.gelu_tanh, lambda t: F.gelu(t, approximate="tanh")),
        "softplus": (nn.softplus, F.softplus),
        "softplus 2": (lambda x: nn.softplus(x, 2.0, 3.0), lambda t: F.softplus(t, 2.0, 3.0)),
        "hardsigmoid": (nn.hardsigmoid, F.hardsigmoid),
        "hardswish": (nn.hardswish, F.hardswish),
    }
    cases: dict[str, Any] = {
        name: (ours, lambda x, f=theirs: f(torch.tensor(x.astype("f8"))).numpy())
        for name, (ours, theirs) in pairs.items()
    }
    special = random((2, 6), dtype)
    special[0] = [0.0, -0.0, 60.0, -60.0, np.inf, np.nan]
    arrays = [[random((3, 5), dtype)], [random((1, 1), dtype)], [random((0, 2), dtype)], [special]]
    check(
        [x],
        cases,
        arrays,
        rtol=LOOSE.get(dtype, 1e-5),
        atol=LOOSE.get(dtype, 1e-5),
        turn=(dtype, ("float16", "bfloat16")),
    )


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float32", "bfloat16"))
def test_lstm(dtype: str) -> None:
    shapes = {
        "x": (T, B, D), "wi": (12, D), "wh": (12, 3), "bi": (12,), "bh": (12,), "h": (B, 3), "c": (B, 3), "wp": (12, 2),
        "p": (2, 3), "hp": (B, 2),
    }  # fmt: skip
    inputs = [te.placeholder(shape, dtype, name) for name, shape in shapes.items()]

    def reference(
        x: Any, wi: Any, wh: Any, bi: Any, bh: Any, h: Any, c: Any, proj: Any = None, reverse: bool = False
    ) -> Any:
        arrays = [torch.tensor(a.astype("f8")) for a in (x, wi, wh, bi, bh, h, c)]
        net = torch.nn.LSTM(x.shape[2], 3, proj_size=0 if proj is None else 2, dtype=torch.float64)
        names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
        weights = dict(zip(names, arrays[1:5], strict=True))
        if proj is not None:
            weights["weight_hr_l0"] = torch.tensor(proj.astype("f8"))
        sequence = arrays[0].flip(0) if reverse else arrays[0]
        cells, state = [], (arrays[5][None], arrays[6][None])
        hidden = []
        with torch.no_grad():
            for step in sequence:
                out, state = torch.func.functional_call(net, weights, (step[None], state))
                hidden.append(out[0])
                cells.append(state[1][0])
        found = [torch.stack(part).numpy() for part in (hidden, cells)]
        return [part[::-1] for part in found] if reverse else found

    def plain(array: Any) -> Any:
        return array * 0

    lstm = topi.nn.lstm
    cases: dict[str, Any] = {
        "all": (
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: lstm(x, wi, wh, bi, bh, h, c),
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: reference(x, wi, wh, bi, bh, h, c),
        ),
        "no biases, no states": (
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: lstm(x, wi, wh),
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: reference(x, wi, wh, *map(plain, (bi, bh, h, c))),
        ),
        "reverse": (
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: lstm(x, wi, wh, bi, bh, h, c, reverse=True),
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: reference(x, wi, wh, bi, bh, h, c, None, True),
        ),
        "projection": (
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: lstm(x, wi, wp, bi, bh, hp, c, p),
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: reference(x, wi, wp, bi, bh, hp, c, p),
        ),
        "another order": (
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: lstm(
                x,
                _ordered(wi),
                _ordered(wh),
                topi.take(bi, _gates()),
                topi.take(bh, _gates()),
                h,
                c,
                weight_layout="OGFI",
            ),
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: reference(x, wi, wh, bi, bh, h, c),
        ),
        "peepholes": (
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: lstm(x, wi, wh, bi, bh, h, c, None, c, h, c),
            lambda x, wi, wh, bi, bh, h, c, wp, p, hp: _peeped(
                *(a.astype("f8") for a in (x, wi, wh, bi, bh, h, c))
            ),
        ),
    }
    arrays = []
    for t, b, i in ((4, 2, 5), (1, 1, 1), (3, 0, 2)):
        sizes = {T: t, B: b, D: i}
        arrays.append(
            [
                random([sizes.get(d, d) for d in shape], dtype, seed)
                for seed, shape in enumerate(shapes.values())
            ]
        )
    one = arrays[0][0].dtype.type(0.5)
    arrays = [[a * one for a in group] for group in arrays if group[0].shape[1]]
    check(
        inputs,
        cases,
        arrays,
        rtol=LOOSE.get(dtype, 1e-4) * 3,
        atol=LOOSE.get(dtype, 1e-4) * 3,
        turn=(dtype, FLOATS),
    )


def _gates() -> Any:
    """The gates in the opposite order, for three units."""
    return te.compute((12,), lambda i: ((3 - i // 3) * 3 + i % 3).astype("int32"))


def _ordered(weights: Any) -> Any:
    return topi.take(weights, _gates(), 0)


def _peeped(x: Any, wi: Any, wh: Any, bi: Any, bh: Any, h: Any, c: Any) -> Any:
    """The formulas, with peepholes c, h and c."""

    def sigmoid(v: Any) -> Any:
        return 1 / (1 + np.exp(-v))

    to_i, to_f, to_o = c, h, c
    hidden, cells = [], []
    for step in x:
        gates = step @ wi.T + h @ wh.T + bi + bh
        i, f, g, o = np.split(gates, 4, 1)
        before = c
        c = sigmoid(f + to_f * before) * before + sigmoid(i + to_i * before) * np.tanh(g)
        h = sigmoid(o + to_o * c) * np.tanh(c)
        hidden.append(h)
        cells.append(c)
    return [np.stack(hidden), np.stack(cells)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_pooling(dtype: str) -> None:
    x = te.placeholder((N, 2, H, W), dtype, "x")
    cases: dict[str, Any] = {}

    def reference(
        x: Any, kind: str, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool
    ) -> Any:
        with torch.enable_grad():  # another test may have disabled it for the process
            tensor = torch.tensor(x, requires_grad=True)
            if kind == "max":
                out = F.max_pool2d(tensor, kernel, stride, padding, ceil_mode=ceil)
            else:
                out = F.avg_pool2d(tensor, kernel, stride, padding, ceil, include)
            (found,) = torch.autograd.grad(out, tensor, out.detach() + 1)
        return found.numpy()

    def ours(x: Any, kind: str, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool) -> Any:
        out = topi.nn.pool2d(x, kernel, stride, 1, padding, kind, ceil, "NCHW", include)
        return topi.nn.pool_grad(out + 1, x, kernel, stride, padding, kind, ceil, include)

    for kind in ("max", "avg"):
        for how in ((2, 2, 0, False, True), (3, (2, 1), 1, False, True), ((3, 2), 2, 1, True, False)):
            cases[f"{kind} {how}"] = (
                lambda x, kind=kind, how=how: ours(x, kind, *how),
                lambda x, kind=kind, how=how: reference(x, kind, *how),
            )
    arrays = [[random((n, 2, h, w), dtype)] for n, h, w in ((2, 7, 6), (1, 3, 3))]
    ties = np.ones((1, 2, 4, 4), dtype)
    check([x], cases, [*arrays, [ties]], rtol=1e-5, atol=1e-5, turn=(dtype, ("float32", "float64")))


@pytest.mark.parametrize("dtype", FLOATS)
def test_fourier(dtype: str) -> None:
    x, y = te.placeholder((N, M), dtype, "x"), te.placeholder((N, M), dtype, "y")
    w = te.placeholder((5,), dtype, "w")

    def dft(x: Any, y: Any, inverse: bool) -> Any:
        number = x.astype("f8") + 1j * y.astype("f8")
        found = np.fft.ifft(number) if inverse else np.fft.fft(number)
        return [found.real, found.imag]

    def stft(x: Any, w: Any, hop: int, normalized: bool, onesided: bool) -> Any:
        parts = torch.stft(
            torch.tensor(x.astype("f8")), 7, hop, 5, torch.tensor(w.astype("f8")), False,
            normalized=normalized, onesided=onesided, return_complex=True,
        )  # fmt: skip
        return torch.view_as_real(parts).numpy()

    cases: dict[str, Any] = {
        "forward": (lambda x, y, w: topi.dft(x, y), lambda x, y, w: dft(x, y, False)),
        "inverse": (lambda x, y, w: topi.dft(x, y, True), lambda x, y, w: dft(x, y, True)),
    }
    loose = {"float16": 2e-2, "bfloat16": 2e-1}.get(dtype, 1e-4)
    sizes = ((2, 7), (1, 1), (3, 20), (0, 2))
    arrays = [[random((n, m), dtype), random((n, m), dtype, 1), random((5,), dtype)] for n, m in sizes]
    check([x, y, w], cases, arrays, rtol=loose, atol=loose, turn=(dtype, FLOATS))
    cases = {
        str(how): (
            lambda x, y, w, how=how: topi.stft(x, 7, how[0], 5, w, *how[1:]),
            lambda x, y, w, how=how: stft(x, w, *how),
        )
        for how in ((2, False, True), (1, True, False))
    }
    cases["one signal"] = (
        lambda x, y, w: topi.stft(topi.reshape(x, (N * M,)), 7, 3, 5, w, False, True),
        lambda x, y, w: stft(x.reshape(-1), w, 3, False, True)[None],
    )
    sizes = ((2, 7), (1, 9), (3, 20))
    arrays = [[random((n, m), dtype), random((n, m), dtype, 1), random((5,), dtype)] for n, m in sizes]
    check([x, y, w], cases, arrays, rtol=loose, atol=loose, turn=(dtype, FLOATS))


def test_hamming_windows() -> None:
    z = te.placeholder((N,), name="z")
    cases: dict[str, Any] = {
        f"{periodic} {dtype}": (
            lambda z, p=periodic, d=dtype: topi.hamming_window(N, p, 0.54, 0.46, d),
            lambda z, p=periodic: torch.hamming_window(len(z), p, 0.54, 0.46, dtype=torch.float64).numpy(),
        )
        for periodic in (False, True)
        for dtype in ("float32", "float64", "float16")
    }
    check([z], cases, [[random((n,))] for n in (7, 1, 2)], rtol=1e-3, atol=1e-3)


def test_mistakes() -> None:
    x, w, r = (
        te.placeholder((T, B, D), name="x"),
        te.placeholder((12, D), name="w"),
        te.placeholder((12, 3), name="r"),
    )
    d, g = te.placeholder((N, 2, H, W), name="d"), te.placeholder((N, 2, H, W), name="g")
    s = te.placeholder((N, M), name="s")
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: topi.nn.lstm(x, w, r, weight_layout="IFG"), ArgumentError, "expected an order of IFGO"),
        (lambda: topi.nn.lstm(x, r, r), ShapeError, "'Wi': the shapes"),
        (lambda: topi.nn.lstm(x, w, topi.cast(r, "float64")), DTypeError, "'Wh' has dtype float64"),
        (lambda: topi.nn.lstm(s, w, r), ShapeError, "are not"),
        (lambda: topi.nn.pool_grad(g, d, 2, 2, 0, "max"), ShapeError, "'grads': the shapes"),
        (lambda: topi.nn.pool_grad(g, d, 2, 2, 0, "sum"), ArgumentError, "expected 'max' or 'avg'"),
        (lambda: topi.nn.pool_grad(g, d, (2, W), 2, 0, "avg"), ArgumentError, "'kernel' is"),
        (lambda: topi.dft(s, topi.transpose(s)), ShapeError, "the shapes"),
        (
            lambda: topi.stft(s, 4, 0, 4, te.placeholder((4,)), False, True),
            ArgumentError,
            "'hop_length' is 0",
        ),
        (lambda: topi.stft(s, 4, 1, 5, te.placeholder((5,)), False, True), ArgumentError, "above 'n_fft'"),
        (lambda: topi.hamming_window(N, True, 0.5, 0.5, "int32"), DTypeError, "expected a float"),
        (lambda: topi.nn.silu(topi.cast(s, "int32")), DTypeError, "does not hold floats"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()


def test_sums_of_16_bit_floats() -> None:
    """4,096 products of 1 and 2^-11 sum to 2: in float16, a sum stays at 1."""
    x, wi = te.placeholder((1, 1, 4), "float16", "x"), te.placeholder((4, 4), "float16", "wi")
    wh, h = te.placeholder((4, 4096), "float16", "wh"), te.placeholder((1, 4096), "float16", "h")
    proj = te.placeholder((4096, 1), "float16", "proj")
    cases: dict[str, Any] = {
        "lstm": (
            lambda x, wi, wh, h, proj: topi.nn.lstm(
                x, wi, wh, None, None, h, None, proj, f_act=lambda v: v, g_act=lambda v: v, h_act=lambda v: v
            )[1],
            # The cell is the product of two gates, each the sum of 4,096 products.
            lambda x, wi, wh, h, proj: np.full((1, 1, 1), float((wh[0].astype("f8") * h[0]).sum()) ** 2),
        )
    }
    arrays = [
        np.zeros((1, 1, 4)),
        np.zeros((4, 4)),
        np.full((4, 4096), 2.0**-11),
        np.ones((1, 4096)),
        np.ones((4096, 1)),
    ]
    check([x, wi, wh, h, proj], cases, [[a.astype("f2") for a in arrays]], rtol=2e-3, atol=0)
