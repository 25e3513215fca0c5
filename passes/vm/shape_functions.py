"""Shape functions: prim funcs that compute expressions of symbols in the slots of a shape heap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.mlir import arith, cf, func, ir, memref
from relax_mlir.symbolic import Bounds, Dim, Expr


@dataclass(frozen=True)
class ShapeFunctions:
    """Makes the shape functions of the Relax function called `function`, whose heap has `slots` (by text)."""

    module: ir.Module
    function: str
    slots: Mapping[str, int]

    def make(self, expressions: Sequence[Dim], bounds: Bounds) -> str:
        """A function that checks `bounds` of symbols and computes `expressions`, from slots into slots; its name."""
        heap_type = ir.MemRefType.get([len(self.slots)], ir.IntegerType.get_signless(64))
        name = self._fresh(f"{self.function}_shape_func")
        with ir.InsertionPoint(self.module.body):
            made = func.FuncOp(name, ir.FunctionType.get([heap_type], []), visibility="private")
        made.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        block = made.add_entry_block()
        with ir.InsertionPoint(block):
            body = _Body(self, block.arguments[0])
            for name_of_symbol, (low, high) in bounds.items():
                body.check(name_of_symbol, low, high)
            for expression in expressions:
                body.store(expression)
            func.ReturnOp([])
        return name

    def _fresh(self, wanted: str) -> str:
        taken = {
            ir.StringAttr(op.attributes["sym_name"]).value
            for op in self.module.body.operations
            if "sym_name" in op.attributes
        }
        name, count = wanted, 0
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        return name


class _Body:
    """The body of one shape function; every slot is read once."""

    def __init__(self, functions: ShapeFunctions, heap: ir.Value) -> None:
        self._functions, self._heap = functions, heap
        self._symbols: dict[str, ir.Value] = {}

    def check(self, symbol: str, low: int, high: int | None) -> None:
        """Stop where `symbol` is out of its bounds."""
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        message = f"{self._functions.function}: symbol '{symbol}' must be {limits}"
        value = self._symbol(symbol)
        self._require(arith.CmpIPredicate.sge, value, _constant(low), message)
        if high is not None:
            self._require(arith.CmpIPredicate.sle, value, _constant(high), message)

    def store(self, expression: Dim) -> None:
        """Compute `expression` and write it into its slot."""
        for divisor in symbolic.divisors(expression):
            if isinstance(divisor, Expr):
                message = f"{self._functions.function}: '{expression}' divides by {divisor}, which is 0"
                self._require(arith.CmpIPredicate.ne, self._value(divisor), _constant(0), message)
        value = self._value(expression)
        memref.store(value, self._heap, [self._slot(str(expression))])

    @staticmethod
    def _require(predicate: arith.CmpIPredicate, a: ir.Value, b: ir.Value, message: str) -> None:
        cf.AssertOp(arith.cmpi(predicate, a, b), message)

    def _value(self, expression: Dim) -> ir.Value:
        return symbolic.lower(
            expression,
            symbol=self._symbol,
            const=_constant,
            add=arith.addi,
            mul=arith.muli,
            floordiv=arith.floordivsi,
            mod=lambda a, b: arith.subi(a, arith.muli(arith.floordivsi(a, b), b)),
            min=arith.minsi,
            max=arith.maxsi,
        )

    def _symbol(self, name: str) -> ir.Value:
        if name not in self._symbols:
            self._symbols[name] = memref.load(self._heap, [self._slot(name)])
        return self._symbols[name]

    def _slot(self, text: str) -> ir.Value:
        return arith.constant(ir.IndexType.get(), self._functions.slots[text])


def _constant(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)
