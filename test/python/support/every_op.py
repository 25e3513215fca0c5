"""A use of every op, with its reference on NumPy arrays and inputs of several ranks and dtypes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import sweep
from harness import ReferenceOps
from reference import (
    COMPARISONS,
    DIVISIONS,
    FLOAT_BINARY,
    FLOAT_UNARY,
    INTEGER_BINARY,
    NUMBER_BINARY,
    NUMBER_UNARY,
    PREDICATES,
    REDUCTIONS,
)
from relax_mlir import op as R

Array = np.ndarray[Any, Any]
Inputs = Sequence[Sequence[Array]]
Spec = tuple[Callable[..., Any], Callable[..., Any], Inputs]
"""Builder, reference, and inputs."""
RNG = np.random.default_rng(3)
BF16 = ml_dtypes.bfloat16


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    return np.asarray(RNG.uniform(0.1, 0.9, shape)).astype(dtype)


def integers(*shape: int, dtype: Any = np.int32) -> Array:
    return RNG.integers(1, 7, shape).astype(dtype)


def indices(*shape: int) -> Array:
    return np.asarray(RNG.integers(0, 3, shape))


def flags(*shape: int) -> Array:
    return RNG.integers(0, 2, shape).astype(bool)


def both(build: Callable[..., Any], *inputs: Sequence[Array]) -> Spec:
    """``build(R, *operands)``, computed by the reference, too."""
    return partial(build, R), partial(build, ReferenceOps({})), inputs


def use(name: str, inputs: Inputs, *attributes: Any, joined: bool = False, **more: Any) -> Spec:
    """A use of an op with these attributes; `joined`: the inputs are the elements of one operand."""

    def build(ops: Any, *xs: Any) -> Any:
        return operator.attrgetter(name)(ops)(*([[*xs]] if joined else xs), *attributes, **more)

    return both(build, *inputs)


UNARY_INPUTS = [
    [floats(2, 3)],
    [floats(4, 1, dtype=np.float64)],
    [floats(dtype=np.float32)],
    [floats(0, 2)],
    [floats(5, dtype=np.float16)],
    [floats(3, dtype=BF16)],
]
BROADCASTS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1), (1, 5)), ((), (3,)), ((1,), (0,)), ((2, 2), (1, 2))]
QKV = [floats(2, 3, 2, 4), floats(2, 5, 2, 4), floats(2, 5, 2, 3)]
ROWS = [[floats(2, 3)], [floats(4, 1)], [floats(5, dtype=np.float64)], [floats(2, 2, 3, dtype=np.float16)]]
THOROUGH = frozenset({"exp", "abs", "isnan", "add", "less", "divide", "left_shift"})
"""Ops that run on all inputs; the other ops of their kind differ only in the scalar function."""
NUMBERS = (*NUMBER_UNARY, *PREDICATES)
PAIRS = (*NUMBER_BINARY, *DIVISIONS, *COMPARISONS)
SCALAR: tuple[str, ...] = (*FLOAT_UNARY, *NUMBERS, *PAIRS, *FLOAT_BINARY, *INTEGER_BINARY)
"""Elementwise ops: those of one dict differ only in the scalar function."""
FEW = 9 if sweep.ALL else 1
"""The number of inputs of the other ops."""


def few(name: str, inputs: Inputs) -> Inputs:
    return inputs if name in THOROUGH else inputs[:FEW]


def specs() -> dict[str, Spec]:
    """Builder, reference and inputs by name of the op, or of one use of it after a colon."""
    found: dict[str, Spec] = {}
    for name in FLOAT_UNARY:
        if name == "acosh":
            inputs = [[np.asarray(a + np.ones((), a.dtype)) for a in arrays] for arrays in UNARY_INPUTS]
            found[name] = use(name, inputs[: min(FEW, 2)])
        else:
            found[name] = use(name, few(name, UNARY_INPUTS))
    for name in NUMBERS:
        found[name] = use(name, [*few(name, UNARY_INPUTS), [integers(2, 3)]])
    found["bitwise_not"] = use("bitwise_not", [[integers(2, 3)], [flags(3)]])
    for name in PAIRS:
        inputs = [[integers(*a), integers(*b)] for a, b in BROADCASTS] + [[floats(2, 1), floats(3)]]
        found[name] = use(name, few(name, inputs))
    for name in FLOAT_BINARY:
        inputs = [[floats(*a), floats(*b)] for a, b in BROADCASTS]
        found[name] = use(name, few(name, [*inputs, [floats(2, dtype="f2"), floats(1, dtype="f2")]]))
    for name in INTEGER_BINARY:
        found[name] = use(name, few(name, [[integers(*a), integers(*b)] for a, b in BROADCASTS]))
    for name in REDUCTIONS:
        inputs = [[floats(2, 3, 4)], [floats(1, 5)], [floats(3, 1, 2, dtype="f8")]]
        found[name] = use(name, [*inputs, [floats(7)], [floats()]])
        found[f"{name}:axis"] = use(name, inputs, [1], True)
    for name in ("argmax", "argmin"):
        found[name] = use(name, [[floats(2, 3)], [integers(5)], [flags(4)]])
        found[f"{name}:axis"] = use(name, [[floats(2, 3)]], -1)
    for name in ("cumsum", "cumprod"):
        found[name] = use(name, [[floats(2, 3)], [integers(5)], [floats()]])
        found[f"{name}:axis"] = use(name, [[integers(2, 3)], [flags(4)]], 0, "float64")
    return found | movement() | created() | placed() | networks() | windows() | images() | structure()


ANY = [[floats(2, 3)], [integers(2, 3)], [floats(1, 4, dtype=BF16)]]


def movement() -> dict[str, Spec]:
    """Ops that move, select, join or order elements."""
    ones = [[floats(2, 1)], [floats(1, 3)], [floats(1, 1)], [floats(2, 1, 1, dtype="f8")]]
    joined = [[floats(2, 3), floats(4, 3)], [integers(3), integers(0)], [flags(1, 1), flags(1, 1)]]
    stacked = [[floats(2, 3), floats(2, 3)], [integers(4), integers(4)], [flags(0, 2), flags(0, 2)]]
    taken = [[floats(5, 2), integers(3)], [integers(2), integers(2, 2, dtype="u1")], [floats(7), integers()]]
    grids = [[floats(2), integers(3), flags(4)], [floats(1), flags(0), flags(2)]]
    return {
        "astype": use("astype", [*ANY, [flags(3)], [floats()]], "float64"),
        "where": use("where", [[flags(2, 1), floats(2, 3), floats(3)], [flags(4), integers(1), integers(4)]]),
        "clip": use("clip", [[floats(3) * 9], [integers(2, 3, dtype="u1")]], 2, 4),
        "clip:float": use("clip", [[floats(3, dtype="f8")]], 0.25, None),
        "ewise_fma": use("ewise_fma", [[floats(2, 1), floats(1, 3), floats(3)], [integers(2)] * 3]),
        "tril": use("tril", [*ANY, [floats(2, 3, 4)]], 1),
        "triu": use("triu", ANY),
        "reshape": both(
            lambda R, x, y: R.reshape(x, R.shape_of(y)),
            [floats(2, 3), floats(3, 1, 2)],
            [integers(1), flags()],
        ),
        "reshape:known": use("reshape", [[floats(6)], [integers(3, 2)]], (2, 3)),
        "flatten": use("flatten", [*ANY, [floats()], [floats(2, 0)]]),
        "expand_dims": use("expand_dims", [*ANY, [floats()]], [0, -1]),
        "squeeze": use("squeeze", [*ones, [floats(2, 2)]]),
        "squeeze:axis": use("squeeze", [[floats(2, 1)], [floats(1)]], -1),
        "permute_dims": use("permute_dims", [*ANY, [floats(2, 3, 4)], [floats()]]),
        "permute_dims:axes": use("permute_dims", [[floats(2, 3, 4)]], [1, 2, 0]),
        "broadcast_to": both(
            lambda R, x, y: R.broadcast_to(x, R.shape_of(y)),
            *([floats(3), floats(2, 3)], [integers(2, 1), flags(4, 2, 5)], [floats(), floats(0)]),
        ),
        "concat": use("concat", joined, 0, joined=True),
        "stack": use("stack", stacked, 1, joined=True),
        "split": use("split", [[floats(4, 3)], [integers(5)], [floats(1)]], 2),
        "split:at": use("split", [[floats(2, 4)], [integers(2)]], [1, 3], -1),
        "take": use("take", taken, 0),
        "take:flat": use("take", [[floats(2, 3), integers(4)]]),
        "strided_slice": use("strided_slice", [[floats(7, 2)], [integers(5)], [floats(1)]], [0], [1], [-1], [2]),
        "sort": use("sort", ANY, 0),
        "argsort": use("argsort", ANY, 0),
        "topk": use("topk", ANY, 2, 0, "values"),
        "flip": use("flip", ANY, -1),
        "tile": use("tile", ANY, (2, 3)),
        "repeat": use("repeat", ANY, 2, 0),
        "repeat:flat": use("repeat", ANY, 3),
        "roll": use("roll", ANY, 2, -1),
        "roll:flat": use("roll", [*ANY, [floats()]], -4),
        "logsumexp": use("logsumexp", [[floats(2, 3)], [floats(4, 1, dtype="f8")], [floats(3, dtype="f2")]], 0),
        "median": use("median", ANY, 0),
        "median:all": use("median", [*ANY, [floats()]]),
        "searchsorted": use(
            "searchsorted", [[np.sort(floats(5)), floats(2, 3)], [np.sort(integers(4)), integers()]], True
        ),
        "bucketize": use(
            "bucketize",
            [[floats(2, 3), np.sort(floats(5))], [integers(3), np.sort(integers(7))]],
            out_int32=True,
        ),
        "multinomial_from_uniform": use(
            "multinomial_from_uniform",
            [[floats(7, 3), floats(4, 1), integers(4, 1)], [floats(8, 1), floats(2, 1), integers(2, 1)]],
        ),
        "meshgrid": use("meshgrid", grids, joined=True),
        "meshgrid:xy": use("meshgrid", [[floats(2), integers(3)]], "xy", joined=True),
        "outer": use("outer", [[floats(2), floats(3)], [integers(4), integers(0)]]),
        "collapse_sum_like": use(
            "collapse_sum_like", [[floats(5, 2, 3), floats(1, 3)], [integers(4, 3, 1), integers(1, 1)]]
        ),
        "collapse_sum_to": both(
            lambda R, x, y: R.collapse_sum_to(x, R.shape_of(y)),
            [floats(5, 2), floats(2)],
            [integers(4, 3), integers(3)],
        ),
        "layout_transform": (
            lambda x: R.layout_transform(x, lambda i, j: (j // 2, i, j % 2), 0),
            lambda x: np.pad(x, ((0, 0), (0, x.shape[1] % 2))).reshape(len(x), -1, 2).swapaxes(0, 1),
            ANY,
        ),
        "reverse_sequence": use(
            "reverse_sequence", [[floats(3, 4), integers(3)], [flags(1, 7, 2), integers(1, dtype="u1")]]
        ),
        "unique": use("unique", [[floats(4)], [integers(3, 5)], [flags(6)], [floats(0)]]),
        "nonzero": use("nonzero", [[flags(4)], [integers(3, 5)], [flags(2, 2, 2)]]),
    }


def created() -> dict[str, Spec]:
    """Ops that create elements."""
    filled = [[floats(2, 3), integers()], [flags(), floats()]]
    return {
        "full_like": both(lambda R, x, v: R.full_like(x, v, "float32"), filled[0], [flags(0), floats()]),
        "ones_like": use("ones_like", ANY),
        "zeros_like": use("zeros_like", ANY),
        "ones_like:dtype": use("ones_like", ANY, "int8"),
        "full": both(lambda R, x, v: R.full(R.shape_of(x), v), *filled),
        "ones": both(lambda R, x: R.ones(R.shape_of(x), "int32"), *ANY),
        "zeros": (lambda x: R.zeros(R.shape_of(x)), lambda x: np.zeros(x.shape, np.float32), ANY),
        "random.words": both(lambda R, state: R.random.words(state, 7)[0], [np.array([2**63 + 5, 7, 0], np.uint64)]),
        "one_hot": (
            lambda x: R.one_hot(x, 2.0, -1.0, 5, 0),
            lambda x: ReferenceOps({}).one_hot(x, 2, -1, 5, 0).astype(np.float32),
            [[integers(2, 3)], [integers(4, dtype="u1")], [integers()]],
        ),
        "eye_like": use("eye_like", [[floats(2, 3)], [flags(4, 1)], [integers(3, 3)]], 1, "int32"),
        "size": use("size", [[floats(2, 3)], [flags(0)], [integers()]]),
    }


def placed() -> dict[str, Spec]:
    """Ops whose positions are data."""
    bounds = [floats(7, 3), np.array([-2, 0]), np.array([-7, -1]), np.array([-2, 1])]
    one = [flags(9), integers(1), integers(1) + 3, integers(1, dtype="u1")]
    updates = [
        [floats(7, 3), integers(12, 2), floats(12, 2)],
        [integers(8, 1), integers(0, 1), integers(0, 1)],
    ]
    vectors = [[floats(7, 8), integers(3, 2)], [floats(7, 2), integers(2, 1)], [floats(7), integers(1)]]
    return {
        "dynamic_strided_slice": use("dynamic_strided_slice", [bounds, one]),
        "slice_scatter": use("slice_scatter", [[floats(8, 2), floats(3, 2)], [integers(6), integers(3)]], 1, 6, 2),
        "gather_elements": use(
            "gather_elements", [[floats(2, 8), integers(2, 3)], [flags(1, 7), integers(1, 9, dtype="u1")]], 1
        ),
        "gather_nd": use("gather_nd", vectors),
        "index_tensor": both(
            lambda R, x, i, j: R.index_tensor(x, [i, j]),
            *([floats(7, 8), integers(3), integers(2, 1)], [flags(7, 7, 2), integers(), integers(1)]),
        ),
        "scatter_elements": use("scatter_elements", updates, 0, "add"),
        "scatter_nd": use(
            "scatter_nd",
            [[floats(7, 8), integers(3, 2), floats(3)], [floats(7, 2), integers(4, 1), floats(4, 2)]],
        ),
        "index_put": both(
            lambda R, x, i, v: R.index_put(x, [i], v, accumulate=True),
            *([floats(7, 2), integers(3), floats(2)], [integers(7), integers(4), integers()]),
        ),
    }


def networks() -> dict[str, Spec]:
    """Products, activations, norms, attention, losses, quantization, and steps of recurrent layers."""
    signed = [[floats(2, 3) - np.float32(0.5)], [floats(4, dtype=np.float16)], [floats(dtype=np.float64)]]
    vectors = [floats(2, 4, 3), floats(4), floats(4)]
    products = [[floats(2, 3), floats(3, 4)], [floats(3), floats(3)], [floats(2, 1, 3), floats(1, 3, 1)]]
    batches = [[floats(2, 3), floats(3, 4)], [floats(5, 2, 3, dtype="f8"), floats(1, 3, 2, dtype="f8")]]
    three = [[floats(2, 3), floats(3), floats(4, 3)], [integers(2, 1), integers(1), integers(3, 1)]]
    wide = [floats(2, 1, 3, dtype="f8"), floats(3, dtype="f8"), floats(3, dtype="f8")]
    scale, zero = np.array([0.25, 0.5], np.float32), np.array([1, 2], np.int8)
    none, nothing, h = np.zeros(0, np.int32), np.zeros((0, 2), np.float32), floats(2, 2)
    starts, longest = np.array([0, 2, 3], np.int32), np.array(2, np.int32)
    slopes = [[floats(2, 3, 2) - np.float32(0.5), floats(3)], [floats(2, 4), floats(1)]]
    return {
        "matmul": use("matmul", [*products, [integers(2, 3), integers(3)], [floats(2, 0), floats(0, 2)]]),
        "einsum": use("einsum", batches, "...ij,...jk->...ik", joined=True),
        "einsum:three": use("einsum", three, "ij,j,kj->ki", joined=True),
        "nn.leakyrelu": use("nn.leakyrelu", signed),
        "nn.elu": use("nn.elu", signed[:1], 0.5),
        **{
            f"nn.{name}": use(f"nn.{name}", signed[:1])
            for name in ("selu", "softplus", "hardswish", "hardsigmoid", "mish", "relu6")
        },
        "nn.prelu": use("nn.prelu", slopes),
        "nn.softmax": use("nn.softmax", ROWS),
        "nn.log_softmax": use("nn.log_softmax", ROWS),
        "nn.layer_norm": use("nn.layer_norm", [[floats(2, 8), floats(8), floats(8)], wide]),
        "nn.rms_norm": use("nn.rms_norm", [[floats(2, 8), floats(8)]]),
        "nn.group_norm": use(
            "nn.group_norm", [vectors, [floats(1, 6, 2, dtype="f8"), *[floats(6, dtype="f8")] * 2]], 2, 1, [2]
        ),
        "nn.instance_norm": use("nn.instance_norm", [vectors], 1, [2]),
        "nn.batch_norm": use("nn.batch_norm", [[floats(2, 3, 4), *(floats(3) for _ in range(4))]], 1, training=False),
        "nn.attention": use("nn.attention", [QKV]),
        "nn.attention_bias": use("nn.attention_bias", [[*QKV, floats(2, 1, 3, 5)]]),
        "nn.attention_var_len": use(
            "nn.attention_var_len", [[*(floats(1, 3, 2, 4) for _ in range(3)), starts, longest]]
        ),
        "nn.rnn_steps": use("nn.rnn_steps", [[floats(3, 2, 2), floats(2, 2), h, none]]),
        "nn.gru_steps": use("nn.gru_steps", [[floats(3, 2, 6), floats(2, 6), floats(6), h, none]]),
        "nn.lstm_steps": use("nn.lstm_steps", [[floats(3, 2, 8), floats(2, 8), h, floats(2, 2), none, nothing]]),
        "nn.cross_entropy_with_logits": use("nn.cross_entropy_with_logits", [[floats(2, 3), floats(2, 3)]]),
        "nn.nll_loss": use("nn.nll_loss", [[floats(4, 3), indices(4), floats(3)]]),
        "grad.nll_loss_backward": use(
            "grad.nll_loss_backward", [[floats(4), floats(4, 3), indices(4), floats(3)]], "none"
        ),
        "grad.take_backward": use("grad.take_backward", [[floats(4, 2), floats(3, 2), indices(4)]], 0),
        **{
            f"grad.{name}": use(f"grad.{name}", [[floats(2, 3)]])
            for name in ("no_grad", "start_checkpoint", "end_checkpoint")
        },
        "quantize": use("quantize", [[floats(2, 3) * np.float32(9), scale, zero]], 0, "uint8"),
        "dequantize": use("dequantize", [[indices(3, 2).astype(np.int8), scale, zero]]),
    }


def windows() -> dict[str, Spec]:
    """Sums and extremes over windows, padding, and blocks of pixels."""
    pooled, data = floats(1, 1, 2, 2), floats(1, 1, 4, 4)
    found = {
        "nn.pad": use("nn.pad", [[floats(2, 3)], [indices(1, 2)]], [1, 2, 0, 1], "constant", 3),
        "nn.pad:reflect": use("nn.pad", [[floats(3)], [indices(4)]], [1, 2], "reflect"),
        "nn.pixel_shuffle": use("nn.pixel_shuffle", [[floats(1, 4, 2, 3)], [indices(8, 1, 1)]], 2),
        "nn.pixel_unshuffle": use("nn.pixel_unshuffle", [[floats(1, 2, 2, 4)], [indices(3, 2, 2)]], 2),
        "nn.batch_flatten": use("nn.batch_flatten", [[floats(2, 3, 2)], [indices(4)]]),
        "nn.dropout": use("nn.dropout", [[floats(2, 3)]]),
        "nn.conv2d": use(
            "nn.conv2d",
            [[floats(2, 3, 5, 4), floats(4, 3, 2, 3)], [floats(1, 1, 2, 3), floats(1, 1, 1, 1)]],
            *((2, 1), (0, 1, 1, 0)),
        ),
        "nn.conv1d": use("nn.conv1d", [[floats(2, 3, 5), floats(4, 3, 2)], [integers(1, 2, 3), integers(1, 2, 3)]]),
        "nn.conv3d": use("nn.conv3d", [[floats(1, 2, 3, 1, 4), floats(2, 1, 2, 1, 3)]], groups=2),
        "grad.max_pool2d_backward": use("grad.max_pool2d_backward", [[pooled, data]], 2, 2),
        "grad.avg_pool2d_backward": use("grad.avg_pool2d_backward", [[pooled, data]], 2, 2),
    }
    for count in (1, 2, 3):
        for kind in ("max", "avg"):
            pool, adaptive = f"nn.{kind}_pool{count}d", f"nn.adaptive_{kind}_pool{count}d"
            found[pool] = use(pool, [[floats(1, 2, *(4, 3, 2)[:count])]], 2, 2)
            found[adaptive] = use(adaptive, [[floats(1, 2, *(3, 2, 4)[:count])]], 2)
        conv = f"nn.conv{count}d_transpose"
        found[conv] = use(conv, [[floats(1, 2, *(3, 2, 4)[:count]), floats(2, 3, *(3, 3, 2)[:count])]], 2, 1)
    return found


def images() -> dict[str, Spec]:
    """Images resized or sampled, regions and boxes."""
    grid = np.array([[-0.5, 0.25, 0.9], [0.1, -0.7, 0.3]], np.float32).reshape(1, 2, 1, 3)
    nearest = {"method": "nearest_neighbor", "rounding_method": "round_prefer_ceil"}
    image, region = floats(1, 2, 4, 4), np.array([[0, 0, 0, 3, 3]], np.float32)
    box = np.array([[0, 0.9, 0, 0, 2, 2], [0, 0.3, 0, 0, 1, 1], [0, 0.7, 5, 5, 6, 6]], np.float32)[None]
    counts, places = np.array([3], np.int32), np.array([[0, 1, 2]], np.int32)
    corners, scores = (np.ascontiguousarray(part) for part in (box[..., 2:], box[:, None, :, 1]))
    limits = np.array([3]), np.array([0.2], np.float32), np.array([0.5], np.float32)
    return {
        "image.resize2d": use("image.resize2d", [[floats(1, 2, 2, 4)]], (3, 5)),
        "image.resize3d": use("image.resize3d", [[floats(1, 1, 2, 4, 1)]], 3, **nearest),
        "image.grid_sample": use("image.grid_sample", [[floats(1, 2, 3, 2), grid]]),
        "image.affine_grid": use("image.affine_grid", [[floats(2, 2, 3)]], (3, 2)),
        "vision.roi_align": use("vision.roi_align", [[image, region]], 1, 1.0, 1),
        "vision.roi_pool": use("vision.roi_pool", [[image, region]], 2, 1.0),
        "vision.get_valid_counts": use("vision.get_valid_counts", [[box]], 0.5),
        "vision.non_max_suppression": use(
            "vision.non_max_suppression", [[box, counts, places]], iou_threshold=0.2, score_threshold=0.5
        ),
        "vision.all_class_non_max_suppression": use(
            "vision.all_class_non_max_suppression", [[corners, scores, *limits]]
        ),
        "vision.multibox_transform_loc": use(
            "vision.multibox_transform_loc",
            [[floats(1, 3, 2), np.zeros((1, 8), np.float32), floats(1, 2, 4)]],
        ),
    }


def structure() -> dict[str, Spec]:
    """Bytes and shapes as tensors."""
    return {
        "memory.view": (
            lambda x: R.memory.view(x, (4, 2), "int16", 4),
            lambda x: x.reshape(-1).view(np.int16)[2:10].reshape(4, 2),
            [[integers(5)], [integers(3, 4, dtype=np.int64)], [flags(3, 8)]],
        ),
        "shape_to_tensor": (
            lambda x: R.shape_to_tensor(R.shape_of(x)),
            lambda x: np.array(x.shape, np.int64),
            [[flags(4, 2)], [floats()]],
        ),
        "tensor_to_shape": (
            lambda x: R.shape_to_tensor(R.tensor_to_shape(x)),
            lambda x: x,
            [[np.array([3, 4])], [np.zeros(0, np.int64)]],
        ),
    }
