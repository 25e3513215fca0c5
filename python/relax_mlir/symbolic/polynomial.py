"""Factorisation of polynomials, by SymPy. Imported on demand, as loading SymPy takes long."""

from __future__ import annotations

import sympy

from relax_mlir.symbolic.expr import Atom, Dim, Expr, Monomial, from_terms


def factors(a: Expr) -> list[tuple[Dim, int]]:
    """The factors of `a` with their multiplicities; the product of all, with powers, is `a`."""
    atoms = sorted({x for monomial, _ in a.terms for x in monomial})
    number, parts = sympy.factor_list(_polynomial(a, atoms))
    return [(int(number), 1), *((_dim(part, atoms), int(power)) for part, power in parts)]


def _polynomial(expr: Expr, atoms: list[Atom]) -> sympy.Poly:
    generators = [sympy.Symbol(f"x{i}") for i in range(len(atoms))]
    powers = {tuple(monomial.count(x) for x in atoms): factor for monomial, factor in expr.terms}
    return sympy.Poly.from_dict(powers, *generators, domain=sympy.ZZ)


def _dim(polynomial: sympy.Poly, atoms: list[Atom]) -> Dim:
    terms: dict[Monomial, int] = {}
    for powers, factor in polynomial.terms():
        monomial = tuple(x for x, power in zip(atoms, powers, strict=True) for _ in range(power))
        terms[monomial] = int(factor)
    return from_terms(terms)
