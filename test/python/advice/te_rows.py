"""Tensor expressions: what they refuse, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as rx
from advice_rows import BuilderCase, BuilderRows
from relax_mlir import te

INFOS = {
    "x": rx.Tensor(("n", "m"), "float32"),
    "j": rx.Tensor(("m",), "int64"),
    "u": rx.Tensor(("n", "m"), None),
    "o": rx.Tensor(ndim=2, dtype="float32"),
    "i": rx.Prim("int64"),
}


def _emitted(make: Callable[[Any], Any], name: str = "x") -> Callable[[Any, Any], Any]:
    """`make` of a te.Tensor, as a body."""
    return lambda bb, p: bb.emit_te(lambda t: make(t), p[name])


def _plain(t: Any) -> Any:
    return te.compute(t.shape, lambda *i: t(*i) + 1.0)


def _twice(t: Any) -> Any:
    k = te.reduce_axis((0, t.shape[1]), "k")
    l = te.reduce_axis((0, t.shape[0]), "l")  # noqa: E741 - the second axis
    return k, l


def _sum_of_sums(t: Any) -> Any:
    k, other = _twice(t)
    return te.compute((1,), lambda i: te.sum(te.sum(t[other, k], axis=k), axis=other))


def _columns(t: Any, axes: bool) -> Any:
    k = te.reduce_axis((0, t.shape[1]), "k")
    return te.compute((t.shape[0],), lambda i: te.sum(t[i, k], axis=k if axes else []))


CASES: dict[str, BuilderCase] = {
    "integer": (
        lambda bb, p: bb.emit_te(lambda t, n: te.compute((n,), lambda i: t[0, 0]), p["x"], p["i"]),
        r"\(R.match_shape gives an integer a symbol\)",
        lambda bb, p: (
            bb.match_shape(p["i"], ("q",)),
            bb.emit_te(lambda t: te.compute(("q",), lambda i: t[0, 0]), p["x"]),
        ),
        lambda x, i: (i, np.full(i, x[0, 0])),
    ),
    "placeholder": (lambda bb, p: bb.emit(rx.te_tensor(p["x"])), "is a placeholder: compute something of it"),
    "unknown_dtype": (
        lambda bb, p: bb.emit_te(_plain, p["u"]),
        "of unknown dtype; match_shape it with a dtype",
    ),
    "unknown_dimension": (
        lambda bb, p: bb.emit_te(_plain, p["o"]),
        "tensor expressions need every dimension: match_shape it",
    ),
    "no_value": (
        lambda bb, p: bb.emit(_plain(te.placeholder((3, 4), "float32"))),
        r"make it with te_tensor\(value\)",
    ),
    "truth": (
        _emitted(lambda t: te.compute(t.shape, lambda i, k: t[i, k] if t[i, k] > 0 else 0.0)),
        "use te.if_then_else, te.all, te.any",
        _emitted(
            lambda t: te.compute(
                t.shape,
                lambda i, k: te.if_then_else(
                    te.any(te.all(t[i, k] > 0.5, t[i, k] < 1.5), t[i, k] > 1.75),
                    t[i, k],
                    te.const(0.0, "float32"),
                ),
            )
        ),
        lambda x: np.where(((x > 0.5) & (x < 1.5)) | (x > 1.75), x, 0),
    ),
    "dtypes": (
        lambda bb, p: bb.emit_te(lambda t, j: te.compute(t.shape, lambda i, k: t[i, k] + j[k]), p["x"], p["j"]),
        "convert one with astype",
    ),
    "index_dtype": (
        _emitted(lambda t: te.compute(t.shape, lambda i, k: t[i, k] + k)),
        r"an index is an integer: i.astype\(...\)",
    ),
    "exp_of_integer": (
        _emitted(lambda j: te.compute(j.shape, lambda i: te.exp(j[i])), "j"),
        "expected a float; use astype",
        _emitted(lambda j: te.compute(j.shape, lambda i: te.exp(j[i].astype("float32"))), "j"),
        lambda x, j: np.exp(j),
    ),
    "no_axis": (
        _emitted(lambda t: _columns(t, False)),
        "give the reduce_axis to combine over",
        _emitted(lambda t: _columns(t, True)),
        lambda x: x.sum(1),
    ),
    "sum_of_sums": (_emitted(_sum_of_sums), "give both axes, or compute the inner one first"),
    "unknown_shape": (
        lambda bb, p: bb.emit_te(lambda t: te.compute((None,), lambda i: t[0, 0]), p["x"]),
        "match_shape gives it a symbol",
        lambda bb, p: (
            bb.match_shape(p["o"], ("q", "r")),
            bb.emit_te(lambda t: te.compute(("q",), lambda i: t[0, 0]), p["x"]),
        ),
        lambda x, o: (o, np.full(3, x[0, 0])),
    ),
}


def arguments(name: str) -> dict[str, Any]:
    x, y = np.random.default_rng(0).uniform(0.25, 2.0, (2, 3, 3)).astype(np.float32)
    return {"x": x, "j": np.array([2, 0, 1]), "u": y, "o": x + y, "i": 4}


TABLE = BuilderRows(INFOS, CASES, arguments)
