"""Losses against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import FLOATS, Array, Suite, numbers
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from torch.nn import functional as F


def cross_entropy(x: Array, labels: Array) -> Array:
    total = np.asarray(-(x * labels).sum())
    return total / x.shape[0] if x.ndim > 1 else total


def test_cross_entropy() -> None:
    suite = Suite()
    for dtype in FLOATS:
        for shape in (("n", "m"), ("n",), ("n", 3, "m"), ()):
            suite.add(
                dtype,
                R.nn.cross_entropy_with_logits,
                cross_entropy,
                [Tensor(shape, dtype)] * 2,
                draw=numbers(-1, 1),
            )
    suite.run()


def nll(reduction: str, ignored: int = -100) -> Callable[..., Array]:
    def compute(x: Array, targets: Array, weights: Array | None = None) -> Array:
        tensors = torch.tensor(x), torch.tensor(targets.astype(np.int64))
        factors = None if weights is None else torch.tensor(weights)
        return np.asarray(F.nll_loss(*tensors, factors, reduction=reduction, ignore_index=ignored).numpy())

    return compute


@pytest.mark.parametrize("dtype", FLOATS)
def test_nll_loss(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    draws = [numbers(), numbers(0, 4), numbers(0.1, 2)]
    sizes = ({"n": 1, "m": 1}, {"n": 3, "m": 17}, {"n": 33, "m": 2})
    empty = ({"n": 5, "m": 0}, {"n": 0, "m": 3})
    reductions, kinds = ("none", "sum", "mean"), ("int32", "int64", "uint8")
    pairs = sweep.product(reductions, kinds)
    for reduction in reductions:
        more = () if reduction == "mean" else empty
        for kind in [kind for first, kind in pairs if first == reduction]:
            suite.add(
                reduction,
                lambda x, t, w, r=reduction: R.nn.nll_loss(x, t, w, r),
                nll(reduction),
                [Tensor(("n", 5, "m"), dtype), Tensor(("n", "m"), kind), Tensor((5,), dtype)],
                draw=draws,
                sizes=(*sizes, *more),
            )
        suite.add(
            reduction,
            lambda x, t, r=reduction: R.nn.nll_loss(x, t, None, r, 2),
            nll(reduction, 2),
            [Tensor(("n", 5), dtype), Tensor(("n",), "int64")],
            draw=draws[:2],
            sizes=sizes[1:],
        )
        suite.add(
            reduction,
            lambda x, t, w, r=reduction: R.nn.nll_loss(x, t, w, r),
            nll(reduction),
            [Tensor((5,), dtype), Tensor((), "int64"), Tensor((5,), dtype)],
            draw=draws,
        )
    suite.run(test_nll_loss)


def test_ignored_targets_and_targets_that_are_no_class() -> None:
    bb = rx.BlockBuilder()
    x, t = rx.Var("x", Tensor(("n", 3), "float32")), rx.Var("t", Tensor(("n",), "int64"))
    with bb.function("main", [x, t]):
        bb.emit_func_output(R.make_tuple(R.nn.nll_loss(x, t), R.nn.nll_loss(x, t, reduction="sum")))
    main = rx.build(bb.get())["main"]
    x = np.ones((2, 3), np.float32)
    mean, total = (to_numpy(r) for r in main(x, np.array([-100, -100])))
    assert np.isnan(mean) and total == 0
    for wrong in (3, -1):
        with pytest.raises(BoundsError, match=f"nn_nll_loss.*index {wrong} is out of range"):
            main(x, np.array([0, wrong]))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, t, w: R.nn.nll_loss(x, t, w, "max"), ArgumentError, "reduction is 'max'"),
        (lambda x, t, w: R.nn.nll_loss(x, x, w), DTypeError, "operand 'targets' has dtype float32"),
        (lambda x, t, w: R.nn.nll_loss(x, t, t), DTypeError, "operand 'weights' has dtype int64"),
        (
            lambda x, t, w: R.nn.nll_loss(x, R.ones((4,), "int8"), w),
            ShapeError,
            r"has shape \(4,\), expected \(n,\)",
        ),
        (lambda x, t, w: R.nn.nll_loss(x, t, R.ones((4,))), ShapeError, r"has shape \(4,\), expected \(3,\)"),
        (lambda x, t, w: R.nn.nll_loss(R.sum(x), t, w), ShapeError, "expected the classes"),
        (lambda x, t, w: R.nn.cross_entropy_with_logits(x, w), ShapeError, r"'labels' has shape \(3,\)"),
        (lambda x, t, w: R.nn.cross_entropy_with_logits(t, t), DTypeError, "expected a float"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    infos = (Tensor(("n", 3), "float32"), Tensor(("n",), "int64"), Tensor((3,), "float32"))
    params = [rx.Var(name, info) for name, info in zip("xtw", infos, strict=True)]
    with pytest.raises(error, match=message), bb.function("main", params):
        bb.emit_func_output(build(*params))
