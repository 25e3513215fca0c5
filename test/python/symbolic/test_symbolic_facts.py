"""Tables of facts: what must be proved, what must not, and what the normal form looks like."""

from __future__ import annotations

import itertools

import pytest
from relax_mlir import symbolic
from relax_mlir.error import ShapeError
from relax_mlir.symbolic import Bounds, Dim

CANONICAL = {
    "7": 7,
    "2 + 3*4": 14,
    "-7 // 2": -4,
    "-7 % 4": 1,
    "7 % -4": -1,
    "-(7 // 2)": -3,
    "n - n": 0,
    "0*n": 0,
    "n": "n",
    "(n)": "n",
    "n*2": "2*n",
    "m*n": "m*n",
    "n*m": "m*n",
    "n*(m + 1)": "m*n + n",
    "(n + 1)*(n + 1)": "n*n + 2*n + 1",
    "1 + n": "n + 1",
    "1 - n": "1 - n",
    "n - m": "n - m",
    "-n": "-n",
    "-2*n*m": "-2*m*n",
    "--n": "n",
    "n // 1": "n",
    "n % 1": 0,
    "4*n // 4": "n",
    "(4*n + 2) // 4": "n",
    "(4*n + 6) // 4": "n + 1",
    "(2*n + 1) // 4": "n // 2",
    "6*n // 4": "n + n // 2",
    "n // 2 // 3": "n // 6",
    "(n // 2 + 1) // 3": "(n + 2) // 6",
    "(n + 3) // 4 * 4": "(n + 3) // 4 * 4",
    "4 * ((n + 3) // 4)": "(n + 3) // 4 * 4",
    "(n - 3) // 2 + 1": "(n + 1) // 2 - 1",
    "n // -2": "n // 2 - n",
    "-(n // 2)": "-(n // 2)",
    "n // 2 * (m // 3)": "m // 3 * (n // 2)",
    "k*n // k": "n",
    "k*n % k": 0,
    "n // n": 1,
    "n % n": 0,
    "(n*m + n) // (m + 1)": "n",
    "(n*n - 1) // (n + 1)": "n - 1",
    "n*m // (n*k)": "m // k",
    "n*m % (n*k)": "m % k * n",
    "(n + m) // m": "n // m + 1",
    "n // m // 2": "n // (2*m)",
    "n // (n + 1)": 0,
    "n % (n + 1)": "n",
    "n // (m - 3)": "n // (m - 3)",
    "n % 8": "n % 8",
    "(n + 8) % 8": "n % 8",
    "n % 8 % 4": "n % 4",
    "n % 8 // 8": 0,
    "2*n % 4": "n % 2 * 2",
    "(n % 4 + m) % 4": "(m + n) % 4",
    "ceildiv(n, 4)": "(n + 3) // 4",
    "ceildiv(8*n, 8)": "n",
    "ceildiv(n, m)": "(n - 1) // m + 1",
    "floordiv(n, 2)": "n // 2",
    "floormod(n, 2)": "n % 2",
    "min(n, n)": "n",
    "min(n, m)": "min(m, n)",
    "min(n, n + 1)": "n",
    "max(n, n + 1)": "n + 1",
    "max(n, 0)": "n",
    "min(n, 0)": 0,
    "max(1, n)": "max(n, 1)",
    "min(min(n, 4), 3, m)": "min(m, n, 3)",
    "min(n, max(n, m))": "n",
    "max(m, min(n, m))": "m",
    "max(3, 5, 4)": 5,
    "min(n % 4, 7)": "n % 4",
}

PROVED: list[tuple[str, Bounds]] = [
    ("n*4 == 4*n", {}),
    ("n*m == m*n", {}),
    ("n*(m + 1) == n*m + n", {}),
    ("(n + m)*(n - m) == n*n - m*m", {}),
    ("4*n // 4 == n", {}),
    ("n // 2 // 3 == n // 6", {}),
    ("n // 4 * 4 + n % 4 == n", {}),
    ("n // m * m + n % m == n", {}),
    ("n - n // 2 == (n + 1) // 2", {}),
    ("n // 2 + (n + 1) // 2 == n", {}),
    ("ceildiv(n, 4) == (n + 3) // 4", {}),
    ("ceildiv(n + 4, 4) == ceildiv(n, 4) + 1", {}),
    ("(n - 3) // 2 + 1 == (n - 1) // 2", {}),
    ("(n % 8) // 2 == (n // 2) % 4", {}),
    ("n // 3 + (n + 1) // 3 + (n + 2) // 3 == n", {}),
    ("min(n, m) + max(n, m) == n + m", {}),
    ("max(n, m) - min(n, m) == max(n - m, m - n)", {}),
    ("min(n, m) == min(m, n)", {}),
    ("n == 5", {"n": (5, 5)}),
    ("n % 8 == n", {"n": (0, 7)}),
    ("n // 8 == 0", {"n": (0, 7)}),
    ("n // 8 == 1", {"n": (8, 15)}),
    ("min(n, 16) == n", {"n": (0, 16)}),
    ("max(n, 1) == n", {"n": (1, None)}),
    ("n != n + 1", {}),
    ("2 != 3", {}),
    ("n + m != n + m + 4", {}),
    ("2*n != 2*m + 1", {}),
    ("6*n + 3*m != 4", {}),
    ("n + 1 != 0", {}),
    ("n != 0", {"n": (1, None)}),
    ("n != m", {"n": (0, 3), "m": (4, None)}),
    ("n % 4 != 4", {}),
    ("n % 4 != n + 1", {}),
    ("n*m + 1 != 0", {}),
    ("2*(n // 2) + 1 != 2*m", {}),
    ("0 <= n", {}),
    ("n <= n", {}),
    ("n <= n + m", {}),
    ("n <= 2*n", {}),
    ("n <= n*n", {}),
    ("n <= n*m", {"m": (1, None)}),
    ("n + m <= n*m + 1", {"n": (1, None), "m": (1, None)}),
    ("2*n*m <= n*n + m*m", {}),
    ("n // 2 <= n", {}),
    ("n // m <= n", {}),
    ("n // m * m <= n", {}),
    ("n % m <= n", {}),
    ("n % m + 1 <= m", {}),
    ("n % 4 <= 3", {}),
    ("n % 4 <= n", {}),
    ("n // 4 * 4 <= n", {}),
    ("n <= (n + 3) // 4 * 4", {}),
    ("(n + 3) // 4 * 4 <= n + 3", {}),
    ("n <= ceildiv(n, 128) * 128", {}),
    ("n // 4 <= n // 2", {}),
    ("n // 2 <= (n + 1) // 2", {}),
    ("min(n, m) <= n", {}),
    ("min(n, m) <= max(n, m)", {}),
    ("n <= max(n, m)", {}),
    ("max(n, m) <= n + m", {}),
    ("min(n, m) * 2 <= n + m", {}),
    ("n <= 8", {"n": (2, 8)}),
    ("n + m <= 12", {"n": (0, 8), "m": (0, 4)}),
    ("n // 16 <= 7", {"n": (0, 127)}),
    ("1 <= n*m", {"n": (1, None), "m": (1, None)}),
    ("8 | 8*n", {}),
    ("4 | 8*n + 4", {}),
    ("4 | (n + 3) // 4 * 4", {}),
    ("2 | n*(n + 1)", {}),
    ("6 | n*(n + 1)*(n + 2)", {}),
    ("2 | n*n + n", {}),
    ("3 | n - n % 3", {}),
    ("m | n*m", {}),
    ("m + 1 | n*m + n", {}),
    ("n | 0", {}),
    ("0 | 0", {}),
    ("4 | n", {"n": (12, 12)}),
    ("-4 | 8*n", {}),
]

UNPROVABLE: list[tuple[str, Bounds]] = [
    ("n == m", {}),
    ("n == n + 1", {}),
    ("n == 1", {}),
    ("n*n == n", {}),
    ("n*m == n", {}),
    ("n // 2 * 2 == n", {}),
    ("n // 2 == (n + 1) // 2", {}),
    ("n // 2 // 2 == n // 2", {}),
    ("n % 4 == n", {}),
    ("n % 8 == n % 4", {}),
    ("n % 8 == n", {"n": (0, 8)}),
    ("n // 8 == 0", {"n": (0, 8)}),
    ("n // m == n", {}),
    ("n // m * m == n", {}),
    ("n // m == m // n", {}),
    ("ceildiv(n, 4) == n // 4", {}),
    ("ceildiv(n, 4) == n // 4 + 1", {}),
    ("min(n, m) == n", {}),
    ("max(n, m) == n + m", {}),
    ("min(n, 16) == n", {"n": (0, 17)}),
    ("max(n, 1) == n", {}),
    ("(n + m) // 2 == n // 2 + m // 2", {}),
    ("2*n // 3 == n // 3 * 2", {}),
    ("n == 5", {"n": (5, 6)}),
    ("n != m", {}),
    ("n != 0", {}),
    ("n != 2*n", {}),
    ("n + 1 != 2*m", {}),
    ("n*m != 1", {}),
    ("2*n != 3*m", {}),
    ("2*n + 1 != 3*m", {}),
    ("n % 4 != 3", {}),
    ("n % 4 != n", {}),
    ("n // 2 != m", {}),
    ("n*n != 2*n", {"n": (1, None)}),
    ("n != m", {"n": (0, 4), "m": (4, None)}),
    ("1 <= n", {}),
    ("n <= 8", {}),
    ("n <= 8", {"n": (0, 9)}),
    ("n <= m", {}),
    ("2*n <= n", {}),
    ("n <= n - 1", {}),
    ("n*n <= n", {}),
    ("n <= n*m", {}),
    ("n + m <= n*m", {}),
    ("n + m <= n*m", {"n": (1, None), "m": (1, None)}),
    ("n*n + m*m <= 2*n*m", {}),
    ("n <= n // 2 * 2", {}),
    ("n <= n // m * m", {}),
    ("n % 4 <= 2", {}),
    ("(n + 3) // 4 * 4 <= n + 2", {}),
    ("(n + 3) // 4 * 4 <= n", {}),
    ("n <= (n + 2) // 4 * 4", {}),
    ("max(n, m) <= n", {}),
    ("n <= min(n, m)", {}),
    ("n + m <= max(n, m)", {}),
    ("m <= n % m", {}),
    ("n // 2 <= n // 4", {}),
    ("n // 16 <= 7", {"n": (0, 128)}),
    ("4 | n", {}),
    ("4 | 2*n", {}),
    ("8 | 8*n + 4", {}),
    ("4 | n*(n + 1)", {}),
    ("4 | (n + 3) // 2 * 2", {}),
    ("3 | n*n + n", {}),
    ("2 | n*n", {}),
    ("m | n", {}),
    ("m | n*m + 1", {}),
    ("m*m | n*m", {}),
    ("0 | n", {}),
    ("0 | 3", {}),
    ("4 | n", {"n": (12, 13)}),
]


def sides(fact: str) -> tuple[Dim, str, Dim]:
    sign = next(sign for sign in ("==", "!=", "<=", "|") if sign in fact)
    left, right = fact.split(f" {sign} ")
    return symbolic.parse(left), sign, symbolic.parse(right)


def proves(fact: str, limits: Bounds) -> bool:
    a, sign, b = sides(fact)
    match sign:
        case "==":
            return symbolic.prove_equal(a, b, limits)
        case "!=":
            return symbolic.prove_not_equal(a, b, limits)
        case "<=":
            return symbolic.prove_less_equal(a, b, limits)
        case _:
            return symbolic.prove_divisible(b, a, limits)


def holds(fact: str, values: dict[str, int]) -> bool:
    a, sign, b = sides(fact)
    try:
        x, y = symbolic.evaluate(a, values), symbolic.evaluate(b, values)
    except ShapeError:
        return True
    match sign:
        case "==":
            return x == y
        case "!=":
            return x != y
        case "<=":
            return x <= y
        case _:
            return y % x == 0 if x else y == 0


def points(limits: Bounds) -> list[dict[str, int]]:
    """All values of n, m in a square that lie inside the bounds."""
    square = (dict(zip("nm", values, strict=True)) for values in itertools.product(range(20), repeat=2))
    edge = [{"n": n, "m": 1} for n in (126, 127, 128, 129)]
    return [
        point
        for point in [*square, *edge]
        if all(
            low <= point[name] <= (high if high is not None else 999) for name, (low, high) in limits.items()
        )
    ]


@pytest.mark.parametrize(("text", "expected"), CANONICAL.items(), ids=CANONICAL)
def test_canonical(text: str, expected: int | str) -> None:
    dim = symbolic.parse(text)
    assert (dim if isinstance(expected, int) else str(dim)) == expected
    assert type(dim) is int or isinstance(dim, symbolic.Expr)


@pytest.mark.parametrize(("fact", "limits"), PROVED, ids=[f"{fact} {b or ''}" for fact, b in PROVED])
def test_proved(fact: str, limits: Bounds) -> None:
    assert proves(fact, limits)
    assert all(holds(fact, point) for point in points(limits))


@pytest.mark.parametrize(("fact", "limits"), UNPROVABLE, ids=[f"{fact} {b or ''}" for fact, b in UNPROVABLE])
def test_not_proved(fact: str, limits: Bounds) -> None:
    assert not proves(fact, limits)
    assert not all(holds(fact, point) for point in points(limits)), "the fact is true after all"


def test_tables_are_large_enough() -> None:
    assert len({*map(str, PROVED)}) >= 60 and len({*map(str, UNPROVABLE)}) >= 60
