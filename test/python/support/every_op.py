"""A use of every op, with its reference on NumPy arrays and inputs of several ranks and dtypes."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import sweep
from every_op_arrays import Array, Spec, flags, floats, integers, use
from every_op_movement import movement
from every_op_networks import networks
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

UNARY_INPUTS = [
    [floats(2, 3)],
    [floats(4, 1, dtype=np.float64)],
    [floats(dtype=np.float32)],
    [floats(0, 2)],
    [floats(5, dtype=np.float16)],
    [floats(3, dtype=ml_dtypes.bfloat16)],
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


def few(name: str, inputs: Sequence[Sequence[Array]]) -> Sequence[Sequence[Array]]:
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
    return found | movement() | products() | networks()


def products() -> dict[str, Spec]:
    """Matrix products and the ops of neural networks."""
    bias = floats(2, 1, 3, 5)
    vectors = [floats(2, 4, 3), floats(4), floats(4)]
    return {
        "matmul": use(
            "matmul",
            [
                [floats(2, 3), floats(3, 4)],
                [floats(3), floats(3)],
                [floats(2, 1, 3), floats(1, 3, 1)],
                [integers(2, 3), integers(3)],
                [floats(2, 0), floats(0, 2)],
            ],
        ),
        "nn.softmax": use("nn.softmax", ROWS),
        "nn.log_softmax": use("nn.log_softmax", ROWS),
        "nn.layer_norm": use(
            "nn.layer_norm",
            [
                [floats(2, 8), floats(8), floats(8)],
                [floats(2, 1, 3, dtype="f8"), floats(3, dtype="f8"), floats(3, dtype="f8")],
            ],
        ),
        "nn.rms_norm": use("nn.rms_norm", [[floats(2, 8), floats(8)]]),
        "nn.group_norm": use(
            "nn.group_norm",
            [vectors, [floats(1, 6, 2, dtype="f8"), *[floats(6, dtype="f8")] * 2]],
            *(2, 1, [2]),
        ),
        "nn.instance_norm": use("nn.instance_norm", [vectors], 1, [2]),
        "nn.attention": use("nn.attention", [QKV]),
        "nn.attention_bias": use("nn.attention_bias", [[*QKV, bias]]),
    }
