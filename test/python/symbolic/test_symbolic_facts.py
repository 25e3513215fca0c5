"""Facts that must be proved and facts that must not, and properties on random expressions."""

from __future__ import annotations

import itertools
import operator
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sweep
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from relax_mlir import symbolic
from relax_mlir.error import ParseError, ShapeError
from relax_mlir.symbolic import Bounds, Dim
from symbolic_expressions import NAMES, TREES, VALUES, Tree

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


ON_RANDOM_INPUT = settings(
    deadline=None,
    database=None,
    max_examples=100 if sweep.ALL else 40,
    suppress_health_check=list(HealthCheck),
)

SMALL = [dict(zip(NAMES, values, strict=True)) for values in itertools.product((0, 1, 2, 5, 12), repeat=3)]
BOUNDS = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(4, 12))),
)


def parsed(tree: Tree) -> Dim:
    """The tree in normal form; trees that divide by a constant zero are skipped."""
    try:
        return symbolic.parse(tree.text())
    except ParseError as error:
        assume("division by zero" not in str(error))
        raise


def value(tree: Tree, values: dict[str, int]) -> int | None:
    try:
        return tree.evaluate(values)
    except ZeroDivisionError:
        return None


@ON_RANDOM_INPUT
@given(TREES, VALUES)
def test_normal_form_has_the_value_of_the_text(tree: Tree, values: dict[str, int]) -> None:
    dim = parsed(tree)
    for point in (values, *SMALL[::9]):
        expected = value(tree, point)
        if expected is not None:
            assert symbolic.evaluate(dim, point) == expected, (tree.text(), str(dim), point)


@ON_RANDOM_INPUT
@given(TREES)
def test_text_of_the_normal_form_parses_back(tree: Tree) -> None:
    dim = parsed(tree)
    again = symbolic.parse(str(dim))
    assert again == dim and str(again) == str(dim) and hash(again) == hash(dim)
    assert symbolic.to_dim(dim) is dim
    assert not isinstance(dim, symbolic.Expr) or dim.terms == again.terms


@ON_RANDOM_INPUT
@given(TREES)
def test_operators_build_what_the_parser_builds(tree: Tree) -> None:
    try:
        built = tree.build()
    except ShapeError:
        assume(False)
    assert built == symbolic.parse(tree.text())


@ON_RANDOM_INPUT
@given(TREES, TREES)
def test_sums_and_products_commute(x: Tree, y: Tree) -> None:
    a, b = parsed(x), parsed(y)
    assert a + b == b + a and a * b == b * a and a + b - b == a
    assert symbolic.minimum(a, b) == symbolic.minimum(b, a)
    assert symbolic.maximum(a, b) == symbolic.maximum(b, a)


@ON_RANDOM_INPUT
@given(TREES, st.dictionaries(st.sampled_from(NAMES), TREES), VALUES)
def test_substitution_commutes_with_evaluation(tree: Tree, trees: dict[str, Tree], values: dict[str, int]) -> None:
    dim = parsed(tree)
    mapping = {name: parsed(t) for name, t in trees.items()}
    inner = {name: value(trees[name], values) if name in trees else values[name] for name in NAMES}
    assume(all(x is not None and x >= 0 for x in inner.values()))
    assume(all(symbolic.prove_less_equal(0, x) for x in mapping.values()))
    try:
        substituted = symbolic.substitute(dim, mapping)
        expected = value(tree, inner)
    except ShapeError:
        assume(False)
    if expected is not None:
        assert symbolic.evaluate(substituted, values) == expected


@ON_RANDOM_INPUT
@given(TREES, BOUNDS, VALUES)
def test_bounds_hold(tree: Tree, limits: dict[str, tuple[int, int | None]], values: dict[str, int]) -> None:
    dim = parsed(tree)
    low, high = symbolic.bounds(dim, limits)
    for point in (values, *SMALL):
        expected = value(tree, point)
        if expected is not None and inside(point, limits):
            assert (low is None or low <= expected) and (high is None or expected <= high)


def inside(point: dict[str, int], limits: dict[str, tuple[int, int | None]]) -> bool:
    return all(low <= point[name] and (high is None or point[name] <= high) for name, (low, high) in limits.items())


@ON_RANDOM_INPUT
@given(TREES, TREES, st.sampled_from(["free", "shifted", "same"]), st.integers(-3, 3), BOUNDS, VALUES)
def test_nothing_false_is_proved(
    x: Tree,
    y: Tree,
    relation: str,
    shift: int,
    limits: dict[str, tuple[int, int | None]],
    values: dict[str, int],
) -> None:
    if relation == "shifted":
        y = Tree("+", (x, Tree("number", value=shift)))
    elif relation == "same":
        y = Tree("*", (Tree("//", (x, Tree("number", value=4))), Tree("number", value=4)))
    a, b = parsed(x), parsed(y)
    equal = symbolic.prove_equal(a, b, limits)
    not_equal = symbolic.prove_not_equal(a, b, limits)
    less = symbolic.prove_less_equal(a, b, limits)
    greater = symbolic.prove_less_equal(b, a, limits)
    divisible = {k: symbolic.prove_divisible(a, k, limits) for k in (2, 3, 4)}
    by_expression = symbolic.prove_divisible(a, b, limits)
    for point in (values, *SMALL):
        p, q = value(x, point), value(y, point)
        if p is None or q is None or not inside(point, limits):
            continue
        assert not equal or p == q
        assert not not_equal or p != q
        assert not less or p <= q
        assert not greater or p >= q
        assert all(p % k == 0 for k, proved in divisible.items() if proved)
        assert not by_expression or (p % q == 0 if q else p == 0)


@ON_RANDOM_INPUT
@given(TREES)
def test_proofs_know_the_normal_form(tree: Tree) -> None:
    dim = parsed(tree)
    assert symbolic.prove_equal(dim, dim) and symbolic.prove_less_equal(dim, dim)
    assert symbolic.prove_not_equal(dim, dim + 1) and not symbolic.prove_not_equal(dim, dim)
    assert symbolic.prove_divisible(dim * 6, 3)


@ON_RANDOM_INPUT
@given(TREES, VALUES)
def test_lowering_computes_the_value(tree: Tree, values: dict[str, int]) -> None:
    dim = parsed(tree)
    calls: list[str] = []

    def symbol(name: str) -> int:
        calls.append(name)
        return values[name]

    try:
        result = symbolic.lower(
            dim,
            symbol=symbol,
            const=int,
            add=operator.add,
            mul=operator.mul,
            floordiv=operator.floordiv,
            mod=operator.mod,
            min=min,
            max=max,
        )
    except ZeroDivisionError:
        assert any(symbolic.evaluate(d, values) == 0 for d in symbolic.divisors(dim))
        return
    assert result == symbolic.evaluate(dim, values)
    assert len(calls) == len(set(calls))


@ON_RANDOM_INPUT
@given(TREES, VALUES)
def test_a_value_exists_where_no_divisor_is_zero(tree: Tree, values: dict[str, int]) -> None:
    dim = parsed(tree)
    for divisor in symbolic.divisors(dim):
        try:
            if symbolic.evaluate(divisor, values) == 0:
                break
        except ShapeError:
            pytest.fail("the divisors are not listed innermost first")
    else:
        symbolic.evaluate(dim, values)


@ON_RANDOM_INPUT
@given(st.text(alphabet="nm_019 +-*/%(),?min.é\n", max_size=24))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        dim = symbolic.parse(text)
    except ParseError as error:
        assert "column" in str(error)
    else:
        assert symbolic.parse(str(dim)) == dim
