"""The functions one by one, their errors, and the import cost of the module."""

from __future__ import annotations

import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest
from relax_mlir import symbolic
from relax_mlir.error import ArgumentError, ParseError, ShapeError

N, M = symbolic.symbol("n"), symbolic.symbol("m")

REFUSED = {
    "": (1, "expected a number, a symbol or '('"),
    "  ": (3, "expected a number"),
    "?": (1, "unknown dimension"),
    "n + ?": (5, "unknown dimension"),
    "_": (1, "any dimension"),
    "n*_": (3, "any dimension"),
    "n +": (4, "expected a number"),
    "* n": (1, "expected a number"),
    "+ n": (1, "expected a number"),
    "2m": (2, "expected an operator"),
    "n m": (3, "expected an operator"),
    "n / 2": (3, "floor division"),
    "n ** 2": (4, "expected a number"),
    "(n": (3, "expected ')'"),
    "n)": (2, "expected an operator"),
    "()": (2, "expected a number"),
    "n, m": (2, "expected an operator"),
    "n.x": (2, "unexpected character '.'"),
    "1.5": (2, "unexpected character '.'"),
    "n\n": (2, "unexpected character"),
    "é": (1, "unexpected character 'é'"),
    "n if n else m": (3, "expected an operator"),
    "foo(n)": (1, "unknown function 'foo'; known: ceildiv, floordiv, floormod, max, min"),
    "__import__('os')": (1, "unknown function '__import__'"),
    "n + 'os'": (5, "unexpected character"),
    "min": (1, "is a function"),
    "2*max": (3, "is a function"),
    "min()": (5, "expected a number"),
    "min(n)": (1, "takes two or more arguments, got 1"),
    "n + ceildiv(n, 2, 3)": (5, "takes two arguments, got 3"),
    "n // 0": (3, "division by zero"),
    "n % (m - m)": (3, "division by zero"),
    "ceildiv(n, 0)": (1, "division by zero"),
    "floordiv(3, 0)": (1, "division by zero"),
    "(" * 70 + "n" + ")" * 70: (65, "more than 64 nested parentheses"),
    "1" * 1001: (1, "more than 1000 digits"),
    "*".join(f"(a{i} + b{i})" for i in range(12)): (89, "more than the 1024 supported"),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_parse_errors_show_text_and_column(text: str) -> None:
    column, message = REFUSED[text]
    with pytest.raises(ParseError) as caught:
        symbolic.parse(text)
    shown = str(caught.value)
    assert f"dimension '{text}', column" in shown and message in shown
    assert f"column {column}:" in shown or len(text) > 100
    assert shown.endswith("^") and text in shown


def test_long_chains_do_not_exhaust_the_stack() -> None:
    assert symbolic.parse("-" * 5000 + "n") == N
    assert symbolic.parse(" + ".join(["n"] * 3000)) == 3000 * N


def test_to_dim() -> None:
    assert symbolic.to_dim(3) == 3
    assert symbolic.to_dim("n + 0") is symbolic.to_dim("n + 0")
    assert symbolic.to_dim(N) is N
    assert type(symbolic.to_dim(np.int64(5))) is int
    for bad in (True, 1.0, None, [1], np.bool_(True)):
        with pytest.raises(ArgumentError, match=r"a dimension is an int, an expression or its text, not"):
            symbolic.to_dim(bad)  # type: ignore[arg-type]


def test_operators_take_ints_on_both_sides() -> None:
    assert str(3 - N) == "3 - n" and str(2 * N + 1) == "2*n + 1" and str(7 // (N + 2)) == "7 // (n + 2)"
    assert str(7 % (N + 9)) == "7" and operator.neg(-N) == N
    assert N + np.int64(2) == np.int64(2) + N == N + 2
    assert N - N == 0 and type(N - N) is int
    for bad in (True, 1.5, "n", None):
        for operation in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__floordiv__", "__mod__"):
            assert getattr(N, operation)(bad) is NotImplemented
    with pytest.raises(TypeError):
        N + 1.5  # type: ignore[operator]
    with pytest.raises(TypeError):
        bool(N < M)  # type: ignore[operator]


def test_division_by_zero_names_the_dividend() -> None:
    for operation in (symbolic.floordiv, symbolic.floormod, symbolic.ceildiv):
        with pytest.raises(ShapeError, match=r"division by zero: \(.*n.*\) (//|%) 0"):
            operation(N, 0)
    with pytest.raises(ShapeError, match="division by zero"):
        symbolic.substitute(N // M, {"m": 0})


def test_expressions_are_values() -> None:
    assert N + M == M + N and hash(N + M) == hash(M + N) and N != M and N != "n"
    assert len({N + 1, 1 + N, N}) == 2
    assert pickle.loads(pickle.dumps(N // 2 + 1)) == N // 2 + 1
    assert repr(N + 1) == "Expr('n + 1')"
    with pytest.raises(AttributeError):
        N.text = "m"  # type: ignore[misc]


def test_names() -> None:
    good = ("n", "N", "_n", "__", "batch_size", "n2", "lambda", "None")
    assert all(symbolic.is_identifier(name) and str(symbolic.parse(name)) == name for name in good)
    for bad in (
        "",
        "2n",
        "n-m",
        "n m",
        "_",
        "?",
        "é",
        "min",
        "max",
        "ceildiv",
        "floordiv",
        "floormod",
        "n\n",
    ):
        assert not symbolic.is_identifier(bad)
        with pytest.raises(ParseError, match="cannot name a symbol"):
            symbolic.symbol(bad)


def test_symbols_and_definitions() -> None:
    assert symbolic.symbols(symbolic.parse("min(z, b // (a + 1)) + 2*n % 3")) == ("a", "b", "n", "z")
    assert symbolic.symbols(4) == ()
    assert symbolic.linear_definition(N) == "n"
    assert all(symbolic.linear_definition(dim) is None for dim in (4, 2 * N, N + 1, N * M, N * N, N // 2, -N))


def test_product() -> None:
    assert symbolic.product([]) == 1
    assert symbolic.product([N, 4, M, 2]) == symbolic.parse("8*m*n")
    assert symbolic.product([N, 0]) == 0


def test_substitute() -> None:
    dim = symbolic.parse("n*m + n // 2")
    assert symbolic.substitute(dim, {"n": M, "m": N}) == symbolic.parse("n*m + m // 2")
    assert symbolic.substitute(dim, {"n": 2 * M}) == symbolic.parse("2*m*m + m")
    assert symbolic.substitute(dim, {"n": 4, "m": 3}) == 14
    assert symbolic.substitute(dim, {"k": 4}) is dim
    assert symbolic.substitute(7, {"n": 4}) == 7
    with pytest.raises(ShapeError, match="symbol 'n' of 'm\\*n \\+ n // 2' cannot be -1"):
        symbolic.substitute(dim, {"n": -1})


def test_evaluate_errors() -> None:
    dim = symbolic.parse("n // m + k")
    assert symbolic.evaluate(dim, {"n": 7, "m": 2, "k": 1, "other": 9}) == 4
    assert symbolic.evaluate(3, {}) == 3
    with pytest.raises(ShapeError, match=r"'k \+ n // m' needs a value of symbol 'k', 'm'; given: n = 7"):
        symbolic.evaluate(dim, {"n": 7})
    with pytest.raises(ShapeError, match="given: none"):
        symbolic.evaluate(N, {})
    with pytest.raises(ShapeError, match=r"division by zero in 'k \+ n // m' where k = 1, m = 0, n = 7"):
        symbolic.evaluate(dim, {"n": 7, "m": 0, "k": 1})
    with pytest.raises(ShapeError, match="cannot be -1"):
        symbolic.evaluate(N, {"n": -1})
    with pytest.raises(ArgumentError, match="not an int"):
        symbolic.evaluate(N, {"n": M})  # type: ignore[dict-item]


def test_bounds() -> None:
    def of(text: str, **limits: tuple[int, int | None]) -> tuple[int | None, int | None]:
        return symbolic.bounds(symbolic.parse(text), limits)

    assert of("5") == (5, 5)
    assert of("n") == (0, None)
    assert of("2*n + 1", n=(1, 4)) == (3, 9)
    assert of("n - m", m=(0, 4)) == (-4, None)
    assert of("n - m") == (None, None)
    assert of("n % 8") == (0, 7)
    assert of("n // 8", n=(8, 31)) == (1, 3)
    assert of("8 // n") == (0, 8)
    assert of("max(n, 3)") == (3, None)
    assert of("min(n, 3)") == (0, 3)
    assert of("n*m", n=(2, 3), m=(4, 5)) == (8, 15)
    assert of(f"{10**400}*n + m") == (0, None)
    with pytest.raises(ShapeError, match="no value of symbol 'n' lies between 4 and 3"):
        of("n", n=(4, 3))
    with pytest.raises(ShapeError, match="no value of symbol 'n'"):
        symbolic.prove_equal(N, M, {"n": (0, -1)})


def test_lower_makes_shared_parts_once_and_uses_integers_only() -> None:
    made: list[str] = []

    def op(sign: str, x: str, y: str) -> str:
        made.append(f"{x} {sign} {y}")
        return f"%{len(made) - 1}"

    result = symbolic.lower(
        symbolic.parse("(n + 3) // 4 * 4 * m + (n + 3) // 4 - 4 + n % 4"),
        symbol=lambda name: f"${name}",
        const=str,
        add=lambda x, y: op("+", x, y),
        mul=lambda x, y: op("*", x, y),
        floordiv=lambda x, y: op("/", x, y),
        mod=lambda x, y: op("%", x, y),
        min=lambda x, y: op("min", x, y),
        max=lambda x, y: op("max", x, y),
    )
    assert made == [
        "$n + 3",
        "%0 / 4",
        "$m * %1",
        "%2 * 4",
        "$n % 4",
        "%3 + %1",
        "%5 + %4",
        "%6 + -4",
    ]
    assert result == "%7"


def test_divisors() -> None:
    dim = symbolic.parse("n // (k // m) + 4 // 3 + n // 2 + k % (m + 1)")
    assert [str(divisor) for divisor in symbolic.divisors(dim)] == ["m", "k // m", "m + 1"]
    assert symbolic.divisors(3) == symbolic.divisors(N // 4) == ()


def test_the_factors_are_loaded_only_for_hard_questions() -> None:
    module = "relax_mlir.symbolic.polynomial"
    code = (
        "import sys; from relax_mlir.symbolic import *; n, m = symbol('n'), symbol('m')\n"
        "assert parse('(n*m + n) // (m + 1)') == n and prove_equal(n*4, 4*n) and not prove_equal(n*m, n)\n"
        "assert prove_less_equal(n, (n + 3) // 4 * 4) and prove_divisible(n*(n + 1), 2)\n"
        f"assert '{module}' not in sys.modules\n"
        f"assert prove_less_equal(2*n*m, n*n + m*m) and '{module}' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)
