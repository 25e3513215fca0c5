"""einsum, collapse_sum_like, collapse_sum_to and hamming_window against NumPy and SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import torch
from harness import FLOATS, NUMBERS, Suite, numbers
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError

CASES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("ij,jk->ik", [("n", "m"), ("m", "k")]),
    ("ij,kj->ki", [("n", "m"), ("k", "m")]),
    ("bij,bkj->bik", [("k", "n", "m"), ("k", 3, "m")]),
    ("bqhd,bkhd->bhqk", [(2, "n", "k", "m"), (2, 3, "k", "m")]),
    ("...ij,...jk->...ik", [(2, "k", "n", "m"), ("k", "m", 2)]),
    ("...ij,...jk", [(1, "n", "m"), ("k", "m", 2)]),
    ("ij->ji", [("n", "m")]),
    ("ij", [("n", "m")]),
    ("ba", [("n", "m")]),
    ("ij->", [("n", "m")]),
    ("ij->j", [("n", "m")]),
    ("ii->i", [("n", "n")]),
    ("ii", [("n", "n")]),
    ("...ii->...i", [("m", "n", "n")]),
    ("i,j->ij", [("n",), ("m",)]),
    ("i,i", [("n",), ("n",)]),
    ("i,i->i", [("n",), ("n",)]),
    (",ij->ij", [(), ("n", "m")]),
    ("ij,j,kj->ki", [("n", "m"), ("m",), ("k", "m")]),
    ("i,j,k->kji", [("n",), ("m",), ("k",)]),
    ("ij,jk,kl,lm->im", [("n", "m"), ("m", "k"), ("k", 3), (3, 2)]),
    ("...i,...i,...->...", [("k", "n"), (1, "n"), ()]),
    ("ij,ij->", [("n", "m"), ("n", "m")]),
    ("iij,jk->ik", [("n", "n", "m"), ("m", "k")]),
]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_what_numpy_gives(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    is_float = sweep.element_kind(dtype) == "float"
    for subscripts, shapes in CASES if is_float else sweep.every(CASES, 2):
        suite.add(
            "einsum",
            lambda *x, s=subscripts: R.einsum(list(x), s),
            lambda *x, s=subscripts: np.asarray(np.einsum(s, *x)).astype(x[0].dtype),
            [Tensor(shape, dtype) for shape in shapes],
            draw=numbers(0, 1.01),
            tolerance={"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5}.get(dtype),
        )
    suite.run(test_what_numpy_gives)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_sums_that_undo_a_broadcast(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    data = Tensor((2, "n", "m"), dtype)
    for target, axes in (
        (("m",), (0, 1)),
        (("n", 1), (0, 2)),
        ((2, "n", "m"), ()),
        ((1, 1), (0, 1, 2)),
        ((), (0, 1, 2)),
    ):

        def collapsed(x: Any, *_: Any, axes: tuple[int, ...] = axes, rank: int = len(target)) -> Any:
            total = x.sum(axes, keepdims=True, dtype=x.dtype)
            return total.reshape(total.shape[x.ndim - rank :])

        options = {"tolerance": {"float16": 1e-2, "bfloat16": 4e-2, "float32": 2e-5}.get(dtype)}
        suite.add("to", lambda x, t=target: R.collapse_sum_to(x, t), collapsed, [data], **options)
        suite.add("like", R.collapse_sum_like, collapsed, [data, Tensor(target, "int8")], **options)
    suite.run(test_sums_that_undo_a_broadcast)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hamming_window(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    for periodic in (False, True):
        suite.add(
            "window",
            lambda x, p=periodic: R.hamming_window("n", p, 0.5, 0.375, dtype),
            lambda x, p=periodic: torch.hamming_window(
                len(x), p, alpha=0.5, beta=0.375, dtype=torch.float64
            ).numpy(),
            [Tensor(("n",), dtype)],
        )
        suite.add(
            "defaults",
            lambda x, p=periodic: R.hamming_window(7, p, dtype=dtype),
            lambda x, p=periodic: torch.hamming_window(7, p, dtype=torch.float64).numpy(),
            [Tensor((), dtype)],
        )
    suite.run(test_hamming_window)


X, V = rx.Tensor(("n", 4), "float32"), rx.Tensor((3,), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("einsum", [[X, X], "ij,ik->jk"], {}, 'Tensor((4, 4), "float32")'),
        ("einsum", [[X, rx.Tensor(None)], "ij,jk->ik"], {}, 'Tensor((n, ?), "float32")'),
        ("einsum", [[X, rx.Tensor(None)], "...j,jk->...k"], {}, 'Tensor(?, "float32")'),
        ("einsum", [[rx.Tensor((None, 4)), X], "ij,ij->ij"], {}, 'Tensor((n, 4), "float32")'),
        ("collapse_sum_to", [X, (1, 4)], {}, 'Tensor((1, 4), "float32")'),
        ("collapse_sum_like", [X, rx.Tensor(None)], {}, 'Tensor(?, "float32")'),
        ("hamming_window", ["2*n + 1"], {"dtype": "float64"}, 'Tensor((2*n + 1,), "float64")'),
    ],
)
def test_shapes(name: str, operands: Sequence[Any], attributes: dict[str, Any], expected: str) -> None:
    if name == "hamming_window":
        bb = rx.BlockBuilder()
        with bb.function("main", [rx.Var("x", X)]):
            found = R.hamming_window(*operands, **attributes)
            assert str(found.struct_info) == expected
            bb.emit_func_output(found)
        return
    assert str(R.infer_rule(name)(*operands, **attributes)) == expected


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("einsum", [[X], "ij,jk->ik"], "names the axes of 2 tensors, 1 are given"),
        ("einsum", [[X], "i->i"], r"'i' does not fit operand 'tensors\[0\]'"),
        ("einsum", [[X], "ij->k"], "names an axis twice, or one that no tensor has"),
        ("einsum", [[X], "ij->ii"], "names an axis twice, or one that no tensor has"),
        ("einsum", [[X], "i1->i"], "has more than letters and one '...'"),
        ("einsum", [[X, V], "ij,j->i"], "the axis 'j' is 4 and 3$"),
        ("einsum", [[X, rx.Tensor(("m",))], "ij,i->j"], "the axis 'i' is n and m, not known to be equal"),
        ("einsum", [[X, rx.Tensor(("n", 4), "int8")], "ij,ij"], "float32 and int8"),
        ("einsum", [[rx.Tensor((3,), "bool")], "i->"], "has dtype bool"),
        ("einsum", [[X], 3], "'subscripts' is 3"),
        ("collapse_sum_to", [X, (3, "n", 4)], "the target has more dimensions"),
        ("collapse_sum_to", [X, ("n", 3)], "dimension 1 of the target is 3, neither 1 nor 4"),
        ("collapse_sum_to", [X, ("m", 4)], "cannot tell whether n equals m"),
        ("collapse_sum_like", [rx.Tensor((3,), "bool"), V], "has dtype bool"),
        ("hamming_window", [-1], "window_size is -1"),
        ("hamming_window", [4, True, 1.0, 1.0, "int8"], "dtype is int8, expected a float"),
    ],
)
def test_wrong_arguments(name: str, operands: Sequence[Any], message: str) -> None:
    with pytest.raises(RelaxError, match=f"^{name}: .*{message}"):
        R.infer_rule(name)(*operands)
