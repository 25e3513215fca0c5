"""Index values as linear forms of other values, with constant coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relax_mlir.ir_queries import ancestors, defining_op
from relax_mlir.lowering.loops.annotated_loops import constant_of, least_bound, most_bound, variable_of
from relax_mlir.lowering.shapes.floor_divisions import remainder_of
from relax_mlir.lowering.shapes.index_ranges import least_of
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
        """Constant bounds of the form; None if there are none."""
        low = high = self.rest
        for value, factor in self.terms.items():
            least, most = least_bound(value), most_bound(value)
            if least is None or most is None:
                return None
            ends = (factor * least, factor * most)
            low, high = low + min(ends), high + max(ends)
        return low, high


MOST_FORMS = 32
"""The maximum number of forms that are tried to prove a bound."""


@dataclass
class Forms:
    """Forms of values, cached."""

    known: dict[ir.Value, Form] = field(default_factory=dict)

    def of(self, value: ir.Value) -> Form:
        """The form of an ``index``; a value that is not computed by sums is its own form."""
        if value not in self.known:
            self.known[value] = self._find(value)
        return self.known[value]

    def _find(self, value: ir.Value) -> Form:
        number, op = constant_of(value), defining_op(value)
        if number is not None:
            return Form({}, number)
        if remainder_of(value) is not None:
            return Form({value: 1}, 0)
        if op is not None and op.name in ("arith.addi", "arith.subi"):
            left, right = map(self.of, op.operands)
            return left.plus(right, 1 if op.name == "arith.addi" else -1)
        if op is not None and op.name == "arith.muli":
            left, right = map(self.of, op.operands)
            for form, other in ((left, right), (right, left)):
                if not other.terms:
                    return Form({}, 0).plus(form, other.rest)
        return Form({value: 1}, 0)

    def is_part_of(self, form: Form, size: ir.Value) -> bool:
        """True if ``0 <= form < size`` is proved, where `size` is not constant.

        The value that is defined last is replaced first by its upper bounds, which use values that are defined before
        it.
        """
        starts = [least_bound(value) for value in form.terms]
        if (
            form.rest < 0
            or any(start is None or start < 0 for start in starts)
            or min(form.terms.values()) < 0
        ):
            return False
        wanted, waiting = self.of(size), [form]
        for _ in range(MOST_FORMS):
            if not waiting:
                return False
            found = waiting.pop()
            gap = wanted.plus(found, -1)
            if not gap.terms and gap.rest >= 1:
                return True
            known = [
                value for value, factor in found.terms.items() if factor > 0 and value not in wanted.terms
            ]
            if known:
                value = max(known, key=_depth)
                factor = found.terms[value]
                rest = Form({v: f for v, f in found.terms.items() if v != value}, found.rest)
                waiting += [rest.plus(limit, factor) for limit in self._limits(value)]
        return False

    def _limits(self, value: ir.Value) -> list[Form]:
        """Upper bounds of a value."""
        op = defining_op(value)
        if op is not None:
            return [self.of(arm) for arm in op.operands] if op.name == "arith.minsi" else []
        loop = value.owner.owner.operation
        if loop.name != "scf.for" or value != variable_of(loop):
            return []
        return [self.of(end).plus(Form({}, -1)) for end in least_of(loop.operands[1])]


def _depth(value: ir.Value) -> int:
    owner = value.owner
    return sum(
        1 for _ in ancestors(owner.owner.operation if isinstance(owner, ir.Block) else owner.operation)
    )
