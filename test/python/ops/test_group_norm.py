"""Group norm and instance norm against NumPy in float64: layouts, dtypes, sizes, means far from zero, NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import FLOATS, Array, Suite
from reference import OPS, plain
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, RelaxError, ShapeError
from relax_mlir.runtime import to_numpy

SIZES = (
    {"n": 1, "m": 1, "k": 1},
    {"n": 0, "m": 3, "k": 2},
    {"n": 2, "m": 5, "k": 7},
    {"n": 3, "m": 9, "k": 11},
)
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}
Shape = tuple[int | str, ...]


def reference(
    x: Array, gamma: Array | None, beta: Array | None, groups: int, channel: int, axes: Sequence[int]
) -> Array:
    """`groups` 0: one per channel."""
    count = x.shape[channel]
    gamma = np.ones(count) if gamma is None else gamma
    beta = np.zeros(count) if beta is None else beta
    return plain(OPS["nn.group_norm"](x, gamma, beta, groups or count, channel, axes))[0]


def add(
    suite: Suite,
    shape: Shape,
    groups: int,
    channel: int,
    axes: Sequence[int],
    dtype: str = "float32",
    sizes: Any = SIZES,
) -> None:
    parameter = Tensor((shape[channel],), dtype)

    def emit(x: rx.Value, gamma: rx.Value, beta: rx.Value) -> rx.Value:
        if groups:
            return R.nn.group_norm(x, gamma, beta, groups, channel, axes)
        return R.nn.instance_norm(x, gamma, beta, channel, axes)

    suite.add(
        f"norm_{dtype}_{groups}_{channel % len(shape)}",
        emit,
        lambda x, g, b: reference(x, g, b, groups, channel, axes),
        [Tensor(shape, dtype), parameter, parameter],
        sizes=sizes,
        tolerance=TOLERANCE.get(dtype),
    )


def test_channels_first() -> None:
    suite = Suite()
    for groups in (1, 2, 6, 0):
        add(suite, ("n", 6, "m", "k"), groups, 1, [2, 3])
    add(suite, ("n", "4*m", "k"), 4, 1, [-1])
    add(suite, ("n", "m", "k"), 0, 1, [2])
    add(suite, ("n", "m", "k"), 1, 0, [1, 2], sizes=SIZES[:1] + SIZES[2:])
    suite.run()


def test_known_sizes() -> None:
    suite = Suite()
    for shape in ((2, 8, 4, 4), (1, 4, 49), (3, 8, 1), (2, 4, 0), (2, 64)):
        add(suite, shape, 4, 1, list(range(2, len(shape))), sizes=SIZES[:1])
    add(suite, ("n", 12), 3, 1, [])
    suite.run()


def test_other_layouts() -> None:
    suite = Suite()
    for groups in (2, 0):
        add(suite, ("n", "m", "k", 6), groups, 3, [1, 2], sizes=SIZES[:1] + SIZES[2:])
        add(suite, ("n", 6, "m", "k"), groups, 1, [0, 2], sizes=SIZES[:1] + SIZES[2:])
        add(suite, ("n", 6, "m", "k"), groups, -3, [3], sizes=SIZES[:1] + SIZES[2:])
    for channels in (32, 64, 50):
        add(suite, ("n", "m", channels), 2, 2, [1], sizes=SIZES[1:])
    add(suite, ("n", "m", "2*k"), 2, 2, [0, 1], sizes=SIZES[:1] + SIZES[2:])
    add(suite, (2, 0, 4), 2, 2, [1], sizes=SIZES[:1])
    add(suite, (2, 3, 0), 2, 2, [1], sizes=SIZES[:1])
    add(suite, ("n", "m", 37), 1, -1, [1], sizes=SIZES[:1] + SIZES[2:])
    suite.run()


def test_dtypes() -> None:
    suite = Suite()
    for dtype in FLOATS:
        add(suite, ("n", 6, "m", "k"), 3, 1, [2, 3], dtype)
        add(suite, ("n", "m", 6), 2, 2, [1], dtype, sizes=SIZES[2:])
    suite.run()


def test_without_scale_or_center() -> None:
    suite = Suite()
    for center, scale in ((False, True), (True, False), (False, False)):
        for channel, axes in ((1, [2]), (2, [1])):

            def emit(
                x: rx.Value,
                g: rx.Value,
                b: rx.Value,
                flags: tuple[bool, bool] = (center, scale),
                place: Any = (channel, axes),
            ) -> rx.Value:
                return R.nn.group_norm(x, g, b, 2, *place, 1e-5, *flags)

            def expected(
                x: Array,
                g: Array,
                b: Array,
                flags: tuple[bool, bool] = (center, scale),
                place: Any = (channel, axes),
            ) -> Array:
                return reference(x, g if flags[1] else None, b if flags[0] else None, 2, *place)

            parameter = Tensor((4,), "float32")
            shape = ("n", 4, "m") if channel == 1 else ("n", "m", 4)
            suite.add(
                "flags",
                emit,
                expected,
                [Tensor(shape, "float32"), parameter, parameter],
                sizes=SIZES[2:3],
                tolerance=2e-5,
            )
    suite.run()


def compiled(groups: int, channel: int, axes: Sequence[int], shape: Shape) -> Any:
    bb = rx.BlockBuilder()
    infos = [Tensor(shape, "float32"), *[Tensor((shape[channel],), "float32")] * 2]
    params = [rx.Var(f"x{i}", info) for i, info in enumerate(infos)]
    with bb.function("main", params):
        bb.emit_func_output(R.nn.group_norm(*params, groups, channel, axes))
    return rx.build(bb.get())["main"]


@pytest.fixture(scope="module")
def first() -> Any:
    return compiled(2, 1, [2], ("n", 4, "m"))


@pytest.fixture(scope="module")
def last() -> Any:
    return compiled(2, 2, [1], ("n", "m", 4))


@pytest.mark.parametrize("length", [3, 700, 9001])
def test_means_far_from_zero(length: int, first: Any, last: Any) -> None:
    """Groups of several blocks; sums of squares would lose the variance."""
    rng = np.random.default_rng(3)
    x = (1000 + rng.normal(size=(2, 4, length))).astype(np.float32)
    gamma, beta = rng.normal(size=(2, 4)).astype(np.float32)
    want = reference(*(a.astype("f8") for a in (x, gamma, beta)), 2, 1, [2])
    np.testing.assert_allclose(to_numpy(first(x, gamma, beta)), want, atol=1e-3)
    turned = np.ascontiguousarray(x.transpose(0, 2, 1))
    np.testing.assert_allclose(to_numpy(last(turned, gamma, beta)), want.transpose(0, 2, 1), atol=1e-3)


def test_equal_numbers(first: Any) -> None:
    ones = np.ones(4, np.float32)
    for value in (64.0, -3.0, 1e-30, 0.0):
        out = to_numpy(first(np.full((1, 4, 33), value, np.float32), ones, ones))
        np.testing.assert_allclose(out, 1.0, atol=1e-3)


def test_nan_and_infinity_stay_in_their_group(first: Any, last: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3, 4, 40)).astype(np.float32)
    x[0, 1, 39], x[1, 2, 3], x[2, 0, 0] = np.nan, np.inf, -np.inf
    gamma = np.ones(4, np.float32)
    with np.errstate(all="ignore"):
        want = reference(x.astype("f8"), gamma, gamma, 2, 1, [2])
    np.testing.assert_allclose(to_numpy(first(x, gamma, gamma)), want, rtol=1e-4, atol=1e-5)
    turned = np.ascontiguousarray(x.transpose(0, 2, 1))
    np.testing.assert_allclose(
        to_numpy(last(turned, gamma, gamma)), want.transpose(0, 2, 1), rtol=1e-4, atol=1e-5
    )


def test_memory_around_the_result(first: Any, last: Any) -> None:
    rng = np.random.default_rng(5)
    gamma, beta = rng.normal(size=(2, 4)).astype(np.float32)
    for size in (1, 7, 8, 33, 100):
        for function, channel, shape in ((first, 1, (2, 4, size)), (last, 2, (2, size, 4))):
            x = rng.normal(size=(2, shape[1], 2 * shape[2])).astype(np.float32)[..., ::2]
            guarded = np.full(x.size + 64, 7, np.float32)
            out = guarded[: x.size].reshape(x.shape)
            function.call_into(out, x, gamma, beta)
            assert (guarded[x.size :] == 7).all()
            want = reference(*(a.astype("f8") for a in (x, gamma, beta)), 2, channel, [3 - channel])
            np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 1, [2]), ShapeError, "'data' has 4 channels .*not provably a multiple of num_groups, 3"),
        ((2, 2, [1]), ShapeError, "'gamma' has shape"),
        ((2, 1, [1, 2]), ArgumentError, "channel_axis 1 is one of the axes"),
        ((0, 1, [2]), ArgumentError, "num_groups is 0, expected at least 1"),
        ((2, 3, [2]), ShapeError, "channel_axis 3 is out of range"),
        ((2, 1, [2, -1]), ShapeError, "name a dimension twice"),
    ],
)
def test_refuses(arguments: tuple[int, int, list[int]], error: type[RelaxError], message: str) -> None:
    x, g = rx.Var("x", Tensor(("n", 4, "m"), "float32")), rx.Var("g", Tensor((4,), "float32"))
    with pytest.raises(error, match=message), rx.BlockBuilder().function("main", [x, g]):
        R.nn.group_norm(x, g, g, *arguments)


def test_instance_norm_refuses_no_axes() -> None:
    x, g = rx.Var("x", Tensor(("n", 4), "float32")), rx.Var("g", Tensor((4,), "float32"))
    with pytest.raises(ArgumentError, match="no axes given"), rx.BlockBuilder().function("main", [x, g]):
        R.nn.instance_norm(x, g, g, 1, [])
