"""`fuse-ops` on kernels over rows and the loops after them: which ops are fused, and the values."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import relax_mlir as rx
import scipy.special
from fusion_cases import (
    THREADS,
    Array,
    Case,
    check_calls,
    check_values,
    f16,
    f32,
    log_softmax,
    module_of,
    normal,
    numbers_of,
    on_threads,
    rms,
    softmax,
)
from relax_mlir import op as R

CHANNELS = 6


def gelu(x: Array) -> Array:
    return x * 0.5 * (1 + scipy.special.erf(x / np.sqrt(2)))


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def layer_norm(x: rx.Value, g: rx.Value, b: rx.Value) -> rx.Value:
    return R.nn.layer_norm(x, g, b, axes=[-1])


def group_norm(x: rx.Value, g: rx.Value, b: rx.Value) -> rx.Value:
    return R.nn.group_norm(x, g, b, 3, 1, [2, 3])


def group_normal(x: Array, g: Array, b: Array) -> Array:
    """Three groups of the channels, which are axis 1."""
    if x.size == 0:
        return x
    flat = normal(x.reshape(x.shape[0], 3, -1)).reshape(x.shape)
    return flat * g[:, None, None] + b[:, None, None]


WEIGHTS = [f32("k"), f32("k")]
BY_CHANNEL = [f32(CHANNELS), f32(CHANNELS)]
CASES: dict[str, Case] = {
    "activation and residual": (
        lambda x, g, b: R.add(R.nn.gelu(layer_norm(x, g, b)), x),
        lambda x, g, b: gelu(normal(x) * g + b) + x,
        [f32("n", "m", "k"), *WEIGHTS],
        1,
    ),
    "scale and shift per sample": (
        lambda x, g, s, t: R.add(R.multiply(R.nn.rms_norm(x, g, axes=[-1]), s), t),
        lambda x, g, s, t: rms(x) * g * s + t,
        [f32("n", "m", "k"), f32("k"), f32("n", 1, "k"), f32("n", 1, "k")],
        1,
    ),
    "a number per row": (
        lambda x, y: R.multiply(R.nn.softmax(x), y),
        lambda x, y: softmax(x) * y,
        [f32("n", "m", "k"), f32("m", 1)],
        1,
    ),
    "one row": (lambda x: R.negative(R.nn.log_softmax(x)), lambda x: -log_softmax(x), [f32("k")], 1),
    "rows of two axes": (
        lambda x, y, g, b: R.subtract(R.nn.layer_norm(x, g, b, axes=[-2, -1]), y),
        lambda x, y, g, b: normal(x, 2) * g + b - y,
        [f32("n", "h", "m", "k"), f32("h", 1, "k"), f32("m", "k"), f32("m", "k")],
        1,
    ),
    "before and behind": (
        lambda x, y, g, b: R.nn.relu(layer_norm(R.add(x, y), g, b)),
        lambda x, y, g, b: np.maximum(normal(x + y) * g + b, 0),
        [f32("n", "k"), f32("n", "k"), *WEIGHTS],
        1,
    ),
    "the residual twice": (
        lambda x, y, g, b: (lambda z: R.add(layer_norm(z, g, b), z))(R.exp(R.add(x, y))),
        lambda x, y, g, b: normal(np.exp(x + y)) * g + b + np.exp(x + y),
        [f32("n", "k"), f32("n", "k"), *WEIGHTS],
        2,
    ),
    "the weights again": (
        lambda x, g: R.add(R.nn.rms_norm(x, g, axes=[-1]), g),
        lambda x, g: rms(x) * g + g,
        [f32("n", "k"), f32("k")],
        1,
    ),
    "twice in one loop": (
        lambda x: (lambda y: R.multiply(R.tanh(y), R.add(y, R.const(np.float32(1)))))(R.nn.softmax(x)),
        lambda x: np.tanh(softmax(x)) * (softmax(x) + 1),
        [f32("n", "k")],
        1,
    ),
    "a slice of another": (
        lambda x, y: R.add(R.nn.softmax(x), R.strided_slice(y, axes=[1], begin=[2], end=[11])),
        lambda x, y: softmax(x) + y[:, 2:11],
        [f32("n", 9), f32("n", 13)],
        1,
    ),
    "16 bits": (
        lambda x, y: R.multiply(R.nn.softmax(x), y),
        lambda x, y: softmax(x) * y,
        [f16("n", "m", "k"), f16("n", "m", "k")],
        1,
    ),
    "an operand of 16 bits": (
        lambda x, y: R.add(R.nn.softmax(x), R.astype(y, "float32")),
        lambda x, y: softmax(x) + y,
        [f32("n", "k"), f16("n", "k")],
        1,
    ),
    "group norm": (
        lambda x, g, b: R.nn.silu(group_norm(x, g, b)),
        lambda x, g, b: silu(group_normal(x, g, b)),
        [f32("n", CHANNELS, "m", "k"), *BY_CHANNEL],
        1,
    ),
    "group norm, residual": (
        lambda x, y, g, b: R.add(group_norm(x, g, b), y),
        lambda x, y, g, b: group_normal(x, g, b) + y,
        [f32("n", CHANNELS, "m", "k"), f32("n", CHANNELS, 1, "k"), *BY_CHANNEL],
        1,
    ),
    "group norm of one number per channel": (
        lambda x, g, b: R.nn.relu(group_norm(x, g, b)),
        lambda x, g, b: np.maximum(group_normal(x, g, b), 0),
        [f32("n", CHANNELS, 1, 1), *BY_CHANNEL],
        1,
    ),
    "group norm, channels last": (
        lambda x, g, b: R.nn.relu(R.nn.group_norm(x, g, b, 3, 3, [1, 2])),
        lambda x, g, b: np.maximum(np.moveaxis(group_normal(np.moveaxis(x, 3, 1), g, b), 1, 3), 0),
        [f32("n", "m", "k", CHANNELS), *BY_CHANNEL],
        1,
    ),
    "group norm over axes that its kernel does not take": (
        lambda x, g, b: R.nn.relu(R.nn.group_norm(x, g, b, 3, 2, [1, 3])),
        lambda x, g, b: np.maximum(np.moveaxis(group_normal(np.moveaxis(x, 2, 1), g, b), 1, 2), 0),
        [f32("n", "m", CHANNELS, "k"), *BY_CHANNEL],
        1,
    ),
    "group norm of vectors": (
        lambda x, g, b: R.nn.relu(R.nn.group_norm(x, g, b, 3, 1, [])),
        lambda x, g, b: np.maximum(group_normal(x[..., None, None], g, b)[..., 0, 0], 0),
        [f32("n", CHANNELS), *BY_CHANNEL],
        2,
    ),
    "another dtype": (
        lambda x: R.astype(R.nn.softmax(x), "float16"),
        lambda x: softmax(x),
        [f32("n", "k")],
        2,
    ),
    "another shape": (
        lambda x, y: R.add(R.nn.softmax(x), y),
        lambda x, y: softmax(x) + y,
        [f32("n", "k"), f32("m", "n", "k")],
        2,
    ),
    "turned": (
        lambda x, y: R.add(R.permute_dims(R.nn.softmax(x)), y),
        lambda x, y: softmax(x).T + y,
        [f32("n", "k"), f32("k", "n")],
        2,
    ),
    "as it is, and turned": (
        lambda x: (lambda y: R.add(R.permute_dims(y), y))(R.nn.softmax(x)),
        lambda x: softmax(x).T + softmax(x),
        [f32("k", "k")],
        2,
    ),
    "two users": (
        lambda x: (lambda y: R.add(R.exp(y), R.sum(y, axis=[-1], keepdims=True)))(R.nn.softmax(x)),
        lambda x: np.exp(softmax(x)) + softmax(x).sum(-1, keepdims=True),
        [f32("n", "k")],
        3,
    ),
    "a product, which has its own": (
        lambda x, w, y: R.add(R.matmul(x, w), R.nn.softmax(y)),
        lambda x, w, y: x @ w + softmax(y),
        [f32("n", 3), f32(3, "k"), f32("n", "k")],
        2,
    ),
    "rows of nothing": (
        lambda x: R.add(R.nn.softmax(R.negative(x)), R.const(np.float32(1))),
        lambda x: x,
        [f32(3, 0)],
        1,
    ),
    "no rows": (
        lambda x: R.add(R.nn.log_softmax(R.negative(x)), R.const(np.float32(1))),
        lambda x: x,
        [f32(0, 3)],
        1,
    ),
    "rows that do not lie together": (
        lambda x: R.nn.relu(R.nn.softmax(x, axis=0)),
        lambda x: softmax(x.T).T,
        [f32("n", "k")],
        2,
    ),
}


def test_what_becomes_one() -> None:
    check_calls(CASES)


@functools.cache
def executable(threads: int) -> rx.Executable:
    return rx.build(module_of(CASES, numbers_of(CASES, threads)), f"cpu -num-threads={threads}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("threads", "number"), [pytest.param(*c, id=f"{c[0]}-{[*CASES][c[1]]}") for c in on_threads(CASES)]
)
def test_values(threads: int, number: int) -> None:
    check_values(CASES, number, executable(threads))


@pytest.mark.parametrize("threads", THREADS)
def test_nan_and_infinity(threads: int) -> None:
    x = np.ones((3, 1, 9), np.float32)
    x[0, 0, 3], x[1, 0, 4] = np.nan, np.inf
    one, zero = np.ones(9, np.float32), np.zeros(9, np.float32)
    result = np.from_dlpack(executable(threads)["case0"](x, one, zero))
    assert np.isnan(result[:2]).all()
    np.testing.assert_array_equal(result[2], x[2])
