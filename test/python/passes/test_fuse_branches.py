"""Loops around schedules, and around branches on sizes: each code path that fuses them equals torch and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.runtime import to_numpy
from relax_mlir.strategy import OpStrategy, SpecializedCondition, temporary_strategy
from relax_mlir.transform.fusion_report import explain_fusion

SIZES = ((1, 16, 16), (2, 5, 7), (0, 3, 3), (1, 1, 1), (2, 9, 33))
functional: Any = torch.nn.functional


def numbers(rng: np.random.Generator, *shape: int) -> Any:
    return rng.uniform(-1, 1, shape).astype("f4")


def images(kind: str) -> tuple[rx.IRModule, Callable[..., Any]]:
    """A convolution or a pooling with loops around it, of parameters x, w, b, r, and the same by torch."""
    groups, outputs = {"depthwise": (8, 8), "grouped": (2, 12), "dense": (1, 6), "matrices": (1, 6)}.get(kind, (1, 8))
    size = 1 if kind == "matrices" else 3
    x = rx.Var("x", rx.Tensor(("n", 8, "h", "w")))
    w = rx.Var("w", rx.Tensor((outputs, 8 // groups, size, size)))
    b, r = rx.Var("b", rx.Tensor((outputs, 1, 1))), rx.Var("r", rx.Tensor(("n", outputs, "h", "w")))
    bb = rx.BlockBuilder()
    with bb.function("main", [x, w, b, r]):
        before = bb.emit(R.nn.relu(x))
        if kind in ("max", "avg"):
            made = getattr(R.nn, f"{kind}_pool2d")(before, (3, 3), padding=(1, 1))
        else:
            made = R.nn.conv2d(before, w, padding=(size // 2, size // 2), groups=groups)
        made = bb.emit(made)
        total = bb.emit(R.add(R.add(made, b), r))
        squared = bb.emit(R.multiply(total, total))
        bb.emit_func_output(R.astype(R.nn.silu(squared), "float16"))

    def expected(x: Any, w: Any, b: Any, r: Any) -> Any:
        before = functional.relu(x)
        if kind == "max":
            made = functional.max_pool2d(before, 3, 1, 1)
        elif kind == "avg":
            made = functional.avg_pool2d(before, 3, 1, 1, count_include_pad=False)
        else:
            made = functional.conv2d(before, w, None, 1, size // 2, 1, groups)
        return functional.silu((made + b + r) ** 2).half()

    return bb.get(), expected


FUSED = {
    "depthwise": {"conv2d"},
    "grouped": {"nn_conv2d_grouped_direct"},
    "dense": {"conv2d"},
    "matrices": set[str](),
    "max": {"max_pool2d"},
    "avg": {"avg_pool2d", "avg_pool2d_mean"},
}
"""The prim funcs that fuse the loops after them.

Permuted copies fuse none with exponentials; a reshape separates a matmul from loops."""


@pytest.mark.parametrize("kind", sweep.quick(FUSED, "depthwise", "matrices", "max"))
def test_loops_behind_convolutions_and_poolings(kind: str) -> None:
    """Natively, and every second, in part, as bytecode."""
    module, expected = images(kind)
    with explain_fusion() as report:
        native = rx.build(module, cache=False)
    taken = {decision.producer for decision in report.decisions if decision.fused}
    assert FUSED[kind] <= taken, report.render(100)
    rng = np.random.default_rng(3)
    outputs = {"grouped": 12, "dense": 6, "matrices": 6}.get(kind, 8)
    groups = {"depthwise": 8, "grouped": 2}.get(kind, 1)
    size = 1 if kind == "matrices" else 3
    as_bytecode = [rx.build(module, exec_mode="bytecode")] if kind in sweep.every([*FUSED], 2) else []
    for executable in (native, *as_bytecode):
        main = executable["main"]
        for n, h, w in SIZES:
            given = (
                numbers(rng, n, 8, h, w),
                numbers(rng, outputs, 8 // groups, size, size),
                numbers(rng, outputs, 1, 1),
                numbers(rng, n, outputs, h, w),
            )
            want = expected(*map(torch.tensor, given)).numpy()
            np.testing.assert_allclose(to_numpy(main(*given)), want, rtol=4e-3, atol=4e-3)


def rows(attrs: Any, inputs: list[te.Tensor], out_type: Any, target: Any) -> OpStrategy:
    """Products of few rows, and of a hundred or more, by schedules; the first one is twice the product."""
    strategy = OpStrategy()

    def product(times: int) -> Callable[..., te.Tensor]:
        def compute(attrs: Any, inputs: list[te.Tensor], out: Any) -> Any:
            a, b = inputs
            k = te.reduce_axis((0, a.shape[1]), "k")
            return te.compute(
                (a.shape[0], b.shape[1]),
                lambda i, j: te.sum(a[i, k] * b[k, j] * te.const(times, a.dtype), axis=k),
                "C",
            )

        return compute

    def schedule(attrs: Any, outs: list[te.Tensor], target: Any) -> te.Schedule:
        (c,) = outs
        s = te.create_schedule(c.op)
        local = s.cache_write(c, "local")
        outer, inner = s[c].split(c.op.axis[1], factor=16)
        s[c].vectorize(inner)
        s[local].compute_at(s[c], outer)
        return s

    with SpecializedCondition(inputs[0].shape[0] <= 4):
        strategy.add_implementation(product(2), schedule, "few rows", 30)
    with SpecializedCondition(inputs[0].shape[0] >= 100):
        strategy.add_implementation(product(1), name="many rows", plevel=25)
    return strategy


def test_every_way_of_a_branch_takes_the_loops_around_it() -> None:
    bb = rx.BlockBuilder()
    x, y, z = (rx.Var(name, rx.Tensor(tuple(shape))) for name, shape in (("x", "nk"), ("y", "km"), ("z", "m")))
    with bb.function("main", [x, y, z]):
        before = bb.emit(R.exp(x))
        made = bb.emit(R.matmul(before, y))
        bb.emit_func_output(R.nn.relu(R.add(made, z)))
    module = bb.get()
    rng = np.random.default_rng(4)
    with temporary_strategy("relax.matmul", rows), explain_fusion() as report:
        built = [rx.build(module, exec_mode=mode) for mode in ("native", "bytecode")]
    fused = {decision.producer for decision in report.decisions if decision.fused}
    assert {"matmul_few_rows", "matmul"} <= fused, report.render(100)
    for executable in built:
        for n, k, m in ((0, 3, 5), (1, 0, 4), (4, 7, 33), (5, 7, 33), (99, 3, 2), (100, 4, 17)):
            a, b, c = numbers(rng, n, k), numbers(rng, k, m), numbers(rng, m)
            want = np.maximum((2 if n <= 4 else 1) * (np.exp(a) @ b) + c, 0)
            np.testing.assert_allclose(to_numpy(executable["main"](a, b, c)), want, rtol=1e-4, atol=1e-5)


def test_places_and_scalars_in_what_is_done_where_elements_are_stored() -> None:
    """The indices of loops, the sizes and the scalars of the call are those of the fused loop."""
    bb = rx.BlockBuilder()
    x, w = rx.Var("x", rx.Tensor(("n", 4, "h", "w"))), rx.Var("w", rx.Tensor((4, 1, 3, 3)))
    with bb.function("main", [x, w]):
        made = bb.emit(R.nn.conv2d(x, w, padding=(1, 1), groups=4))
        bb.emit_func_output(R.add(R.triu(made), R.const(np.float32(2.5))))
    module = bb.get()
    rng = np.random.default_rng(5)
    main = rx.build(module)["main"]
    for n, h, w_ in SIZES:
        data, weight = numbers(rng, n, 4, h, w_), numbers(rng, 4, 1, 3, 3)
        want = functional.conv2d(torch.tensor(data), torch.tensor(weight), None, 1, 1, 1, 4).triu() + 2.5
        np.testing.assert_allclose(to_numpy(main(data, weight)), want.numpy(), rtol=1e-5, atol=1e-5)
