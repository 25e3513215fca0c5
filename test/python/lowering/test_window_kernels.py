"""Kernels over windows against torch: each code path that reads them, on each class of CPU, with epilogues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.runtime import to_numpy

Array = np.ndarray[Any, Any]
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
functional: Any = torch.nn.functional


@dataclass
class Case:
    """A convolution with a bias, followed by an activation; its options are those of torch."""

    channels: int
    weight: tuple[int, ...]
    options: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"

    @property
    def rank(self) -> int:
        return len(self.weight) - 2

    def build(self, bb: rx.BlockBuilder, name: str) -> None:
        outputs, rank = self.weight[0], self.rank
        x = rx.Var("x", rx.Tensor(("n", self.channels, *[f"d{axis}" for axis in range(rank)]), self.dtype))
        w, b = rx.Var("w", rx.Tensor(self.weight, self.dtype)), rx.Var("b", rx.Tensor((outputs, *[1] * rank)))
        strides, padding, dilation = ([self.options.get(k, v)] * rank for k, v in DEFAULTS)
        with bb.function(name, [x, w, b]):
            made = getattr(R.nn, f"conv{rank}d")(
                *(x, w, strides, padding, dilation), groups=self.options.get("groups", 1)
            )
            bb.emit_func_output(R.nn.relu(R.astype(made, "float32") + b))

    def expected(self, x: Array, w: Array, b: Array) -> Array:
        given = (torch.tensor(array.astype(np.float64)) for array in (x, w))
        made = getattr(functional, f"conv{self.rank}d")(*given, None, **self.options).numpy()
        rounded = made.astype(dtypes.dtype(self.dtype).numpy).astype(np.float32)
        found: Array = np.maximum(rounded + b, 0)
        return found


DEFAULTS = (("stride", 1), ("padding", 0), ("dilation", 1))
SIZES = {
    1: ((1, 7), (2, 40), (0, 9), (1, 333)),
    2: ((1, 7, 7), (2, 9, 40), (0, 9, 9), (1, 70, 33), (1, 33, 7)),
    3: ((1, 7, 7, 7), (2, 7, 9, 20)),
}


def convolutions(dtype: str) -> Iterator[Case]:
    """Adjacent, strided and dilated windows, of all channels, of groups, and of each channel."""
    for stride, padding, dilation in ((1, 1, 1), (2, 2, 1), (3, 0, 2), (1, 6, 3)):
        options = {"stride": stride, "padding": padding, "dilation": dilation}
        yield Case(5, (19, 5, 3, 3), options, dtype)
        yield Case(5, (5, 1, 3, 2), {**options, "groups": 5}, dtype)
    yield Case(4, (6, 2, 3, 3), {"groups": 2, "padding": 1}, dtype)
    yield Case(3, (6, 1, 3, 3), {"groups": 3, "padding": 1}, dtype)
    yield Case(3, (1, 3, 1, 1), {"stride": 2}, dtype)
    yield Case(6, (7, 6, 5), {"padding": 4, "stride": 2}, dtype)
    yield Case(6, (6, 1, 5), {"padding": 4, "groups": 6}, dtype)
    yield Case(2, (3, 2, 2, 3, 3), {"padding": 1}, dtype)
    yield Case(2, (2, 1, 2, 3, 3), {"padding": 1, "stride": 2, "groups": 2}, dtype)


LEVELS = ("x86-64", "x86-64-v3")


def check(cases: list[Case], target: str) -> None:
    bb = rx.BlockBuilder()
    for number, case in enumerate(cases):
        case.build(bb, f"f{number}")
    built = rx.build(bb.get(), target)
    rng = np.random.default_rng(5)
    for number, case in enumerate(cases):
        kind = dtypes.dtype(case.dtype).numpy
        for batch, *spatial in SIZES[case.rank]:
            x = rng.standard_normal((batch, case.channels, *spatial)).astype(kind)
            w = rng.standard_normal(case.weight).astype(kind)
            b = rng.standard_normal((case.weight[0], *[1] * case.rank)).astype(np.float32)
            found, want = to_numpy(built[f"f{number}"](x, w, b)), case.expected(x, w, b)
            scale = TOLERANCE[case.dtype] * max(1.0, float(np.abs(want).max(initial=0)))
            np.testing.assert_allclose(found, want, rtol=0, atol=scale, err_msg=f"{case} on {x.shape}")


@pytest.mark.parametrize("dtype", sweep.quick(TOLERANCE, "float32", "bfloat16"))
def test_of_all_types(dtype: str) -> None:
    """All in f32; the other types alternate."""
    cases = list(convolutions(dtype))
    check(
        cases if dtype == "float32" else sweep.turn(dtype, [d for d in TOLERANCE if d != "float32"], cases),
        "cpu",
    )


@pytest.mark.parametrize("level", sweep.quick(LEVELS))
def test_without_masks(level: str) -> None:
    """Each in one of two types in a partial sweep: in the other type for the other level."""
    types = ("float32", "float16") if level == LEVELS[0] else ("float16", "float32")
    check(
        [case for dtype in types for case in sweep.turn(dtype, types, list(convolutions(dtype)))],
        f"cpu -mcpu={level}",
    )


def test_more_than_one_block() -> None:
    """Depth, rows and columns of more than one block of the product, and on threads."""
    bb = rx.BlockBuilder()
    case = Case(130, (150, 130, 3, 3), {"padding": 1})
    case.build(bb, "main")
    rng = np.random.default_rng(1)
    x, w = (rng.standard_normal(shape, "float32") for shape in ((2, 130, 61, 40), case.weight))
    b = np.zeros((150, 1, 1), "float32")
    want = case.expected(x, w, b)
    for target in ("cpu -num-threads=1", "cpu -num-threads=2"):
        found = to_numpy(rx.build(bb.get(), target)["main"](x, w, b))
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-4 * float(np.abs(want).max()))


@pytest.mark.parametrize("groups", sweep.quick([1, 4, 48], 4))
def test_many_images_on_threads(groups: int) -> None:
    """Each thread has its own window buffer for its images, also without an epilogue."""
    x, w = rx.Var("x", rx.Tensor(("n", 48, "h", "w"))), rx.Var("w", rx.Tensor((48, 48 // groups, 3, 3)))
    bb = rx.BlockBuilder()
    with bb.function("main", [x, w]):
        bb.emit_func_output(R.nn.conv2d(x, w, padding=[1, 1], groups=groups))
    rng = np.random.default_rng(3)
    data = rng.standard_normal((64, 48, 28, 30), "float32")
    weight = rng.standard_normal((48, 48 // groups, 3, 3), "float32")
    one, two = (rx.build(bb.get(), f"cpu -num-threads={count}")["main"] for count in (1, 2))
    want = to_numpy(one(data, weight))
    for _ in range(4):
        np.testing.assert_array_equal(to_numpy(two(data, weight)), want)
    exact = functional.conv2d(torch.tensor(data), torch.tensor(weight), None, 1, 1, 1, groups).numpy()
    np.testing.assert_allclose(want, exact, rtol=0, atol=1e-4 * float(np.abs(exact).max()))


def test_data_is_read_until_all_is_computed() -> None:
    """Results of the shape of the data, which a padded copy could let them overwrite."""
    bb = rx.BlockBuilder()
    x, w, each = (
        rx.Var(n, rx.Tensor(s)) for n, s in (("x", ("n", 8, "h", "w")), ("w", (8, 8, 3, 3)), ("e", (8, 1, 3, 3)))
    )
    with bb.function("main", [x, w, each]):
        with bb.dataflow():
            first = bb.emit(R.nn.relu(R.nn.conv2d(x, w, padding=[1, 1])))
            second = bb.emit(R.nn.conv2d(first, each, padding=[1, 1], groups=8))
            third = bb.emit(R.nn.max_pool2d(second, (3, 3), padding=[1, 1]))
            fourth = bb.emit(R.nn.relu(R.nn.conv2d(third, w, padding=[1, 1]) + x))
            out = bb.emit_output(fourth + R.nn.conv2d(x, w, padding=[1, 1]))
        bb.emit_func_output(out)
    rng = np.random.default_rng(2)
    given = [rng.standard_normal(shape, "float32") for shape in ((2, 8, 30, 17), (8, 8, 3, 3), (8, 1, 3, 3))]
    kept = given[0].copy()
    found = to_numpy(rx.build(bb.get())["main"](*given))
    t, u, v = (torch.tensor(array.astype(np.float64)) for array in given)
    second = functional.conv2d(functional.conv2d(t, u, None, 1, 1).relu(), v, None, 1, 1, 1, 8)
    fourth = (functional.conv2d(functional.max_pool2d(second, 3, 1, 1), u, None, 1, 1) + t).relu()
    want = (fourth + functional.conv2d(t, u, None, 1, 1)).numpy()
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-5 * float(np.abs(want).max()))
    np.testing.assert_array_equal(given[0], kept)


def test_bias_and_bounds_of_channels() -> None:
    """Epilogues of depthwise convolutions in registers, with NaN, infinities, and windows without elements."""
    clip = np.clip
    steps: dict[str, tuple[Any, Any]] = {
        "bias": (lambda y, b: y + b, lambda y, b: y + b),
        "relu": (lambda y, b: R.nn.relu(b + y), lambda y, b: np.maximum(y + b, 0)),
        "relu6": (lambda y, b: R.clip(y + b, 0.0, 6.0), lambda y, b: clip(y + b, 0, 6)),
        "no_bias": (lambda y, b: R.clip(y, -0.5, 0.75), lambda y, b: clip(y, -0.5, 0.75)),
        "below": (lambda y, b: R.minimum(y + b, R.const(0.25)), lambda y, b: np.minimum(y + b, 0.25)),
        "crossed": (lambda y, b: R.clip(y + b, 2.0, 1.0), lambda y, b: np.where(np.isnan(y + b), y + b, 1.0)),
        "below_first": (
            lambda y, b: R.maximum(R.minimum(y + b, R.const(0.5)), R.const(-0.5)),
            lambda y, b: clip(y + b, -0.5, 0.5),
        ),
        "crossed_below_first": (
            lambda y, b: R.maximum(R.minimum(y + b, R.const(1.0)), R.const(2.0)),
            lambda y, b: np.where(np.isnan(y + b), y + b, 2.0),
        ),
        "one_bias": (lambda y, b: R.nn.relu(y + R.const(0.5)), lambda y, b: np.maximum(y + 0.5, 0)),
        "bias_behind": (lambda y, b: R.nn.relu(y) + b, lambda y, b: np.maximum(y, 0) + b),
        "twice": (lambda y, b: R.nn.relu(y + b) * y, lambda y, b: np.maximum(y + b, 0) * y),
    }
    bb = rx.BlockBuilder()
    for dtype in ("float32", "float64"):
        for name, (build, _) in steps.items():
            if dtype == "float64" and name not in ("bias", "relu", "relu6", "no_bias"):
                continue  # the numbers of the others are float32
            x, b = (
                rx.Var("x", rx.Tensor(("n", 19, "h", "w"), dtype)),
                rx.Var("b", rx.Tensor((19, 1, 1), dtype)),
            )
            w = rx.Var("w", rx.Tensor((19, 1, "k", "k"), dtype))
            with bb.function(f"{name}_{dtype}", [x, w, b]):
                bb.emit_func_output(build(R.nn.conv2d(x, w, padding=[1, 1], groups=19), b))
    built = rx.build(bb.get())
    rng = np.random.default_rng(6)
    for batch, high, wide, taps in ((2, 5, 7, 3), (1, 3, 40, 3), (0, 4, 4, 3), (2, 2, 3, 0), (3, 1, 9, 1)):
        for function in built.functions:
            name, _, dtype = function.rpartition("_")
            x = rng.standard_normal((batch, 19, high, wide)).astype(dtype)
            w = rng.standard_normal((19, 1, taps, taps)).astype(dtype)
            b = rng.standard_normal((19, 1, 1)).astype(dtype)
            if x.size:
                x[0, 3, 0, 1], x[0, 4, 0, 1], b[7] = np.nan, np.inf, -np.inf
            if taps:
                exact = functional.conv2d(torch.tensor(x), torch.tensor(w), None, 1, 1, 1, 19).numpy()
            else:
                exact = np.zeros((batch, 19, high + 3, wide + 3), dtype)
            with np.errstate(invalid="ignore"):  # 0 times inf
                want = steps[name][1](exact, b)
            found = to_numpy(built[function](x, w, b))
            tolerance = 1e-5 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(found, want, tolerance, tolerance, err_msg=f"{function}, {taps} taps")
