"""Overflow-checked arithmetic on ``index`` values.

Every value carries an interval that contains it. An operation whose result always fits in 64 bits is emitted without a
check. Any other adds an overflow flag, which takes one or two instructions off the critical path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.mlir import arith, ir
from relax_mlir.symbolic import Dim

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
