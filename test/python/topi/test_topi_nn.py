"""Products, activations, norms, windows in all layouts, recurrences, losses and Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweep
import torch
from relax_mlir import te, topi
from topi_cases import check, placeholders, random

N, M, C, H, W = (te.var(name) for name in "nmchw")
F = torch.nn.functional
FLOATS = ("float32", "float64", "float16", "bfloat16")
SHORT = ("float16", "bfloat16")
LAST = (0, 2, 3, 1)
"""The order that makes ``NHWC`` of ``NCHW``."""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_products(dtype: str) -> None:
    cases: dict[str, Any] = {
        "matmul": lambda t, a, b: t.matmul(a, b),
        "matmul of transposed": lambda t, a, b: t.matmul(b, a, True, True),
        "matmul of batches": lambda t, x, b: t.nn.matmul(x, b),
        "matmul of one batch": lambda t, x, y: t.nn.matmul(x, y),
        "batch_matmul": lambda t, x: t.nn.batch_matmul(x, t.transpose(x, (0, 1, 2))),
        "dense": lambda t, a, b, s: t.nn.dense(a, t.transpose(b), s),
        "dense of float64": lambda t, a, b: t.nn.dense(a, b, out_dtype="float64", transpose_b=False),
    }
    sizes = ((3, 5, 4), (1, 1, 1), (0, 3, 2), (2, 0, 3), (17, 33, 9))
    types = ("float32", "float64")
    check("a: n k, b: k m, x: 3 n k, y: 1 k m, s: m", cases, sizes, dtype=dtype, tolerance=1e-4, types=types)


@pytest.mark.parametrize("dtype", sweep.quick(["float32", "float64"], "float32"))
def test_softmax_and_slopes(dtype: str) -> None:
    cases: dict[str, Any] = {
        "relu": lambda t, x: t.nn.relu(x),
        "leaky_relu": lambda t, x: t.nn.leaky_relu(x, 0.1),
        "prelu": lambda t, x, p: t.nn.prelu(x, p),
    }
    for axis in (-1, 0, 1):
        cases[f"softmax {axis}"] = lambda t, x, a=axis: t.nn.softmax(x, a)
        cases[f"log_softmax {axis}"] = lambda t, x, a=axis: t.nn.log_softmax(x, a)
    large = [[random((2, 3, 4), dtype) * 1000, random((3,), dtype)]]
    sizes = ((2, 5), (1, 1), (0, 4), (4, 0))
    check("x: n 3 m, p: 3", cases, sizes, dtype=dtype, inputs=large, tolerance=1e-5, types=SHORT)


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float32", "bfloat16"))
def test_activations(dtype: str) -> None:
    cases: dict[str, Any] = {
        name: lambda t, x, n=name: getattr(t.nn, n)(x)
        for name in ("elu", "selu", "silu", "gelu", "gelu_tanh", "softplus", "hardsigmoid", "hardswish")
    }
    cases["elu 0.5"] = lambda t, x: t.nn.elu(x, 0.5)
    cases["softplus 2"] = lambda t, x: t.nn.softplus(x, 2.0, 3.0)
    special = random((2, 6), dtype)
    special[0] = [0.0, -0.0, 60.0, -60.0, np.inf, np.nan]
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2}.get(dtype, 1e-5)
    options = {"dtype": dtype, "tolerance": tolerance, "types": SHORT}
    check("x: n m", cases, ((3, 5), (1, 1), (0, 2)), inputs=[[special]], **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda x, g: topi.nn.softmax(x),
        lambda x, g: topi.nn.log_softmax(x),
        lambda x, g: topi.logsumexp(x, 1),
        lambda x, g: topi.nn.layer_norm(x, g, g, 1),
    ],
    ids=["softmax", "log_softmax", "logsumexp", "layer_norm"],
)
def test_rows_run_on_the_kernels_of_rows(make: Any) -> None:
    """Dimensions of 1 that are kept, added or removed do not prevent it."""
    x, g = placeholders("x: n m, g: m")
    text = str(te.create_prim_func([x, g, make(x, g)]))
    assert text.count('"reduction"]') == 2 and "memref" not in text


def test_padding() -> None:
    widths = ((1, 0, 2), (0, 1, 3))
    cases: dict[str, Any] = {
        "pad": lambda t, x: t.nn.pad(x, *widths, 7),
        "pad both": lambda t, x: t.nn.pad(x, (0, 1, 0)),
        "pad none": lambda t, x: t.nn.pad(x, (0, 0, 0)),
        "pad n": lambda t, x: t.nn.pad(x, (0, 0, N), (0, 0, 0)),
        "cut": lambda t, x: t.nn.pad(x, (0, -1, 1), (0, -1, 0)),
    }
    check("x: n 3 m int32", cases, ((2, 5), (1, 1), (0, 4), (4, 0)))
    moved: dict[str, Any] = {
        "symmetric": lambda t, x: t.nn.mirror_pad(x, *widths),
        "edge": lambda t, x: t.nn.edge_pad(x, *widths),
        "wrap": lambda t, x: t.nn.wrap_pad(x, *widths),
        "reflect": lambda t, x: t.nn.mirror_pad(x, *widths, "REFLECT"),
    }
    check("x: n 3 m int32", moved, ((2, 5), (1, 1), (4, 2), (3, 3)))


def test_norms() -> None:
    cases: dict[str, Any] = {
        "batch_norm": lambda t, x, c, d, v: t.nn.batch_norm(x, c, d, d, v),
        "training": lambda t, x, c, d, v: t.nn.batch_norm(x, c, d, d, v, 1, 1e-3, False, False, True, 0.25),
        "layer_norm": lambda t, x, w: t.nn.layer_norm(x, w, w, (-1, -2) if t is topi else (2, 3)),
        "rms_norm": lambda t, x, w: t.nn.rms_norm(x, w, (2, 3)),
        "group_norm": lambda t, x, c, d: t.nn.group_norm(x, c, d, 3, 1, (2, 3)),
        "instance_norm": lambda t, x, c, d: t.nn.instance_norm(x, c, d, 1, (2, 3)),
    }
    inputs = []
    for n, m, k in ((2, 3, 4), (1, 1, 5), (3, 7, 2)):
        parameters = [random((6,), seed=1), random((6,), seed=2), np.abs(random((6,), seed=3))]
        inputs.append([random((n, 6, m, k)), *parameters, random((m, k), seed=4)])
    check("x: n 6 m k, c: 6, d: 6, v: 6, w: m k", cases, inputs=inputs, tolerance=1e-4)


def test_conv2d() -> None:
    cases: dict[str, Any] = {}
    for stride, padding, dilation in sweep.product((1, (2, 3)), (0, (1, 0), (2, 1)), (1, (1, 2))):
        at = stride, padding, dilation
        cases[str(at)] = lambda t, x, f, at=at: t.nn.conv2d(x, f, *at)
    cases["sides"] = lambda t, x, f: t.nn.conv2d(x, f, 1, (0, 1, 2, 0), 1)
    cases["same"] = lambda t, x, f: t.nn.conv2d(x, f, 1, "SAME" if t is topi else (1, 0, 1, 1), 1)
    check("x: n 4 h w, f: 6 4 3 2", cases, ((2, 7, 5), (1, 3, 3), (0, 4, 4)), tolerance=1e-4)


def test_groups_and_channels_by_themselves() -> None:
    def depthwise(x: Any, c: Any) -> Any:
        tensors = torch.tensor(x), torch.tensor(c.reshape(8, 1, 3, 1))
        return F.conv2d(*tensors, None, (1, 2), (1, 0), 1, 4).numpy()

    cases: dict[str, Any] = {
        "grouped": lambda t, x, g: t.nn.group_conv2d_nchw(x, g, 2, 1, 1, 2),
        "depthwise": (lambda x, c: topi.nn.depthwise_conv2d_nchw(x, c, (1, 2), (1, 0), 1), depthwise),
        "float64": (
            lambda x, g: topi.nn.conv(x, g, 1, 1, 1, 2, "float64"),
            lambda x, g: F.conv2d(torch.tensor(x).double(), torch.tensor(g).double(), None, 1, 1, 1, 2).numpy(),
        ),
    }
    check("x: n 4 h w, g: 6 2 3 3, c: 4 2 3 1", cases, ((2, 7, 5), (1, 3, 3)), tolerance=1e-4)


def test_convolutions_along_one_dimension() -> None:
    cases: dict[str, Any] = {
        "conv1d": lambda t, x, f: t.nn.conv1d(x, f, 2, 1, 1, 1, "NWC", "WIO"),
        "conv1d_nwc": lambda t, x, f: t.nn.conv1d_nwc(x, f, 1, 1, 2),
        "group_conv1d_nwc": lambda t, x, g: t.nn.group_conv1d_nwc(x, g, 1, 0, 1, 2),
        "group_conv1d_ncw": lambda t, x, g: t.nn.group_conv1d_ncw(
            t.transpose(x, (0, 2, 1)), t.transpose(g, (2, 1, 0)), 1, 1, 1, 2
        ),
    }
    check("x: n w 4, f: 3 4 6, g: 3 2 6", cases, ((2, 9), (1, 5), (0, 5)), tolerance=1e-4)
    cases = {
        "conv1d": lambda t, x, f: t.nn.conv1d(x, f, 2, 1, 2, 2),
        "valid": lambda t, x, f: t.nn.conv1d(x, f, padding="VALID" if t is topi else 0, groups=2),
    }
    check("x: n 2 w, f: 4 1 3", cases, ((2, 9), (1, 5)), tolerance=1e-4)


def test_convolutions_along_two_dimensions() -> None:
    def depthwise(x: Any, c: Any) -> Any:
        data = torch.tensor(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
        kernels = torch.tensor(np.ascontiguousarray(c.reshape(3, 3, 1, 8).transpose(3, 2, 0, 1)))
        return F.conv2d(data, kernels, None, 1, 1, 1, 4).numpy().transpose(0, 2, 3, 1)

    cases: dict[str, Any] = {
        "nhwc hwio": lambda t, x, f: t.nn.conv2d(x, f, (1, 2), (1, 0), 1, "NHWC", "HWIO"),
        "conv2d_nhwc": lambda t, x, f: t.nn.conv2d_nhwc(x, f, 1, 1, (2, 1)),
        "nhwc ohwi": lambda t, x, f: t.nn.conv2d(x, t.transpose(f, (3, 0, 1, 2)), 1, 0, 1, "NHWC", "OHWI"),
        "conv2d_hwcn": lambda t, x, f: t.nn.conv2d_hwcn(t.transpose(x, (1, 2, 3, 0)), f, 1, 0, 1),
        "conv2d_nchw": lambda t, x, f: t.nn.conv2d_nchw(
            t.transpose(x, (0, 3, 1, 2)), t.transpose(f, (3, 2, 0, 1)), 1, 0, 1
        ),
        "grouped": lambda t, x, g: t.nn.group_conv2d_nhwc(x, g, 1, 1, 1, 2),
        "depthwise": (lambda x, c: topi.nn.depthwise_conv2d_nhwc(x, c, 1, 1, 1), depthwise),
    }
    shapes = "x: n h w 4, f: 3 2 4 6, g: 3 2 2 6, c: 3 3 4 2"
    check(shapes, cases, ((2, 7, 5), (1, 3, 3), (0, 4, 4)), tolerance=1e-4)


def test_convolutions_along_three_dimensions() -> None:
    cases: dict[str, Any] = {
        "conv3d_ndhwc": lambda t, x, f: t.nn.conv3d_ndhwc(x, f, 1, 1, 1),
        "conv3d": lambda t, x, f: t.nn.conv3d(x, f, (1, 2, 1), (1, 1, 0), 1, 1, "NDHWC", "DHWIO"),
        "conv3d_ncdhw": lambda t, x, f: t.nn.conv3d_ncdhw(
            t.transpose(x, (0, 4, 1, 2, 3)), t.transpose(f, (4, 3, 0, 1, 2)), 1, 1, 1
        ),
    }
    check("x: n d h w 2, f: 2 3 1 2 3", cases, ((2, 3, 4, 5), (1, 1, 1, 1)), tolerance=1e-4)
    plain: dict[str, Any] = {"conv3d": lambda t, y, g: t.nn.conv3d(y, g, (1, 2, 1), (1, 0, 2), 1)}
    check("y: n 2 d h w, g: 3 2 2 3 1", plain, ((2, 3, 5, 4), (1, 1, 3, 1)), tolerance=1e-4)


def test_transposed_convolutions() -> None:
    cases: dict[str, Any] = {}
    for at in ((1, 0, 0, 1), ((2, 3), (1, 0), (1, 2), 1), (2, 1, 0, (2, 1))):
        cases[str(at)] = lambda t, x, f, at=at: t.nn.conv_transpose(x, f, *at)
    cases["groups"] = lambda t, x, f: t.nn.conv_transpose(x, f, 2, 1, 1, 1, 2)
    cases["conv2d_transpose_nchw"] = lambda t, x, f: t.nn.conv2d_transpose_nchw(x, f, 2, 0, None, 1)
    check("x: n 4 h w, f: 4 3 3 2", cases, ((2, 4, 3), (1, 1, 2)), tolerance=1e-4)
    cases = {
        "1d": lambda t, x, f: t.nn.group_conv1d_transpose_ncw(x, f, 2, 1, None, 1, 2),
        "2d": lambda t, x, f: t.nn.group_conv2d_transpose_nchw(
            t.expand_dims(x, 2), t.expand_dims(f, 2), (1, 2), 0, None, 0, 2
        ),
        "3d": lambda t, x, f: t.nn.group_conv3d_transpose_ncdhw(
            t.expand_dims(x, 2, 2), t.expand_dims(f, 2, 2), 1, 0, None, 0, 2
        ),
    }
    check("x: n 4 w, f: 4 3 3", cases, ((2, 5), (1, 1)), tolerance=1e-4)


def of_torch(function: Any, *args: Any, **options: Any) -> Any:
    """A function of torch on float64: it has no windows of padding only."""
    return lambda x: function(torch.tensor(x.astype("f8")), *args, **options).numpy()


def test_pooling() -> None:
    cases: dict[str, Any] = {}
    for kernel, stride, padding in ((2, 2, 0), ((3, 2), (2, 1), 1), (3, 2, 1), ((2, 3), 3, (1, 0))):
        for ceil in (False, True):
            name = f"{kernel} {stride} {padding} {ceil}"
            at = kernel, stride, 1, padding
            cases[f"max {name}"] = (
                lambda x, at=at, c=ceil: topi.nn.pool2d(x, *at, "max", c),
                of_torch(F.max_pool2d, kernel, stride, padding, 1, ceil),
            )
            for include in (False, True):
                cases[f"avg {name} {include}"] = (
                    lambda x, at=at, c=ceil, i=include: topi.nn.pool2d(x, *at, "avg", c, count_include_pad=i),
                    of_torch(F.avg_pool2d, kernel, stride, padding, ceil, include),
                )
    cases = {name: cases[name] for name in sweep.every(list(cases), 5)}  # of 6 for each window
    cases["dilated"] = lambda t, x: t.nn.pool2d(x, 2, 1, 2, 1, "max")
    cases["global max"] = lambda t, x: t.nn.global_pool(x, "max")
    cases["global avg"] = lambda t, x: t.nn.global_pool(x, "avg")
    check("x: n 2 h w", cases, ((2, 7, 5), (1, 4, 6), (1, 3, 3)))
    line = lambda x: topi.nn.pool1d(x, 3, 2, 1, 1, "avg", True), of_torch(F.avg_pool1d, 3, 2, 1, True)
    cube = lambda x: topi.nn.pool3d(x, 2, 2, 1, 1, "max", True), of_torch(F.max_pool3d, 2, 2, 1, 1, True)
    check("x: n 2 w", {"1": line}, ((2, 8), (1, 3)))
    check("x: n 2 d h w", {"3": cube}, [(2, 3, 4, 5)])


def test_pooling_in_other_layouts() -> None:
    cases: dict[str, Any] = {
        "pool2d max": lambda t, x: t.nn.pool2d(x, 3, 2, 1, 1, "max", layout="NHWC"),
        "pool2d avg": lambda t, x: t.nn.pool2d(x, 2, 2, 1, 1, "avg", layout="NHWC", count_include_pad=False),
        "pool1d": lambda t, y: t.nn.pool1d(y, 2, 1, 1, 1, "avg", layout="NWC"),
        "pool3d": lambda t, z: t.nn.pool3d(z, (2, 1, 2), 1, 1, 0, "max", layout="NDHWC"),
        "global": lambda t, x: t.nn.global_pool(x, "avg", "NHWC"),
        "global 3d": lambda t, z: t.nn.global_pool(z, "max", "NDHWC"),
    }
    check("x: n h w 3, y: n w 3, z: n 2 h w 3", cases, ((2, 5, 7), (1, 2, 3)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_adaptive_pooling(dtype: str) -> None:
    cases: dict[str, Any] = {}
    for kind in ("avg", "max"):
        for size in ((1, 1), (3, 2), (7, 5)):
            cases[f"{kind} {size}"] = lambda t, x, k=kind, s=size: t.nn.adaptive_pool(x, s, k)
        cases[f"{kind} of all"] = lambda t, x, k=kind: t.nn.adaptive_pool(x, (H, W), k)
        cases[f"{kind} symbols"] = lambda t, x, k=kind: t.nn.adaptive_pool(x, (W, C), k)
        cases[f"{kind} NHWC"] = lambda t, x, k=kind: t.nn.adaptive_pool(t.transpose(x, (0, 2, 3, 1)), 2, k, "NHWC")
        cases[f"{kind} 1d"] = lambda t, x, k=kind: t.nn.adaptive_pool1d(t.reshape(x, (N, C, H * W)), 4, k, "NCW")
        cases[f"{kind} 3d"] = lambda t, y, k=kind: t.nn.adaptive_pool3d(y, (2, 3, 2), k, "NCDHW")
    tolerance = {"float16": 2e-2, "bfloat16": 6e-2}.get(dtype, 1e-5)
    sizes = ((2, 3, 7, 10), (1, 1, 1, 1), (1, 2, 4, 13))
    check("x: n c h w, y: n c 3 h w", cases, sizes, dtype=dtype, tolerance=tolerance, types=FLOATS)


def test_adaptive_pooling_of_integers_and_of_nothing() -> None:
    check("x: n 2 w int32", {"max": lambda t, x: t.nn.adaptive_pool1d(x, 3, "max", "NCW")}, ((2, 7), (1, 1)))
    nothing: dict[str, Any] = {
        kind: (
            lambda y, k=kind: topi.nn.adaptive_pool1d(topi.expand_dims(y, 0), 2, k),
            lambda y, v=value: np.full((1, len(y), 2), v),
        )
        for kind, value in (("max", -np.inf), ("avg", np.nan))
    }
    check("y: n w", nothing, ((3, 0), (0, 0)))


@pytest.mark.parametrize("dtype", sweep.quick(FLOATS, "float32", "bfloat16"))
def test_lstm(dtype: str) -> None:
    shapes = {
        "x": "t b d", "wi": "12 d", "wh": "12 3", "bi": "12", "bh": "12", "h": "b 3", "c": "b 3", "wp": "12 2",
        "p": "2 3", "hp": "b 2",
    }  # fmt: skip
    names = list(shapes)

    def reference(proj: bool = False, reverse: bool = False, plain: bool = False) -> Any:
        def compute(*arrays: Any) -> Any:
            given = {name: torch.tensor(array.astype("f8")) for name, array in zip(names, arrays, strict=True)}
            net = torch.nn.LSTM(given["x"].shape[2], 3, proj_size=2 if proj else 0, dtype=torch.float64)
            keys = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
            own = [given[name] for name in ("wi", "wp" if proj else "wh", "bi", "bh")]
            first = [given["hp" if proj else "h"], given["c"]]
            if plain:
                own[2:], first = [each * 0 for each in own[2:]], [each * 0 for each in first]
            weights = dict(zip(keys, own, strict=True)) | ({"weight_hr_l0": given["p"]} if proj else {})
            hidden, cells, state = [], [], tuple(each[None] for each in first)
            with torch.no_grad():
                for step in given["x"].flip(0) if reverse else given["x"]:
                    out, state = torch.func.functional_call(net, weights, (step[None], state))
                    hidden.append(out[0])
                    cells.append(state[1][0])
            found = [torch.stack(part).numpy() for part in (hidden, cells)]
            return [part[::-1] for part in found] if reverse else found

        return compute

    def other(weights: Any) -> Any:
        return topi.take(weights, _gates(), 0)

    lstm = topi.nn.lstm
    cases: dict[str, Any] = {
        "all": (lambda x, wi, wh, bi, bh, h, c: lstm(x, wi, wh, bi, bh, h, c), reference()),
        "no biases, no states": (lambda x, wi, wh: lstm(x, wi, wh), reference(plain=True)),
        "reverse": (
            lambda x, wi, wh, bi, bh, h, c: lstm(x, wi, wh, bi, bh, h, c, reverse=True),
            reference(reverse=True),
        ),
        "projection": (
            lambda x, wi, wp, bi, bh, hp, c, p: lstm(x, wi, wp, bi, bh, hp, c, p),
            reference(proj=True),
        ),
        "another order": (
            lambda x, wi, wh, bi, bh, h, c: lstm(x, *map(other, (wi, wh, bi, bh)), h, c, weight_layout="OGFI"),
            reference(),
        ),
        "peepholes": (
            lambda x, wi, wh, bi, bh, h, c: lstm(x, wi, wh, bi, bh, h, c, None, c, h, c),
            lambda x, wi, wh, bi, bh, h, c: _peeped(*(a.astype("f8") for a in (x, wi, wh, bi, bh, h, c))),
        ),
    }
    inputs = []
    for steps, batch, size in ((4, 2, 5), (1, 1, 1)):
        known = {"t": steps, "b": batch, "d": size}
        sized = [[known.get(d) or int(d) for d in shape.split()] for shape in shapes.values()]
        arrays = [random(shape, dtype, seed) for seed, shape in enumerate(sized)]
        inputs.append([array * array.dtype.type(0.5) for array in arrays])
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2}.get(dtype, 1e-4) * 3
    text = ", ".join(f"{name}: {shape}" for name, shape in shapes.items())
    check(text, cases, inputs=inputs, dtype=dtype, tolerance=tolerance, types=FLOATS)


def _gates() -> Any:
    """The gates in the opposite order, for three units."""
    return te.compute((12,), lambda i: ((3 - i // 3) * 3 + i % 3).astype("int32"))


def _peeped(x: Any, wi: Any, wh: Any, bi: Any, bh: Any, h: Any, c: Any) -> Any:
    """The formulas, with peepholes c, h and c."""

    def sigmoid(v: Any) -> Any:
        return 1 / (1 + np.exp(-v))

    to_i, to_f, to_o = c, h, c
    hidden, cells = [], []
    for step in x:
        i, f, g, o = np.split(step @ wi.T + h @ wh.T + bi + bh, 4, 1)
        c = sigmoid(f + to_f * c) * c + sigmoid(i + to_i * c) * np.tanh(g)
        h = sigmoid(o + to_o * c) * np.tanh(c)
        hidden.append(h)
        cells.append(c)
    return [np.stack(hidden), np.stack(cells)]


def test_sums_of_16_bit_floats() -> None:
    """4,096 products of 1 and 2^-11 sum to 2: in float16, a sum stays at 1."""

    def same(value: Any) -> Any:
        return value

    cases: dict[str, Any] = {
        "lstm": (
            lambda x, wi, wh, h, proj: topi.nn.lstm(
                x, wi, wh, None, None, h, None, proj, f_act=same, g_act=same, h_act=same
            )[1],
            # The cell is the product of two gates, each the sum of 4,096 products.
            lambda wh, h: np.full((1, 1, 1), float((wh[0].astype("f8") * h[0]).sum()) ** 2),
        )
    }
    zeros = np.zeros((1, 1, 4)), np.zeros((4, 4))
    arrays = [*zeros, np.full((4, 4096), 2.0**-11), np.ones((1, 4096)), np.ones((4096, 1))]
    shapes = "x: 1 1 4, wi: 4 4, wh: 4 4096, h: 1 4096, proj: 4096 1"
    check(shapes, cases, inputs=[[a.astype("f2") for a in arrays]], dtype="float16", tolerance=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_pooling(dtype: str) -> None:
    def ours(x: Any, kind: str, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool) -> Any:
        out = topi.nn.pool2d(x, kernel, stride, 1, padding, kind, ceil, "NCHW", include)
        return topi.nn.pool_grad(out + 1, x, kernel, stride, padding, kind, ceil, include)

    def theirs(x: Any, kind: str, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool) -> Any:
        with torch.enable_grad():  # another test may have disabled it for the process
            tensor = torch.tensor(x, requires_grad=True)
            more = {"ceil_mode": ceil} | ({"count_include_pad": include} if kind == "avg" else {})
            out = getattr(F, f"{kind}_pool2d")(tensor, kernel, stride, padding, **more)
            (found,) = torch.autograd.grad(out, tensor, out.detach() + 1)
        return found.numpy()

    cases: dict[str, Any] = {
        f"{kind} {how}": (
            lambda x, at=(kind, *how): ours(x, *at),
            lambda x, at=(kind, *how): theirs(x, *at),
        )
        for kind in ("max", "avg")
        for how in ((2, 2, 0, False, True), (3, (2, 1), 1, False, True), ((3, 2), 2, 1, True, False))
    }
    ties = [[np.ones((1, 2, 4, 4), dtype)]]
    options = {"dtype": dtype, "tolerance": 1e-5, "types": ("float32", "float64")}
    check("x: n 2 h w", cases, ((2, 7, 6), (1, 3, 3)), inputs=ties, **options)


@pytest.mark.parametrize("dtype", FLOATS)
def test_fourier(dtype: str) -> None:
    def dft(x: Any, y: Any, inverse: bool) -> Any:
        number = x.astype("f8") + 1j * y.astype("f8")
        found = np.fft.ifft(number) if inverse else np.fft.fft(number)
        return [found.real, found.imag]

    def stft(x: Any, w: Any, hop: int, normalized: bool, onesided: bool) -> Any:
        data, window = torch.tensor(x.astype("f8")), torch.tensor(w.astype("f8"))
        options = {"normalized": normalized, "onesided": onesided, "return_complex": True}
        return torch.view_as_real(torch.stft(data, 7, hop, 5, window, False, **options)).numpy()

    cases: dict[str, Any] = {
        "forward": (lambda x, y: topi.dft(x, y), lambda x, y: dft(x, y, False)),
        "inverse": (lambda x, y: topi.dft(x, y, True), lambda x, y: dft(x, y, True)),
    }
    tolerance = {"float16": 2e-2, "bfloat16": 2e-1}.get(dtype, 1e-4)
    options = {"dtype": dtype, "tolerance": tolerance, "types": FLOATS}
    check("x: n m, y: n m, w: 5", cases, ((2, 7), (1, 1), (3, 20), (0, 2)), **options)
    cases = {
        str(how): (
            lambda x, w, how=how: topi.stft(x, 7, how[0], 5, w, *how[1:]),
            lambda x, w, how=how: stft(x, w, *how),
        )
        for how in ((2, False, True), (1, True, False))
    }
    cases["one signal"] = (
        lambda x, w: topi.stft(topi.reshape(x, (N * M,)), 7, 3, 5, w, False, True),
        lambda x, w: stft(x.reshape(-1), w, 3, False, True)[None],
    )
    check("x: n m, y: n m, w: 5", cases, ((2, 7), (1, 9), (3, 20)), **options)


def test_hamming_windows() -> None:
    cases: dict[str, Any] = {
        f"{periodic} {dtype}": lambda t, z, p=periodic, d=dtype: t.hamming_window(N, p, 0.54, 0.46, d)
        for periodic in (False, True)
        for dtype in ("float32", "float64", "float16")
    }
    check("z: n", cases, [(7,), (1,), (2,)], tolerance=1e-3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_losses(dtype: str) -> None:
    cases: dict[str, Any] = {
        how: lambda t, x, y, w, how=how: t.nn.nll_loss(x, y, w, how, -1) for how in ("none", "sum", "mean")
    }
    cases["cross entropy"] = lambda t, x: t.nn.cross_entropy_with_logits(t.nn.log_softmax(x), x)
    cases["one dimension"] = lambda t, w: t.nn.cross_entropy_with_logits(w, w)
    inputs = []
    for n, c, k in ((3, 4, 5), (1, 1, 1), (4, 2, 3)):
        targets = np.random.default_rng(n).integers(-1, c, (n, k))
        targets[0, 0] = 0
        weights = np.abs(random((c,), dtype)) + random((1,), dtype) ** 2
        inputs.append([random((n, c, k), dtype), targets, weights])
    tolerance = {"float16": 2e-2, "bfloat16": 6e-2}.get(dtype, 1e-5)
    check("x: n c w, y: n w int64, w: c", cases, inputs=inputs, dtype=dtype, tolerance=tolerance, types=FLOATS)


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours(dtype: str) -> None:
    cases: dict[str, Any] = {
        f"lrn {size} {axis}": lambda t, x, at=(size, axis): t.nn.lrn(x, *at, 0.5, 0.75, 2.0)
        for size, axis in ((1, 1), (3, 1), (4, 1), (3, -1))
    }
    tolerance = {"float16": 2e-2, "bfloat16": 6e-2}.get(dtype, 1e-5)
    sizes = ((2, 5, 3), (1, 1, 1), (0, 2, 2))
    check("x: n c w", cases, sizes, dtype=dtype, tolerance=tolerance, types=FLOATS)
