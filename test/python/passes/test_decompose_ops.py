"""The result of ``decompose-ops`` computes the same as the op, edge cases included."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.passes.decompose_ops import RULES, DecomposeOps
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
M = ("n", 3, 4)

CASES: list[tuple[str, Callable[..., rx.Value], list[tuple[Any, ...]]]] = [
    ("nn_gelu", R.nn.gelu, [M]),
    ("nn_gelu_tanh", R.nn.gelu_tanh, [M]),
    ("nn_silu", R.nn.silu, [M]),
    ("nn_relu", R.nn.relu, [M]),
    ("sigmoid", R.sigmoid, [M]),
    ("square", R.square, [M]),
    ("rsqrt", lambda x: R.rsqrt(R.abs(x) + 0.5), [M]),
    ("nn_softmax", R.nn.softmax, [M]),
    ("nn_softmax", lambda x: R.nn.softmax(x, axis=1), [M]),
    ("nn_log_softmax", lambda x: R.nn.log_softmax(x, axis=-2), [M]),
    ("nn_layer_norm", R.nn.layer_norm, [M, (4,), (4,)]),
    ("nn_layer_norm", lambda x, g, b: R.nn.layer_norm(x, g, b, axes=[-1, 1]), [M, (4, 3), (4, 3)]),
    ("nn_layer_norm", lambda x, g, b: R.nn.layer_norm(x, g, b, axes=1, center=False), [M, (3,), (3,)]),
    ("nn_layer_norm", lambda x, g, b: R.nn.layer_norm(x, g, b, axes=[0, 2]), [(5, 3, 4), (5, 4), (5, 4)]),
    ("nn_group_norm", lambda x, g, b: R.nn.group_norm(x, g, b, 2, 2, [1]), [M, (4,), (4,)]),
    ("nn_group_norm", lambda x, g, b: R.nn.group_norm(x, g, b, 3, -2, 2, center=False), [M, (3,), (3,)]),
    ("nn_instance_norm", lambda x, g, b: R.nn.instance_norm(x, g, b, -1, [1], scale=False), [M, (4,), (4,)]),
    ("nn_rms_norm", lambda x, w: R.nn.rms_norm(x, w, axes=[1, 2], epsilon=0.1), [M, (3, 4)]),
    ("variance", lambda x: R.variance(x, axis=[0, 2]), [M]),
    ("variance", R.variance, [M]),
    ("std", lambda x: R.std(x, axis=1, keepdims=True), [M]),
    ("nn_attention", R.nn.attention, [("b", "s", 2, 4), ("b", "t", 2, 4), ("b", "t", 2, 3)]),
    ("nn_attention", R.nn.attention, [("b", "s", 6, 4), ("b", "t", 2, 4), ("b", "t", 2, 3)]),
    (
        "nn_attention",
        lambda q, k, v: R.nn.attention(q, k, v, scale=0.3, causal_mask="TopLeft"),
        [("b", "s", 2, 4), ("b", "t", 2, 4), ("b", "t", 2, 3)],
    ),
    (
        "nn_attention_bias",
        lambda q, k, v, b: R.nn.attention(q, k, v, b, causal_mask="BottomRight"),
        [("b", "s", 2, 4), ("b", "t", 2, 4), ("b", "t", 2, 3), ("s", "t")],
    ),
]
SIZES = ({"n": 2, "b": 2, "s": 3, "t": 5}, {"n": 1, "b": 1, "s": 1, "t": 1})


def tried(dtype: str) -> list[int]:
    """The indices of the cases: all in float32; in a partial sweep, one of every second op in float16."""
    numbers = range(len(CASES))
    if dtype == "float32":
        return [*numbers]
    return [*sweep.every(sweep.part(numbers, lambda number: CASES[number][0]), 2)]


def every_case(dtype: str) -> rx.IRModule:
    """A function per case, named by its index."""
    bb = rx.BlockBuilder()
    for number in tried(dtype):
        _, function, shapes = CASES[number]
        add(bb, f"case{number}", function, shapes, dtype)
    return bb.get()


@functools.cache
def compiled(dtype: str) -> tuple[rx.Executable, rx.Executable]:
    """The original cases, and the decomposed ones."""
    decomposed = every_case(dtype)
    decomposed.apply_(DecomposeOps())
    assert not any(f'"relax.{name}"' in str(decomposed) for name in RULES)
    return rx.build(every_case(dtype)), rx.build(decomposed)


def build(function: Callable[..., rx.Value], shapes: list[tuple[Any, ...]], dtype: str) -> rx.IRModule:
    bb = rx.BlockBuilder()
    add(bb, "main", function, shapes, dtype)
    return bb.get()


def add(
    bb: rx.BlockBuilder,
    name: str,
    function: Callable[..., rx.Value],
    shapes: list[tuple[Any, ...]],
    dtype: str,
) -> None:
    params = [rx.Var(f"p{i}", rx.Tensor(shape, dtype)) for i, shape in enumerate(shapes)]
    with bb.function(name, params):
        with bb.dataflow():
            out = bb.emit_output(function(*params))
        bb.emit_func_output(out)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        *(("float32", number) for number in tried("float32")),
        *(pytest.param("float16", number, marks=pytest.mark.slow) for number in tried("float16")),
    ],
)
def test_equal_within_rounding(dtype: str, number: int) -> None:
    op, function, shapes = CASES[number]
    assert f'"relax.{op}"' in str(build(function, shapes, dtype))
    before, after = (executable[f"case{number}"] for executable in compiled(dtype))
    for sizes in SIZES:
        rng = np.random.default_rng(5)
        concrete = [tuple(sizes.get(dim, dim) for dim in shape) for shape in shapes]
        arrays = [np.asarray(rng.standard_normal(shape), dtype) for shape in concrete]
        expected, found = to_numpy(before(*arrays)), to_numpy(after(*arrays))
        assert found.dtype == expected.dtype
        tolerance = 1e-5 if dtype == "float32" else 2e-3
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["nn_gelu", "nn_silu", "nn_relu", "sigmoid"])
def test_special_values(name: str) -> None:
    function = getattr(R.nn, name.removeprefix("nn_"), None) or getattr(R, name)
    values = np.array([0.0, -0.0, np.nan, np.inf, -80.0, 80.0, 1e-30], "f4")
    module, decomposed = build(function, [(7,)], "float32"), build(function, [(7,)], "float32")
    decomposed.apply_(DecomposeOps())
    expected, found = (to_numpy(rx.build(m)["main"](values)) for m in (module, decomposed))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-30)


def test_no_elements() -> None:
    module = build(R.nn.softmax, [("n", 0)], "float32")
    module.apply_(DecomposeOps())
    assert '"relax.nn_softmax"' in str(module)
    assert to_numpy(rx.build(module)["main"](np.zeros((2, 0), "f4"))).shape == (2, 0)
