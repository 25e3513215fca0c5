"""Long chains of computations and deep expressions become prim funcs that run, and print as script."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import UnsupportedError
from relax_mlir.script import parse
from relax_mlir.te.expressions import Expr

N = te.var("n")
A = te.placeholder((N,), name="A")
DEEP = 1500
NESTED = 300


def plus_one(i: Expr, a: te.Tensor = A) -> Expr:
    value = a[i]
    for _ in range(DEEP):
        value = value + 1.0
    return value


def shared(i: Expr) -> Expr:
    """As a tree it has 2^100 nodes."""
    value = A[i]
    for _ in range(100):
        value = value * 0.75 + value * 0.25
    return value


def guarded(i: Expr) -> Expr:
    """Elements before the first are read nowhere."""
    value: Expr = A[0]
    for number in range(120):
        value = te.if_then_else(
            i > number, te.if_then_else(A[i - number - 1] > 0.0, A[i - number - 1], value), value * 1.0
        )
    return value


def choices(i: Expr) -> Expr:
    value: Expr = te.const(-1.0, "float32")
    for number in range(NESTED):
        value = te.if_then_else(i == number, A[NESTED - 1 - number], value)
    return value


def test_deep_expressions() -> None:
    outputs = [te.compute((N,), function, function.__name__) for function in (plus_one, shared)]
    loops = te.compute((N,), lambda i: plus_one(N - 1 - i), "loops")
    for made in (outputs, [loops]):
        module = te.create_prim_func([A, *made])
        assert_structural_equal(module, parse(module.script()))
        main = rx.build(module)["main"]
        for size in (0, 1, 9):
            a = np.arange(size, dtype="f4")
            found = [np.zeros_like(a) for _ in made]
            main(a, *found)
            wanted = {"plus_one": a + DEEP, "shared": a, "loops": a[::-1] + DEEP}
            for tensor, have in zip(made, found, strict=True):
                np.testing.assert_allclose(have, wanted[tensor.name], rtol=1e-5)


def test_deep_conditions_guard_what_they_guard() -> None:
    module = te.create_prim_func([A, te.compute((N,), choices)])
    main = rx.build(module)["main"]
    for size in (NESTED, NESTED + 3):
        a = np.arange(size, dtype="f4")
        found = np.zeros_like(a)
        main(a, found)
        np.testing.assert_array_equal(found, np.r_[a[:NESTED][::-1], [-1.0] * (size - NESTED)])


def test_parts_under_too_many_conditions() -> None:
    with pytest.raises(UnsupportedError, match="compute a part of it as a tensor of its own"):
        te.create_prim_func([A, te.compute((N,), guarded)])


def test_long_chains() -> None:
    value = A
    for _ in range(DEEP):
        value = te.compute((N,), lambda i, value=value: value[i] + 1.0, "step")
    assert len(value.op.input_tensors) == 1
    module = te.create_prim_func([A, value])
    assert str(module).count("linalg.generic") == DEEP
