"""Attention through `rx.build` against its definition in float64, on many random shapes, masks and dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from numpy.typing import NDArray
from reference import OPS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes

Array = NDArray[Any]

CANARY, PADDING = 77.0, 64
SMALL_CACHES = "cpu -l1=2048 -l2=16384"
"""Blocks of a few keys and queries."""

TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 2e-3, "bfloat16": 2e-2}
BIASES: Mapping[str, tuple[int | str, ...]] = {
    "keys": ("t",),
    "padding": ("b", 1, 1, "t"),
    "full": ("b", "h", "s", "t"),
    "queries": (1, "h", "s", 1),
    "scalar": (),
}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def reference(
    q: Array, k: Array, v: Array, bias: Array | None, scale: float | None, causal: str | None
) -> NDArray[np.float64]:
    """The definition, in float64; values that scores leave out are multiplied too (0 · ∞ is NaN)."""
    wide = (x.astype(np.float64) for x in (q, k, v))
    bias = None if bias is None else bias.astype(np.float64)
    (found,) = plain(OPS["nn.attention"](*wide, bias, scale, causal, True))
    return found


class Attention:
    """A compiled attention; sizes may be numbers or symbols."""

    def __init__(
        self,
        dtype: str = "float32",
        bias: str | None = None,
        scale: float | None = None,
        causal: str | None = None,
        group: int = 1,
        sizes: Mapping[str, int] | None = None,
        target: str = "cpu",
    ) -> None:
        self.dtype, self.bias, self.scale, self.causal, self.group = dtype, bias, scale, causal, group
        fixed: Mapping[str, int] = sizes or {}

        def dim(size: int | str) -> int | str:
            return fixed.get(size, size) if isinstance(size, str) else size

        heads = dim("h")
        many: int | str = heads * group if isinstance(heads, int) else f"{group}*{heads}"
        shapes: list[tuple[int | str, ...]] = [
            (dim("b"), dim("s"), many, dim("d")),
            (dim("b"), dim("t"), heads, dim("d")),
            (dim("b"), dim("t"), heads, dim("e")),
        ]
        if bias is not None:
            shapes.append(tuple(many if x == "h" else dim(x) for x in BIASES[bias]))
        bb = rx.BlockBuilder()
        # The heads of keys are declared first: those of queries are a multiple.
        names = ["q", "k", "v", "bias"][: len(shapes)]
        variables = {n: rx.Var(n, rx.Tensor(x, dtype)) for n, x in zip(names, shapes, strict=True)}
        order = ["k", "q", *names[2:]]
        with bb.function("main", [variables[n] for n in order]):
            operands = [variables[n] for n in names]
            bb.emit_func_output(R.nn.attention(*operands, scale=scale, causal_mask=causal))
        self.run = rx.build(bb.get(), target=target)["main"]

    def inputs(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> list[Array]:
        """Random q, k, v and bias."""
        b, s, t, h, d, e = (sizes[x] for x in "bsthde")
        shapes: list[tuple[int, ...]] = [(b, s, h * self.group, d), (b, t, h, d), (b, t, h, e)]
        if self.bias is not None:
            full = {**sizes, "h": h * self.group}
            shapes.append(tuple(full[x] if isinstance(x, str) else x for x in BIASES[self.bias]))
        kind = dtypes.dtype(self.dtype).numpy
        return [rng.standard_normal(x).astype(kind) for x in shapes]

    def __call__(self, *inputs: Array) -> Array:
        """The result; the memory around it must not change."""
        q, k, *rest = inputs
        shape = (*q.shape[:3], rest[0].shape[3])
        count = int(np.prod(shape))
        fusion = np.full(count + 2 * PADDING, CANARY, q.dtype)
        out = fusion[PADDING : PADDING + count].reshape(shape)
        self.run(k, q, *rest, out)
        outside = np.concatenate([fusion[:PADDING], fusion[PADDING + count :]])
        assert np.all(outside == np.asarray(CANARY, outside.dtype))
        return out

    def expected(self, *inputs: Array) -> NDArray[np.float64]:
        q, k, v, *bias = inputs
        return reference(q, k, v, bias[0] if bias else None, self.scale, self.causal)

    def check(self, *inputs: Array) -> None:
        result, expected = np.asarray(self(*inputs)), self.expected(*inputs)
        tolerance = TOLERANCE[self.dtype]
        np.testing.assert_allclose(result.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def sizes_of(rng: np.random.Generator, most: int, **fixed: int) -> dict[str, int]:
    """Random sizes; lengths of 0 and 1 are frequent, and so are sizes around that of a register."""
    lengths = [0, 1, 2, 5, 6, 7, 8, 15, 16, 17, 31, 33, *rng.integers(1, most, 8)]
    found = {
        "b": int(rng.integers(1, 3)),
        "s": int(rng.choice(lengths)),
        "t": int(rng.choice(lengths)),
        "h": int(rng.integers(1, 4)),
        "d": int(rng.choice([0, 1, 3, 8, 16, 20, 33])),
        "e": int(rng.choice([0, 1, 5, 8, 16, 24, 35])),
    }
    return {**found, **fixed}


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "small_caches": {"target": SMALL_CACHES},
    "top_left": {"causal": "TopLeft", "target": SMALL_CACHES},
    "bottom_right": {"causal": "BottomRight", "target": SMALL_CACHES, "bias": "keys"},
    "grouped": {"group": 3, "bias": "queries", "target": SMALL_CACHES},
    "padding": {"bias": "padding", "target": SMALL_CACHES, "scale": 0.3},
    "full": {"bias": "full", "causal": "TopLeft", "group": 2},
    "scalar": {"bias": "scalar", "scale": -1.5, "target": SMALL_CACHES},
    "head_sizes": {"sizes": {"d": 32, "e": 32}, "target": SMALL_CACHES},
    "uneven_head_sizes": {"sizes": {"h": 2, "d": 20, "e": 12}, "causal": "BottomRight"},
    "narrow_vectors": {"target": f"{SMALL_CACHES} -vector-bytes=16", "bias": "padding"},
    "double": {"dtype": "float64", "bias": "padding", "target": SMALL_CACHES},
    "half": {"dtype": "float16", "bias": "padding", "causal": "TopLeft", "target": SMALL_CACHES},
    "half_values": {"dtype": "float16", "bias": "queries", "group": 2},
    "bfloat16": {"dtype": "bfloat16", "bias": "full", "target": SMALL_CACHES},
}


@pytest.mark.parametrize("case", CASES)
def test_random_sizes(case: str) -> None:
    options = CASES[case]
    attention = Attention(**options)
    rng = np.random.default_rng(len(case))
    for _ in range(40):
        sizes = sizes_of(rng, 150, **options.get("sizes", {}))
        attention.check(*attention.inputs(rng, sizes))


PLAIN = {"b": 1, "s": 5, "t": 70, "h": 2, "d": 16, "e": 16}


@pytest.fixture(scope="module")
def biased() -> Attention:
    return Attention(bias="full", target=SMALL_CACHES)


def test_rows_without_a_key(biased: Attention) -> None:
    rng = np.random.default_rng(1)
    q, k, v, bias = biased.inputs(rng, PLAIN)
    bias[0, 0, 1, :] = -np.inf
    bias[0, 1, 2, :40] = -np.inf
    bias[0, 1, 3, 40:] = -np.inf
    biased.check(q, k, v, bias)
    assert np.isnan(biased(q, k, v, bias)[0, 1, 0]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values(biased: Attention, value: float) -> None:
    rng = np.random.default_rng(2)
    for operand, place in [(0, (0, 2, 1, 3)), (1, (0, 50, 0, 1)), (2, (0, 3, 1, 4)), (3, (0, 0, 4, 66))]:
        inputs = biased.inputs(rng, PLAIN)
        inputs[operand][place] = value
        biased.check(*inputs)


def test_large_scores_do_not_overflow(biased: Attention) -> None:
    rng = np.random.default_rng(3)
    q, k, v, bias = biased.inputs(rng, PLAIN)
    q, k = (np.round(x * 4) * np.float32(64) for x in (q, k))
    biased.check(q, k, v, bias)
    biased.check(q * 0, k, v, np.float32(-1e38) * (bias > 0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_values_do_not_overflow(dtype: str) -> None:
    rng = np.random.default_rng(6)
    attention = Attention(dtype, target=SMALL_CACHES)
    q, k, v = attention.inputs(rng, PLAIN)
    v = np.where(v > 0, v.dtype.type(1), v.dtype.type(-1)) * np.finfo(v.dtype).max / v.dtype.type(2)
    result, expected = attention(q, k, v), attention.expected(q, k, v / 2) * 2
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=float(np.finfo(v.dtype).max) * 1e-6)


def test_strided_inputs(biased: Attention) -> None:
    rng = np.random.default_rng(4)
    q, k, v, bias = biased.inputs(rng, PLAIN)
    turned = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for x in (q, k, v)]
    biased.check(*turned, bias[:, :, ::-1])
