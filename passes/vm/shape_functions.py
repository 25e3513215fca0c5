"""Shape functions: prim funcs that evaluate symbolic expressions over the slots of a shape heap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableSet, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.ir_queries import defining_op, fresh_name
from relax_mlir.mlir import arith, cf, func, ir, memref
from relax_mlir.symbolic import Bounds, Definition, Dim, Expr


@dataclass(frozen=True)
class ShapeFunctions:
    """Creates the shape functions of the Relax function `function`; `slots` maps expressions, as text, to its slots."""

    module: ir.Module
    function: str
    slots: Mapping[str, int]
    taken: MutableSet[str]
    """The symbol names of the module, to which those of new functions are added."""

    def make(self, expressions: Sequence[Dim], bounds: Bounds) -> str:
        """Create a function that checks `bounds` and computes `expressions` into their slots; returns its name."""
        with self._function() as (name, body):
            for symbol, (low, high) in bounds.items():
                body.check(symbol, low, high)
            for expression in expressions:
                body.store(expression)
        return name

    def solve(self, definitions: Sequence[Definition], origins: Mapping[str, str]) -> str:
        """Create a function that solves stored dimensions for symbols, such as ``4*n`` for n; returns its name.

        `origins`: the parameter of each dimension, by symbol, for messages.
        """
        with self._function() as (name, body):
            for definition in definitions:
                body.solve(definition, origins[definition.symbol])
        return name

    @contextmanager
    def _function(self) -> Iterator[tuple[str, _Body]]:
        """Create a function; its body is written inside the context."""
        heap_type = ir.MemRefType.get([len(self.slots)], ir.IntegerType.get_signless(64))
        name = fresh_name(f"{self.function}_shape_func", self.taken)
        self.taken.add(name)
        with ir.InsertionPoint(self.module.body):
            made = func.FuncOp(name, ir.FunctionType.get([heap_type], []), visibility="private")
        made.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        block = made.add_entry_block()
        with ir.InsertionPoint(block):
            yield name, _Body(self, block.arguments[0])
            func.ReturnOp([])


class _Body:
    """The body of one shape function; each slot is loaded once."""

    def __init__(self, functions: ShapeFunctions, heap: ir.Value) -> None:
        self._functions, self._heap = functions, heap
        self._symbols: dict[str, ir.Value] = {}

    def check(self, symbol: str, low: int, high: int | None) -> None:
        """Assert that `symbol` is within its bounds."""
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        message = f"{self._functions.function}: symbol '{symbol}' must be {limits}"
        value = self._symbol(symbol)
        self._require(arith.CmpIPredicate.sge, value, _constant(low), message)
        if high is not None:
            self._require(arith.CmpIPredicate.sle, value, _constant(high), message)

    def store(self, expression: Dim) -> None:
        """Compute `expression` and store it in its slot."""
        for divisor in symbolic.divisors(expression):
            if isinstance(divisor, Expr):
                message = f"{self._functions.function}: '{expression}' divides by {divisor}, which is 0"
                self._require(arith.CmpIPredicate.ne, self._value(divisor), _constant(0), message)
        value = self._value(expression)
        memref.store(value, self._heap, [self._slot(str(expression))])

    def solve(self, definition: Definition, origin: str) -> None:
        """Solve a stored dimension for its symbol, and store the symbol in its slot."""
        dim, symbol = definition.dim, definition.symbol
        what = f"{self._functions.function}: {origin}"
        rest = arith.subi(memref.load(self._heap, [self._slot(str(dim))]), self._value(definition.offset))
        scale = self._value(definition.scale)
        if isinstance(definition.scale, Expr):
            message = f"{what}: {dim} tells nothing of symbol '{symbol}' where {definition.scale} is 0"
            self._require(arith.CmpIPredicate.ne, scale, _constant(0), message)
        value = arith.floordivsi(rest, scale)
        message = f"{what}: the dimension is {dim} for no {symbol} = 0, 1, 2, …"
        self._require(arith.CmpIPredicate.eq, arith.muli(value, scale), rest, message)
        self._require(arith.CmpIPredicate.sge, value, _constant(0), message)
        memref.store(value, self._heap, [self._slot(symbol)])
        self._symbols[symbol] = value

    @staticmethod
    def _require(predicate: arith.CmpIPredicate, a: ir.Value, b: ir.Value, message: str) -> None:
        cf.AssertOp(arith.cmpi(predicate, a, b), message)

    def _value(self, expression: Dim) -> ir.Value:
        return symbolic.lower(
            expression,
            symbol=self._symbol,
            const=_constant,
            add=lambda a, b: self._sum(a, b, expression),
            mul=lambda a, b: self._product(a, b, expression),
            floordiv=arith.floordivsi,
            mod=lambda a, b: arith.subi(a, arith.muli(arith.floordivsi(a, b), b)),
            min=arith.minsi,
            max=arith.maxsi,
        )

    def _sum(self, a: ir.Value, b: ir.Value, whole: Dim) -> ir.Value:
        """Checked 64-bit ``a + b``: on overflow, the sign of the sum differs from the signs of both operands."""
        result = arith.addi(a, b)
        signs = arith.andi(arith.xori(result, a), arith.xori(result, b))
        self._require(arith.CmpIPredicate.sge, signs, _constant(0), self._too_large(whole))
        return result

    def _product(self, a: ir.Value, b: ir.Value, whole: Dim) -> ir.Value:
        """Checked 64-bit ``a * b``: the limit follows from a constant factor, or the product is divided by a factor."""
        for factor, other in ((_number(a), b), (_number(b), a)):
            if factor:
                limit = (2**63 - 1) // abs(factor)
                self._require(arith.CmpIPredicate.sle, other, _constant(limit), self._too_large(whole))
                self._require(arith.CmpIPredicate.sge, other, _constant(-limit), self._too_large(whole))
                return arith.muli(a, b)
        result = arith.muli(a, b)
        is_zero = arith.cmpi(arith.CmpIPredicate.eq, a, _constant(0))
        divided = arith.floordivsi(result, arith.select(is_zero, _constant(1), a))
        wanted = arith.select(is_zero, divided, b)
        self._require(arith.CmpIPredicate.eq, divided, wanted, self._too_large(whole))
        return result

    def _too_large(self, whole: Dim) -> str:
        return f"{self._functions.function}: '{whole}' has more than 64 bits"

    def _symbol(self, name: str) -> ir.Value:
        if name not in self._symbols:
            self._symbols[name] = memref.load(self._heap, [self._slot(name)])
        return self._symbols[name]

    def _slot(self, text: str) -> ir.Value:
        return arith.constant(ir.IndexType.get(), self._functions.slots[text])


def _number(value: ir.Value) -> int:
    """The value of a constant; 0 for other values."""
    op = defining_op(value)
    return (
        int(ir.IntegerAttr(op.attributes["value"]).value)
        if op is not None and op.name == "arith.constant"
        else 0
    )


def _constant(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)
