"""Summaries of modules against what torch counts, and against the programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from relax_mlir import op as R
from relax_mlir.error import UnknownNameError
from torch.utils.flop_counter import FlopCounterMode


def perceptron() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 7), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            hidden = R.nn.relu(R.matmul(x, bb.const(np.ones((7, 5), "float32"))))
            y = bb.emit_output(R.matmul(hidden, bb.const(np.ones((5, 3), "float32"), name="out_weight")))
        bb.emit_func_output(y)
    square = rx.Var("x", rx.Tensor(("m", "m"), "float64"))
    with bb.function("other", [square]):
        bb.emit_func_output(R.sum(square))
    return bb.get()


def test_a_perceptron() -> None:
    summary = perceptron().summary()
    main = summary["main"]
    assert main.signature == '(x: Tensor((n, 7), "float32")) -> Tensor((n, 3), "float32")'
    assert main.symbols == (("n", 0, None),)
    assert main.weights == (2, 50, 200)
    assert [(weight.name, weight.size) for weight in main.largest] == [("", 140), ("out_weight", 60)]
    assert [(count.op, count.calls, str(count.multiply_adds)) for count in main.ops] == [
        ("relax.matmul", 2, "50*n"),
        ("relax.nn_relu", 1, "0"),
    ]
    assert str(main.flops) == "100*n"
    assert not isinstance(main.memory, str) and main.memory.at(n=4)["peak"] >= 4 * 5 * 4
    assert [each.name for each in summary.functions] == ["main", "other"]
    assert summary["other"].weights == (0, 0, 0) and summary["other"].flops == 0
    text = str(summary)
    assert "FLOPs    100*n" in text and "weights  2 tensors, 50 elements, 200 bytes" in text
    assert "largest  out_weight (60 bytes)" in text
    assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(UnknownNameError, match="mian"):
        summary["mian"]


def scores(q: Any, k: Any) -> Any:
    return torch.softmax(q.transpose(1, 2) @ k.permute(0, 2, 3, 1), -1)


def convolved(x: Any, w: Any) -> Any:
    return torch.nn.functional.conv2d(x, w, stride=2, padding=1, groups=2)


@pytest.mark.parametrize(
    ("build", "reference", "shapes", "dynamic"),
    [
        (R.matmul, torch.matmul, [(2, 3, 4), (4, 5)], [("b", "n", 4), (4, 5)]),
        (
            lambda x, w: R.nn.conv2d(x, w, 2, 1, groups=2),
            convolved,
            [(3, 4, 9, 8), (6, 2, 3, 3)],
            [("b", 4, "h", "w"), (6, 2, 3, 3)],
        ),
        (
            R.nn.attention,
            lambda q, k, v: scores(q, k) @ v.transpose(1, 2),
            [(2, 5, 3, 4), (2, 6, 3, 4), (2, 6, 3, 4)],
            [("b", "s", 3, 4), ("b", "t", 3, 4), ("b", "t", 3, 4)],
        ),
    ],
)
def test_what_torch_counts(build: Any, reference: Any, shapes: list[Any], dynamic: list[Any]) -> None:
    bb = rx.BlockBuilder()
    params = [rx.Var(f"x{i}", rx.Tensor(shape, "float32")) for i, shape in enumerate(dynamic)]
    with bb.function("main", params):
        bb.emit_func_output(build(*params))
    flops = bb.get().summary(memory=False)["main"].flops
    sizes = {
        name: size
        for symbols, shape in zip(dynamic, shapes, strict=True)
        for name, size in zip(symbols, shape, strict=True)
        if isinstance(name, str)
    }
    with FlopCounterMode(display=False) as counter:
        reference(*(torch.zeros(shape) for shape in shapes))
    assert flops is not None and not isinstance(flops, int)
    assert rx.symbolic.evaluate(flops, sizes) == counter.get_total_flops()


def test_unknown_sizes_and_memory_that_was_not_asked_for() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(ndim=2, dtype="float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.matmul(x, x))
    main = bb.get().summary(memory=False)["main"]
    assert main.flops is None and main.memory == "not asked for"
    assert "FLOPs    not known" in str(main) and "memory   not known: not asked for" in str(main)


def test_bounds_are_shown() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x], bounds={"n": (0, 16)}):
        bb.emit_func_output(R.exp(x))
    assert "dynamic  n in 0 to 16" in str(bb.get().summary())
