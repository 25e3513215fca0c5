"""Softmax, norms and losses: any axes and layouts, NaN, infinities, means far from zero, no elements."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import ALL, FLOATS, TOLERANCE, Array, Suite, compiled, numbers, tensor
from reference import OPS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.error import BoundsError
from relax_mlir.script import parse
from scipy import special
from torch.nn import functional as F

SIZES = (
    {"n": 1, "m": 1, "k": 1},
    {"n": 0, "m": 3, "k": 2},
    {"n": 3, "m": 17, "k": 7},
    {"n": 9, "m": 2, "k": 11},
)
NOT_EMPTY = SIZES[:1] + SIZES[2:]
EXACT = {"float32": 2e-5, "float64": 1e-11}


def softmaxes(suite: Suite, shape: str, axis: int, **options: Any) -> None:
    suite.both(lambda R, x: [R.nn.softmax(x, axis), R.nn.log_softmax(x, axis)], shape, **options)


def test_softmax() -> None:
    suite = Suite()
    options = {"sizes": SIZES, "draw": numbers(-20, 20)}
    for shape, axis in (("n m 3", -1), ("n m 3", 0), ("n m 3", 1), ("m", 0)):
        softmaxes(suite, shape, axis, tolerance=2e-5, **options)
    for dtype in FLOATS[1:]:
        softmaxes(suite, f"n 2 m {dtype}", 2, tolerance=EXACT.get(dtype), **options)
    rows = [
        [np.nan, 1, 2, 3],
        [-np.inf] * 4,
        [np.inf, 0, 1, 2],
        [-np.inf, 0, 1, -np.inf],
        [3e4, -3e4, 3e4, 0],
    ]
    for dtype in ("float32", "bfloat16"):
        special_rows = np.array(rows).astype(dtypes.dtype(dtype).numpy)
        for axis in (1, -2):
            given = special_rows if axis == 1 else np.ascontiguousarray(special_rows.T)
            softmaxes(suite, f"n m {dtype}", axis, inputs=[[given]])
    suite.run()


def test_norms() -> None:
    """Layer and RMS norm over any axes, without rows, and without scale or centre."""
    suite = Suite()
    for dtype, weights, axes in (
        *((dtype, "6", [2]) for dtype in FLOATS),
        ("float32", "m 6", [1, 2]),
        ("float32", "6 n", [2, 0]),
    ):
        suite.both(
            lambda R, x, g, b, axes=axes: [
                R.nn.layer_norm(x, g, b, axes, 1e-5),
                R.nn.rms_norm(x, g, axes, 1e-5),
            ],
            *(f"{shape} {dtype}" for shape in ("n m 6", weights, weights)),
            sizes=NOT_EMPTY,
            tolerance=EXACT.get(dtype),
        )
    suite.both(lambda R, x, w: [R.nn.layer_norm(x, w, w), R.nn.rms_norm(x, w)], "n 6", "6", sizes=({"n": 0},))
    for center in (False, True):
        suite.use("nn.layer_norm", "n 5", "5", "5", center=center, scale=not center, tolerance=2e-5)
    suite.run()


def test_long_rows_lose_few_digits() -> None:
    """Sums of softmax and norms are computed in blocks: plain vector accumulation has errors of some 30 ulp."""
    length = 160_001
    x = np.random.default_rng(14).integers(-3, 4, (3, length)).astype("float32")

    def build(x: Any, w: Any) -> list[Any]:
        norms = [R.nn.layer_norm(x, w, w, axes=[-1]), R.nn.rms_norm(x, w)]
        return [*norms, R.nn.softmax(x, axis=-1), R.nn.log_softmax(x, axis=-1)]

    precise, ones = x.astype(np.float64), np.ones(length)
    expected = [
        *(plain(OPS["nn.layer_norm"](precise, ones, ones)) + plain(OPS["nn.rms_norm"](precise, ones))),
        special.softmax(precise, axis=1),
        special.log_softmax(precise, axis=1),
    ]
    tolerances = [(3e-7, 1e-6), (3e-7, 1e-6), (2e-6, 0), (3e-7, 1e-6)]
    results = compiled(build, "n m", "m")(x, np.ones(length, "float32"))
    for result, exact, (rtol, atol) in zip(results, expected, tolerances, strict=True):
        np.testing.assert_allclose(result, exact, rtol=rtol, atol=atol)


def group_norm(suite: Suite, shape: str, groups: int, channel: int, axes: list[int], **options: Any) -> None:
    """`groups` 0: instance norm."""
    dtype = options.pop("dtype", "float32")
    parameter = f"{shape.split()[channel]} {dtype}"
    more = {"num_groups": groups} if groups else {}
    suite.use(
        "nn.group_norm" if groups else "nn.instance_norm",
        *(f"{shape} {dtype}", parameter, parameter),
        **{"sizes": SIZES, "tolerance": EXACT.get(dtype), **more, **options},
        channel_axis=channel,
        axes=axes,
    )


def test_group_norms_of_channels_first() -> None:
    suite = Suite()
    for groups in (1, 2, 6, 0):
        group_norm(suite, "n 6 m k", groups, 1, [2, 3])
    group_norm(suite, "n 4*m k", 4, 1, [-1])
    group_norm(suite, "n m k", 0, 1, [2])
    group_norm(suite, "n m k", 1, 0, [1, 2], sizes=NOT_EMPTY)
    for shape in ("2 8 4 4", "1 4 49", "3 8 1", "2 4 0", "2 64"):
        group_norm(suite, shape, 4, 1, list(range(2, len(shape.split()))), sizes=SIZES[:1])
    group_norm(suite, "n 12", 3, 1, [])
    suite.run()


def test_group_norms_of_other_layouts() -> None:
    suite = Suite()
    for groups in (2, 0):
        group_norm(suite, "n m k 6", groups, 3, [1, 2], sizes=NOT_EMPTY)
        group_norm(suite, "n 6 m k", groups, 1, [0, 2], sizes=NOT_EMPTY)
        group_norm(suite, "n 6 m k", groups, -3, [3], sizes=NOT_EMPTY)
    for channels in (32, 64, 50):
        group_norm(suite, f"n m {channels}", 2, 2, [1], sizes=SIZES[1:])
    group_norm(suite, "n m 2*k", 2, 2, [0, 1], sizes=NOT_EMPTY)
    group_norm(suite, "2 0 4", 2, 2, [1], sizes=SIZES[:1])
    group_norm(suite, "2 3 0", 2, 2, [1], sizes=SIZES[:1])
    group_norm(suite, "n m 37", 1, -1, [1], sizes=NOT_EMPTY)
    suite.run()


def test_dtypes_and_flags_of_group_norms() -> None:
    suite = Suite()
    for dtype in FLOATS:
        group_norm(suite, "n 6 m k", 3, 1, [2, 3], dtype=dtype)
        group_norm(suite, "n m 6", 2, 2, [1], dtype=dtype, sizes=SIZES[2:])
    for center, scale in ((False, True), (True, False), (False, False)):
        for shape, channel, axes in (("n 4 m", 1, [2]), ("n m 4", 2, [1])):
            group_norm(suite, shape, 2, channel, axes, center=center, scale=scale, sizes=SIZES[2:3])
    suite.run()


@pytest.fixture(scope="module")
def groups() -> dict[int, Any]:
    """Group norms of two groups of four channels, by the axis of the channels."""
    return {
        channel: compiled(
            lambda x, g, b, c=channel: R.nn.group_norm(x, g, b, 2, c, [3 - c]), shape, "4", "4", finish=False
        )
        for channel, shape in ((1, "n 4 m"), (2, "n m 4"))
    }


def check_groups(groups: Any, x: Array, gamma: Array, beta: Array, **tolerance: float) -> None:
    """Compare both layouts."""
    with np.errstate(all="ignore"):
        (want,) = plain(OPS["nn.group_norm"](*(a.astype("f8") for a in (x, gamma, beta)), 2, 1, [2]))
    last = groups[2](np.ascontiguousarray(x.transpose(0, 2, 1)), gamma, beta)
    np.testing.assert_allclose(np.from_dlpack(groups[1](x, gamma, beta)), want, **tolerance)
    np.testing.assert_allclose(np.from_dlpack(last), want.transpose(0, 2, 1), **tolerance)


@pytest.mark.parametrize("length", [3, 700, 9001])
def test_means_far_from_zero(length: int, groups: Any) -> None:
    """Groups of several blocks; sums of squares would lose the variance."""
    rng = np.random.default_rng(3)
    x = (1000 + rng.normal(size=(2, 4, length))).astype(np.float32)
    check_groups(groups, x, *rng.normal(size=(2, 4)).astype(np.float32), atol=1e-3)


def test_equal_numbers_nan_and_infinity(groups: Any) -> None:
    """Values that are not finite affect only their group."""
    ones = np.ones(4, np.float32)
    for value in (64.0, -3.0, 1e-30, 0.0):
        found = groups[1](np.full((1, 4, 33), value, np.float32), ones, ones)
        np.testing.assert_allclose(np.from_dlpack(found), 1.0, atol=1e-3)
    x = np.random.default_rng(4).normal(size=(3, 4, 40)).astype(np.float32)
    x[0, 1, 39], x[1, 2, 3], x[2, 0, 0] = np.nan, np.inf, -np.inf
    check_groups(groups, x, ones, ones, rtol=1e-4, atol=1e-5)


def test_memory_around_the_result(groups: Any) -> None:
    rng = np.random.default_rng(5)
    gamma, beta = rng.normal(size=(2, 4)).astype(np.float32)
    for size in (1, 7, 8, 33, 100):
        for channel, shape in ((1, (2, 4, size)), (2, (2, size, 4))):
            x = rng.normal(size=(2, shape[1], 2 * shape[2])).astype(np.float32)[..., ::2]
            guarded = np.full(x.size + 64, 7, np.float32)
            out = guarded[: x.size].reshape(x.shape)
            groups[channel].call_into(out, x, gamma, beta)
            assert (guarded[x.size :] == 7).all()
            wide = (a.astype("f8") for a in (x, gamma, beta))
            (want,) = plain(OPS["nn.group_norm"](*wide, 2, channel, [3 - channel]))
            np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-4)


BATCHES: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("n c h 3", 1, {"training": False}),
    ("n h c", -1, {"training": False, "scale": False}),
    ("n c", 1, {"training": False, "center": False, "epsilon": 0.1}),
    ("n c h 3", 1, {}),
    ("n h c", 2, {"momentum": 0.25, "scale": False, "center": False}),
    ("c n", 0, {"momentum": 0.0}),
)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batch_norm(dtype: str) -> None:
    others = ("float64", "float16", "bfloat16")
    cases = BATCHES if dtype == "float32" else sweep.turn(dtype, others, BATCHES[:4:3])
    suite = Suite(dtype=dtype)
    sizes = ({"n": 2, "c": 3, "h": 5}, {"n": 1, "c": 1, "h": 17}, {"n": 9, "c": 8, "h": 1})
    for shape, axis, options in cases:
        draws = [numbers(-2, 2), *[numbers(0.5, 2)] * 4]
        more = {"sizes": sizes, "draw": draws, "tolerance": 8 * TOLERANCE[dtype]}
        suite.use("nn.batch_norm", shape, *["c"] * 4, axis=axis, **options, **more)
    suite.run()


def test_batch_norm_without_elements() -> None:
    main = compiled(lambda *xs: R.nn.batch_norm(*xs, 1), "n c", *["c"] * 4)
    found = main(np.ones((0, 3), "f4"), *[np.ones(3, "f4")] * 4)
    assert found[0].shape == (0, 3)
    assert np.isnan(found[1]).all() and np.isnan(found[2]).all()
    assert [r.shape for r in main(np.ones((2, 0), "f4"), *[np.ones(0, "f4")] * 4)] == [(2, 0), (0,), (0,)]


def test_cross_entropy() -> None:
    suite = Suite()
    for dtype, shape in itertools.product(FLOATS, ("n m", "n", "n 3 m", "")):
        suite.use("nn.cross_entropy_with_logits", *[f"{shape} {dtype}"] * 2, draw=numbers(-1, 1))
    suite.run()


REDUCTIONS, CLASSES = ("none", "sum", "mean"), [numbers(), numbers(0, 4), numbers(0.1, 2)]
FULL, EMPTY = ({"n": 1, "m": 1}, {"n": 3, "m": 17}, {"n": 33, "m": 2}), ({"n": 5, "m": 0}, {"n": 0, "m": 3})


@pytest.mark.parametrize("dtype", FLOATS)
def test_nll_loss(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    pairs = sweep.product(REDUCTIONS, ("int32", "int64", "uint8"))
    for how in REDUCTIONS:
        sizes = FULL if how == "mean" else FULL + EMPTY
        for kind in [kind for first, kind in pairs if first == how]:
            suite.use("nn.nll_loss", "n 5 m", f"n m {kind}", "5", reduction=how, draw=CLASSES, sizes=sizes)
        ignoring = {"reduction": how, "ignore_index": 2}
        suite.use("nn.nll_loss", "n 5", "n int64", **ignoring, draw=CLASSES[:2], sizes=FULL[1:])
        suite.use("nn.nll_loss", "5", "int64", "5", reduction=how, draw=CLASSES)
    suite.run(test_nll_loss)


def test_targets_that_are_no_class() -> None:
    main = compiled(lambda x, t: [R.nn.nll_loss(x, t), R.nn.nll_loss(x, t, reduction="sum")], "n 3", "n int64")
    x = np.ones((2, 3), np.float32)
    mean, total = main(x, np.array([-100, -100]))
    assert np.isnan(mean) and total == 0
    for wrong in (3, -1):
        with pytest.raises(BoundsError, match=f"nn_nll_loss.*index {wrong} is out of range"):
            main(x, np.array([0, wrong]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients(dtype: str) -> None:
    """Of losses and of `take`: all cases in f32; the other floats alternate."""
    suite = Suite((dtype, FLOATS[1:] if dtype != "float32" else [dtype]), dtype=dtype)
    labels = [numbers(0.5, 2), numbers(-1, 1), numbers(0, 3), numbers(0.5, 2)]
    for how, (data, target) in itertools.product(REDUCTIONS, (("n 4 m", "n m"), ("n 4", "n"), ("4", ""))):
        shapes = target if how == "none" else "", data, f"{target} int64", "4"
        options = {"reduction": how, "ignore_index": 2, "draw": labels, "sizes": ({"n": 7, "m": 5},)}
        suite.use("grad.nll_loss_backward", *shapes, **options, tolerance=3 * TOLERANCE[dtype])
    cases = (
        ("v 3", "n m", 0, "n m 3"),
        ("2 v 3", "n", 1, "2 n 3"),
        ("2 v", "", -1, "2"),
        ("2 v", "n", None, "n"),
    )
    for data, indices, axis, result in cases:
        suite.use(
            "grad.take_backward",
            *(result, data, f"{indices} int32"),
            axis=axis,
            draw=[numbers(), numbers(), numbers(0, 7)] if axis is None else [numbers(), numbers(), numbers(0, 3)],
            sizes=[{"v": v, "n": n, "m": m} for v, n, m in ((4, 1, 1), (5, 40, 3), (4, 0, 2))],
            tolerance=6 * TOLERANCE[dtype],
        )
    suite.run()


def test_targets_of_gradients_out_of_range() -> None:
    main = compiled(lambda *xs: R.grad.nll_loss_backward(*xs, "sum", 2), "", "n 4", "n int64", "4")
    with pytest.raises(BoundsError, match=r"nll_loss_backward.*index 4 is out of range"):
        main(np.array(1, "f4"), np.ones((1, 4), "f4"), np.array([4]), np.ones(4, "f4"))


def test_references_are_those_of_torch() -> None:
    """Norms, losses and their gradients."""
    rng = np.random.default_rng(1)
    x, gamma, beta = rng.normal(size=(3, 6, 5)), rng.normal(size=6), rng.normal(size=6)
    tensors = [torch.tensor(array) for array in (x, gamma, beta)]
    row = np.ascontiguousarray(x.transpose(0, 2, 1))
    for found, want in (
        (OPS["nn.group_norm"](x, gamma, beta, 3, 1, [2]), F.group_norm(tensors[0], 3, *tensors[1:])),
        (OPS["nn.layer_norm"](row, gamma, beta), F.layer_norm(torch.tensor(row), (6,), *tensors[1:])),
        (OPS["nn.rms_norm"](row, gamma), F.rms_norm(torch.tensor(row), (6,), tensors[1], 1e-5)),
    ):
        np.testing.assert_allclose(plain(found)[0], want.numpy(), rtol=1e-10)
    targets, weights = rng.integers(0, 6, (3, 5)), rng.uniform(0.5, 2, 6)
    data = torch.tensor(x, requires_grad=True)
    for how in REDUCTIONS:
        loss = F.nll_loss(data, torch.tensor(targets), torch.tensor(weights), reduction=how, ignore_index=2)
        want = loss.detach().numpy()
        np.testing.assert_allclose(OPS["nn.nll_loss"](x, targets, weights, how, 2), want, rtol=1e-12)
        grad = np.asarray(rng.normal(size=want.shape))
        (gradient,) = torch.autograd.grad(loss, data, torch.tensor(grad))
        found = OPS["grad.nll_loss_backward"](grad, x, targets, weights, how, 2)
        np.testing.assert_allclose(found, gradient.numpy(), rtol=1e-12)
    indices = rng.integers(0, 6, (2, 3))
    grad = rng.normal(size=(3, 2, 3, 5))
    (gradient,) = torch.autograd.grad(data[:, torch.tensor(indices)], data, torch.tensor(grad))
    np.testing.assert_allclose(OPS["grad.take_backward"](grad, x, indices, 1), gradient.numpy(), rtol=1e-12)


def test_marks() -> None:
    """Annotations for gradients change nothing, and are preserved in the printed script."""
    suite = Suite()
    names = [f"grad.{name}" for name in ("no_grad", "start_checkpoint", "end_checkpoint")]
    for dtype, name in sweep.product(ALL, names):
        suite.use(name, f"n m {dtype}", sizes=({"n": 2, "m": 3},))
    suite.run()
    bb = rx.BlockBuilder()
    x = rx.Var("x", tensor("n"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.grad.no_grad(R.grad.end_checkpoint(R.exp(R.grad.start_checkpoint(x)))))
    text = bb.get().script()
    assert all(f"R.{name}(" in text for name in names) and parse(text).script() == text
