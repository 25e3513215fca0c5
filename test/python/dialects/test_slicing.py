"""Slices of symbolic sizes against Python's own, for every small case."""

from __future__ import annotations

import itertools

import pytest
from relax_mlir import symbolic
from relax_mlir.dialects.manipulate import resolve_slice

SIZES = range(7)
POSITIONS = range(-8, 9)


def check(found_begin: int, found_size: int, wanted: range, what: str) -> None:
    assert found_size == len(wanted), f"{what}: {found_size} elements, not {len(wanted)}"
    assert not wanted or found_begin == wanted[0], f"{what}: begins at {found_begin}, not {wanted[0]}"


@pytest.mark.parametrize("stride", [1, 2, 3, -1, -2, -3, 2**63 - 1, -(2**63)])
def test_constant_positions(stride: int) -> None:
    for begin, end in itertools.product(POSITIONS, POSITIONS):
        part = resolve_slice(begin, end, stride, symbolic.symbol("n"))
        for size in SIZES:
            values = {"n": size}
            wanted = range(*slice(begin, end, stride).indices(size))
            first, count = symbolic.evaluate(part.begin, values), symbolic.evaluate(part.size, values)
            check(first, count, wanted, f"[{begin}:{end}:{stride}] of {size}")


@pytest.mark.parametrize("stride", [1, 2, -1, -3])
def test_positions_of_unknown_sign(stride: int) -> None:
    n, p, q = map(symbolic.symbol, "npq")
    part = resolve_slice(p - 4, q - 4, stride, n)
    for size, begin, end in itertools.product(SIZES, range(-4, 8), range(-4, 8)):
        values = {"n": size, "p": begin + 4, "q": end + 4}
        wanted = range(*slice(begin, end, stride).indices(size))
        first, count = symbolic.evaluate(part.begin, values), symbolic.evaluate(part.size, values)
        check(first, count, wanted, f"[{begin}:{end}:{stride}] of {size}")


def test_static_sizes_give_numbers() -> None:
    for size, begin, end, stride in itertools.product(SIZES, POSITIONS, POSITIONS, (1, -2)):
        part = resolve_slice(begin, end, stride, size)
        assert isinstance(part.begin, int) and isinstance(part.size, int)
        check(part.begin, part.size, range(*slice(begin, end, stride).indices(size)), "static")


def test_sizes_of_long_strides_fit_into_64_bits() -> None:
    n = symbolic.symbol("n")
    sizes = [resolve_slice(0, 3, 2**63 - 1, n).size, resolve_slice(-1, -(2**63), -(2**63), n).size]
    assert list(map(str, sizes)) == ["min(n, 1)", "min(n, 1)"]


def test_usual_slices_have_simple_sizes() -> None:
    n = symbolic.symbol("n")
    sizes = [
        (resolve_slice(0, n, 1, n), "n"),
        (resolve_slice(0, 2**63 - 1, 1, n), "n"),
        (resolve_slice(0, 2, 1, n), "min(n, 2)"),
        (resolve_slice(1, -1, 1, n), "max(n - 2, 0)"),
        (resolve_slice(-1, -(2**31), -1, n), "n"),
        (resolve_slice(2, n, 1, n, inbound=True), "max(n - 2, 0)"),
    ]
    assert [str(part.size) for part, _ in sizes] == [text for _, text in sizes]
