"""Recurrences: cumulative sums, and states that depend on what each step computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.script import parse

M, N = te.var("m"), te.var("n")
X = te.placeholder((M, N), name="X")
STATE = te.placeholder((M, N), name="state")
INIT = te.compute((1, N), lambda _, i: X[0, i], "init")


def recurrence(length: Any, update: Any) -> te.Tensor:
    state = te.placeholder((M, N), name="state")
    first = te.compute((length, N), lambda t, i: X[t, i] * 2, "first")
    found = te.scan(first, update(state), state, inputs=[X], name="scan")
    assert isinstance(found, te.Tensor)
    return found


def cell(state: te.Tensor) -> te.Tensor:
    """A step that is a matmul, and a function of it."""
    k = te.reduce_axis((0, N), "k")
    row = te.compute((M,), lambda t: te.sum(state[t - 1, k], k), "row")
    gate = te.compute((M, N), lambda t, i: te.tanh(state[t - 1, i] + row[t]), "gate")
    return te.compute((M, N), lambda t, i: gate[t, i] * 0.5 + X[t, i], "next")


def test_scans() -> None:
    total = te.scan(INIT, te.compute((M, N), lambda t, i: STATE[t - 1, i] + X[t, i]), STATE, X, "total")
    fibonacci = recurrence(2, lambda s: te.compute((M, N), lambda t, i: s[t - 1, i] + s[t - 2, i]))
    gated = recurrence(1, cell)
    late = te.compute((M, N), lambda t, i: total[t, i] + gated[M - 1 - t, i], "late")
    assert isinstance(total.op, te.ScanOp)
    assert total.op.input_tensors == [INIT, X] and [op.name for op in gated.op.steps] == [
        "row",
        "gate",
        "next",
    ]
    module = te.create_prim_func([X, total, fibonacci, gated, late])
    assert_structural_equal(module, parse(module.script()))
    main = rx.build(module)["main"]
    for m, n in ((5, 3), (2, 1), (3, 0), (7, 2)):
        x = np.random.default_rng(m).standard_normal((m, n)).astype("f4")
        found = [np.zeros_like(x) for _ in range(4)]
        main(x, *found)
        fib, gate = x[:2] * 2, x[:1] * 2
        for t in range(2, m):
            fib = np.concatenate([fib, fib[t - 1 : t] + fib[t - 2 : t - 1]])
        for t in range(1, m):
            before = gate[t - 1]
            gate = np.concatenate([gate, (np.tanh(before + before.sum()) * np.float32(0.5) + x[t])[None]])
        for have, want in zip(found, (x.cumsum(0), fib, gate, x.cumsum(0) + gate[::-1]), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


def test_states_together() -> None:
    s, p = te.placeholder((M,), name="s"), te.placeholder((M,), "int64", "p")
    init = te.compute((1,), lambda t: (te.const(1.0, "float32"), te.const(1, "int64")), "init")
    update = te.compute((M,), lambda t: (s[t - 1] / p[t - 1].astype("float32"), p[t - 1] + 1), "update")
    inverse, count = te.scan(init, update, [s, p])
    length = te.placeholder((M,), name="length")
    main = rx.build(te.create_prim_func([length, inverse, count]))["main"]
    for m in (1, 6):
        found = [np.zeros(m, "f4"), np.zeros(m, "i8")]
        main(np.zeros(m, "f4"), *found)
        np.testing.assert_array_equal(found[1], np.arange(m) + 1)
        np.testing.assert_allclose(found[0], 1 / np.r_[1, np.arange(1, m)].cumprod(), rtol=1e-6)


def test_mistakes() -> None:
    def update(value: Any) -> te.Tensor:
        found = te.compute((M, N), value, "update")
        assert isinstance(found, te.Tensor)
        return found

    good = update(lambda t, i: STATE[t - 1, i])
    cases: list[tuple[Any, type[Exception], str]] = [
        (
            lambda: te.scan(INIT, update(lambda t, i: STATE[t, i]), STATE),
            ArgumentError,
            r"not known to be a step before t",
        ),
        (
            lambda: te.scan(INIT, update(lambda t, i: STATE[t + i, i]), STATE),
            ArgumentError,
            "not known to be a step",
        ),
        (lambda: te.scan(INIT, [good, good], STATE), ArgumentError, "give as many of each, one at least"),
        (lambda: te.scan(INIT, good, good), ArgumentError, "is computed, expected a placeholder"),
        (lambda: te.scan(X, good, STATE), ArgumentError, r"made by te\.compute"),
        (lambda: te.scan(INIT, INIT, STATE), ShapeError, "equal but for the first dimension of init"),
        (lambda: te.scan(INIT, 3, STATE), ArgumentError, r"a te\.Tensor, or a list of them"),
    ]
    for make, error, message in cases:
        with pytest.raises(error, match=message):
            make()
    inner = te.compute((M, N), lambda t, i: STATE[t - 1, i], "inner")
    with pytest.raises(ArgumentError, match=r"'update' reads inner\[\(t - 1\), i\]: .* at the step itself, t"):
        te.scan(INIT, update(lambda t, i: inner[t - 1, i]), STATE)
    flat = te.compute((N,), lambda i: STATE[0, i], "flat")
    with pytest.raises(ShapeError, match="'flat' reads the state, so that its first dimension is the step"):
        te.scan(INIT, update(lambda t, i: flat[i]), STATE)
