"""Conditions on dimensions: true, false, or undecided until the symbols have values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from relax_mlir.error import ArgumentError
from relax_mlir.symbolic.division import floormod
from relax_mlir.symbolic.expr import Dim, Expr
from relax_mlir.symbolic.proofs import prove_divisible, prove_equal, prove_less_equal, prove_not_equal
from relax_mlir.symbolic.visit import evaluate, symbols

Relation: TypeAlias = Literal["<=", "==", "!="]


@dataclass(frozen=True, eq=False)
class Condition:
    """A relation of two dimensions; `text` is its original form.

    Comparisons of dimensions return conditions (``n <= 16``); so do `equal`, `not_equal` and `divisible`. Its truth
    value is the proved one; a condition that depends on the run-time values of symbols has none.
    """

    relation: Relation
    left: Dim
    right: Dim
    text: str

    def decide(self) -> bool | None:
        """True if the condition holds for all values of the symbols, false if for none; None: it depends on them.

        The bounds of symbols are those of the enclosing `assuming`.
        """
        if self.relation == "<=":
            if prove_less_equal(self.left, self.right):
                return True
            return False if prove_less_equal(self.right + 1, self.left) else None
        is_equal = self.relation == "=="
        if prove_equal(self.left, self.right):
            return is_equal
        return (not is_equal) if prove_not_equal(self.left, self.right) else None

    def holds(self, values: Mapping[str, int]) -> bool:
        """True if the condition holds for these values of the symbols."""
        left, right = evaluate(self.left, values), evaluate(self.right, values)
        return left <= right if self.relation == "<=" else (left == right) == (self.relation == "==")

    def symbols(self) -> tuple[str, ...]:
        """The symbols that it depends on, sorted."""
        return tuple(sorted({*symbols(self.left), *symbols(self.right)}))

    def __bool__(self) -> bool:
        decided = self.decide()
        if decided is None:
            raise ArgumentError(
                f"whether {self.text} depends on {', '.join(self.symbols())}: it is known at run time only. Ask "
                "`decide()` of the condition, or give it to a SpecializedCondition"
            )
        return decided

    def __str__(self) -> str:
        return self.text


def compare(relation: Literal["<", "<=", ">", ">="], left: Dim, right: Dim) -> Condition:
    """The condition ``left relation right``."""
    text = f"{left} {relation} {right}"
    if relation in (">", ">="):
        left, right = right, left
    return Condition("<=", left + (1 if relation in ("<", ">") else 0), right, text)


def equal(a: Dim, b: Dim) -> Condition:
    """The condition that two dimensions are equal. (``==`` compares their normal forms.)"""
    return Condition("==", a, b, f"{a} == {b}")


def not_equal(a: Dim, b: Dim) -> Condition:
    """The condition that two dimensions differ."""
    return Condition("!=", a, b, f"{a} != {b}")


def divisible(a: Dim, by: int) -> Condition:
    """The condition that a dimension is a multiple of the positive integer `by`.

    Raises:
        ArgumentError: `by` is not positive.
    """
    if isinstance(by, Expr) or by <= 0:
        raise ArgumentError(f"divisible: 'by' is {by}, expected a positive integer")
    rest: Dim = 0 if prove_divisible(a, by) else floormod(a, by)
    return Condition("==", rest, 0, f"{a} % {by} == 0")
