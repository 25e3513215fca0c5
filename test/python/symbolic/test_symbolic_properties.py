"""The algebra against direct integer evaluation, on random expressions."""

from __future__ import annotations

import itertools
import operator

import pytest
import sweep
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from relax_mlir import symbolic
from relax_mlir.error import ParseError, ShapeError
from relax_mlir.symbolic import Dim
from symbolic_expressions import NAMES, TREES, VALUES, Tree

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
def test_substitution_commutes_with_evaluation(
    tree: Tree, trees: dict[str, Tree], values: dict[str, int]
) -> None:
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
    return all(
        low <= point[name] and (high is None or point[name] <= high) for name, (low, high) in limits.items()
    )


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
