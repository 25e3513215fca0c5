"""Conditions on dimensions: proofs, and evaluation for values."""

from __future__ import annotations

import itertools
import operator

import pytest
from relax_mlir import symbolic
from relax_mlir.error import ArgumentError
from relax_mlir.symbolic import assuming, divisible, equal, not_equal, symbol

N, M = symbol("n"), symbol("m")
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def test_decided_and_open() -> None:
    assert (N <= N + 1).decide() is True and (N < 0).decide() is False and (N >= 0).decide() is True
    assert (N <= 16).decide() is None and (N > M).decide() is None and (N >= 3).decide() is None
    assert equal(2 * N, N + N).decide() is True and equal(2 * N, 2 * M + 1).decide() is False
    assert not_equal(N, N + 3).decide() is True and not_equal(N, N).decide() is False
    assert equal(N, M).decide() is None and not_equal(N, M).decide() is None
    assert divisible(8 * N, 4).decide() is True and divisible(4 * N + 1, 2).decide() is False
    assert divisible(N, 8).decide() is None and divisible(24, 8).decide() is True


def test_bounds_decide() -> None:
    with assuming({"n": (1, 16), "m": (17, None)}):
        assert (N <= 16).decide() is True and (N < M).decide() is True and (M <= 16).decide() is False


def test_values() -> None:
    for (sign, compare), a, b in itertools.product(SIGNS.items(), range(4), range(4)):
        values = {"n": a, "m": b}
        assert compare(N, M).holds(values) == compare(a, b), sign
        assert compare(2, N).holds(values) == compare(2, a) and compare(N, 2).holds(values) == compare(a, 2)
        assert equal(N, M).holds(values) == (a == b) and not_equal(N, M).holds(values) == (a != b)
        assert divisible(N + M, 3).holds(values) == ((a + b) % 3 == 0)


def test_text_and_truth() -> None:
    assert [str(N < 4), str(N > 4), str(divisible(N, 8)), str(equal(N, M))] == [
        "n < 4",
        "n > 4",
        "n % 8 == 0",
        "n == m",
    ]
    assert bool(N < N + 1) and not bool(N < N)
    assert (N <= M).symbols() == ("m", "n")
    with pytest.raises(ArgumentError, match=r"whether n < 4 depends on n: it is known at run time only"):
        bool(N < 4)
    with pytest.raises(TypeError):
        N < "m"  # type: ignore[operator]  # noqa: B015 - the comparison is tested
    with pytest.raises(ArgumentError, match="'by' is 0, expected a positive integer"):
        divisible(N, 0)
    assert symbolic.Condition is type(N < 4)
