"""Attention against its definition in NumPy: biases, causal masks, symbolic batch, sequences, heads and sizes."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from harness import FLOATS, Suite
from reference import OPS
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, ShapeError

SIZES = (
    {"b": 2, "s": 3, "t": 4, "h": 2, "d": 8, "e": 5},
    {"b": 1, "s": 1, "t": 1, "h": 1, "d": 8, "e": 8},
    {"b": 0, "s": 2, "t": 2, "h": 1, "d": 8, "e": 8},
    {"b": 1, "s": 0, "t": 3, "h": 1, "d": 8, "e": 8},
    {"b": 1, "s": 19, "t": 33, "h": 3, "d": 8, "e": 8},
)


attention = OPS["nn.attention"]


def params(dtype: str, size: int | str = 8, value: int | str = 8) -> list[Tensor]:
    return [
        Tensor(("b", "s", "h", size), dtype),
        Tensor(("b", "t", "h", size), dtype),
        Tensor(("b", "t", "h", value), dtype),
    ]


def test_symbolic_sizes() -> None:
    suite = Suite()
    suite.add("plain", R.nn.attention, attention, params("float32", "d", "e"), sizes=SIZES, tolerance=2e-5)
    suite.run()


def test_dtypes() -> None:
    suite = Suite()
    for dtype in FLOATS:
        suite.add(
            dtype,
            R.nn.attention,
            attention,
            params(dtype),
            sizes=SIZES,
            tolerance=2e-5 if "32" in dtype else None,
        )
    suite.run()


def test_biases() -> None:
    suite = Suite()
    for name, shape in {"padding": ("b", 1, 1, "t"), "full": ("b", "h", "s", "t"), "keys": ("t",)}.items():
        suite.add(
            name,
            lambda q, k, v, bias: R.nn.attention(q, k, v, bias, scale=0.3),
            lambda q, k, v, bias: attention(q, k, v, bias, 0.3),
            [*params("float32"), Tensor(shape, "float32")],
            sizes=SIZES,
            tolerance=2e-5,
        )
    suite.run()


def test_padded_keys_have_no_weight() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 4, 2, 8)).astype("float32") for _ in range(3))
    bias = np.zeros((1, 1, 1, 4), "float32")
    bias[..., 2:] = -np.inf
    suite = Suite()
    suite.add(
        "padded",
        R.nn.attention,
        lambda q, k, v, bias: attention(q, k[:, :2], v[:, :2]),
        [*params("float32"), Tensor(("b", 1, 1, "t"), "float32")],
        sizes=(),
        inputs=[[q, k, v, bias]],
        tolerance=2e-5,
    )
    suite.run()


def test_causal_masks() -> None:
    suite = Suite()
    for causal in ("TopLeft", "BottomRight"):
        suite.add(
            causal,
            lambda q, k, v, causal=causal: R.nn.attention(q, k, v, causal_mask=causal),
            lambda q, k, v, causal=causal: attention(q, k, v, mask=causal),
            params("float32"),
            sizes=SIZES,
            tolerance=2e-5,
        )
    suite.run()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            (("b", "s", 4, 8), ("b", "t", 3, 8), ("b", "t", 3, 8)),
            "number of heads of 'query' is 4, that of 'key' 3; expected the same, or a multiple",
        ),
        (
            (("b", "s", 4, 8), ("b", "t", 2, 8), ("b", "t", 4, 8)),
            "number of heads of 'key' is 2, that of 'value' 4, which is not provably equal",
        ),
        (
            (("b", "s", 4, 8), ("b", "t", 4, 8), ("b", "u", 4, 8)),
            "sequence length of 'key' is t, that of 'value' u",
        ),
        (
            (("b", "s", 8), ("b", "t", 4, 8), ("b", "t", 4, 8)),
            r"expected \(batch, sequence, heads, head size\)",
        ),
        (
            (("b", "s", 4, 8), ("b", "t", 4, 8), ("b", "t", 4, 8), ("b", 2, 1, "t")),
            "4 and 2|2 and 4|does not broadcast",
        ),
    ],
)
def test_shapes_that_do_not_fit(shapes: tuple[tuple[int | str, ...], ...], message: str) -> None:
    operands = [rx.Var(f"x{i}", Tensor(shape, "float32")) for i, shape in enumerate(shapes)]
    with (
        pytest.raises(ShapeError, match=message),
        rx.BlockBuilder().function("main", operands),
    ):
        R.nn.attention(*operands)


def test_an_unknown_causal_mask() -> None:
    operands = [rx.Var(f"x{i}", info) for i, info in enumerate(params("float32"))]
    with pytest.raises(ArgumentError, match="expected one of"), rx.BlockBuilder().function("main", operands):
        R.nn.attention(*operands, causal_mask="Left")
