"""The symbolic integer algebra of shapes.

A dimension (`Dim`) is an int or an `Expr` over symbols, which are named non-negative integers. Text and expressions
correspond one to one: ``str(parse(text))`` is the canonical text, in which shapes are stored.

>>> n = symbol("n")
>>> str(4 * (n + 3) // 4), str((n + 3) // 4 * 4), parse("n * 4 // 4") == n
('n + 3', '(n + 3) // 4 * 4', True)
>>> prove_less_equal(n, (n + 3) // 4 * 4)
True

Proofs take bounds of symbols, or use those of the enclosing `assuming`, which are a function's bounds. Comparisons
return a `Condition`, which is true, false, or undecided until the symbols have values:

>>> (n <= n + 1).decide(), (n < 0).decide(), (n <= 16).decide()
(True, False, None)

Division is floor division as in Python. An expression with a division has no value where the divisor is zero;
simplifications and proofs are valid for all symbol values for which the original expression has a value.
"""

from relax_mlir.symbolic.expr import (
    Bounds,
    Dim,
    Expr,
    assume,
    assumed,
    assuming,
    bounds,
    ceildiv,
    floordiv,
    floormod,
    maximum,
    minimum,
    product,
)
from relax_mlir.symbolic.proofs import (
    Condition,
    Definition,
    definitions,
    divisible,
    equal,
    not_equal,
    prove_divisible,
    prove_equal,
    prove_less_equal,
    prove_not_equal,
    solutions,
)
from relax_mlir.symbolic.visit import (
    divisors,
    evaluate,
    is_identifier,
    linear_definition,
    lower,
    parse,
    substitute,
    symbol,
    symbols,
    to_dim,
)

__all__ = [
    "Bounds", "Condition", "Definition", "Dim", "Expr", "assume", "assumed", "assuming", "bounds", "ceildiv",
    "definitions", "divisible", "divisors", "equal", "evaluate", "floordiv", "floormod", "is_identifier",
    "linear_definition", "lower", "maximum", "minimum", "not_equal", "parse", "product", "prove_divisible",
    "prove_equal", "prove_less_equal", "prove_not_equal", "solutions", "substitute", "symbol", "symbols",
    "to_dim",
]  # fmt: skip
