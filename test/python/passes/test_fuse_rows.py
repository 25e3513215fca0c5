"""`fuse-ops` on kernels over rows and the loops around them: which ops are fused, and the values."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from fusion_cases import Case, check_calls, check_values, f16, f32, module_of
from relax_mlir import op as R

CHANNELS = 6
THREADS = (1, 2)
WEIGHTS = [f32("k"), f32("k")]
BY_CHANNEL = [f32(CHANNELS), f32(CHANNELS)]


def eighth(x: rx.Value) -> rx.Value:
    return R.multiply(x, R.const(np.float32(0.125)))


def layer_norm(x: rx.Value, g: rx.Value, b: rx.Value) -> rx.Value:
    return R.nn.layer_norm(x, g, b, axes=[-1])


def group_norm(x: rx.Value, g: rx.Value, b: rx.Value) -> rx.Value:
    """Three groups of the channels, which are axis 1."""
    return R.nn.group_norm(x, g, b, 3, 1, [2, 3])


PROLOGUES: dict[str, Case] = {
    "scale and mask": (
        lambda x, m: R.nn.softmax(R.add(eighth(x), m)),
        [f32("n", "h", "m", "k"), f32("n", 1, 1, "k")],
        1,
    ),
    "a mask of all heads": (
        lambda x, m: R.nn.log_softmax(R.add(x, m)),
        [f32("n", "h", "m", "k"), f32("m", "k")],
        1,
    ),
    "a number per row": (lambda x, y: R.nn.softmax(R.multiply(x, y)), [f32("n", "m", "k"), f32("m", 1)], 1),
    "one row": (lambda x: R.nn.softmax(R.abs(x)), [f32("k")], 1),
    "residual sum": (
        lambda x, y, g, b: R.nn.layer_norm(R.add(x, y), g, b, axes=[-1]),
        [f32("n", "m", "k"), f32("n", "m", "k"), f32("k"), f32("k")],
        1,
    ),
    "rows of two axes": (
        lambda x, y, g, b: R.nn.layer_norm(R.subtract(x, y), g, b, axes=[-2, -1]),
        [f32("n", "h", "m", "k"), f32("h", 1, "k"), f32("m", "k"), f32("m", "k")],
        1,
    ),
    "root mean square": (
        lambda x, y, g: R.nn.rms_norm(R.add(x, y), g, axes=[-1]),
        [f32("n", "k"), f32("k"), f32("k")],
        1,
    ),
    "a slice": (
        lambda x, y: R.nn.softmax(R.add(R.strided_slice(x, axes=[1], begin=[2], end=[11]), y)),
        [f32("n", 13), f32("n", 9)],
        1,
    ),
    "16 bits": (lambda x, y: R.nn.softmax(R.add(x, y)), [f16("n", "m", "k"), f16("n", "m", "k")], 1),
    "widened": (
        lambda x, y: R.nn.softmax(R.add(R.astype(x, "float32"), y)),
        [f16("n", "k"), f32("n", "k")],
        1,
    ),
    "rows that do not lie together": (lambda x: R.nn.softmax(R.negative(x), axis=0), [f32("n", "k")], 2),
    "turned": (lambda x, y: R.nn.softmax(R.add(R.permute_dims(x), y)), [f32("k", "n"), f32("n", "k")], 2),
    "two users": (
        lambda x, y: (lambda z: R.add(R.nn.softmax(z), z))(R.exp(R.add(x, y))),
        [f32("n", "k"), f32("n", "k")],
        2,
    ),
    "the weights, too": (
        lambda x, g: (lambda z: R.nn.rms_norm(z, z, axes=[-1]))(R.add(x, g)),
        [f32("k"), f32("k")],
        2,
    ),
    "a product before": (lambda x, w: R.nn.softmax(eighth(R.matmul(x, w))), [f32("n", 3), f32(3, "k")], 2),
}
EPILOGUES: dict[str, Case] = {
    "activation and residual": (
        lambda x, g, b: R.add(R.nn.gelu(layer_norm(x, g, b)), x),
        [f32("n", "m", "k"), *WEIGHTS],
        1,
    ),
    "scale and shift per sample": (
        lambda x, g, s, t: R.add(R.multiply(R.nn.rms_norm(x, g, axes=[-1]), s), t),
        [f32("n", "m", "k"), f32("k"), f32("n", 1, "k"), f32("n", 1, "k")],
        1,
    ),
    "a number per row": (lambda x, y: R.multiply(R.nn.softmax(x), y), [f32("n", "m", "k"), f32("m", 1)], 1),
    "one row": (lambda x: R.negative(R.nn.log_softmax(x)), [f32("k")], 1),
    "rows of two axes": (
        lambda x, y, g, b: R.subtract(R.nn.layer_norm(x, g, b, axes=[-2, -1]), y),
        [f32("n", "h", "m", "k"), f32("h", 1, "k"), f32("m", "k"), f32("m", "k")],
        1,
    ),
    "before and behind": (
        lambda x, y, g, b: R.nn.relu(layer_norm(R.add(x, y), g, b)),
        [f32("n", "k"), f32("n", "k"), *WEIGHTS],
        1,
    ),
    "the residual twice": (
        lambda x, y, g, b: (lambda z: R.add(layer_norm(z, g, b), z))(R.exp(R.add(x, y))),
        [f32("n", "k"), f32("n", "k"), *WEIGHTS],
        2,
    ),
    "the weights again": (
        lambda x, g: R.add(R.nn.rms_norm(x, g, axes=[-1]), g),
        [f32("n", "k"), f32("k")],
        1,
    ),
    "twice in one loop": (
        lambda x: (lambda y: R.multiply(R.tanh(y), R.add(y, R.const(np.float32(1)))))(R.nn.softmax(x)),
        [f32("n", "k")],
        1,
    ),
    "a slice of another": (
        lambda x, y: R.add(R.nn.softmax(x), R.strided_slice(y, axes=[1], begin=[2], end=[11])),
        [f32("n", 9), f32("n", 13)],
        1,
    ),
    "16 bits": (lambda x, y: R.multiply(R.nn.softmax(x), y), [f16("n", "m", "k"), f16("n", "m", "k")], 1),
    "an operand of 16 bits": (
        lambda x, y: R.add(R.nn.softmax(x), R.astype(y, "float32")),
        [f32("n", "k"), f16("n", "k")],
        1,
    ),
    "group norm": (
        lambda x, g, b: R.nn.silu(group_norm(x, g, b)),
        [f32("n", CHANNELS, "m", "k"), *BY_CHANNEL],
        1,
    ),
    "group norm, residual": (
        lambda x, y, g, b: R.add(group_norm(x, g, b), y),
        [f32("n", CHANNELS, "m", "k"), f32("n", CHANNELS, 1, "k"), *BY_CHANNEL],
        1,
    ),
    "group norm of one number per channel": (
        lambda x, g, b: R.nn.relu(group_norm(x, g, b)),
        [f32("n", CHANNELS, 1, 1), *BY_CHANNEL],
        1,
    ),
    "group norm, channels last": (
        lambda x, g, b: R.nn.relu(R.nn.group_norm(x, g, b, 3, 3, [1, 2])),
        [f32("n", "m", "k", CHANNELS), *BY_CHANNEL],
        1,
    ),
    "group norm over axes that its kernel does not take": (
        lambda x, g, b: R.nn.relu(R.nn.group_norm(x, g, b, 3, 2, [1, 3])),
        [f32("n", "m", CHANNELS, "k"), *BY_CHANNEL],
        1,
    ),
    "group norm of vectors": (
        lambda x, g, b: R.nn.relu(R.nn.group_norm(x, g, b, 3, 1, [])),
        [f32("n", CHANNELS), *BY_CHANNEL],
        2,
    ),
    "another dtype": (lambda x: R.astype(R.nn.softmax(x), "float16"), [f32("n", "k")], 2),
    "another shape": (lambda x, y: R.add(R.nn.softmax(x), y), [f32("n", "k"), f32("m", "n", "k")], 2),
    "turned": (lambda x, y: R.add(R.permute_dims(R.nn.softmax(x)), y), [f32("n", "k"), f32("k", "n")], 2),
    "as it is, and turned": (
        lambda x: (lambda y: R.add(R.permute_dims(y), y))(R.nn.softmax(x)),
        [f32("k", "k")],
        2,
    ),
    "two users": (
        lambda x: (lambda y: R.add(R.exp(y), R.sum(y, axis=[-1], keepdims=True)))(R.nn.softmax(x)),
        [f32("n", "k")],
        3,
    ),
    "a product, which has its own": (
        lambda x, w, y: R.add(R.matmul(x, w), R.nn.softmax(y)),
        [f32("n", 3), f32(3, "k"), f32("n", "k")],
        2,
    ),
    "rows of nothing": (lambda x: R.add(R.nn.softmax(R.negative(x)), R.const(np.float32(1))), [f32(3, 0)], 1),
    "no rows": (lambda x: R.add(R.nn.log_softmax(R.negative(x)), R.const(np.float32(1))), [f32(0, 3)], 1),
    "rows that do not lie together": (lambda x: R.nn.relu(R.nn.softmax(x, axis=0)), [f32("n", "k")], 2),
}

CASES = {f"before: {name}": case for name, case in PROLOGUES.items()} | {
    f"after: {name}": case for name, case in EPILOGUES.items()
}
BOTH = ("before: scale and mask", "after: activation and residual")
"""Cases that run on one and on two threads; the others alternate."""


def test_what_becomes_one() -> None:
    check_calls(CASES)


def names_of(threads: int) -> list[str]:
    names = sweep.turn(threads, THREADS, list(CASES))
    return [name for name in CASES if name in names or name in BOTH]


@functools.cache
def executable(threads: int) -> rx.Executable:
    return rx.build(module_of({name: CASES[name] for name in names_of(threads)}), f"cpu -num-threads={threads}")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("threads", "name"), [(threads, name) for threads in THREADS for name in names_of(threads)])
def test_values(threads: int, name: str) -> None:
    check_values({n: CASES[n] for n in names_of(threads)}, name, executable(threads))


@pytest.mark.parametrize("threads", THREADS)
def test_masks_of_infinity(threads: int) -> None:
    x = np.ones((2, 1, 2, 9), np.float32)
    mask = np.zeros((2, 1, 1, 9), np.float32)
    mask[0, ..., 3:] = -np.inf
    mask[1] = -np.inf
    result = np.from_dlpack(executable(threads)[f"case{names_of(threads).index(BOTH[0])}"](x, mask))
    np.testing.assert_allclose(result[0], np.broadcast_to(np.exp(mask[0]) / 3, (1, 2, 9)), rtol=1e-6)
    assert np.isnan(result[1]).all()


@pytest.mark.parametrize("threads", THREADS)
def test_nan_and_infinity(threads: int) -> None:
    x = np.ones((3, 1, 9), np.float32)
    x[0, 0, 3], x[1, 0, 4] = np.nan, np.inf
    one, zero = np.ones(9, np.float32), np.zeros(9, np.float32)
    result = np.from_dlpack(executable(threads)[f"case{names_of(threads).index(BOTH[1])}"](x, one, zero))
    assert np.isnan(result[:2]).all()
    np.testing.assert_array_equal(result[2], x[2])
