"""Matrix products, einsum and attention: batches, broadcasting, masks, empty dimensions, every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import FLOATS, INTEGERS, NUMBERS, Array, Suite, close, compiled, functions, numbers
from reference import OPS
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import KERNEL
from relax_mlir.dialects.prim_funcs import remove_claims
from relax_mlir.dialects.types import Tensor
from relax_mlir.ir_module import functions_of
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

SIZES = (
    {"n": 1, "m": 1, "k": 1},
    {"n": 0, "m": 3, "k": 2},
    {"n": 2, "m": 3, "k": 0},
    {"n": 5, "m": 17, "k": 33},
)
SHAPES = (
    ("n k", "k m"),
    ("n m 8", "8 5"),
    ("n 1 3 k", "2 k m"),
    ("n m k", "k"),
    ("k", "n k m"),
    ("k", "k"),
    ("n m k", "1 k 4"),  # a batch of one broadcasts at sizes of run time
)


def test_products() -> None:
    suite = Suite()
    for shapes in SHAPES:
        suite.use("matmul", *shapes, sizes=SIZES, tolerance=3e-5)
    for dtype in FLOATS[1:]:
        suite.use("matmul", f"n k {dtype}", f"k m {dtype}", sizes=SIZES)
    suite.use("matmul", "n 2 k bfloat16", "k m bfloat16", sizes=SIZES)
    for dtype in INTEGERS:  # they wrap around
        suite.use("matmul", f"n k {dtype}", f"k m {dtype}", sizes=SIZES, draw=numbers(-128, 255))
    suite.use("matmul", "n 2 k bool", "k m bool", sizes=SIZES)
    for dtype, wide in (("int8", "int32"), ("uint8", "uint32"), ("float16", "float32")):
        draw = numbers(-100, 255) if dtype != "float16" else None
        shapes = f"n k {dtype}", f"k m {dtype}"
        suite.use("matmul", *shapes, out_dtype=wide, sizes=SIZES, draw=draw, tolerance=1e-4)
    suite.run()


def test_of_a_permutation_that_moves_nothing() -> None:
    """It is read in place, like other permutations, so nothing remains of it."""
    module = parse("""
@R.function
def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32")):
    with R.dataflow():
        y = R.matmul(R.permute_dims(x, axes=[0, 1]), R.permute_dims(w, axes=[0, 1]))
        R.output(y)
    return y
""")
    x, w = np.arange(6, dtype="f4").reshape(2, 3), np.arange(12, dtype="f4").reshape(3, 4)
    np.testing.assert_array_equal(to_numpy(rx.build(module)["main"](x, w)), x @ w)


EINSUMS = [
    ("ij,jk->ik", "n m", "m k"),
    ("ij,kj->ki", "n m", "k m"),
    ("bij,bkj->bik", "k n m", "k 3 m"),
    ("bqhd,bkhd->bhqk", "2 n k m", "2 3 k m"),
    ("...ij,...jk->...ik", "2 k n m", "k m 2"),
    ("...ij,...jk", "1 n m", "k m 2"),
    ("ij->ji", "n m"),
    ("ij", "n m"),
    ("ba", "n m"),
    ("ij->", "n m"),
    ("ij->j", "n m"),
    ("ii->i", "n n"),
    ("ii", "n n"),
    ("...ii->...i", "m n n"),
    ("i,j->ij", "n", "m"),
    ("i,i", "n", "n"),
    ("i,i->i", "n", "n"),
    (",ij->ij", "", "n m"),
    ("ij,j,kj->ki", "n m", "m", "k m"),
    ("i,j,k->kji", "n", "m", "k"),
    ("ij,jk,kl,lm->im", "n m", "m k", "k 3", "3 2"),
    ("...i,...i,...->...", "k n", "1 n", ""),
    ("ij,ij->", "n m", "n m"),
    ("iij,jk->ik", "n n m", "m k"),
]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_einsum(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    tolerance = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5}.get(dtype)
    for subscripts, *shapes in EINSUMS if sweep.element_kind(dtype) == "float" else sweep.every(EINSUMS, 2):
        options = {"draw": numbers(0, 1.01), "tolerance": tolerance}
        suite.both(lambda R, *xs, s=subscripts: R.einsum([*xs], s), *shapes, **options)
    suite.run(test_einsum)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hamming_window(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    for periodic in (False, True):
        suite.both(lambda R, x, p=periodic: R.hamming_window("n", p, 0.5, 0.375, dtype), "n")
        suite.both(lambda R, x, p=periodic: R.hamming_window(7, p, dtype=dtype), "")
        want = torch.hamming_window(7, periodic, 0.54, 0.46, dtype=torch.float64).numpy()
        np.testing.assert_allclose(OPS["hamming_window"](7, periodic), want, rtol=1e-12)
    suite.run(test_hamming_window)


QKV = [
    {"b": 2, "s": 3, "t": 4, "h": 2, "d": 8, "e": 5},
    {"b": 1, "s": 1, "t": 1, "h": 1, "d": 8, "e": 8},
    {"b": 0, "s": 2, "t": 2, "h": 1, "d": 8, "e": 8},
    {"b": 1, "s": 0, "t": 3, "h": 1, "d": 8, "e": 8},
    {"b": 1, "s": 19, "t": 33, "h": 3, "d": 8, "e": 8},
]
OPERANDS = ("b s h 8", "b t h 8", "b t h 8")


def test_attention() -> None:
    """Any sizes and dtypes, biases, and causal masks; a bias of minus infinity takes the weight of padded keys."""
    suite = Suite()
    exact = {"sizes": QKV, "tolerance": 2e-5}
    suite.use("nn.attention", "b s h d", "b t h d", "b t h e", **exact)
    for dtype in FLOATS:
        operands = [f"{shape} {dtype}" for shape in OPERANDS]
        suite.use("nn.attention", *operands, sizes=QKV, tolerance=2e-5 if dtype == "float32" else None)
    for bias in ("b 1 1 t", "b h s t", "t"):
        suite.use("nn.attention", *OPERANDS, bias, scale=0.3, **exact)
    for causal in ("TopLeft", "BottomRight"):
        suite.use("nn.attention", *OPERANDS, causal_mask=causal, **exact)
    suite.run()
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 4, 2, 8)).astype("float32") for _ in range(3))
    bias = np.zeros((1, 1, 1, 4), "float32")
    bias[..., 2:] = -np.inf
    (want,) = plain(OPS["nn.attention"](*(a.astype("f8") for a in (q, k[:, :2], v[:, :2]))))
    close(compiled(R.nn.attention, *OPERANDS, "b 1 1 t")(q, k, v, bias), want, 2e-5)


MASKS = (None, "TopLeft", "BottomRight")


@pytest.mark.parametrize(
    ("dtype", "kernel"),
    [("float32", True), ("float32", False), ("float64", True), ("float16", True), ("bfloat16", True)],
)
def test_attention_of_sequences(dtype: str, kernel: bool) -> None:
    """By the kernel, and by its reference loops; types other than float32 alternate over the masks."""
    others = ("float64", "float16", "bfloat16")
    masks = dict(enumerate(MASKS))
    if dtype in others:
        masks = dict(sweep.turn(dtype, others, [*masks.items()]))
    bb = rx.BlockBuilder()
    count = "b" if dtype == "float64" else "b + 1"
    infos = {
        "q": Tensor((1, "s", 4, 6), dtype),
        "k": Tensor((1, "t", 2, 6), dtype),
        "v": Tensor((1, "t", 2, 3), dtype),
        "starts": Tensor((count,), "int32"),
        "key_starts": Tensor((count,), "int64"),
    }
    for number, mask in masks.items():
        params = [rx.Var(name, info) for name, info in infos.items()]
        q, k, v, starts, key_starts = params
        with bb.function(f"attention_{number}", params):
            given = (q, k, v, starts, 9, key_starts, 9)
            bb.emit_func_output(R.nn.attention_var_len(*given, 0.3 if number else None, mask))
    module = rx.transform.LegalizeOps()(bb.get())
    prims = [f for f in functions_of(module.mlir) if KERNEL in f.attributes]
    assert len(prims) == len(masks)
    if not kernel:
        with module.context:
            for prim in prims:
                remove_claims(prim)
    executable = rx.build(module)
    rng, kind = np.random.default_rng(5), dtypes.dtype(dtype).numpy
    tolerance = {"float32": 2e-5, "float64": 1e-11, "float16": 3e-3, "bfloat16": 2e-2}[dtype]
    for starts, key_starts in (
        ([0, 2, 7, 10], [0, 4, 5, 9]),
        ([0, 5], [0, 3]),
        ([0, 0, 3], [0, 2, 2]),
        ([1, 3], [0, 4]),
        ([0], [0]),
        ([0, 40, 41, 41], [0, 70, 77, 90]),
        ([0, 0], [0, 0]),
    ):
        s, t = starts[-1] + 1, key_starts[-1] + 1
        shapes = (1, s, 4, 6), (1, t, 2, 6), (1, t, 2, 3)
        operands = [rng.uniform(-2, 2, shape).astype(kind) for shape in shapes]
        at = np.array(starts, np.int32), np.array(key_starts, np.int64)
        for number, mask in masks.items():
            found = to_numpy(executable[f"attention_{number}"](*operands, *at))
            wide = [operand.astype(np.float64) for operand in operands]
            options = 9, at[1], 9, 0.3 if number else None, mask
            want = OPS["nn.attention_var_len"](*wide, at[0], *options)
            assert found.dtype == kind
            close(found, want, tolerance, f"{mask} {starts} {key_starts}")


def test_starts_out_of_range_are_held() -> None:
    made = functions(
        {
            dtype: (lambda q, n: R.nn.attention_var_len(q, q, q, n, 5), "1 s 1 d", f"2 {dtype}")
            for dtype in ("int32", "uint8")
        }
    )
    given = np.random.default_rng(5).uniform(-1, 1, (1, 4, 1, 3)).astype(np.float32)
    all_of_it = made["int32"](given, np.array([0, 4], np.int32))
    np.testing.assert_array_equal(made["int32"](given, np.array([-7, 99], np.int32)), all_of_it)
    np.testing.assert_array_equal(made["uint8"](given, np.array([0, 200], np.uint8)), all_of_it)
    assert not np.any(made["uint8"](given, np.array([200, 255], np.uint8)))
    close(all_of_it, OPS["nn.attention_var_len"](*[given.astype("f8")] * 3, np.array([0, 4]), 5), 1e-5)


def test_references_are_those_of_torch() -> None:
    """Attention of grouped heads with a bias and with a mask."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal(shape) for shape in ((2, 5, 4, 8), (2, 7, 2, 8), (2, 7, 2, 6)))
    bias = rng.standard_normal((2, 1, 5, 7))

    def by_torch(**options: Any) -> Array:
        heads = [torch.tensor(array).transpose(1, 2) for array in (q, np.repeat(k, 2, 2), np.repeat(v, 2, 2))]
        found = torch.nn.functional.scaled_dot_product_attention(*heads, **options)
        return np.asarray(found.transpose(1, 2).numpy())

    (found,) = plain(OPS["nn.attention"](q, k, v, bias))
    np.testing.assert_allclose(found, by_torch(attn_mask=torch.tensor(bias)), rtol=1e-10)
    (found,) = plain(OPS["nn.attention"](q, k, v, None, None, "TopLeft"))
    np.testing.assert_allclose(found, by_torch(is_causal=True), rtol=1e-10)
