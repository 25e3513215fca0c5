"""Bounds of loop variables, arithmetic that uses them, and dimensions as text of the T language."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.cached import cached_property
from relax_mlir.symbolic import Dim, Expr, prove_less_equal
from relax_mlir.symbolic.expr import Kind, Monomial, from_terms, printed_terms, terms_of
from relax_mlir.te.walk import ON_DIMS


@dataclass
class Facts:
    """The bounds of loop variables, which are symbols in addition to those of sizes."""

    bounds: dict[str, tuple[int, int | None]] = field(default_factory=dict)

    @cached_property
    def operators(self) -> Mapping[str, Callable[[Dim, Dim], Dim]]:
        """Arithmetic on indices, for `to_dim`."""
        return {**ON_DIMS, "//": self.quotient, "%": self.remainder}

    def at_most(self, a: Dim, b: Dim) -> bool:
        """True if ``a <= b`` is proved."""
        return prove_less_equal(a, b, self.bounds)

    def high(self, dim: Dim) -> int | None:
        """A constant upper bound of `dim`, if one is known."""
        return symbolic.bounds(dim, self.bounds)[1]

    def minimum(self, *dims: Dim) -> Dim:
        """The minimum, as one ``min`` of sums, without arguments that are never the smallest."""
        found = _parts(dims, Kind.MIN)
        kept = list(found)
        for item in found:
            if any(other is not item and self.at_most(other, item) for other in kept):
                kept = [other for other in kept if other is not item]
        return symbolic.minimum(*kept)

    def maximum(self, *dims: Dim) -> Dim:
        """The maximum, as one ``max`` of sums, without arguments that are never the largest."""
        found = _parts(dims, Kind.MAX)
        kept = list(found)
        for item in found:
            if any(other is not item and self.at_most(item, other) for other in kept):
                kept = [other for other in kept if other is not item]
        return symbolic.maximum(*kept)

    def quotient(self, a: Dim, b: Dim) -> Dim:
        """``a // b``, rounded towards minus infinity."""
        digits = self._digits(a, b)
        return symbolic.floordiv(a, b) if digits is None else digits[0]

    def remainder(self, a: Dim, b: Dim) -> Dim:
        """``a % b``, with the sign of `b`."""
        digits = self._digits(a, b)
        return symbolic.floormod(a, b) if digits is None else digits[1]

    def _digits(self, a: Dim, b: Dim) -> tuple[Dim, Dim] | None:
        """The quotient and remainder if ``a = step * q + r``, step divides b, and r is proved to be in ``[0, step)``.

        They are ``q // (b // step)`` and ``q % (b // step) * step + r``. Otherwise None.
        """
        if not isinstance(a, Expr) or not isinstance(b, int) or b < 1:
            return None
        steps = {b, *(math.gcd(b, factor) for monomial, factor in a.terms if monomial)} - {1}
        for step in sorted(steps, reverse=True):
            whole = from_terms(
                {
                    monomial: factor // step
                    for monomial, factor in a.terms
                    if _is_whole(monomial, factor, step)
                }
            )
            rest = a - whole * step
            low, high = symbolic.bounds(rest, self.bounds)
            if low is not None and high is not None and 0 <= low <= high < step:
                left = b // step
                return self.quotient(whole, left), self.remainder(whole, left) * step + rest
        return None

    def ceildiv(self, a: Dim, b: Dim) -> Dim:
        """``a / b`` rounded up, for positive `b`; a ``min`` becomes the ``min`` of the quotients."""
        if b == 1:
            return a
        return self.minimum(*(symbolic.ceildiv(item, b) for item in _distributed(a, Kind.MIN)))

    def difference(self, a: Dim, b: Dim) -> Dim:
        """``a - b``, with the difference inside if `a` is a ``min``."""
        return self.minimum(*(item - b for item in _distributed(a, Kind.MIN)))


def distributed_minimum(dim: Dim) -> list[Dim]:
    """The arguments of `dim` if it is a ``min``, with any addend distributed; otherwise `dim` alone."""
    return _distributed(dim, Kind.MIN)


def _is_whole(monomial: Monomial, factor: int, step: int) -> bool:
    """True if a term is a multiple of `step`, or a constant, of which a part is."""
    return factor % step == 0 or not monomial


def _parts(dims: Sequence[Dim], kind: Kind) -> list[Dim]:
    found: list[Dim] = []
    for dim in dims:
        found += [item for item in _distributed(dim, kind) if item not in found]
    return found


def _distributed(dim: Dim, kind: Kind) -> list[Dim]:
    """Distribute ``min(a, b) + c`` to a + c and b + c, or the same for ``max``; return anything else unchanged."""
    for monomial, factor in terms_of(dim):
        if factor == 1 and len(monomial) == 1 and monomial[0].kind is kind:
            rest = dim - from_terms({monomial: factor})
            return [part for item in monomial[0].args for part in _distributed(item + rest, kind)]
    return [dim]


def dim_text(dim: Dim) -> str:
    """A dimension as an expression of the T language."""
    return _sum(dim)[0]


def factor_text(dim: Dim) -> str:
    """A dimension as a factor: in parentheses if it is a sum or a product."""
    text, is_atom = _sum(dim)
    return text if is_atom else f"({text})"


def _sum(dim: Dim) -> tuple[str, bool]:
    """The text, and True if it is atomic (needs no parentheses)."""
    if not isinstance(dim, Expr):
        return str(dim), dim >= 0
    text = ""
    terms = printed_terms(dim.terms)
    for number, (monomial, factor) in enumerate(terms):
        product = _product(monomial, abs(factor))
        if number == 0 and factor < 0:
            text = f"-({product})" if any(item.kind >= Kind.FLOORDIV for item in monomial) else f"-{product}"
        elif number == 0:
            text = product
        else:
            text += f" {'-' if factor < 0 else '+'} {product}"
    monomial, factor = terms[0]
    is_call = len(monomial) == 1 and monomial[0].kind in (Kind.SYMBOL, Kind.MIN, Kind.MAX)
    return text, len(terms) == 1 and factor == 1 and is_call


def _product(monomial: Monomial, factor: int) -> str:
    parts = []
    for item in monomial:
        if item.kind is Kind.SYMBOL:
            parts.append(item.text)
        elif item.kind in (Kind.MIN, Kind.MAX):
            parts.append(_extremum(f"T.{item.kind.name.lower()}", item.args))
        else:
            sign = "//" if item.kind is Kind.FLOORDIV else "%"
            quotient = f"{factor_text(item.args[0])} {sign} {factor_text(item.args[1])}"
            alone = len(monomial) == 1 and factor == 1
            parts.append(quotient if alone else f"({quotient})")
    if factor != 1 or not parts:
        parts.append(str(factor))
    return " * ".join(parts)


def _extremum(function: str, args: tuple[Dim, ...]) -> str:
    """Format ``min`` or ``max``; a number, which is last in normal form, comes first."""
    *others, last = args
    ordered = [last, *others] if isinstance(last, int) else list(args)
    text = dim_text(ordered[-1])
    for item in reversed(ordered[:-1]):
        text = f"{function}({dim_text(item)}, {text})"
    return text
