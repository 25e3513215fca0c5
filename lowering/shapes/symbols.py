"""The symbols of a function as ``index`` values, the source of each value, and overflow-checked index arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.error import ShapeError
from relax_mlir.lowering.base.runtime_declarations import RuntimeDeclarations
from relax_mlir.mlir import arith, ir
from relax_mlir.symbolic import Bounds, Dim

# Overflow-checked arithmetic on ``index`` values.
#
# Every value carries an interval that contains it. An operation whose result always fits in 64 bits is emitted without
# a check. Any other adds an overflow flag, which takes one or two instructions off the critical path.


MIN, MAX = -(2**63), 2**63 - 1


def index_constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


@dataclass(frozen=True)
class Ranged:
    """An ``index`` value, and its bounds if nothing has overflowed."""

    value: ir.Value
    low: int
    high: int


@dataclass
class ExactArithmetic:
    """Computes expressions of symbols at the insertion point; `overflows` are the flags (i1) of possible overflows."""

    symbols: Mapping[str, ir.Value]
    bounds: Mapping[str, tuple[int, int]]
    """Bounds of symbols; those without an entry are non-negative."""
    overflows: list[ir.Value] = field(default_factory=list)

    def compute(self, dim: Dim) -> Ranged:
        """Emit `dim`; its constants must fit in 64 bits (see `fits`)."""
        return symbolic.lower(
            dim,
            symbol=self.symbol,
            const=lambda value: Ranged(index_constant(value), value, value),
            add=self.add,
            mul=self.multiply,
            floordiv=self.floordiv,
            mod=self.mod,
            min=lambda a, b: Ranged(arith.minsi(a.value, b.value), min(a.low, b.low), min(a.high, b.high)),
            max=lambda a, b: Ranged(arith.maxsi(a.value, b.value), max(a.low, b.low), max(a.high, b.high)),
        )

    def symbol(self, name: str) -> Ranged:
        return Ranged(self.symbols[name], *self.bounds.get(name, (0, MAX)))

    def add(self, a: Ranged, b: Ranged) -> Ranged:
        result = arith.addi(a.value, b.value)
        low, high = a.low + b.low, a.high + b.high
        if low >= MIN and high <= MAX:
            return Ranged(result, low, high)
        wrong = result
        if min(a.low, b.low) < 0:
            # The sign of the sum differs from both signs.
            wrong = arith.andi(arith.xori(result, a.value), arith.xori(result, b.value))
        self.overflows.append(arith.cmpi(arith.CmpIPredicate.slt, wrong, index_constant(0)))
        return _clamped(result, low, high)

    def multiply(self, a: Ranged, b: Ranged) -> Ranged:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(corners), max(corners)
        result = arith.muli(a.value, b.value)
        if low >= MIN and high <= MAX:
            return Ranged(result, low, high)
        if a.low >= 0 and b.low == b.high > 0:
            limit = index_constant(MAX // b.low)
            self.overflows.append(arith.cmpi(arith.CmpIPredicate.sgt, a.value, limit))
        else:
            # Not on `index`: there upstream's canonicalisation of a product with 1 makes an invalid arith.extsi.
            wide = ir.IntegerType.get_signless(64)
            factors = [arith.index_cast(wide, x.value) for x in (a, b)]
            product, upper = arith.MulSIExtendedOp(*factors).results
            sign = arith.shrsi(product, arith.constant(wide, 63))
            self.overflows.append(arith.cmpi(arith.CmpIPredicate.ne, upper, sign))
        return _clamped(result, low, high)

    def floordiv(self, a: Ranged, b: Ranged) -> Ranged:
        if a.low == MIN and b.low < 0:
            is_least = arith.cmpi(arith.CmpIPredicate.eq, a.value, index_constant(MIN))
            is_minus = arith.cmpi(arith.CmpIPredicate.eq, b.value, index_constant(-1))
            self.overflows.append(arith.andi(is_least, is_minus))
        result = arith.floordivsi(a.value, b.value)
        if b.low >= 0:
            low, high = min(a.low, 0), max(a.high, 0)
            if b.low > 0:
                low, high = min(a.low // b.low, 0), max(a.high // b.low, 0)
            return Ranged(result, low, high)
        size = max(abs(a.low), abs(a.high))
        return _clamped(result, -size, size)

    def mod(self, a: Ranged, b: Ranged) -> Ranged:
        """Python's %: the remainder has the divisor's sign and a smaller magnitude."""
        quotient = arith.floordivsi(a.value, b.value)
        result = arith.subi(a.value, arith.muli(quotient, b.value))
        return Ranged(result, min(b.low + 1, 0), max(b.high - 1, 0))


def fits(dim: Dim) -> bool:
    """True if all constants of `dim` fit in 64 bits."""
    found: list[int] = []
    symbolic.lower(
        dim,
        symbol=lambda name: None,
        const=found.append,
        add=lambda a, b: None,
        mul=lambda a, b: None,
        floordiv=lambda a, b: None,
        mod=lambda a, b: None,
        min=lambda a, b: None,
        max=lambda a, b: None,
    )
    return all(MIN <= value <= MAX for value in found)


def _clamped(value: ir.Value, low: int, high: int) -> Ranged:
    return Ranged(value, max(low, MIN), min(high, MAX))


# The symbols of a function as ``index`` values, and the source of each value.


__all__ = ["SymbolTable", "index_constant"]


@dataclass
class SymbolTable:
    """Values of the symbols in scope.

    `origins` describes the definition of each; these strings and `function` appear in run-time messages (see
    `verbatim`).

    Symbols are non-negative. Formulas of them are exact: if a value or an intermediate result does not fit in 64 bits,
    the call raises a `ShapeError` at the first use of the formula in a scope.
    """

    function: str
    declarations: RuntimeDeclarations
    values: dict[str, ir.Value] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Bounds of symbols that have been checked."""
    _nonzero: set[Dim] = field(default_factory=set)
    _computed: dict[Dim, Ranged] = field(default_factory=dict)
    _sizes: set[Dim] = field(default_factory=set)

    def define(self, symbol: str, value: ir.Value, origin: str) -> None:
        self.values[symbol] = value
        self.origins[symbol] = origin

    def assume(self, bounds: Bounds) -> None:
        """Record that symbols are within `bounds`, which have been checked."""
        for name, (low, high) in bounds.items():
            if high is not None:
                self.bounds[name] = (max(low, 0), high)

    def nested(self) -> SymbolTable:
        """A table for a region: it sees the symbols of this one, and its own are local."""
        return SymbolTable(
            self.function,
            self.declarations,
            dict(self.values),
            dict(self.origins),
            dict(self.bounds),
            set(self._nonzero),
            dict(self._computed),
            set(self._sizes),
        )

    def undefined(self, dim: Dim) -> list[str]:
        """Symbols of `dim` that have no value."""
        return [s for s in symbolic.symbols(dim) if s not in self.values]

    def _require_defined(self, dim: Dim) -> None:
        missing = self.undefined(dim)
        if missing:
            raise ShapeError(
                f"{self.function}: symbol '{missing[0]}' in '{dim}' is not defined; a symbol is defined by a "
                "dimension of a parameter or of a match_shape that is the symbol alone"
            )

    def value(self, dim: Dim) -> ir.Value:
        """`dim` as an ``index`` value at the current insertion point, which may be negative.

        Raises `ShapeError` for an undefined symbol, and for an integer that does not fit in 64 bits.
        """
        self._require_defined(dim)
        name = symbolic.linear_definition(dim)
        if name is not None:
            return self.values[name]
        if not fits(dim):
            raise ShapeError(f"{self.function}: '{dim}' has a number that does not fit into 64 bits")
        if isinstance(dim, int):
            return index_constant(dim)
        if dim not in self._computed:
            for divisor in symbolic.divisors(dim):
                self._require_nonzero(divisor, dim)
            self._computed[dim] = self._exact(dim)
        return self._computed[dim].value

    def size(self, dim: Dim) -> ir.Value:
        """`dim` as a size at the current insertion point, with a run-time check that it is non-negative.

        Raises `ShapeError` as `value` does.
        """
        value = self.value(dim)
        if dim in self._sizes or symbolic.linear_definition(dim) is not None:
            return value
        self._sizes.add(dim)
        low = dim if isinstance(dim, int) else self._computed[dim].low
        if low < 0 and not symbolic.prove_less_equal(0, dim):
            natural = arith.cmpi(arith.CmpIPredicate.sge, value, index_constant(0))
            known, values = self._known(dim, 1)
            message = f"{self.function}: the dimension '{dim}' is {{0}}{known}; dimensions are zero or more"
            self.declarations.check(natural, "ShapeError", message, [value, *values])
        return value

    def _exact(self, dim: Dim) -> Ranged:
        """The value of `dim`, with a run-time check that it fits in 64 bits unless that is known."""
        arithmetic = ExactArithmetic(self.values, self.bounds)
        result = arithmetic.compute(dim)
        if arithmetic.overflows:
            overflow = arithmetic.overflows[0]
            for flag in arithmetic.overflows[1:]:
                overflow = arith.ori(overflow, flag)
            fine = arith.xori(overflow, arith.constant(overflow.type, 1))
            known, values = self._known(dim, 0)
            message = f"{self.function}: '{dim}' does not fit into 64 bits{known}"
            self.declarations.check(fine, "ShapeError", message, values)
        return result

    def _require_nonzero(self, divisor: Dim, dim: Dim) -> None:
        """Check at run time, once per scope, that a divisor is nonzero; otherwise the processor would trap."""
        if divisor in self._nonzero:
            return
        self._nonzero.add(divisor)
        value = self.value(divisor)
        text, values = self.explain(divisor, 0)
        nonzero = arith.cmpi(arith.CmpIPredicate.ne, value, index_constant(0))
        self.declarations.check(nonzero, "ShapeError", f"{self.function}: '{dim}' divides by {text}", values)

    def all_sizes(self, dims: Iterable[Dim]) -> list[ir.Value]:
        return [self.size(dim) for dim in dims]

    def explain(self, dim: Dim, first_value: int) -> tuple[str, list[ir.Value]]:
        """Describe `dim` and its source: text with placeholders numbered from `first_value`, and their values.

        ``n = {1}, taken from parameter 'x' dimension 0`` or ``2*n = {1}, with n = {2} taken from …``.
        Raises `ShapeError` for an undefined symbol.
        """
        self._require_defined(dim)
        name = symbolic.linear_definition(dim)
        if name is not None:
            return f"{name} = {{{first_value}}}, taken from {self.origins[name]}", [self.values[name]]
        known, values = self._known(dim, first_value + 1)
        return f"{dim} = {{{first_value}}}{known}", [self.value(dim), *values]

    def _known(self, dim: Dim, first_value: int) -> tuple[str, list[ir.Value]]:
        """``, with n = {2} taken from …`` for the symbols of `dim`, and their values."""
        names = symbolic.symbols(dim)
        parts = [f"{name} = {{{first_value + i}}} taken from {self.origins[name]}" for i, name in enumerate(names)]
        return f", with {', '.join(parts)}" if parts else "", [self.values[name] for name in names]
