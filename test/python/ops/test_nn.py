"""Activations and normalisations against NumPy and SciPy: every float dtype, any axes, NaN, infinities, no rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import relax_mlir as rx
from harness import FLOATS, INTEGERS, Array, Suite, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from scipy import special

SIZES = (
    {"n": 1, "m": 1},
    {"n": 0, "m": 3},
    {"n": 3, "m": 17},
    {"n": 9, "m": 2},
)
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}


def activations(x: Array) -> list[Array]:
    tanh = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    return [
        np.maximum(x, 0),
        x / 2 * (1 + special.erf(x / np.sqrt(2))),
        x / 2 * (1 + tanh),
        x / (1 + np.exp(-x)),
    ]


def emit_activations(x: rx.Value) -> list[rx.Value]:
    return [R.nn.relu(x), R.nn.gelu(x), R.nn.gelu_tanh(x), R.nn.silu(x)]


def test_activations() -> None:
    suite = Suite()
    for dtype in FLOATS:
        params = [Tensor(("n", "m"), dtype)]
        inputs = [[special_values(dtype).reshape(3, -1)], [np.linspace(-9, 9, 37, dtype="f4")[None]]]
        inputs = [[array.astype(rx.dialects.dtypes.dtype(dtype).numpy)] for (array,) in inputs]
        suite.add(
            dtype,
            emit_activations,
            activations,
            params,
            sizes=(),
            inputs=inputs,
            tolerance=TOLERANCE.get(dtype),
        )
    suite.run()


def test_silu_of_large_negative_numbers() -> None:
    """Results go to 0 through the denormals: e^-x is infinite much earlier."""
    suite = Suite()
    suite.add("silu", R.nn.silu, lambda x: x * special.expit(x), [Tensor(("n",), "float32")], sizes=())
    x = np.linspace(-115, -80, 500, dtype=np.float32)
    got = np.from_dlpack(rx.build(suite.module())["silu_0"](x))
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got, wide * special.expit(wide), rtol=1e-6, atol=1e-43)


def test_relu_of_integers() -> None:
    suite = Suite()
    for dtype in INTEGERS:
        suite.add(
            dtype,
            R.nn.relu,
            lambda x: np.maximum(x, 0).astype(x.dtype),
            [Tensor(("n",), dtype)],
            sizes=(),
            inputs=[[special_values(dtype)]],
        )
    suite.run()


def softmax(x: Array, axis: int) -> list[Array]:
    """Softmax and its logarithm, by the definition: SciPy differs in rows with +inf, torch does not."""
    if x.size == 0:
        return [x, x]
    shifted = x - x.max(axis, keepdims=True)
    total = np.exp(shifted).sum(axis, keepdims=True)
    return [np.exp(shifted) / total, shifted - np.log(total)]


def emit_softmax(x: rx.Value, axis: int) -> list[rx.Value]:
    return [R.nn.softmax(x, axis), R.nn.log_softmax(x, axis)]


def add_softmax(suite: Suite, dtype: str, shape: tuple[int | str, ...], axis: int) -> None:
    suite.add(
        f"softmax_{dtype}",
        lambda x: emit_softmax(x, axis),
        lambda x: softmax(x, axis),
        [Tensor(shape, dtype)],
        sizes=SIZES,
        draw=numbers(-20, 20),
        tolerance=TOLERANCE.get(dtype),
    )


def test_softmax_along_any_axis() -> None:
    suite = Suite()
    for axis in (-1, 0, 1):
        add_softmax(suite, "float32", ("n", "m", 3), axis)
    add_softmax(suite, "float32", ("m",), 0)
    for dtype in FLOATS[1:]:
        add_softmax(suite, dtype, ("n", 2, "m"), 2)
    suite.run()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax_of_special_values(dtype: str) -> None:
    rows = np.array(
        [
            [np.nan, 1, 2, 3],
            [-np.inf, -np.inf, -np.inf, -np.inf],
            [np.inf, 0, 1, 2],
            [-np.inf, 0, 1, -np.inf],
            [3e4, -3e4, 3e4, 0],
        ]
    ).astype(rx.dialects.dtypes.dtype(dtype).numpy)
    suite = Suite()
    for axis in (1, -2):
        inputs = [[rows if axis == 1 else np.ascontiguousarray(rows.T)]]
        suite.add(
            f"axis{axis + 2}",
            lambda x, axis=axis: emit_softmax(x, axis),
            lambda x, axis=axis: softmax(x, axis),
            [Tensor(("n", "m"), dtype)],
            sizes=(),
            inputs=inputs,
        )
    suite.run()


def normalized(x: Array, axes: Sequence[int]) -> Array:
    mean, variance = x.mean(tuple(axes), keepdims=True), x.var(tuple(axes), keepdims=True)
    return np.asarray((x - mean) / np.sqrt(variance + 1e-5))


def along(parameter: Array, x: Array, axes: Sequence[int]) -> Array:
    """`parameter`, whose dimensions are `axes` of `x`, broadcast to `x`."""
    order = np.argsort(axes)
    shape = [x.shape[axis] if axis in axes else 1 for axis in range(x.ndim)]
    return parameter.transpose(order).reshape(shape)


def add_norms(suite: Suite, dtype: str, shape: tuple[int | str, ...], axes: Sequence[int]) -> None:
    weights = Tensor([shape[axis] for axis in axes], dtype)

    def emit(x: rx.Value, gamma: rx.Value, beta: rx.Value) -> list[rx.Value]:
        return [R.nn.layer_norm(x, gamma, beta, axes, 1e-5), R.nn.rms_norm(x, gamma, axes, 1e-5)]

    def reference(x: Array, gamma: Array, beta: Array) -> list[Array]:
        gamma, beta = along(gamma, x, axes), along(beta, x, axes)
        root = np.sqrt((x * x).mean(tuple(axes), keepdims=True) + 1e-5)
        return [normalized(x, axes) * gamma + beta, x / root * gamma]

    suite.add(
        f"norms_{dtype}",
        emit,
        reference,
        [Tensor(shape, dtype), weights, weights],
        sizes=SIZES[:1] + SIZES[2:],
        tolerance=TOLERANCE.get(dtype),
    )


def test_norms() -> None:
    suite = Suite()
    for dtype in FLOATS:
        add_norms(suite, dtype, ("n", "m", 6), [2])
    add_norms(suite, "float32", ("n", "m", 6), [1, 2])
    add_norms(suite, "float32", ("n", "m", 6), [2, 0])
    suite.run()


def test_long_rows_lose_few_digits() -> None:
    """Sums of softmax and norms are computed in blocks: plain vector accumulation has errors of some 30 ulp."""
    length = 160_001
    x = np.random.default_rng(14).integers(-3, 4, (3, length)).astype("float32")
    bb, value = rx.BlockBuilder(), rx.Var("x", Tensor(("n", "m"), "float32"))
    weight = rx.Var("w", Tensor(("m",), "float32"))
    with bb.function("main", [value, weight]):
        norms = [R.nn.layer_norm(value, weight, weight, axes=[-1]), R.nn.rms_norm(value, weight)]
        softmaxes = [R.nn.softmax(value, axis=-1), R.nn.log_softmax(value, axis=-1)]
        bb.emit_func_output(tuple(bb.emit(call) for call in (*norms, *softmaxes)))
    results = [to_numpy(r) for r in rx.build(bb.get())["main"](x, np.ones(length, "float32"))]
    precise = x.astype(np.float64)
    centred = precise - precise.mean(axis=1, keepdims=True)
    expected = [
        centred / np.sqrt(precise.var(axis=1, keepdims=True) + 1e-5) + 1,
        precise / np.sqrt(np.mean(precise**2, axis=1, keepdims=True) + 1e-5),
        special.softmax(precise, axis=1),
        special.log_softmax(precise, axis=1),
    ]
    tolerances = [(3e-7, 1e-6), (3e-7, 1e-6), (2e-6, 0), (3e-7, 1e-6)]
    for result, exact, (rtol, atol) in zip(results, expected, tolerances, strict=True):
        np.testing.assert_allclose(result, exact, rtol=rtol, atol=atol)


def test_norms_without_rows() -> None:
    x, weights = np.zeros((0, 6), "float32"), np.ones(6, "float32")
    suite = Suite()
    suite.add(
        "empty",
        lambda x, w: [R.nn.layer_norm(x, w, w), R.nn.rms_norm(x, w)],
        lambda x, w: [x, x],
        [Tensor(("n", 6), "float32"), Tensor((6,), "float32")],
        sizes=(),
        inputs=[[x, weights]],
    )
    suite.run()


def test_layer_norm_without_scale_or_center() -> None:
    suite = Suite()
    for center in (False, True):
        suite.add(
            f"center{int(center)}",
            lambda x, g, b, center=center: R.nn.layer_norm(x, g, b, -1, 1e-5, center, not center),
            lambda x, g, b, center=center: normalized(x, [1]) + b if center else normalized(x, [1]) * g,
            [Tensor(("n", 5), "float32"), Tensor((5,), "float32"), Tensor((5,), "float32")],
            tolerance=2e-5,
        )
    suite.run()


@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "error", "message"),
    [
        (("n", 3), "float32", 2, ShapeError, "axis 2 is out of range"),
        (("n", 3), "int32", 0, DTypeError, "expected a float"),
    ],
)
def test_softmax_refuses(
    shape: tuple[int | str, ...], dtype: str, axis: int, error: type[RelaxError], message: str
) -> None:
    x = rx.Var("x", Tensor(shape, dtype))
    with pytest.raises(error, match=message), rx.BlockBuilder().function("main", [x]):
        R.nn.softmax(x, axis)


def test_norms_refuse_parameters_of_another_shape() -> None:
    x, gamma = rx.Var("x", Tensor(("n", 3), "float32")), rx.Var("gamma", Tensor((4,), "float32"))
    message = r"'weight' has shape \(4,\), expected \(3,\)"
    with pytest.raises(ShapeError, match=message), rx.BlockBuilder().function("main", [x, gamma]):
        R.nn.rms_norm(x, gamma)
    with pytest.raises(ArgumentError, match="no axes"), rx.BlockBuilder().function("main", [x, gamma]):
        R.nn.rms_norm(x, gamma, [])
