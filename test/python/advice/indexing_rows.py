"""Advice in messages of ops for indexing, contractions and layouts: mistake, message, and the code that follows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import BuilderCase, BuilderRows
from relax_mlir import op

INFOS = {
    "x": rx.Tensor(("n", 4), "float32"),
    "y": rx.Tensor(("m", 4), "float32"),
    "v": rx.Tensor(("k",), "float32"),
    "h": rx.Tensor(("n", 4), "float16"),
    "i": rx.Tensor(("n", 4), "int64"),
    "j": rx.Tensor((2, "r"), "int64"),
    "b": rx.Tensor(("n", 4), "bool"),
    "o": rx.Tensor((None, 1), "float32"),
}
ROWS = np.array([[0], [1]])

CASES: dict[str, BuilderCase] = {
    "sizes_of_axes": (
        lambda bb, p: op.einsum([p["x"], p["y"]], "ij,ij->i"),
        "not known to be equal; match_shape one first",
    ),
    "products_of_bools": (lambda bb, p: op.einsum([p["b"]], "ij->i"), "expected a number; use astype"),
    "updates": (
        lambda bb, p: op.scatter_elements(p["x"], p["i"], p["y"]),
        "not known to be equal; match_shape one first",
    ),
    "length_of_vectors": (lambda bb, p: op.gather_nd(p["x"], p["j"]), "match_shape the indices first"),
    "dtype_of_updates": (
        lambda bb, p: op.scatter_elements(p["x"], p["i"], p["h"]),
        "'updates' has dtype float16, 'data' has float32; use astype",
    ),
    "values": (
        lambda bb, p: op.index_put(p["x"], [ROWS], p["v"]),
        "cannot tell whether k equals 4; match_shape one first",
    ),
    "padding": (
        lambda bb, p: op.layout_transform(p["x"], lambda i, j: (i // 2, j, i % 2)),
        "is not known to fill all places with; give pad_value",
        lambda bb, p: op.layout_transform(p["x"], lambda i, j: (i // 2, j, i % 2), 0.0),
    ),
    "axis_separators": (
        lambda bb, p: op.layout_transform(p["x"], lambda i, j: (j, i), axis_separators=[1]),
        "CPUs do not have; leave them out",
    ),
    "samples": (
        lambda bb, p: op.multinomial_from_uniform(p["x"], p["o"]),
        "whose first dimension is not known; give 'sample_indices'",
        lambda bb, p: op.multinomial_from_uniform(p["x"], op.match_shape(p["o"], (2, 1)), op.const(ROWS)),
    ),
}


def arguments(name: str) -> dict[str, Any]:
    """Arguments of sizes for which the assertions of the right body hold."""
    x, y = np.random.default_rng(0).uniform(0.25, 2.0, (2, 3, 4)).astype(np.float32)
    return {
        "x": x,
        "y": y,
        "v": x[0].copy(),
        "h": y.astype(np.float16),
        "i": np.tile(np.array([3, 1, 0, 2]), (3, 1)),
        "j": np.array([[0, 3], [2, 1]]),
        "b": x > 1,
        "o": np.array([[0.5], [1.5]], np.float32),
    }


TABLE = BuilderRows(INFOS, CASES, arguments)
