"""The tiled schedule: correct for computations of all kinds, with all knob values, at sizes of all kinds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import te, topi, tuning
from relax_mlir.dialects.prim_funcs import is_sealed
from relax_mlir.error import ArgumentError
from relax_mlir.tuning import Task, create_task, tiled_schedule

Array = np.ndarray[Any, Any]
N, H, W, K = (te.var(name) for name in "nhwk")


def task_of(name: str, args: Sequence[te.Tensor]) -> Task:
    return create_task(tiled_schedule, args, name)


def grouped() -> Task:
    x, k = te.placeholder((N, 4, H, W), name="x"), te.placeholder((6, 2, 3, 3), name="k")
    return task_of("grouped", [x, k, topi.nn.group_conv2d_nchw(x, k, 2, 1, 1, 2)])


def depthwise() -> Task:
    x, k = te.placeholder((N, 3, H, W), name="x"), te.placeholder((3, 1, 3, 3), name="k")
    return task_of("depthwise", [x, k, topi.nn.relu(topi.nn.depthwise_conv2d_nchw(x, k, 1, 1, 1))])


def pooled() -> Task:
    x = te.placeholder((N, 2, 5, H, W), name="x")
    return task_of("pooled", [x, topi.nn.pool3d(x, (3, 3, 3), (2, 1, 1), (1, 1, 1), (1,) * 6, "avg")])


def contracted() -> Task:
    a, b = te.placeholder((N, H, 5), name="a"), te.placeholder((5, H, W), name="b")
    return task_of("contracted", [a, b, topi.einsum("nhc,chw->nw", a, b)])


def product() -> Task:
    a, b = te.placeholder((N, K), name="a"), te.placeholder((K, W), name="b")
    bias = te.placeholder((W,), name="bias")
    k = te.reduce_axis((0, K), "k")
    c = te.compute((N, W), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    scaled = te.compute((W,), lambda j: bias[j] * 2.0, "scaled")
    return task_of("product", [a, b, bias, te.compute((N, W), lambda i, j: c[i, j] + scaled[j], "d")])


def sums() -> Task:
    x = te.placeholder((N, W), name="x")
    k = te.reduce_axis((0, N), "k")
    return task_of("sums", [x, te.compute((W,), lambda j: te.sum(x[k, j] * 0.5, axis=k), "y")])


def elementwise() -> Task:
    x = te.placeholder((N, H, W), name="x")
    double = te.compute((N, H, W), lambda i, j, k: x[i, j, k] * 2.0, "double")
    return task_of("elementwise", [x, te.compute((N, H, W), lambda i, j, k: double[i, j, k] + 1.0, "y")])


TASKS = {f.__name__: f for f in (grouped, depthwise, pooled, contracted, product, sums, elementwise)}
CASES = [
    {"n": 1, "h": 7, "w": 19, "k": 5},
    {"n": 3, "h": 4, "w": 33, "k": 1},
    {"n": 2, "h": 9, "w": 1, "k": 8},
    {"n": 0, "h": 3, "w": 4, "k": 3},
    {"n": 5, "h": 1, "w": 64, "k": 0},
]
"""Sizes around tiles, 1 and 0."""


def chosen(space: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Configurations that cover each value of each knob, and the default values."""
    rng, found = random.Random(1), [{name: values[0] for name, values in space.items()}]
    for name, values in space.items():
        found += [{**{n: rng.choice(c) for n, c in space.items()}, name: value} for value in values[1:]]
    return found[:count]


@pytest.mark.parametrize("name", sweep.quick(TASKS, "product"))
def test_it_computes_the_same(name: str) -> None:
    task = TASKS[name]()
    space = task.space()
    assert {"columns"} <= set(space) and (len(task.outputs[0].shape) == 1) == ("rows" not in space)
    texts = [task.plain(), *(task.scheduled(values) for values in chosen(space, 5))]
    module = rx.IRModule()
    for number, text in enumerate(texts):
        module.update({f"main{number}": rx.IRModule.parse(text)["main"]})
    assert all(is_sealed(module[f"main{number}"]) for number in range(1, len(texts)))
    executable = rx.build(module, cache=False)
    functions = [executable[f"main{number}"] for number in range(len(texts))]
    for case in CASES:
        sizes = {symbol: case[symbol] for symbol in task.symbols}
        arguments = task.arguments(sizes)
        rng = np.random.default_rng(0)
        inputs = [rng.standard_normal(a.shape, "f4") for a in arguments if not a.is_output]
        results = []
        for function in functions:
            out = np.full(arguments[-1].shape, np.nan, "f4")
            function(*inputs, out, *task.integers(sizes))
            results.append(out)
        reference = oracle(name, inputs)
        for result in results:
            np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5, err_msg=str(case))


def oracle(name: str, inputs: Sequence[Array]) -> Array:
    import torch  # the oracle; most tests do not need it

    functional = torch.nn.functional
    given = [torch.from_numpy(array) for array in inputs]
    if name in ("grouped", "depthwise", "pooled") and 0 in given[0].shape:
        shape = {"grouped": (0, 6), "depthwise": (0, 3), "pooled": (0, 2)}[name]
        rest = {"grouped": (2, 2), "depthwise": (3, 4), "pooled": (3, 3, 4)}[name]
        return np.zeros((*shape, *rest), "f4")
    if name == "grouped":
        found = functional.conv2d(*given, stride=2, padding=1, groups=2)
    elif name == "depthwise":
        found = functional.conv2d(*given, padding=1, groups=3).relu()
    elif name == "pooled":
        found = functional.avg_pool3d(functional.pad(given[0], (1,) * 6), 3, (2, 1, 1))
    elif name == "contracted":
        found = torch.einsum("nhc,chw->nw", *given)
    elif name == "product":
        found = given[0] @ given[1] + 2 * given[2]
    elif name == "sums":
        found = 0.5 * given[0].sum(0)
    else:
        found = 2 * given[0] + 1
    return found.numpy()  # type: ignore[no-any-return]  # torch has no types here


def test_in_a_strategy() -> None:
    """`docs/tuning.md` shows it: a task of a module."""
    from relax_mlir import op as R
    from relax_mlir.strategy import OpStrategy, temporary_strategy

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        made.add_implementation(
            lambda attrs, inputs, out: topi.exp(inputs[0]),
            lambda attrs, outs, target: tiled_schedule(outs),
            name="tiled",
            plevel=99,
        )
        return made

    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "m")))
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(x))
    with temporary_strategy("exp", strategy):
        (task,) = tuning.extract_tasks(bb.get())
    assert set(task.space()) == {"columns", "rows_axis", "rows", "order"}


def test_what_it_does_not_take() -> None:
    x = te.placeholder((N, W), name="x")
    y, z = te.compute((N, W), lambda i, j: (x[i, j] + 1.0, x[i, j] - 1.0), "both")
    with pytest.raises(ArgumentError, match="takes one computed tensor: schedule several outputs by hand"):
        tiled_schedule([y, z])
    with pytest.raises(ArgumentError, match="takes one computed tensor"):
        tiled_schedule([x])
    with pytest.raises(ArgumentError, match=r"a list of computed te\.Tensors"):
        tiled_schedule(y)  # type: ignore[arg-type]  # tested here
    k, m = te.reduce_axis((0, N), "k"), te.reduce_axis((0, W), "m")
    total = te.compute((), lambda: te.sum(x[k, m], axis=[k, m]), "total")
    with pytest.raises(ArgumentError, match="'total' has no axes"):
        tiled_schedule([total])
