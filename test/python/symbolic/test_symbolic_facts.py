"""Tables of facts: provable ones, unprovable ones, and normal forms."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator
from pathlib import Path

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

FACTS = Path(__file__).parent / "facts"
LINE = re.compile(r"(?P<fact>.*?)\s*(?:\[(?P<bounds>.*)\])?")


def table(name: str) -> list[tuple[str, Bounds]]:
    """The facts of a file, each with its bounds."""
    rows = []
    for line in (FACTS / name).read_text().splitlines():
        if line and not line.startswith("#"):
            match = LINE.fullmatch(line)
            assert match is not None
            rows.append((match["fact"], bounds_of(match["bounds"] or "")))
    return rows


def bounds_of(text: str) -> Bounds:
    """``n: 1..8, m: 4..``."""
    bounds: dict[str, tuple[int, int | None]] = {}
    for item in filter(None, text.split(",")):
        name, pair = item.split(":")
        low, high = pair.split("..")
        bounds[name.strip()] = (int(low), int(high) if high.strip() else None)
    return bounds


PROVED = table("proved.txt")
REFUSED = table("refused.txt")


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


def points(fact: str, limits: Bounds) -> Iterator[dict[str, int]]:
    """Values of the symbols of a fact within the bounds: small ones, and those next to the upper bounds."""
    left, _, right = sides(fact)
    names = sorted({*symbolic.symbols(left), *symbolic.symbols(right)})
    for values in itertools.product(*(candidates(limits.get(name, (0, None)), len(names)) for name in names)):
        yield dict(zip(names, values, strict=True))


def candidates(limits: tuple[int, int | None], symbols: int) -> list[int]:
    low, high = limits
    count = 12 if symbols > 2 else 20
    found = [*range(low, low + count), *((127, 128, 129) if symbols < 2 else ())]
    if high is not None:
        found += range(high - 2, high + 1)
    return sorted({value for value in found if low <= value and (high is None or value <= high)})


@pytest.mark.parametrize(("text", "expected"), CANONICAL.items(), ids=CANONICAL)
def test_canonical(text: str, expected: int | str) -> None:
    dim = symbolic.parse(text)
    assert (dim if isinstance(expected, int) else str(dim)) == expected
    assert type(dim) is int or isinstance(dim, symbolic.Expr)


@pytest.mark.parametrize(("fact", "limits"), PROVED, ids=[f"{fact} {b or ''}" for fact, b in PROVED])
def test_proved(fact: str, limits: Bounds) -> None:
    assert proves(fact, limits)
    assert all(holds(fact, point) for point in points(fact, limits))


@pytest.mark.parametrize(("fact", "limits"), REFUSED, ids=[f"{fact} {b or ''}" for fact, b in REFUSED])
def test_not_proved(fact: str, limits: Bounds) -> None:
    assert not proves(fact, limits)
    assert not all(holds(fact, point) for point in points(fact, limits)), "the fact is true after all"


def test_tables_are_large_enough() -> None:
    assert len({*map(str, PROVED)}) >= 200 and len({*map(str, REFUSED)}) >= 200
    assert len({*map(str, PROVED)}) == len(PROVED) and len({*map(str, REFUSED)}) == len(REFUSED)


@pytest.mark.parametrize(
    "claim",
    [
        "(a // 3 + b // 5 + c // 7 + d // 11) % 13 <= a % 17 + b % 19 + c % 23 + d % 29",
        "min(a, b, c, d) * max(a, b, c, d) <= (a + b + c + d) // 2 * (a % 7 + b % 11)",
        "(a + 1)*(b + 1)*(c + 1)*(d + 1) // (a + b + 1) == a // (b + 1) * (c // (d + 1))",
        "a % 97 % 89 % 83 % 79 == b % 97 % 89 % 83 % 79",
    ],
)
def test_hopeless_claims_are_given_up_soon(claim: str) -> None:
    begin = time.process_time()
    assert not proves(claim, {})
    assert time.process_time() - begin < 10
