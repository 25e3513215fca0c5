"""Index values as linear forms of other values, with constant factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relax_mlir.ir_queries import defining_op
from relax_mlir.lowering.loops.annotated_loops import constant_of, least_bound, most_bound
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class Form:
    """``sum(factor * value) + rest``."""

    terms: Mapping[ir.Value, int]
    rest: int

    def plus(self, other: Form, factor: int = 1) -> Form:
        terms = dict(self.terms)
        for value, times in other.terms.items():
            terms[value] = terms.get(value, 0) + factor * times
        return Form({v: f for v, f in terms.items() if f}, self.rest + factor * other.rest)

    def range(self) -> tuple[int, int] | None:
        """Constants between which it lies; None if there are none."""
        low = high = self.rest
        for value, factor in self.terms.items():
            least, most = least_bound(value), most_bound(value)
            if least is None or most is None:
                return None
            ends = (factor * least, factor * most)
            low, high = low + min(ends), high + max(ends)
        return low, high


@dataclass
class Forms:
    """Forms of values, each found once."""

    known: dict[ir.Value, Form] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Form:
        """The form of an ``index``; itself alone where it is not computed by sums."""
        if value not in self.known:
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: ir.Value) -> Form:
        number, op = constant_of(value), defining_op(value)
        if number is not None:
            return Form({}, number)
        if op is not None and op.name in ("arith.addi", "arith.subi"):
            left, right = map(self.of, op.operands)
            return left.plus(right, 1 if op.name == "arith.addi" else -1)
        if op is not None and op.name == "arith.muli":
            left, right = map(self.of, op.operands)
            for form, other in ((left, right), (right, left)):
                if not other.terms:
                    return Form({}, 0).plus(form, other.rest)
        return Form({value: 1}, 0)
