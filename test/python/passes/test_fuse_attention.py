"""fuse-attention: spelled-out attention computes the same with and without the pass, and stores no scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from numpy.typing import NDArray
from relax_mlir import op as R
from relax_mlir.transform import create_pass

Array = NDArray[np.float32]
HEADS, SIZE = 3, 8

MASKS: dict[str, tuple[int | str, ...] | None] = {
    "none": None,
    "padding": ("b", 1, 1, "t"),
    "keys": ("t",),
    "full": ("b", HEADS, "s", "t"),
}


def with_heads(mask: Sequence[int | str] | None) -> rx.IRModule:
    """As in models: heads are split off and transposed to the front, scores are scaled, masked, and weighted."""
    bb = rx.BlockBuilder()
    lengths = {"q": "s", "k": "t", "v": "t"}
    x = [rx.Var(n, rx.Tensor(("b", length, HEADS * SIZE), "float32")) for n, length in lengths.items()]
    m = [] if mask is None else [rx.Var("m", rx.Tensor(tuple(mask), "float32"))]
    with bb.function("main", [*x, *m]):
        with bb.dataflow():
            q, k, v = (R.permute_dims(R.reshape(value, (*value.shape[:2], HEADS, SIZE)), [0, 2, 1, 3]) for value in x)
            scores = R.matmul(q, R.permute_dims(k, [0, 1, 3, 2])) * SIZE**-0.5
            scores = R.add(scores, m[0]) if m else scores
            sums = R.permute_dims(R.matmul(R.nn.softmax(scores), v), [0, 2, 1, 3])
            out = bb.emit_output(R.reshape(sums, (*x[0].shape[:2], HEADS * SIZE)))
        bb.emit_func_output(out)
    return bb.get()


def by_matrix(mask: Sequence[int | str] | None) -> rx.IRModule:
    """Heads are batches from the beginning."""
    bb = rx.BlockBuilder()
    lengths = {"q": "s", "k": "t", "v": "t"}
    x = [rx.Var(n, rx.Tensor(("b", HEADS, length, SIZE), "float32")) for n, length in lengths.items()]
    m = [] if mask is None else [rx.Var("m", rx.Tensor(tuple(mask), "float32"))]
    with bb.function("main", [*x, *m]):
        q, k, v = x
        scores = R.divide(R.matmul(q, R.permute_dims(k, [0, 1, 3, 2])), R.const(np.float32(3)))
        scores = R.add(m[0], scores) if m else scores
        bb.emit_func_output(R.matmul(R.nn.softmax(scores), v))
    return bb.get()


def reference(q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> NDArray[np.float64]:
    """On [b, h, s, d], in float64."""
    scores = np.einsum("bhsd,bhtd->bhst", q, k, dtype=np.float64) * scale
    scores = scores if mask is None else scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhst,bhtd->bhsd", weights / weights.sum(-1, keepdims=True), v)


def fused(module: rx.IRModule) -> bool:
    """True if the pass leaves attention and no softmax."""
    module.apply_(create_pass("normalize"))
    module.apply_(create_pass("fuse-attention"))
    text = str(module)
    return "relax.nn_attention" in text and "relax.nn_softmax" not in text


@pytest.mark.parametrize("mask", sweep.quick(MASKS, "none", "padding"))
def test_numbers(mask: str) -> None:
    shape = MASKS[mask]
    first = rx.build(with_heads(shape))["main"]
    second = rx.build(by_matrix(shape))["main"]
    rng = np.random.default_rng(7)
    for b, s, t in ((1, 1, 1), (2, 7, 7), (1, 20, 33), (3, 5, 1)):
        dims = {"b": b, "s": s, "t": t}
        q, k, v = (rng.standard_normal((b, HEADS, x, SIZE), dtype="f4") for x in (s, t, t))
        m = []
        if shape is not None:
            full = [dims[d] if isinstance(d, str) else d for d in shape]
            m = [rng.standard_normal(full, dtype="f4")]
        flat = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, -1, HEADS * SIZE) for x in (q, k, v)]
        expected = reference(q, k, v, m[0] if m else None, SIZE**-0.5).transpose(0, 2, 1, 3)
        result = np.from_dlpack(first(*flat, *m))
        np.testing.assert_allclose(result, expected.reshape(result.shape), rtol=1e-5, atol=1e-5)
        result = np.from_dlpack(second(q, k, v, *m))
        expected = reference(q, k, v, m[0] if m else None, 1 / 3)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mask", MASKS)
def test_scores_are_gone(mask: str) -> None:
    assert fused(with_heads(MASKS[mask]))
    # A mask of each batch for all its heads would have to be repeated.
    assert fused(by_matrix(MASKS[mask])) == (mask != "padding")
