"""Fusion of prim funcs that only copy elements: slices before kernels over rows, broadcasts to the same shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.runtime import to_numpy

X = rx.Tensor(("n", "m"), "float32")
PAIRS = rx.Tensor((4, 8, 2), "float32")


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x.astype(np.float64))
    return powers / powers.sum(-1, keepdims=True)


def rms_norm(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def first_of_pairs(x: Any) -> Any:
    part = R.strided_slice(R.reshape(x, (4, 8, 2, 1)), [2], [0], [1])
    return R.nn.rms_norm(part, R.const(np.ones(1, "float32")))


def swapped(x: Any) -> Any:
    halves = [R.strided_slice(x, [2], [i], [i + 1]) for i in range(2)]
    return R.broadcast_to(x + R.concat([R.exp(halves[1]), halves[0]], 2), (4, 8, 2))


CASES: dict[str, tuple[rx.Tensor, Any, Any]] = {
    "slice": (X, lambda x: R.nn.softmax(R.strided_slice(x, [1], [1], [4])), lambda x: softmax(x[:, 1:4])),
    "steps": (X, lambda x: R.nn.softmax(R.strided_slice(x, [0], [1], [99], [2])), lambda x: softmax(x[1::2])),
    "same": (X, lambda x: R.nn.softmax(R.broadcast_to(x, ("n", "m"))), softmax),
    "turned": (X, lambda x: R.nn.softmax(R.permute_dims(x, [1, 0])), lambda x: softmax(x.T)),
    "joined": (X, lambda x: R.nn.softmax(R.concat([x, x], 1)), lambda x: softmax(np.concatenate([x, x], 1))),
    "pairs": (PAIRS, first_of_pairs, lambda x: rms_norm(x[..., :1, None])),
    "swapped": (PAIRS, swapped, lambda x: x + np.stack([np.exp(x[..., 1]), x[..., 0]], -1)),
}


@pytest.fixture(scope="module")
def compiled() -> Any:
    bb = rx.BlockBuilder()
    for name, (info, body, _) in CASES.items():
        x = rx.Var("x", info)
        with bb.function(name, [x]):
            bb.emit_func_output(body(x))
    return rx.build(bb.get())


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, compiled: Any) -> None:
    info, _, reference = CASES[name]
    for n, m in ((1, 1), (3, 5), (17, 40)):
        shape = info.shape if info is PAIRS else (n, m)
        x = np.random.default_rng(n).normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(to_numpy(compiled[name](x)), reference(x), rtol=1e-5, atol=1e-6)
