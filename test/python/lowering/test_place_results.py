"""Results computed in their destinations, also if they depend on each other."""

from __future__ import annotations

import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor


def test_results_made_from_each_other() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor((2, 2), "float32"))
    with bb.function("main", [x]):
        first = R.strided_slice(x, [0], [1], [-100], [-1])
        first = R.nn.softmax(first)
        second = R.permute_dims(first)
        bb.emit_func_output((second, first, R.matmul(second, first), first))
    data = np.array([[1, 2], [3, 5]], np.float32)
    assert len(rx.build(bb.get())["main"](data)) == 4


def test_two_results_of_one_call() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 2), "float32"))
    with bb.function("two", [x]):
        y = R.exp(x)
        bb.emit_func_output((R.permute_dims(y), y))
    z = rx.Var("x", Tensor(("n", 2), "float32"))
    with bb.function("main", [z]):
        both = bb.call("two", z)
        bb.emit_func_output((both[1], both[0]))
    data = np.array([[1, 2], [3, 5], [0, 1]], np.float32)
    first, second = rx.build(bb.get())["main"](data)
    np.testing.assert_allclose(np.from_dlpack(first), np.exp(data), rtol=1e-6)
    np.testing.assert_allclose(np.from_dlpack(second), np.exp(data).T, rtol=1e-6)
