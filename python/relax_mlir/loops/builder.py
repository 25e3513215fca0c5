"""Build loops on buffers: `LoopBuilder` emits ``scf``, ``memref`` and ``arith`` at the insertion point.

The body of a `te.LoopOp` gets a builder, a `Buffer` for each input, and one for each output::

    def body(b: LoopBuilder, x: Buffer, out: Buffer) -> None:
        total = b.alloc((1,), "float32")
        with b.grid(x.shape[:-1]) as rows:
            total[0] = 0.0
            with b.loop(x.shape[-1]) as j:
                with b.when(x[rows, j] > 0):
                    total[0] = total[0] + x[rows, j]
            out[rows] = total[0]

How to write what statements in the T language say:

======================================  ======================================
``for i in range(n):``                  ``with b.loop(n) as i:``
``for i in T.vectorized(m, n):``        ``with b.loop(m, n, kind="vectorized") as i:``
``for i, j in T.grid(n, m):``           ``with b.grid((n, m)) as (i, j):``
``while c:``                            ``with b.repeat(lambda: c):``
``if c: … else: …``                     ``with b.when(c): …`` ``with b.otherwise(): …``
``x = T.alloc_buffer((n,), "int64")``   ``x = b.alloc((n,), "int64")``
``x[i] = v``, ``x[()] = v``             ``x[i] = v``, ``x[()] = v``
``T.cast(v, "int32")``, ``T.int8(1)``   ``v.astype("int32")``, ``b.const(1, "int8")``
``T.index(v)``                          ``v.index()``
``T.reinterpret("uint32", v)``          ``v.bits("uint32")``
``T.Select(c, a, b)``                   ``b.select(c, a, b)``
``T.if_then_else(c, x[i], 0)``          ``b.choose(c, lambda: x[i], lambda: 0)``
``c and x[i] > 0``                      ``b.both(c, lambda: x[i] > 0)``
``c and i < n`` (reads nothing)         ``c & (i < n)``
``T.min(a, b)``, ``T.exp(a)``           ``b.min(a, b)``, ``b.call("exp", a)``
``n`` of a shape, in an expression      ``b.size(n)``
======================================  ======================================

Indices may be tuples, such as those of a grid: ``x[rows[:axis], i, rows[axis:]]``.

A shape has integers and expressions of symbols: loops, `grid` and `alloc` take them unchanged, arithmetic with
scalars needs `size`. A local scalar is a Python variable; a value that a loop or a branch changes is an element of a
buffer. Each use of an operator emits an op, so a value that is used twice is bound to a variable, in the region where
it is needed: a read stays under its condition.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import DTYPE, LOOP_KIND, SCOPE
from relax_mlir.dialects.dtypes import DType, dtype
from relax_mlir.dialects.location import renamed
from relax_mlir.error import ArgumentError
from relax_mlir.loops.values import (
    INDEX,
    Buffer,
    Scalar,
    Term,
    apply,
    as_condition,
    as_index,
    as_scalar,
    call,
    cast,
    choose,
    limit,
    select,
)
from relax_mlir.mlir import arith, cf, ir, memref, scf
from relax_mlir.symbolic import Dim
from relax_mlir.symbolic.expr import Atom, Kind, Monomial, printed_terms

Size = Dim | Term
"""An integer, an expression of symbols, or a scalar."""


@dataclass(frozen=True)
class LoopBuilder:
    """Emits loops at the insertion point; `symbols` has the values of the symbols in sizes."""

    symbols: Mapping[str, Scalar]

    # -- values

    def const(self, value: float, kind: str) -> Scalar:
        """The constant `value` of a dtype."""
        return self.cast(value, kind)

    def size(self, dim: Dim) -> Term:
        """The value of an expression of symbols, computed in the order in which it is printed; an integer stays one."""
        if isinstance(dim, int):
            return dim
        total: Term | None = None
        for monomial, factor in printed_terms(dim.terms):
            name = "subtract" if total is not None and factor < 0 else "add"
            term = self._product(monomial, -factor if name == "subtract" else factor)
            total = term if total is None else apply(name, [total, term])
        assert total is not None
        return total

    def _product(self, monomial: Monomial, factor: int) -> Term:
        terms = [self._atom(atom) for atom in monomial]
        if factor != 1 or not terms:
            terms.append(factor)
        return functools.reduce(lambda a, b: apply("multiply", [a, b]), terms)

    def _atom(self, atom: Atom) -> Term:
        if atom.kind is Kind.SYMBOL:
            return self.symbols[atom.text]
        name = {Kind.FLOORDIV: "floordiv", Kind.MOD: "floormod", Kind.MIN: "min", Kind.MAX: "max"}[atom.kind]
        args = atom.args
        if name in ("min", "max") and isinstance(args[-1], int):
            args = (args[-1], *args[:-1])  # T.min(8, n), not T.min(n, 8)
        return functools.reduce(lambda a, b: apply(name, [a, b]), map(self.size, args))

    def call(self, name: str, *terms: Size) -> Scalar:
        """A function of the T language: ``call("exp", x)``."""
        return as_scalar(call(name, [self.term(term) for term in terms]))

    def cast(self, value: Term, kind: str) -> Scalar:
        """A value converted by the rules of `relax.astype`."""
        return cast(value, dtype(kind))

    def limit(self, name: str, kind: str) -> Scalar:
        """The min_value, max_value or infinity of a dtype."""
        return limit(name, dtype(kind))

    def min(self, a: Size, b: Size) -> Scalar:
        """The smaller value; NaN if one of them is NaN."""
        return self.call("min", a, b)

    def max(self, a: Size, b: Size) -> Scalar:
        """The larger value; NaN if one of them is NaN."""
        return self.call("max", a, b)

    def term(self, value: Size) -> Term:
        """A value, or the value of a size."""
        return self.size(value) if isinstance(value, symbolic.Expr) else value

    def index(self, value: Size, what: str = "the size") -> ir.Value:
        """A size or an integer as ``index``; `what` names it in an error."""
        return as_index(self.term(value), what)

    def select(self, condition: Term, then: Term, other: Term) -> Scalar:
        """`then` if `condition` holds, else `other`; both are computed."""
        return select(as_condition(condition), then, other)

    def choose(self, condition: Term, then: Callable[[], Term], other: Callable[[], Term]) -> Scalar:
        """The value of `then` if `condition` holds, else of `other`; only the chosen one is computed."""
        return choose(as_condition(condition), then, other)

    def both(self, first: Term, second: Callable[[], Term]) -> Scalar:
        """True if both conditions hold; the second is not computed if the first is false."""
        return self.choose(first, second, lambda: False)

    def either(self, first: Term, second: Callable[[], Term]) -> Scalar:
        """True if one of two conditions holds; the second is not computed if the first is true."""
        return self.choose(first, lambda: True, second)

    # -- memory

    def alloc(self, shape: Sequence[Dim], kind: str | DType, name: str = "buffer", scope: str = "") -> Buffer:
        """A buffer that is freed at the end of the enclosing region.

        `name` is that in errors; `scope` is its memory, which scripts show.
        """
        sizes = [arith.maxsi(self.index(dim), self._index(0)) for dim in shape if not isinstance(dim, int)]
        return self.alloc_sized(shape, sizes, kind, name, scope)

    @staticmethod
    def alloc_sized(
        shape: Sequence[Dim], sizes: Sequence[ir.Value], kind: str | DType, name: str, scope: str = ""
    ) -> Buffer:
        """A buffer of a declared shape whose dimensions that are not integers have the sizes `sizes`."""
        element = dtype(kind) if isinstance(kind, str) else kind
        dynamic = int(ir.ShapedType.get_dynamic_size())
        dims = [dim if isinstance(dim, int) else dynamic for dim in shape]
        memory = memref.alloc(ir.MemRefType.get(dims, element.storage_type()), sizes, [])
        keep_sign(memory, element)
        if scope not in ("", "global"):
            memory.owner.attributes[SCOPE] = ir.StringAttr.get(scope)
        return Buffer(name, memory, tuple(shape), element, len(shape))

    # -- control

    @contextlib.contextmanager
    def loop(self, *bounds: Size, step: int = 1, kind: str = "serial", name: str = "") -> Iterator[Scalar]:
        """A loop over a range: to an end, or from a begin to an end.

        `kind` is serial, parallel, vectorized or unroll, of which the lowering makes use where it can. `name` is that
        of its variable in scripts.
        """
        first, *last = (self.index(bound) for bound in bounds)
        begin, end = (first, *last) if last else (self._index(0), first)
        with self.ranged(begin, end, self._index(step), kind, name) as variable:
            yield variable

    @contextlib.contextmanager
    def ranged(
        self, start: ir.Value, stop: ir.Value, step: ir.Value, kind: str = "serial", name: str = ""
    ) -> Iterator[Scalar]:
        """A loop whose bounds are given as ``index`` values."""
        op = scf.ForOp(start, stop, step)
        if name:
            op.operation.location = renamed(name, op.operation.location)
        if kind != "serial":
            op.operation.attributes[LOOP_KIND] = ir.StringAttr.get(kind)
        with ir.InsertionPoint(op.body):
            yield Scalar(op.induction_variable, INDEX)
            scf.YieldOp([])

    @contextlib.contextmanager
    def grid(self, extents: Sequence[Size]) -> Iterator[tuple[Scalar, ...]]:
        """Nested loops over ranges from 0, the last one innermost."""
        with contextlib.ExitStack() as stack:
            ends = [self.index(extent) for extent in extents]
            bounds = [self._index(0), self._index(1)] if ends else []
            yield tuple(stack.enter_context(self.ranged(bounds[0], end, bounds[1])) for end in ends)

    @contextlib.contextmanager
    def when(self, condition: Term) -> Iterator[None]:
        """A region that runs if `condition` holds."""
        op = scf.IfOp(as_condition(condition).ssa, [])
        with ir.InsertionPoint(op.then_block):
            yield
            scf.YieldOp([])

    @contextlib.contextmanager
    def otherwise(self) -> Iterator[None]:
        """A region that runs if the condition of the `when` just before it does not hold."""
        point = ir.InsertionPoint.current
        ops = point.block.operations
        last = ops[len(ops) - 1].operation if len(ops) else None
        if last is None or last.name != "scf.if" or len(last.results) or len(last.regions[1].blocks):
            raise ArgumentError("LoopBuilder.otherwise: there is no `when` just before it, in the same region")
        with ir.InsertionPoint(last.regions[1].blocks.append()):
            yield
            scf.YieldOp([])

    @contextlib.contextmanager
    def repeat(self, condition: Callable[[], Term]) -> Iterator[None]:
        """A region that runs as long as `condition` holds, which is computed before each iteration."""
        op = scf.WhileOp([], [])
        with ir.InsertionPoint(op.before.blocks.append()):
            scf.ConditionOp(as_condition(condition()).ssa, [])
        with ir.InsertionPoint(op.after.blocks.append()):
            yield
            scf.YieldOp([])

    def check(self, condition: Term, message: str) -> None:
        """Raise an error from the call at run time unless `condition` holds."""
        cf.assert_(as_condition(condition).ssa, message)

    @staticmethod
    def _index(value: int) -> ir.Value:
        return as_scalar(value, INDEX).ssa


def keep_sign(memory: ir.Value, element: DType) -> None:
    """Mark an allocation of unsigned integers."""
    if element.kind == "uint":
        memory.owner.attributes[DTYPE] = ir.StringAttr.get(element.name)
