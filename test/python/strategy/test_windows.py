"""Convolutions and poolings against torch: the selected implementation, and its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import TOLERANCE
from relax_mlir import op as R
from relax_mlir import tuning
from relax_mlir.dialects import dtypes
from relax_mlir.lowering.strategy.tuned import Known, with_history
from relax_mlir.runtime import to_numpy
from relax_mlir.strategy import explain_strategy

Array = np.ndarray[Any, Any]
TARGET = "cpu -mcpu=x86-64-v3"


@dataclass
class Case:
    """A call, its expected implementation, and the spatial sizes and batches to run."""

    taken: tuple[str, ...]
    kind: str
    channels: int
    kernel: tuple[int, ...]
    """Of a convolution: outputs, inputs of a group, and the window; of a pooling the window."""
    sizes: Sequence[tuple[int, ...]]
    """Batch, then spatial sizes."""
    options: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float32"

    @property
    def rank(self) -> int:
        return len(self.sizes[0]) - 1

    def build(self, bb: rx.BlockBuilder, name: str) -> None:
        spatial = ["h", "w"] if self.rank == 2 else ["w"] if self.rank == 1 else ["d", "h", "w"]
        params = [rx.Var("x", rx.Tensor(("n", self.channels, *spatial), self.dtype))]
        if self.kind == "conv":
            params.append(rx.Var("k", rx.Tensor(self.kernel, self.dtype)))
            builder, options = getattr(R.nn, f"conv{self.rank}d"), self.options
        else:
            builder = getattr(R.nn, f"{self.kind}_pool{self.rank}d")
            options = {"pool_size": self.kernel, **self.options}
        with bb.function(name, params):
            bb.emit_func_output(builder(*params, **options))

    def expected(self, data: Array, weight: Array | None) -> Array:
        """The result of torch in float64."""
        x = torch.tensor(data.astype(np.float64))
        pad = self.options.get("padding", [0] * self.rank)
        strides, dilation = (self.options.get(name, 1) for name in ("strides", "dilation"))
        functional: Any = torch.nn.functional
        if weight is not None:
            found = getattr(functional, f"conv{self.rank}d")(
                *(x, torch.tensor(weight.astype(np.float64)), None, strides, list(pad)),
                *(dilation, self.options.get("groups", 1)),
            )
        elif self.kind == "max":
            found = getattr(functional, f"max_pool{self.rank}d")(x, self.kernel, strides, list(pad), dilation)
        else:
            include = self.options.get("count_include_pad", False)
            found = getattr(functional, f"avg_pool{self.rank}d")(
                x, self.kernel, strides, list(pad), count_include_pad=include
            )
        array: Array = found.numpy()
        return array.astype(dtypes.dtype(self.dtype).numpy)


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    return rng.uniform(-1, 1, shape).astype(dtypes.dtype(dtype).numpy)


def check(cases: Sequence[Case], target: str = TARGET) -> None:
    bb = rx.BlockBuilder()
    for number, case in enumerate(cases):
        case.build(bb, f"f{number}")
    with explain_strategy() as report:
        built = rx.build(bb.get(), target)
    for case, decision in zip(cases, report.decisions, strict=True):
        taken = tuple(candidate.implementation.name for candidate in decision.selection.taken)
        assert taken == case.taken, case
    rng = np.random.default_rng(7)
    for number, case in enumerate(cases):
        for batch, *spatial in case.sizes:
            data = numbers(rng, (batch, case.channels, *spatial), case.dtype)
            weight = numbers(rng, case.kernel, case.dtype) if case.kind == "conv" else None
            args = [data] if weight is None else [data, weight]
            found, want = to_numpy(built[f"f{number}"](*args)), case.expected(data, weight)
            assert (found.shape, found.dtype) == (want.shape, want.dtype), (case, spatial)
            tolerance = TOLERANCE[case.dtype]
            np.testing.assert_allclose(
                *(found.astype(np.float64), want.astype(np.float64)),
                rtol=4 * tolerance,
                atol=16 * tolerance,
                err_msg=f"{case} on {batch}, {spatial}",
            )


IMAGES = ((1, 3, 3), (2, 8, 5), (0, 4, 4), (1, 9, 17), (1, 5, 33), (2, 1, 16))
VOLUMES = ((1, 3, 3, 3), (2, 4, 5, 9), (1, 5, 3, 17))
ROWS = ((1, 3), (2, 16), (1, 37), (0, 5))
WINDOWS, PRODUCT = ("kernel windows",), ("kernel matrix product",)


def test_depthwise_and_grouped_convolutions() -> None:
    check(
        [
            Case(WINDOWS, "conv", 5, (5, 1, 3, 3), IMAGES, {"groups": 5, "padding": (1, 1)}),
            Case(
                WINDOWS,
                "conv",
                3,
                (3, 1, 5, 2),
                IMAGES,
                {"groups": 3, "padding": (4, 3), "strides": (2, 3)},
            ),
            Case(
                WINDOWS,
                "conv",
                2,
                (2, 1, 3, 3),
                IMAGES,
                {"groups": 2, "padding": (2, 2), "dilation": (2, 2)},
            ),
            Case(WINDOWS, "conv", 4, (4, 1, 2, 3, 3), VOLUMES, {"groups": 4, "padding": (1, 1, 1)}),
            Case(("grouped direct",), "conv", 8, (12, 2, 3, 3), IMAGES, {"groups": 4, "padding": (1, 1)}),
            Case(
                ("grouped direct",),
                "conv",
                4,
                (22, 2, 3, 3),
                IMAGES,
                {"groups": 2, "padding": (1, 1), "strides": 2},
            ),
            Case(("grouped direct",), "conv", 6, (12, 1, 1, 1), IMAGES, {"groups": 6}),
            Case(("grouped direct",), "conv", 6, (6, 3, 5), ROWS, {"groups": 2, "padding": (3,), "strides": 2}),
            Case(("grouped direct",), "conv", 6, (14, 3, 2, 1, 3), VOLUMES, {"groups": 2, "padding": (0, 1, 1)}),
        ]
    )


def test_dense_convolutions_of_any_width() -> None:
    narrow, wide = ((1, 3, 3), (2, 4, 11), (0, 4, 4)), ((1, 3, 16), (2, 2, 30), (1, 8, 64))
    check(
        [
            Case(WINDOWS, "conv", 3, (4, 3, 3, 3), (*narrow, *wide), {"padding": (1, 1)}),
            Case(WINDOWS, "conv", 3, (35, 3, 3, 3), (*narrow, *wide), {"padding": (1, 1)}),
            Case(WINDOWS, "conv", 3, (9, 3, 3, 2), wide, {"padding": (2, 0), "strides": (1, 2)}),
            Case(WINDOWS, "conv", 5, (7, 5, 3), ROWS, {"padding": (5,), "dilation": 2}),
            Case(WINDOWS, "conv", 5, (7, 5, 3), ROWS, {"padding": (1,)}),
            Case(WINDOWS, "conv", 2, (3, 2, 2, 2, 2), VOLUMES),
            Case(PRODUCT, "conv", 3, (4, 3, 1, 1), IMAGES),
            Case(WINDOWS, "conv", 3, (4, 3, 1, 1), IMAGES, {"strides": 2, "padding": (1, 1)}),
            Case(PRODUCT, "conv", 3, (4, 3, 1), ROWS),
        ]
    )


@pytest.mark.parametrize("dtype", sweep.quick(["float64", "float16", "bfloat16"], "float16"))
def test_other_floats(dtype: str) -> None:
    short = ("float16", "bfloat16")
    check(
        sweep.turn(
            dtype,
            sweep.alike(dtype, short),
            [
                Case(WINDOWS, "conv", 3, (3, 1, 3, 3), IMAGES, {"groups": 3, "padding": (1, 1)}, dtype),
                Case(
                    ("grouped direct",),
                    "conv",
                    4,
                    (6, 2, 3, 3),
                    IMAGES,
                    {"groups": 2, "padding": (1, 1)},
                    dtype,
                ),
                Case(
                    PRODUCT if dtype == "bfloat16" else WINDOWS,
                    *("conv", 3, (4, 3, 3, 3), IMAGES, {"padding": (1, 1)}, dtype),
                ),
                Case(PRODUCT, "conv", 3, (4, 3, 1, 1), IMAGES, {}, dtype),
                Case(WINDOWS, "max", 2, (3, 3), IMAGES, {"padding": (1, 1)}, dtype),
                Case(WINDOWS, "avg", 2, (2, 3), IMAGES, {"padding": (1, 1)}, dtype),
            ],
        )
    )


TARGETS = ("cpu", "cpu -num-threads=1 -mcpu=x86-64-v2")


@pytest.mark.parametrize("target", sweep.quick(TARGETS, "cpu"))
def test_poolings(target: str) -> None:
    options = {"padding": (1, 1), "strides": (2, 2)}
    check(
        sweep.turn(
            target,
            TARGETS,
            [
                Case(WINDOWS, "max", 3, (3, 3), IMAGES, options),
                Case(
                    WINDOWS,
                    "max",
                    3,
                    (3, 2),
                    IMAGES,
                    {"padding": (1, 0), "dilation": (1, 2), "strides": (1, 3)},
                ),
                Case(WINDOWS, "max", 2, (2, 2, 2), VOLUMES, {"padding": (1, 1, 1), "strides": (2, 1, 2)}),
                Case(WINDOWS, "avg", 3, (3, 3), IMAGES, options),
                Case(WINDOWS, "avg", 3, (3, 3), IMAGES, {**options, "count_include_pad": True}),
                Case(WINDOWS, "avg", 3, (2, 2), IMAGES[1:2] + IMAGES[3:5], {"strides": (2, 2)}),
                Case(WINDOWS, "avg", 2, (2, 3, 2), VOLUMES, {"padding": (1, 1, 0), "strides": (1, 2, 2)}),
                Case(("linalg",), "max", 3, (2, 2), IMAGES[1:2] + IMAGES[3:5], {"strides": (2, 2)}),
                Case(WINDOWS, "max", 3, (3,), ROWS[:3], {"padding": (1,)}),
                Case(WINDOWS, "avg", 3, (9, 9), ((1, 9, 12), (2, 20, 9))),
            ],
        ),
        target,
    )


def test_a_nan_in_a_window_is_its_greatest_element() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((1, 1, "h", "w")))
    with bb.function("main", [x]):
        bb.emit_func_output(R.nn.max_pool2d(x, (3, 3), padding=(1, 1)))
    data = np.zeros((1, 1, 6, 20), "f4")
    data[0, 0, 2, 7], data[0, 0, 4, 13], data[0, 0, 1, 1] = np.nan, np.inf, -np.inf
    found = to_numpy(rx.build(bb.get())["main"](data))
    np.testing.assert_array_equal(found, torch.nn.functional.max_pool2d(torch.tensor(data), 3, 1, 1).numpy())
    assert np.isnan(found).sum() == 9


def test_windows_without_elements() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((1, 1, "h", "w")))
    for name in ("max", "avg"):
        with bb.function(name, [x]):
            bb.emit_func_output(getattr(R.nn, f"{name}_pool2d")(x, (1, 2), padding=(0, 3), strides=(1, 2)))
    built = rx.build(bb.get())
    data = np.arange(1, 7, dtype="f4").reshape(1, 1, 1, 6)
    lowest = float(np.finfo("f4").min)
    assert to_numpy(built["max"](data)).ravel().tolist() == [lowest, 1, 3, 5, 6, lowest]
    assert to_numpy(built["avg"](data)).ravel().tolist() == [0, 1, 2.5, 4.5, 6, 0]


def test_their_schedules_are_tasks_and_take_what_tuning_found() -> None:
    cases = [
        Case(("grouped direct",), "conv", 8, (12, 2, 3, 3), IMAGES, {"groups": 4, "padding": (1, 1)}),
        Case(("grouped direct",), "conv", 6, (6, 3, 5), ROWS, {"groups": 2, "padding": (2,)}),
        Case(WINDOWS, "conv", 3, (4, 3, 3, 3), IMAGES, {"padding": (1, 1)}),
        Case(WINDOWS, "avg", 3, (3, 3), IMAGES, {"padding": (1, 1)}),
    ]
    bb = rx.BlockBuilder()
    for number, case in enumerate(cases):
        case.build(bb, f"f{number}")
    tasks = tuning.extract_tasks(bb.get(), TARGET)
    assert [list(task.space()) for task in tasks] == [
        ["channels", "rows", "width", "jobs", "unrolled"],
        ["channels", "width", "jobs", "unrolled"],
    ]
    # Of the three channels of a group, the number computed at once must divide three.
    assert [value for (value,) in tasks[0].space()["channels"]] == [3, 1]
    best = {task.key: [Known({name: values[-1] for name, values in task.space().items()}, TARGET)] for task in tasks}
    with with_history(best):
        check(cases)
