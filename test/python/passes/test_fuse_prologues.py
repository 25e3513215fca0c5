"""`fuse-ops` on kernels over rows and the loops before them: which ops are fused, and the values."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import relax_mlir as rx
from fusion_cases import (
    THREADS,
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


def eighth(x: rx.Value) -> rx.Value:
    return R.multiply(x, R.const(np.float32(0.125)))


CASES: dict[str, Case] = {
    "scale and mask": (
        lambda x, m: R.nn.softmax(R.add(eighth(x), m)),
        lambda x, m: softmax(x / 8 + m),
        [f32("n", "h", "m", "k"), f32("n", 1, 1, "k")],
        1,
    ),
    "a mask of all heads": (
        lambda x, m: R.nn.log_softmax(R.add(x, m)),
        lambda x, m: log_softmax(x + m),
        [f32("n", "h", "m", "k"), f32("m", "k")],
        1,
    ),
    "a number per row": (
        lambda x, y: R.nn.softmax(R.multiply(x, y)),
        lambda x, y: softmax(x * y),
        [f32("n", "m", "k"), f32("m", 1)],
        1,
    ),
    "one row": (lambda x: R.nn.softmax(R.abs(x)), lambda x: softmax(np.abs(x)), [f32("k")], 1),
    "residual sum": (
        lambda x, y, g, b: R.nn.layer_norm(R.add(x, y), g, b, axes=[-1]),
        lambda x, y, g, b: normal(x + y) * g + b,
        [f32("n", "m", "k"), f32("n", "m", "k"), f32("k"), f32("k")],
        1,
    ),
    "rows of two axes": (
        lambda x, y, g, b: R.nn.layer_norm(R.subtract(x, y), g, b, axes=[-2, -1]),
        lambda x, y, g, b: normal(x - y, 2) * g + b,
        [f32("n", "h", "m", "k"), f32("h", 1, "k"), f32("m", "k"), f32("m", "k")],
        1,
    ),
    "root mean square": (
        lambda x, y, g: R.nn.rms_norm(R.add(x, y), g, axes=[-1]),
        lambda x, y, g: rms(x + y) * g,
        [f32("n", "k"), f32("k"), f32("k")],
        1,
    ),
    "a slice": (
        lambda x, y: R.nn.softmax(R.add(R.strided_slice(x, axes=[1], begin=[2], end=[11]), y)),
        lambda x, y: softmax(x[:, 2:11] + y),
        [f32("n", 13), f32("n", 9)],
        1,
    ),
    "16 bits": (
        lambda x, y: R.nn.softmax(R.add(x, y)),
        lambda x, y: softmax(x + y),
        [f16("n", "m", "k"), f16("n", "m", "k")],
        1,
    ),
    "widened": (
        lambda x, y: R.nn.softmax(R.add(R.astype(x, "float32"), y)),
        lambda x, y: softmax(x + y),
        [f16("n", "k"), f32("n", "k")],
        1,
    ),
    "rows that do not lie together": (
        lambda x: R.nn.softmax(R.negative(x), axis=0),
        lambda x: softmax(-x.T).T,
        [f32("n", "k")],
        2,
    ),
    "turned": (
        lambda x, y: R.nn.softmax(R.add(R.permute_dims(x), y)),
        lambda x, y: softmax(x.T + y),
        [f32("k", "n"), f32("n", "k")],
        2,
    ),
    "two users": (
        lambda x, y: (lambda z: R.add(R.nn.softmax(z), z))(R.exp(R.add(x, y))),
        lambda x, y: softmax(np.exp(x + y)) + np.exp(x + y),
        [f32("n", "k"), f32("n", "k")],
        2,
    ),
    "the weights, too": (
        lambda x, g: (lambda z: R.nn.rms_norm(z, z, axes=[-1]))(R.add(x, g)),
        lambda x, g: rms(x + g) * (x + g),
        [f32("k"), f32("k")],
        2,
    ),
    "a product before": (
        lambda x, w: R.nn.softmax(eighth(R.matmul(x, w))),
        lambda x, w: softmax(x @ w / 8),
        [f32("n", 3), f32(3, "k")],
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
def test_masks_of_infinity(threads: int) -> None:
    x = np.ones((2, 1, 2, 9), np.float32)
    mask = np.zeros((2, 1, 1, 9), np.float32)
    mask[0, ..., 3:] = -np.inf
    mask[1] = -np.inf
    result = np.from_dlpack(executable(threads)["case0"](x, mask))
    np.testing.assert_allclose(result[0], softmax(x[0] / 8 + mask[0]), rtol=1e-6)
    assert np.isnan(result[1]).all()
