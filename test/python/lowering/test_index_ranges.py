"""Formulas of sizes that cannot overflow."""

from __future__ import annotations

import pytest
from relax_mlir import symbolic
from relax_mlir.lowering.analysis.index_ranges import is_small


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("n + 1024", True),
        ("n + 1025", False),
        ("1024 * n - m", True),
        ("1025 * n", False),
        ("n * m", False),
        ("max(n // 2, m) % 7", True),
        ("n // (m * k)", False),
        ("n2000 + 1", True),  # the digits of a name are no integer
    ],
)
def test_integers_are_small_and_no_sizes_are_multiplied(formula: str, expected: bool) -> None:
    assert is_small(symbolic.parse(formula)) is expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("n * m + n * n + k", True),
        ("1024 * n * m + 1024 * n * n", True),
        ("1025 * n * m + 1025 * n * n", False),
        ("8 * n * m + n * n", False),  # its last term is no multiple of the count
        ("min(n * m + n * n, k)", True),
        ("(n * m + n * n) * k", False),
    ],
)
def test_the_elements_of_a_buffer_fit_in_memory(formula: str, expected: bool) -> None:
    assert is_small(symbolic.parse(formula), [symbolic.parse("n * m + n * n")]) is expected
