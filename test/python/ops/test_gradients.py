"""Gradients against torch's; annotations that change nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import ALL, FLOATS, TOLERANCE, Array, Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, BoundsError, DTypeError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse
from torch.nn import functional as F

Case = TypeVar("Case")


def gradient(function: Callable[..., Any], x: Array, grad: Array | None = None) -> Array:
    """torch's gradient of `x`, in float64."""
    given = torch.tensor(x.astype(np.float64), requires_grad=True)
    result = function(given)
    result.backward(torch.ones_like(result) if grad is None else torch.tensor(grad.astype(np.float64)))
    assert given.grad is not None
    return np.asarray(given.grad.numpy())


def close(found: Any, want: Array, dtype: str, what: object) -> None:
    have = to_numpy(found)
    assert (have.dtype, have.shape) == (dtypes.dtype(dtype).numpy, want.shape), what
    tolerance = TOLERANCE[dtype] * 3
    np.testing.assert_allclose(have.astype(np.float64), want, tolerance, tolerance, err_msg=str(what))


def of_dtype(dtype: str, cases: Sequence[Case]) -> Sequence[Case]:
    """All cases in f32; the other floats alternate."""
    return cases if dtype == "float32" else sweep.turn(dtype, [d for d in FLOATS if d != "float32"], cases)


POOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("max", {"pool_size": 2, "strides": 2}),
    ("avg", {"pool_size": 2, "strides": 2}),
    ("max", {"pool_size": (3, 2), "strides": (2, 1), "padding": 1}),
    ("avg", {"pool_size": (3, 2), "strides": (2, 1), "padding": 1}),
    ("avg", {"pool_size": 3, "strides": 2, "padding": 1, "count_include_pad": True}),
    ("max", {"pool_size": 3, "strides": 2, "padding": 1, "ceil_mode": True}),
    ("avg", {"pool_size": 3, "strides": 2, "padding": 1, "ceil_mode": True}),
    ("max", {"pool_size": (2, 3), "dilation": (2, 1), "padding": (0, 1)}),
    ("max", {"pool_size": 2, "layout": "NHWC"}),
)


@pytest.mark.parametrize("dtype", FLOATS)
def test_poolings(dtype: str) -> None:
    bb = rx.BlockBuilder()
    pools = POOLS if dtype == "float32" else of_dtype(dtype, POOLS[2:4])
    for number, (kind, options) in enumerate(pools):
        x = rx.Var("x", Tensor(("n", "h", "w", 2) if "layout" in options else ("n", 2, "h", "w"), dtype))
        with bb.function(f"pool_{number}", [x]):
            y = getattr(R.nn, f"{kind}_pool2d")(x, **options)
            grad = R.multiply(y, y)  # any tensor of the shape
            found = getattr(R.grad, f"{kind}_pool2d_backward")(grad, x, **options)
            assert found.struct_info == x.struct_info
            bb.emit_func_output(R.make_tuple(found, grad))
    executable = rx.build(bb.get())
    rng = np.random.default_rng(2)
    for number, (kind, options) in enumerate(pools):
        for n, h, w in ((1, 3, 3), (2, 8, 7), (0, 6, 6)):
            # Elements are distinct, also in 16 bits.
            size = n * 2 * h * w
            drawn = (rng.permutation(size) - size / 2) / 32
            shape = (n, h, w, 2) if "layout" in options else (n, 2, h, w)
            x = drawn.reshape(shape).astype(dtypes.dtype(dtype).numpy)
            found, grad = executable[f"pool_{number}"](x)
            given = {
                "stride": options.get("strides", 1),
                "padding": options.get("padding", 0),
                "ceil_mode": options.get("ceil_mode", False),
            }
            given |= (
                {"dilation": options.get("dilation", 1)}
                if kind == "max"
                else {"count_include_pad": options.get("count_include_pad", False)}
            )
            order = (0, 3, 1, 2) if "layout" in options else (0, 1, 2, 3)
            if not n:
                assert to_numpy(found).shape == shape
                continue
            want = gradient(
                lambda t, k=kind, o=options, g=given: getattr(F, f"{k}_pool2d")(t, o["pool_size"], **g),
                x.transpose(order),
                to_numpy(grad).transpose(order),
            )
            close(found, want.transpose(np.argsort(order)), dtype, (kind, options, n, h, w))


def test_mean_of_dilated_windows() -> None:
    """torch does not support them: windows of every second element."""
    bb = rx.BlockBuilder()
    x, g = rx.Var("x", Tensor((1, 1, 1, 5), "float32")), rx.Var("g", Tensor((1, 1, 1, 5), "float32"))
    options: dict[str, Any] = {"pool_size": (1, 3), "dilation": (1, 2), "padding": (0, 2)}
    with bb.function("main", [x, g]):
        results = [
            R.grad.avg_pool2d_backward(g, x, **options),
            R.grad.avg_pool2d_backward(g, x, **options, count_include_pad=True),
        ]
        bb.emit_func_output(R.make_tuple(*results))
    grad = np.arange(1, 6, dtype=np.float32)
    found = rx.build(bb.get())["main"](np.zeros((1, 1, 1, 5), np.float32), grad.reshape(1, 1, 1, 5))
    for have, includes in zip(found, (False, True), strict=True):
        want = np.zeros(5)
        for window in range(5):
            places = [p for p in (window - 2, window, window + 2) if 0 <= p < 5]
            for place in places:
                want[place] += grad[window] / (3 if includes else len(places))
        np.testing.assert_allclose(to_numpy(have).ravel(), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nll_loss(dtype: str) -> None:
    bb = rx.BlockBuilder()
    shapes = ((("n", 4, "m"), ("n", "m")), (("n", 4), ("n",)), ((4,), ()))
    cases = of_dtype(dtype, [*itertools.product(("sum", "none", "mean"), enumerate(shapes))])
    for reduction, (number, (shape, target)) in cases:
        infos = {
            "g": Tensor(target if reduction == "none" else (), dtype),
            "x": Tensor(shape, dtype),
            "t": Tensor(target, "int64"),
            "w": Tensor((4,), dtype),
        }
        params = [rx.Var(name, info) for name, info in infos.items()]
        with bb.function(f"{reduction}_{number}", params):
            bb.emit_func_output(R.grad.nll_loss_backward(*params, reduction, 2))
    executable = rx.build(bb.get())
    rng, kind = np.random.default_rng(2), dtypes.dtype(dtype).numpy
    for reduction, (number, (shape, target)) in cases:
        sizes = {"n": 3, "m": 5}
        x = rng.uniform(-1, 1, [sizes.get(d, d) if isinstance(d, str) else d for d in shape]).astype(kind)
        t = np.asarray(rng.integers(0, 4, [sizes[d] for d in target]))
        t.reshape(-1)[:1] = 1  # one that counts
        w = rng.uniform(0.5, 2, 4).astype(kind)
        g = np.asarray(rng.uniform(0.5, 2, t.shape if reduction == "none" else ())).astype(kind)
        want = gradient(
            lambda p, t=t, w=w, r=reduction: F.nll_loss(
                p, torch.tensor(t), torch.tensor(w.astype(np.float64)), reduction=r, ignore_index=2
            ),
            x,
            g,
        )
        close(executable[f"{reduction}_{number}"](g, x, t, w), want, dtype, (reduction, shape))
    if "sum_1" in executable:
        with pytest.raises(BoundsError, match=r"nll_loss_backward.*index 4 is out of range"):
            executable["sum_1"](np.array(1, kind), np.ones((1, 4), kind), np.array([4]), np.ones(4, kind))


@pytest.mark.parametrize("dtype", FLOATS)
def test_take(dtype: str) -> None:
    bb = rx.BlockBuilder()
    cases: list[tuple[tuple[Any, ...], tuple[Any, ...], int | None]] = [
        (("v", 3), ("n", "m"), 0),
        ((2, "v", 3), ("n",), 1),
        ((2, "v"), (), -1),
        ((2, "v"), ("n",), None),
    ]
    chosen = of_dtype(dtype, [*enumerate(cases)])
    for number, (shape, indices, axis) in chosen:
        x, i = rx.Var("x", Tensor(shape, dtype)), rx.Var("i", Tensor(indices, "int32"))
        v, n, m = (
            rx.Var("v", Tensor(("v",), "int8")),
            rx.Var("n", Tensor(("n",), "int8")),
            rx.Var("m", Tensor(("m",), "int8")),
        )
        with bb.function(f"take_{number}", [x, i, v, n, m]):
            y = R.take(x, i, axis)
            grad = R.add(R.multiply(y, y), R.astype(R.ones((), "int8"), dtype))
            bb.emit_func_output(R.make_tuple(R.grad.take_backward(grad, x, i, axis), grad))
    executable = rx.build(bb.get())
    rng, kind = np.random.default_rng(2), dtypes.dtype(dtype).numpy
    for number, (shape, indices, axis) in chosen:
        for v, n, m in ((1, 1, 1), (5, 40, 3), (4, 0, 2)):
            sizes = {"v": v, "n": n, "m": m}
            x = rng.uniform(-1, 1, [sizes.get(d, d) if isinstance(d, str) else d for d in shape]).astype(kind)
            last = x.size if axis is None else v
            i = np.asarray(rng.integers(0, last, [sizes[d] for d in indices])).astype(np.int32)
            found, grad = executable[f"take_{number}"](x, i, *(np.zeros(s, np.int8) for s in (v, n, m)))

            def taken(t: Any, i: Array = i, axis: int | None = axis) -> Any:
                index = torch.tensor(i.astype(np.int64))
                if axis is None:
                    return t.reshape(-1)[index]
                return torch.index_select(t, axis, index.reshape(-1)).reshape(
                    *t.shape[: axis % t.ndim], *index.shape, *t.shape[axis % t.ndim + 1 :]
                )

            close(found, gradient(taken, x, to_numpy(grad)), dtype, (shape, indices, axis, sizes))


def test_marks() -> None:
    suite = Suite()
    for dtype, mark in sweep.product(ALL, (R.grad.no_grad, R.grad.start_checkpoint, R.grad.end_checkpoint)):
        suite.add(dtype, mark, lambda x: x, [Tensor(("n", "m"), dtype)], sizes=({"n": 2, "m": 3},))
    suite.run()


def test_marks_in_scripts() -> None:
    """They are preserved in the printed script."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        y = R.exp(R.grad.start_checkpoint(x))
        bb.emit_func_output(R.grad.no_grad(R.grad.end_checkpoint(y)))
    text = bb.get().script()
    assert all(f"R.grad.{name}(" in text for name in ("start_checkpoint", "end_checkpoint", "no_grad"))
    assert parse(text).script() == text


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x, v, i: R.grad.max_pool2d_backward(x, x, 2), ShapeError, "operand 'output_grad' has shape"),
        (
            lambda x, v, i: R.grad.avg_pool2d_backward(x, R.astype(x, "int8"), 1),
            DTypeError,
            "expected a float",
        ),
        (lambda x, v, i: R.grad.avg_pool2d_backward(x, x, 0), ArgumentError, "pool_size is"),
        (lambda x, v, i: R.grad.take_backward(v, v, i, 1), ShapeError, "axis 1 is out of range"),
        (lambda x, v, i: R.grad.take_backward(v, v, i, 0), ShapeError, r"has shape \(5,\), expected \(3,\)"),
        (lambda x, v, i: R.grad.take_backward(v, v, v, 0), DTypeError, "expected integers"),
        (
            lambda x, v, i: R.grad.nll_loss_backward(v, v, R.ones((), "int8")),
            ShapeError,
            r"'output_grad' has shape \(5,\), expected \(\)",
        ),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    infos = {"x": Tensor(("n", 2, 4, 4), "float32"), "v": Tensor((5,), "float32"), "i": Tensor((3,), "int32")}
    params = [rx.Var(name, info) for name, info in infos.items()]
    with pytest.raises(error, match=message), bb.function("main", params):
        bb.emit_func_output(build(*params))
