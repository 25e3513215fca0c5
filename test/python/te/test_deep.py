"""Long chains of computations and deep expressions become prim funcs that run, and print as script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import random_schedules
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import UnsupportedError
from relax_mlir.script import parse
from relax_mlir.te.expressions import Expr

N = te.var("n")
A = te.placeholder((N,), name="A")
DEEP = 1100
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
    """Elements before the first one are never read."""
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


def repeated(i: Expr) -> Expr:
    """Choices that use the one before three times."""
    value: Expr = A[i]
    for _ in range(60):
        value = te.if_then_else(value > 1.0, value * 0.5 + A[i], value + 1.0)
    return value


@pytest.mark.parametrize("function", [shared, choices, repeated])
def test_schedules_of_deep_expressions_have_a_script(function: Callable[[Expr], Expr]) -> None:
    made = te.compute((N,), function, "B")
    s = te.create_schedule(made.op)
    s[made].split(made.op.axis[0], factor=4)
    text = te.lower(s, [A, made], simple_mode=True)
    a = np.arange(NESTED + 3, dtype="f4")
    found, expected = np.zeros_like(a), np.zeros_like(a)
    random_schedules.run(text, [a, found], {"n": len(a)})
    rx.build(te.create_prim_func([A, made]))["main"](a, expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
def test_deep_expressions() -> None:
    outputs = [te.compute((N,), function, function.__name__) for function in (plus_one, shared)]
    loops = te.compute((N,), lambda i: plus_one(N - 1 - i), "loops")
    for made in (outputs, [loops]):
        module = te.create_prim_func([A, *made])
        assert_structural_equal(module, parse(module.script()))
        main = rx.build(module, opt_level=0)["main"]
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


@pytest.mark.slow
def test_long_chains() -> None:
    value = A
    for _ in range(DEEP):
        value = te.compute((N,), lambda i, value=value: value[i] + 1.0, "step")
    assert len(value.op.input_tensors) == 1
    module = te.create_prim_func([A, value])
    assert str(module).count("linalg.generic") == 100, "merged, so that building it takes no minutes"
    main = rx.build(module, opt_level=0)["main"]
    for size in (0, 1, 9):
        a = np.arange(size, dtype="f4")
        found = np.zeros_like(a)
        main(a, found)
        np.testing.assert_array_equal(found, a + DEEP)


def test_what_is_merged_is_computed_as_before() -> None:
    """Transposed reads, tensors that are read twice or reduced, several outputs, and outputs in the middle."""
    m = te.var("m")
    b = te.placeholder((N, m), name="B")
    value, middle = b, None
    for number in range(210):
        before, k = value, te.reduce_axis((0, m), "k")
        if number % 70 == 3:
            rows = te.compute((N,), lambda i, t=before, k=k: te.sum(t[i, k], k), "rows")
            value = te.compute((N, m), lambda i, j, t=before, r=rows: t[i, j] * 0.5 + r[i] * 0.125, "more")
        elif number % 70 == 9:
            low, high = te.compute((N, m), lambda i, j, t=before: (te.minimum(t[i, j], 0.5), t[i, j]), "both")
            value = te.compute((N, m), lambda i, j, a=low, c=high: a[i, j] + c[i, j], "joined")
        elif number % 70 in (20, 21):
            flipped = te.compute((m, N), lambda i, j, t=before: t[j, i] - 0.25, "flipped")
            value = te.compute((N, m), lambda i, j, t=flipped: t[j, i], "back")
        else:
            value = te.compute((N, m), lambda i, j, t=before: t[i, j] + 0.0625, "next")
        middle = value if number == 100 else middle
    assert middle is not None
    module = te.create_prim_func([b, middle, value])
    assert str(module).count("linalg.generic") < 120
    main = rx.build(module, opt_level=0)["main"]
    for shape in ((3, 4), (1, 1), (0, 2), (2, 0)):
        given = np.random.default_rng(1).random(shape, "f4")
        want, half = given.astype("f8"), given
        for number in range(210):
            if number % 70 == 3:
                want = want * 0.5 + want.sum(1, keepdims=True) * 0.125
            elif number % 70 == 9:
                want = np.minimum(want, 0.5) + want
            else:
                want = want - 0.25 if number % 70 in (20, 21) else want + 0.0625
            half = want if number == 100 else half
        found = [np.zeros(shape, "f4") for _ in range(2)]
        main(given, *found)
        np.testing.assert_allclose(found[0], half, rtol=1e-4)
        np.testing.assert_allclose(found[1], want, rtol=1e-4)
