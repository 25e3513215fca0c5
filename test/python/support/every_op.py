"""A use of every op, with its reference on NumPy arrays and inputs of several ranks and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import sweep
from every_op_arrays import Array, Spec, flags, floats, integers
from every_op_movement import movement
from every_op_networks import networks
from relax_mlir import op as R
from scipy import special

UNARY_INPUTS = [
    [floats(2, 3)],
    [floats(4, 1, dtype=np.float64)],
    [floats(dtype=np.float32)],
    [floats(0, 2)],
    [floats(5, dtype=np.float16)],
    [floats(3, dtype=ml_dtypes.bfloat16)],
]
FLOAT_UNARY: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": lambda x: np.arccosh(x),
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": special.erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": special.expit,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "nn.gelu": lambda x: x / 2 * (1 + special.erf(x / np.sqrt(2))),
    "nn.gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "nn.silu": lambda x: x / (1 + np.exp(-x)),
}
NUMBER_UNARY: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "ceil": lambda x: np.asarray(np.ceil(x)).astype(x.dtype),
    "floor": lambda x: np.asarray(np.floor(x)).astype(x.dtype),
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "logical_not": np.logical_not,
    "negative": np.negative,
    "round": lambda x: np.asarray(np.round(x)).astype(x.dtype),
    "sign": np.sign,
    "square": np.square,
    "trunc": lambda x: np.asarray(np.trunc(x)).astype(x.dtype),
    "nn.relu": lambda x: np.maximum(x, 0).astype(x.dtype),
}
BROADCASTS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1), (1, 5)), ((), (3,)), ((1,), (0,)), ((2, 2), (1, 2))]
NUMBER_BINARY: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        *("add", "subtract", "multiply", "maximum", "minimum", "power", "floor_divide", "mod"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
        *("logical_and", "logical_or", "logical_xor"),
    )
} | {"floor_mod": np.mod}
FLOAT_BINARY: dict[str, Callable[..., Any]] = {
    "atan2": np.arctan2,
    "divide": np.divide,
    "log_add_exp": np.logaddexp,
}
INTEGER_BINARY: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
}
FLOAT_REDUCTIONS: dict[str, Callable[..., Any]] = {"mean": np.mean, "std": np.std, "variance": np.var}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "max": np.max,
    "min": np.min,
    "sum": lambda x, **axes: np.sum(x, dtype=x.dtype, **axes),
    "prod": lambda x, **axes: np.prod(x, dtype=x.dtype, **axes),
    "logical_any": np.any,
    "logical_all": np.all,
    **FLOAT_REDUCTIONS,
}


def builder(name: str) -> Callable[..., Any]:
    return getattr(R.nn, name.removeprefix("nn.")) if name.startswith("nn.") else getattr(R, name)  # type: ignore[no-any-return]


def softmax(x: Array, axis: int = -1) -> Array:
    return np.exp(x - x.max(axis, keepdims=True)) / np.exp(x - x.max(axis, keepdims=True)).sum(
        axis, keepdims=True
    )


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


def group_norm(x: Array, gamma: Array, beta: Array, groups: int) -> Array:
    """Channels are along axis 1 of three."""
    parts = x.reshape(len(x), groups, -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
    return normal.reshape(x.shape) * gamma[:, None] + beta[:, None]


def attention(q: Array, k: Array, v: Array, bias: Array | float = 0.0) -> Array:
    scores = np.einsum("bshd,bthd->bhst", q, k) / np.sqrt(q.shape[-1]) + bias
    return np.einsum("bhst,bthe->bshe", softmax(scores), v)


QKV = [floats(2, 3, 2, 4), floats(2, 5, 2, 4), floats(2, 5, 2, 3)]
ROWS = [[floats(2, 3)], [floats(4, 1)], [floats(5, dtype=np.float64)], [floats(2, 2, 3, dtype=np.float16)]]


THOROUGH = frozenset({"exp", "abs", "isnan", "add", "less", "divide", "left_shift"})
"""Ops that run on all inputs; the other ops of their kind differ only in the scalar function."""
SCALAR: tuple[str, ...] = (*FLOAT_UNARY, *NUMBER_UNARY, *NUMBER_BINARY, *FLOAT_BINARY, *INTEGER_BINARY)
"""Elementwise ops: those of one dict differ only in the scalar function."""
FEW = 9 if sweep.ALL else 1
"""The number of inputs of the other ops."""


def few(name: str, inputs: Sequence[Sequence[Array]]) -> Sequence[Sequence[Array]]:
    return inputs if name in THOROUGH else inputs[:FEW]


def specs() -> dict[str, Spec]:
    """Builder, reference and inputs by name of the op, or of one use of it after a colon."""
    found: dict[str, Spec] = {}
    for name, reference in FLOAT_UNARY.items():
        inputs = [[np.asarray(a + np.ones((), a.dtype)) for a in arrays] for arrays in UNARY_INPUTS]
        found[name] = (
            builder(name),
            reference,
            inputs[: min(FEW, 2)] if name == "acosh" else few(name, UNARY_INPUTS),
        )
    for name, reference in NUMBER_UNARY.items():
        found[name] = (
            builder(name),
            reference,
            [*few(name, UNARY_INPUTS), [integers(2, 3)]],
        )
    found["bitwise_not"] = (R.bitwise_not, np.invert, [[integers(2, 3)], [flags(3)]])
    for name, reference in NUMBER_BINARY.items():
        inputs = [[integers(*a), integers(*b)] for a, b in BROADCASTS] + [[floats(2, 1), floats(3)]]
        found[name] = (builder(name), reference, few(name, inputs))
    for name, reference in FLOAT_BINARY.items():
        inputs = [[floats(*a), floats(*b)] for a, b in BROADCASTS] + [
            [floats(2, dtype="f2"), floats(1, dtype="f2")]
        ]
        found[name] = (builder(name), reference, few(name, inputs))
    for name, reference in INTEGER_BINARY.items():
        inputs = [[integers(*a), integers(*b)] for a, b in BROADCASTS]
        found[name] = (builder(name), reference, few(name, inputs))
    for name, reference in REDUCTIONS.items():
        op = builder(name)
        inputs = [[floats(2, 3, 4)], [floats(1, 5)], [floats(3, 1, 2, dtype="f8")]]
        found[name] = (op, reference, [*inputs, [floats(7)], [floats()]])
        found[f"{name}:axis"] = (
            lambda x, op=op: op(x, axis=[1], keepdims=True),
            lambda x, r=reference: r(x, axis=1, keepdims=True),
            inputs,
        )
    for name, reference in {"argmax": np.argmax, "argmin": np.argmin}.items():
        op = builder(name)
        found[name] = (op, reference, [[floats(2, 3)], [integers(5)], [flags(4)]])
        found[f"{name}:axis"] = (
            lambda x, op=op: op(x, axis=-1),
            lambda x, r=reference: r(x, -1),
            [[floats(2, 3)]],
        )
    for name, reference in {"cumsum": np.cumsum, "cumprod": np.cumprod}.items():
        op = builder(name)
        found[name] = (
            op,
            lambda x, r=reference: r(x, dtype=x.dtype),
            [[floats(2, 3)], [integers(5)], [floats()]],
        )
        found[f"{name}:axis"] = (
            lambda x, op=op: op(x, 0, "float64"),
            lambda x, r=reference: r(x, axis=0, dtype=np.float64),
            [[integers(2, 3)], [flags(4)]],
        )
    return found | movement() | products() | networks()


def products() -> dict[str, Spec]:
    """Matrix products and the ops of neural networks."""
    bias = floats(2, 1, 3, 5)
    return {
        "matmul": (
            R.matmul,
            np.matmul,
            [
                [floats(2, 3), floats(3, 4)],
                [floats(3), floats(3)],
                [floats(2, 1, 3), floats(1, 3, 1)],
                [integers(2, 3), integers(3)],
                [floats(2, 0), floats(0, 2)],
            ],
        ),
        "nn.softmax": (R.nn.softmax, softmax, ROWS),
        "nn.log_softmax": (R.nn.log_softmax, lambda x: np.log(softmax(x)), ROWS),
        "nn.layer_norm": (
            R.nn.layer_norm,
            layer_norm,
            [
                [floats(2, 8), floats(8), floats(8)],
                [floats(2, 1, 3, dtype="f8"), floats(3, dtype="f8"), floats(3, dtype="f8")],
            ],
        ),
        "nn.rms_norm": (
            R.nn.rms_norm,
            lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w,
            [[floats(2, 8), floats(8)]],
        ),
        "nn.group_norm": (
            lambda x, g, b: R.nn.group_norm(x, g, b, 2, 1, [2]),
            lambda x, g, b: group_norm(x, g, b, 2),
            [
                [floats(2, 4, 3), floats(4), floats(4)],
                [floats(1, 6, 2, dtype="f8"), *[floats(6, dtype="f8")] * 2],
            ],
        ),
        "nn.instance_norm": (
            lambda x, g, b: R.nn.instance_norm(x, g, b, 1, [2]),
            lambda x, g, b: group_norm(x, g, b, len(g)),
            [[floats(2, 4, 3), floats(4), floats(4)]],
        ),
        "nn.attention": (R.nn.attention, attention, [QKV]),
        "nn.attention_bias": (R.nn.attention_bias, attention, [[*QKV, bias]]),
    }
