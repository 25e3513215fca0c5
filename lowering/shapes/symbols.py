"""The symbols of a function as ``index`` values, with where each got its value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relax_mlir import symbolic
from relax_mlir.error import ShapeError
from relax_mlir.lowering.abi.runtime_declarations import Hooks
from relax_mlir.mlir import arith, ir
from relax_mlir.symbolic import Dim


def index_constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


@dataclass
class SymbolTable:
    """Values of the symbols in scope. `origins` says in words where each was defined, for error messages."""

    function: str
    hooks: Hooks
    values: dict[str, ir.Value] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    _nonzero: set[Dim] = field(default_factory=set)

    def define(self, symbol: str, value: ir.Value, origin: str) -> None:
        self.values[symbol] = value
        self.origins[symbol] = origin

    def nested(self) -> SymbolTable:
        """A table for a region: it sees the symbols of this one, and its own stay inside."""
        return SymbolTable(
            self.function, self.hooks, dict(self.values), dict(self.origins), set(self._nonzero)
        )

    def undefined(self, dim: Dim) -> list[str]:
        """Symbols of `dim` that have no value."""
        return [s for s in symbolic.symbols(dim) if s not in self.values]

    def value(self, dim: Dim) -> ir.Value:
        """`dim` as an ``index`` value at the current insertion point; raises `ShapeError` for an undefined symbol."""
        missing = self.undefined(dim)
        if missing:
            raise ShapeError(
                f"{self.function}: symbol '{missing[0]}' in '{dim}' is not defined; a symbol is defined by a "
                "dimension of a parameter or of a match_shape that is the symbol alone"
            )
        if isinstance(dim, int):
            return index_constant(dim)
        name = symbolic.linear_definition(dim)
        if name is not None:
            return self.values[name]
        for divisor in symbolic.divisors(dim):
            self._require_nonzero(divisor, dim)
        return self._arithmetic(dim)

    def _require_nonzero(self, divisor: Dim, dim: Dim) -> None:
        """Check at run time, once per scope, that a divisor is not 0: the processor would fault."""
        if divisor in self._nonzero:
            return
        self._nonzero.add(divisor)
        value = self._arithmetic(divisor)
        text, values = self.explain(divisor, 0)
        nonzero = arith.cmpi(arith.CmpIPredicate.ne, value, index_constant(0))
        self.hooks.check(nonzero, "ShapeError", f"{self.function}: '{dim}' divides by {text}", values)

    def _arithmetic(self, dim: Dim) -> ir.Value:
        return symbolic.lower(
            dim,
            symbol=self.values.__getitem__,
            const=index_constant,
            add=arith.addi,
            mul=arith.muli,
            floordiv=arith.floordivsi,
            mod=_floor_mod,
            min=arith.minsi,
            max=arith.maxsi,
        )

    def all_values(self, dims: Iterable[Dim]) -> list[ir.Value]:
        return [self.value(dim) for dim in dims]

    def explain(self, dim: Dim, first_value: int) -> tuple[str, list[ir.Value]]:
        """Text that says what `dim` is and why, with placeholders from `first_value` on, and their values.

        ``n = {1}, taken from parameter 'x' dimension 0`` or ``2*n = {1}, with n = {2} taken from …``.
        """
        name = symbolic.linear_definition(dim)
        if name is not None:
            return f"{name} = {{{first_value}}}, taken from {self.origins[name]}", [self.values[name]]
        parts, values = [], [self.value(dim)]
        for symbol in symbolic.symbols(dim):
            parts.append(f"{symbol} = {{{first_value + len(values)}}} taken from {self.origins[symbol]}")
            values.append(self.values[symbol])
        return f"{dim} = {{{first_value}}}, with {', '.join(parts)}", values


def _floor_mod(a: ir.Value, b: ir.Value) -> ir.Value:
    """Python's %: the remainder has the divisor's sign."""
    return arith.subi(a, arith.muli(arith.floordivsi(a, b), b))
