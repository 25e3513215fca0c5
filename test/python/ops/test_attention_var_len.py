"""attention_var_len against torch, sequence by sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import Array
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import KERNEL
from relax_mlir.dialects.prim_funcs import remove_claims
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError, ShapeError
from relax_mlir.ir_module import functions_of
from relax_mlir.runtime import to_numpy

MASKS = (None, "TopLeft", "BottomRight")


def reference(
    q: Array, k: Array, v: Array, starts: Array, key_starts: Array, mask: str | None, scale: float
) -> Array:
    """The reference: 0 for queries that see no key, or are in no sequence."""
    found = np.zeros((*q.shape[:3], v.shape[3]))
    for n in range(len(starts) - 1):
        rows, columns = slice(starts[n], starts[n + 1]), slice(key_starts[n], key_starts[n + 1])
        parts = [
            torch.tensor(x[0].astype(np.float64)).transpose(0, 1)
            for x in (q[:, rows], k[:, columns], v[:, columns])
        ]
        group = q.shape[2] // k.shape[2]
        query, key, value = parts[0], *(p.repeat_interleave(group, 0) for p in parts[1:])
        scores = query @ key.transpose(1, 2) * scale
        if mask is not None:
            shift = 0 if mask == "TopLeft" else key.shape[1] - query.shape[1]
            seen = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool).tril(shift)
            scores = scores.masked_fill(~seen, -torch.inf)
        result = torch.nan_to_num(scores.softmax(-1)) @ value
        found[0, rows] = result.transpose(0, 1).numpy()
    return found


@pytest.mark.parametrize(
    ("dtype", "kernel"),
    [("float32", True), ("float32", False), ("float64", True), ("float16", True), ("bfloat16", True)],
)
def test_what_torch_gives(dtype: str, kernel: bool) -> None:
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
        q, k, v = (
            rng.uniform(-2, 2, shape).astype(kind) for shape in ((1, s, 4, 6), (1, t, 2, 6), (1, t, 2, 3))
        )
        at = np.array(starts, np.int32), np.array(key_starts, np.int64)
        for number, mask in masks.items():
            found = to_numpy(executable[f"attention_{number}"](q, k, v, *at))
            want = reference(q, k, v, *at, mask, 0.3 if number else 6**-0.5)
            assert (found.dtype, found.shape) == (kind, want.shape)
            np.testing.assert_allclose(
                found.astype(np.float64), want, tolerance, tolerance, err_msg=f"{mask} {starts} {key_starts}"
            )


def test_starts_out_of_range_are_held() -> None:
    bb = rx.BlockBuilder()
    for kind in ("int32", "uint8"):
        q, n = rx.Var("q", Tensor((1, "s", 1, "d"), "float32")), rx.Var("n", Tensor((2,), kind))
        with bb.function(f"of_{kind}", [q, n]):
            bb.emit_func_output(R.nn.attention_var_len(q, q, q, n, 5))
    executable = rx.build(bb.get())
    main, unsigned = executable["of_int32"], executable["of_uint8"]
    given = np.random.default_rng(5).uniform(-1, 1, (1, 4, 1, 3)).astype(np.float32)
    all_of_it = to_numpy(main(given, np.array([0, 4], np.int32)))
    np.testing.assert_array_equal(to_numpy(main(given, np.array([-7, 99], np.int32))), all_of_it)
    np.testing.assert_array_equal(to_numpy(unsigned(given, np.array([0, 200], np.uint8))), all_of_it)
    assert not np.any(to_numpy(unsigned(given, np.array([200, 255], np.uint8))))
    want = reference(given, given, given, np.array([0, 4]), np.array([0, 4]), None, 3**-0.5)
    np.testing.assert_allclose(all_of_it, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda q, n: R.nn.attention_var_len(
                R.concat([q, q], 0), R.concat([q, q], 0), R.concat([q, q], 0), n, 5
            ),
            ShapeError,
            "the batch of 'query' is 2",
        ),
        (lambda q, n: R.nn.attention_var_len(q, q, q, q, 5), DTypeError, "expected integers"),
        (
            lambda q, n: R.nn.attention_var_len(q, q, q, R.ones((1, 2), "int32"), 5),
            ShapeError,
            "expected 1 dimensions",
        ),
        (
            lambda q, n: R.nn.attention_var_len(q, q, q, n, 5, R.ones((4,), "int32")),
            ShapeError,
            "'seqstart_k' has 4",
        ),
        (
            lambda q, n: R.nn.attention_var_len(q, q, q, n, 5, causal_mask="left"),
            ArgumentError,
            "causal_mask is 'left'",
        ),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    q, n = rx.Var("q", Tensor((1, 6, 2, 4), "float32")), rx.Var("n", Tensor((3,), "int32"))
    with pytest.raises(error, match=message), bb.function("main", [q, n]):
        bb.emit_func_output(build(q, n))
