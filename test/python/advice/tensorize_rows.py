"""Advice about intrinsics that replace loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import random_schedules
from advice_rows import Rows
from relax_mlir import te
from relax_mlir.script import parse

N, K = te.var("n"), te.var("k")
A = te.placeholder((N, K), name="A")
X = te.placeholder((4, "d"), name="x")
R = te.reduce_axis((0, te.var("d")), "r")
SUMS = te.compute((4,), lambda i: te.sum(X[i, R], axis=R), "y")
TWICE = te.compute((4, "d"), lambda i, j: X[i, j] + X[i, j], "y")
ADD = """
@T.prim_func
def add(x: T.Buffer((4, "d"), "float32"), y: T.Buffer((4,), "float32")):
    for i, r in T.grid(4, d):
        y[i] += x[i, r]
"""
BODY = """
@T.prim_func
def sums(x: T.Buffer((4, "d"), "float32"), y: T.Buffer((4,), "float32")):
    for i in range(4):
        y[i] = T.float32(0)
        for r in range(d):
            y[i] += x[i, r]
"""
DOUBLE = """
@T.prim_func
def twice(x: T.Buffer((4, "d"), "float32"), y: T.Buffer((4, "d"), "float32")):
    for i, j in T.grid(4, d):
        y[i, j] = x[i, j] + x[i, j]
"""


def _sums(intrin: Any, factor: int = 4, outside: bool = False) -> Any:
    """Sums of rows by an intrinsic."""
    k = te.reduce_axis((0, K), "k")
    c = te.compute((N,), lambda i: te.sum(A[i, k], axis=k), "C")
    s = te.create_schedule(c.op)
    _, inner = s[c].split(c.op.axis[0], factor=factor)
    if outside:
        s[c].reorder(k, inner)
    s[c].tensorize(inner, intrin)
    text = te.lower(s, [A, c], simple_mode=True)
    given = np.arange(35, dtype="f4").reshape(7, 5)
    found = np.full(7, np.nan, "f4")
    random_schedules.run(text, [given, found], {"n": 7, "k": 5})
    np.testing.assert_array_equal(found, given.sum(1))


def _update() -> Any:
    return te.decl_tensor_intrin(SUMS, lambda ins, outs: (None, None, parse(ADD)), "add")


def _body() -> Any:
    return te.decl_tensor_intrin(SUMS, parse(BODY), "sums")


def _initial(init: float | None) -> Any:
    k = te.reduce_axis((0, 4), "k")
    x = te.placeholder((4, 4), name="x")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k, init=init), "y")
    return te.decl_tensor_intrin(y, parse(BODY.replace('"d"', "4").replace("range(d)", "range(4)")))


def _registered() -> None:
    te.TensorIntrin.register("advised_sums", _update(), override=True)
    te.TensorIntrin.register("advised_sums", _body(), override=False)


def _modules() -> Any:
    both = parse(
        "@I.ir_module\nclass M:\n"
        + "".join(f"    {line}\n" for line in (BODY + ADD).replace("\n\n", "\n").strip().splitlines())
    )
    return te.decl_tensor_intrin(SUMS, both)


def _buffer(factor: int) -> Any:
    placed = te.decl_buffer((4, "d"), name="x", offset_factor=factor)
    return te.decl_tensor_intrin(SUMS, parse(BODY), binds={X: placed})


TABLE = Rows(
    {
        "split_by": (lambda: _sums(_update(), 8), "of the intrinsic: split it by 4"),
        "update": (
            lambda: _sums(_body(), outside=True),
            r"no update, .*: declare it as \(body, reset, update\), or reorder the loops",
        ),
        "parts": (
            lambda: te.decl_tensor_intrin(TWICE, lambda ins, outs: (parse(DOUBLE), None, None)),
            "has a body alone: give one prim func",
        ),
        "init": (lambda: _initial(0.0), "the loops have theirs; leave it out"),
        "override": (_registered, "give override=True"),
        "module": (_modules, 'give one of them, mod\\["f"\\]'),
        "packed": (
            lambda: te.decl_tensor_intrin(SUMS, lambda ins, outs: te.call_packed("sums", *ins, *outs)),
            "write the implementation as a prim func, or let te.extern fill a whole tensor",
        ),
        "offset": (lambda: _buffer(8), "parts of tensors begin anywhere: leave it out"),
    }
)
