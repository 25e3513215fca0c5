"""Uses of the ops of neural networks and images, as `every_op.specs` has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from every_op_arrays import Array, Spec, use
from relax_mlir import op as R
from torch.nn import functional as F

RNG = np.random.default_rng(5)


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    return np.asarray(RNG.uniform(0.1, 0.9, shape)).astype(dtype)


def by_torch(function: Callable[..., Any], *more: Any, **options: Any) -> Callable[..., Array]:
    """A function of torch on arrays."""

    def compute(*arrays: Array) -> Array:
        tensors = [torch.from_numpy(np.array(array)) for array in arrays]
        return np.asarray(function(*tensors, *more, **options).numpy())

    return compute


def activations() -> dict[str, Spec]:
    """Element by element."""
    signed = [[floats(2, 3) - np.float32(0.5)], [floats(4, dtype=np.float16)], [floats(dtype=np.float64)]]
    return {
        "nn.leakyrelu": use("nn.leakyrelu", signed),
        "nn.elu": use("nn.elu", signed[:1], 0.5),
        "nn.selu": use("nn.selu", signed[:1]),
        "nn.softplus": use("nn.softplus", signed[:1]),
        "nn.hardswish": use("nn.hardswish", signed[:1]),
        "nn.hardsigmoid": use("nn.hardsigmoid", signed[:1]),
        "nn.mish": (R.nn.mish, by_torch(F.mish), signed[:1]),
        "nn.relu6": use("nn.relu6", signed[:1]),
        "nn.prelu": use(
            "nn.prelu", [[floats(2, 3, 2) - np.float32(0.5), floats(3)], [floats(2, 4), floats(1)]]
        ),
    }


def integers(*shape: int, dtype: Any = np.int64) -> Array:
    return RNG.integers(0, 3, shape).astype(dtype)


def moved() -> dict[str, Spec]:
    """Elements reordered or moved."""
    return {
        "nn.pad": use("nn.pad", [[floats(2, 3)], [integers(1, 2)]], [1, 2, 0, 1], "constant", 3),
        "nn.pad:reflect": use("nn.pad", [[floats(3)], [integers(4)]], [1, 2], "reflect"),
        "nn.pixel_shuffle": use("nn.pixel_shuffle", [[floats(1, 4, 2, 3)], [integers(8, 1, 1)]], 2),
        "nn.pixel_unshuffle": (
            lambda x: R.nn.pixel_unshuffle(x, 2),
            by_torch(F.pixel_unshuffle, 2),
            [[floats(1, 2, 2, 4)], [integers(3, 2, 2)]],
        ),
        "nn.batch_flatten": use("nn.batch_flatten", [[floats(2, 3, 2)], [integers(4)]]),
        "nn.dropout": use("nn.dropout", [[floats(2, 3)]]),
    }


def windows() -> dict[str, Spec]:
    """Sums and extremes over windows."""
    found: dict[str, Spec] = {}
    for count in (1, 2, 3):
        sizes = (3, 2, 4)[:count]
        for kind in ("avg", "max"):
            name = f"adaptive_{kind}_pool{count}d"
            found[f"nn.{name}"] = (
                lambda x, name=name: getattr(R.nn, name)(x, 2),
                by_torch(getattr(F, name), (2,) * count),
                [[floats(1, 2, *sizes)]],
            )
        found[f"nn.conv{count}d_transpose"] = (
            lambda x, w, count=count: getattr(R.nn, f"conv{count}d_transpose")(x, w, 2, 1),
            by_torch(getattr(F, f"conv_transpose{count}d"), None, 2, 1),
            [[floats(1, 2, *sizes), floats(2, 3, *(3, 3, 2)[:count])]],
        )
    return found


def losses() -> dict[str, Spec]:
    """Differences of predictions from targets."""
    return {
        "nn.cross_entropy_with_logits": (
            R.nn.cross_entropy_with_logits,
            lambda x, y: -(x * y).sum() / len(x),
            [[floats(2, 3), floats(2, 3)]],
        ),
        "nn.nll_loss": (
            R.nn.nll_loss,
            by_torch(F.nll_loss),
            [[floats(4, 3), integers(4), floats(3)]],
        ),
    }


def quantization() -> dict[str, Spec]:
    """Floats as integers, and back."""
    zero = np.array([1, 2], np.int8)
    return {
        "quantize": (
            lambda x, s, z: R.quantize(x, s, z, 0, "uint8"),
            lambda x, s, z: (np.rint(x / s[:, None]) + z[:, None]).astype(np.uint8),
            [[floats(2, 3) * np.float32(9), np.array([0.25, 0.5], np.float32), zero]],
        ),
        "dequantize": (
            R.dequantize,
            lambda x, s, z: ((x.astype(np.float64) - z) * s).astype(np.float32),
            [[integers(3, 2, dtype=np.int8), np.array([0.25, 0.5], np.float32), zero]],
        ),
    }


def images() -> dict[str, Spec]:
    """Images resized, and elements at positions that are data."""
    grid = np.array([[-0.5, 0.25, 0.9], [0.1, -0.7, 0.3]], np.float32).reshape(1, 2, 1, 3)
    return {
        "image.resize2d": (
            lambda x: R.image.resize2d(x, (3, 5)),
            by_torch(F.interpolate, (3, 5), None, "bilinear"),
            [[floats(1, 2, 2, 4)]],
        ),
        "image.resize3d": (
            lambda x: R.image.resize3d(x, 3, method="nearest_neighbor", rounding_method="round_prefer_ceil"),
            by_torch(F.interpolate, (3, 3, 3), None, "nearest-exact"),
            [[floats(1, 1, 2, 4, 1)]],
        ),
        "image.grid_sample": (
            R.image.grid_sample,
            lambda x, g: by_torch(F.grid_sample, align_corners=False)(x, np.moveaxis(g, 1, -1)),
            [[floats(1, 2, 3, 2), grid]],
        ),
        "image.affine_grid": (
            lambda x: R.image.affine_grid(x, (3, 2)),
            lambda x: np.moveaxis(by_torch(F.affine_grid, (2, 1, 3, 2), align_corners=True)(x), -1, 1),
            [[floats(2, 2, 3)]],
        ),
    }


def detection() -> dict[str, Spec]:
    """Regions and boxes."""
    image, region = floats(1, 2, 4, 4), np.array([[0, 0, 0, 3, 3]], np.float32)
    box = np.array([[0, 0.9, 0, 0, 2, 2], [0, 0.3, 0, 0, 1, 1], [0, 0.7, 5, 5, 6, 6]], np.float32)[None]
    kept = np.array([[0, 2, -1]], np.int32)
    counts, places = np.array([3], np.int32), np.array([[0, 1, 2]], np.int32)
    best = np.array([[0, 0, 0], [0, 0, 2], [-1, -1, -1]])
    return {
        # One cell of one sample: the middle of the region, between four elements.
        "vision.roi_align": (
            lambda x, r: R.vision.roi_align(x, r, 1, 1.0, 1),
            lambda x, r: x[:, :, 1:3, 1:3].mean((2, 3), keepdims=True),
            [[image, region]],
        ),
        "vision.roi_pool": (
            lambda x, r: R.vision.roi_pool(x, r, 2, 1.0),
            lambda x, r: x.reshape(1, 2, 2, 2, 2, 2).max((3, 5)),
            [[image, region]],
        ),
        "vision.get_valid_counts": (
            lambda x: R.vision.get_valid_counts(x, 0.5),
            lambda x: [
                np.array([2], np.int32),
                np.concatenate([x[:, [0, 2]], np.full((1, 1, 6), -1, x.dtype)], 1),
                kept,
            ],
            [[box]],
        ),
        "vision.non_max_suppression": (
            lambda x, c, i: R.vision.non_max_suppression(x, c, i, iou_threshold=0.2, score_threshold=0.5),
            lambda x, c, i: [kept, np.array([[2]], np.int32)],
            [[box, counts, places]],
        ),
        "vision.all_class_non_max_suppression": (
            R.vision.all_class_non_max_suppression,
            lambda b, s, *numbers: [best, np.array([2])],
            [
                [
                    np.ascontiguousarray(box[..., 2:]),
                    np.ascontiguousarray(box[:, None, :, 1]),
                    np.array([3]),
                    np.array([0.2], np.float32),
                    np.array([0.5], np.float32),
                ]
            ],
        ),
        "vision.multibox_transform_loc": (
            R.vision.multibox_transform_loc,
            lambda c, m, a: [a[..., [1, 0, 3, 2]], np.exp(c) / np.exp(c).sum(1, keepdims=True)],
            [[floats(1, 3, 2), np.zeros((1, 8), np.float32), floats(1, 2, 4)]],
        ),
    }


def gradients() -> dict[str, Spec]:
    """Gradients, and annotations for gradient computation."""
    pooled, data = floats(1, 1, 2, 2), floats(1, 1, 4, 4)

    def greatest(g: Array, x: Array) -> Array:
        spread = x.reshape(2, 2, 2, 2).max((1, 3)).repeat(2, 0).repeat(2, 1)
        return np.where(x == spread, g.repeat(2, 2).repeat(2, 3), 0)

    marks = {f"grad.{name}": (getattr(R.grad, name), lambda x: x, [[floats(2, 3)]]) for name in MARKS}
    return {
        **marks,
        "grad.max_pool2d_backward": (
            lambda g, x: R.grad.max_pool2d_backward(g, x, 2, 2),
            greatest,
            [[pooled, data]],
        ),
        "grad.avg_pool2d_backward": (
            lambda g, x: R.grad.avg_pool2d_backward(g, x, 2, 2),
            lambda g, x: g.repeat(2, 2).repeat(2, 3) / 4,
            [[pooled, data]],
        ),
        "grad.nll_loss_backward": (
            lambda g, x, t, w: R.grad.nll_loss_backward(g, x, t, w, "none"),
            lambda g, x, t, w: -np.eye(3)[t] * (g * w[t])[:, None],
            [[floats(4), floats(4, 3), integers(4), floats(3)]],
        ),
        "grad.take_backward": (
            lambda g, x, i: R.grad.take_backward(g, x, i, 0),
            lambda g, x, i: np.eye(len(x))[i].T @ g,
            [[floats(4, 2), floats(3, 2), integers(4)]],
        ),
    }


def recurrent() -> dict[str, Spec]:
    """Steps of recurrent layers, without lengths and peepholes; attention of several sequences."""
    none, nothing = np.zeros(0, np.int32), np.zeros((0, 2), np.float32)

    def sigmoid(x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    def states(step: Callable[..., Any], gates: Array, h: Array, *more: Array) -> list[Array]:
        found, state = [], (h, *more)
        for own in gates:
            state = step(own, *state)
            found.append(state[0])
        return [np.stack(found), *state]

    def gru(own: Array, h: Array, r: Array, b: Array) -> tuple[Array]:
        back = np.split(h @ r + b, 3, -1)
        given = np.split(own, 3, -1)
        reset, update = (sigmoid(given[n] + back[n]) for n in (0, 1))
        return ((1 - update) * np.tanh(given[2] + reset * back[2]) + update * h,)

    def lstm(own: Array, h: Array, c: Array, r: Array) -> tuple[Array, Array]:
        i, f, g, o = np.split(own + h @ r, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c

    h = floats(2, 2)
    starts, longest = np.array([0, 2, 3], np.int32), np.array(2, np.int32)

    def attention(q: Array, k: Array, v: Array, *numbers: Array) -> Array:
        """Sequences of two, and of one, which sees itself alone."""
        scores = np.exp(np.einsum("shd,thd->sht", q[0, :2], k[0, :2]) / np.sqrt(q.shape[-1]))
        pair = np.einsum("sht,thd->shd", scores / scores.sum(-1, keepdims=True), v[0, :2])
        return np.concatenate([pair, v[0, 2:]])[None]

    return {
        "nn.attention_var_len": (
            lambda q, k, v, s, m: R.nn.attention_var_len(q, k, v, s, m),
            attention,
            [[*(floats(1, 3, 2, 4) for _ in range(3)), starts, longest]],
        ),
        "nn.rnn_steps": (
            R.nn.rnn_steps,
            lambda g, r, h, n: states(lambda own, h: (np.tanh(own + h @ r),), g, h),
            [[floats(3, 2, 2), floats(2, 2), h, none]],
        ),
        "nn.gru_steps": (
            R.nn.gru_steps,
            lambda g, r, b, h, n: states(lambda own, h: gru(own, h, r, b), g, h),
            [[floats(3, 2, 6), floats(2, 6), floats(6), h, none]],
        ),
        "nn.lstm_steps": (
            R.nn.lstm_steps,
            lambda g, r, h, c, n, p: states(lambda own, h, c: lstm(own, h, c, r), g, h, c),
            [[floats(3, 2, 8), floats(2, 8), h, floats(2, 2), none, nothing]],
        ),
    }


MARKS = ("no_grad", "start_checkpoint", "end_checkpoint")


def networks() -> dict[str, Spec]:
    found = activations() | moved() | windows() | losses() | quantization() | images()
    return found | detection() | gradients() | recurrent()
