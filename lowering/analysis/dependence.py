"""Dependence analysis: linear forms of indices, and proofs that the iterations of a loop are independent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.prim_funcs import prim_params
from relax_mlir.fork_safety import cached_property
from relax_mlir.ir_queries import ancestors, callee_of, defining_op, function_of, ops_of
from relax_mlir.lowering.analysis.index_ranges import Ranges, least_of, quotient_of, remainder_of, size_of
from relax_mlir.lowering.analysis.loop_annotations import (
    constant_of,
    is_inside,
    least_bound,
    most_bound,
    variable_of,
)
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim, prove_equal
from relax_mlir.symbolic.expr import exact_quotient

# Index values as linear forms of other values, with constant coefficients.


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
        if form.rest < 0 or any(start is None or start < 0 for start in starts) or min(form.terms.values()) < 0:
            return False
        wanted, waiting = self.of(size), [form]
        for _ in range(MOST_FORMS):
            if not waiting:
                return False
            found = waiting.pop()
            gap = wanted.plus(found, -1)
            if not gap.terms and gap.rest >= 1:
                return True
            known = [value for value, factor in found.terms.items() if factor > 0 and value not in wanted.terms]
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
    return sum(1 for _ in ancestors(owner.owner.operation if isinstance(owner, ir.Block) else owner.operation))


# Delinearised indices of a fused loop: quotients and remainders of its induction variable.


@dataclass(frozen=True)
class Digit:
    """One index of a delinearised value: ``value // by % below``; without `below` only the quotient."""

    value: ir.Value
    by: Dim
    below: Dim | None


def digit_of(index: ir.Value, ranges: Ranges, sure: bool = False) -> Digit | None:
    """The digit that an index is; a value that is no quotient or remainder is its own digit. None if a size is unknown.

    `sure`: require that no divisor is 0 (a division by 0 gives 0, whatever the value).
    """
    quotient, remainder = quotient_of(index), remainder_of(index)
    found = quotient or remainder
    if found is None:
        return Digit(index, 1, None)
    inner, by = digit_of(found[0], ranges, sure), ranges.exact(size_of(found[1]))
    if inner is None or by is None or (sure and not ranges.divides(*found)):
        return None
    rest = None if inner.below is None else _quotient(inner.below, by)
    if inner.below is not None and rest is None:
        return None
    if quotient is not None:
        return Digit(inner.value, inner.by * by, rest)
    return Digit(inner.value, inner.by, by)


def joined(left: Digit | None, right: Digit | None) -> Digit | None:
    """Merge two adjacent digits; None if there are others between them, or they are of different values."""
    if left is None or right is None or right.below is None or left.value != right.value:
        return None
    if not prove_equal(left.by, right.by * right.below):
        return None
    return Digit(left.value, right.by, None if left.below is None else left.below * right.below)


def number_of_digits(digits: Iterable[Digit]) -> ir.Value | None:
    """The value that is delinearised to some of the digits, in any order; None if there is none."""
    given = list(digits)
    for last in given:
        total: Digit | None = last if last.by == 1 else None
        while total is not None and total.below is not None:
            total = next((more for left in given if (more := joined(left, total)) is not None), None)
        if total is not None:
            return total.value
    return None


def _quotient(total: Dim, by: Dim) -> Dim | None:
    """``total / by`` if that is exact; else None."""
    if isinstance(total, int) or isinstance(by, int):
        exact = isinstance(total, int) and isinstance(by, int) and by > 0 and total % by == 0
        return total // by if exact else None
    return exact_quotient(total, by)


# Proofs that the iterations of a loop are independent: none accesses memory that another one stores to.
#
# Parameters of a prim func do not alias. Entry points make sure that arrays which are written overlap no others (a
# read-only array that overlaps one is copied, see `emit_ffi_wrappers`); `call_tir` allocates separate destinations, and
# `call_tir_inplace` copies what is used twice. Where a prim func calls another one with one buffer for two parameters,
# the callee's parameters may alias (`Aliases`).


SAME_INDICES = ("memref.cast", "builtin.unrealized_conversion_cast")
"""Views that do not change the indices of elements."""
VIEWS = (
    *SAME_INDICES,
    "memref.subview",
    "memref.expand_shape",
    "memref.collapse_shape",
    "memref.reinterpret_cast",
)
WITHOUT_ACCESS = frozenset({*VIEWS, "memref.dim", "memref.alloc", "memref.alloca", "memref.extract_strided_metadata"})
_BUFFER_AT = {
    "memref.load": 0,
    "memref.store": 1,
    "vector.load": 0,
    "vector.store": 1,
    "vector.maskedload": 0,
    "vector.maskedstore": 0,
}
_STORES = frozenset({"memref.store", "vector.store", "vector.maskedstore"})


@dataclass(frozen=True)
class Access:
    """An op that reads or writes elements of a buffer: `lanes` consecutive ones along the last dimension."""

    op: ir.Operation
    buffer: ir.Value
    indices: Sequence[ir.Value]
    stores: bool
    lanes: int

    @classmethod
    def of(cls, op: ir.Operation) -> Access | None:
        """The access of an op; None for ops without one."""
        at = _BUFFER_AT.get(op.name)
        if at is None:
            return None
        buffer = op.operands[at]
        rank = ir.MemRefType(buffer.type).rank
        value = op.results[0] if len(op.results) else op.operands[0 if at else len(op.operands) - 1]
        lanes = ir.VectorType(value.type).shape[0] if isinstance(value.type, ir.VectorType) else 1
        return cls(op, buffer, list(op.operands)[at + 1 : at + 1 + rank], op.name in _STORES, lanes)


def root_of(buffer: ir.Value) -> tuple[ir.Value, bool]:
    """The root buffer of a view, and True if both have the same indices."""
    same, op = True, defining_op(buffer)
    while op is not None and op.name in VIEWS and isinstance(op.operands[0].type, ir.MemRefType):
        same = same and op.name in SAME_INDICES
        buffer = op.operands[0]
        op = defining_op(buffer)
    return buffer, same


def seen_as(buffer: ir.Value) -> ir.Value:
    """Strip the views that do not change indices from a buffer."""
    op = defining_op(buffer)
    while op is not None and op.name in SAME_INDICES and isinstance(op.operands[0].type, ir.MemRefType):
        buffer = op.operands[0]
        op = defining_op(buffer)
    return buffer


@dataclass
class Aliases:
    """The prim funcs of a module whose parameters may alias."""

    module: ir.Module
    _sites: dict[str, list[ir.Operation]] | None = None
    _known: dict[str, bool] = field(default_factory=dict)

    def may_share(self, function: ir.Operation) -> bool:
        """True if two parameters of a prim func may alias."""
        name = ir.StringAttr(function.attributes["sym_name"]).value
        if name not in self._known:
            self._known[name] = False
            self._known[name] = any(self._shares(call) for call in self.sites.get(name, ()))
        return self._known[name]

    @property
    def sites(self) -> Mapping[str, Sequence[ir.Operation]]:
        """The calls of prim funcs in prim funcs."""
        if self._sites is None:
            self._sites = {}
            for top in self.module.body.operations:
                if isinstance(top, func.FuncOp) and PRIM_FUNC in top.attributes:
                    for call in ops_of(top.operation, "func.call"):
                        self._sites.setdefault(callee_of(call), []).append(call)
        return self._sites

    def _shares(self, call: ir.Operation) -> bool:
        roots = [root_of(value)[0] for value in call.operands if isinstance(value.type, ir.MemRefType)]
        arguments = [root for root in roots if defining_op(root) is None]
        return len(set(roots)) < len(roots) or (len(arguments) > 1 and self.may_share(function_of(call)))


@dataclass
class Independence:
    """Dependence analysis of the loops of one prim func."""

    function: func.FuncOp
    aliases: Aliases
    forms: Forms = field(default_factory=Forms)

    def obstacle(self, loop: ir.Operation) -> str | None:
        """The reason why iterations of a loop may depend on each other; None if they are independent."""
        step = constant_of(loop.operands[2])
        if step is None or step < 1:
            return "its step is not constant"
        accesses: dict[ir.Value, list[Access]] = {}
        for op in ops_of(loop):
            access = Access.of(op)
            if access is not None:
                accesses.setdefault(root_of(access.buffer)[0], []).append(access)
            elif op.name not in WITHOUT_ACCESS and _touches_memory(op):
                return f"what {op.name} does to memory is not known"
        if self.aliases.may_share(self.function.operation):
            accesses = self._joined(accesses)
        for root, found in accesses.items():
            stored = any(access.stores for access in found)
            if stored and not is_inside(root, loop) and not self._moves_along(found, loop, step):
                return f"{self._name(root)} is stored where other iterations may access it"
        return None

    def _joined(self, accesses: dict[ir.Value, list[Access]]) -> dict[ir.Value, list[Access]]:
        """Treat the accesses of all parameters as accesses of one buffer."""
        found: dict[ir.Value, list[Access]] = {}
        first = next((root for root in accesses if defining_op(root) is None), None)
        for root, some in accesses.items():
            key = root if defining_op(root) is not None or first is None else first
            found.setdefault(key, []).extend(some)
        return found

    def _moves_along(self, accesses: Sequence[Access], loop: ir.Operation, step: int) -> bool:
        """True if iterations access disjoint parts of some dimension of a buffer."""
        if len({seen_as(access.buffer) for access in accesses}) > 1:
            return False
        ranks = {ir.MemRefType(access.buffer.type).rank for access in accesses}
        if len(ranks) > 1:
            return False
        axes = range(ranks.pop())
        return (
            any(self._cuts(accesses, loop, step, axis) for axis in axes)
            or any(self._cuts_by_size(accesses, loop, axis) for axis in axes)
            or self._cuts_by_digits(accesses, loop, step)
        )

    def _cuts_by_digits(self, accesses: Sequence[Access], loop: ir.Operation, step: int) -> bool:
        """True if iterations access separate tiles, whose indices are quotients and remainders of one value."""
        digits = []
        for axis in range(len(accesses[0].indices)):
            digit = self._tile(accesses, loop, axis)
            if digit is not None:
                digits.append(digit)
        number = number_of_digits(digits)
        if number is None:
            return False
        form, variable = self.forms.of(number), variable_of(loop)
        inner = {v: f for v, f in form.terms.items() if v != variable and is_inside(v, loop)}
        ends = Form(inner, 0).range()
        return ends is not None and ends[1] - ends[0] < abs(form.terms.get(variable, 0)) * step

    def _tile(self, accesses: Sequence[Access], loop: ir.Operation, axis: int) -> Digit | None:
        """The digit that selects the tile of all accesses in a dimension, ``digit * length + offset``; or None."""
        first: tuple[ir.Value, int, Mapping[ir.Value, int]] | None = None
        lows, highs = [], []
        for access in accesses:
            form = self.forms.of(access.indices[axis])
            leaves = [v for v in form.terms if is_inside(v, loop) and (quotient_of(v) or remainder_of(v))]
            if len(leaves) != 1:
                return None
            (leaf,) = leaves
            others = {v: f for v, f in form.terms.items() if v != leaf}
            outer = {v: f for v, f in others.items() if not is_inside(v, loop)}
            found = leaf, form.terms[leaf], outer
            inner = Form({v: f for v, f in others.items() if v not in outer}, form.rest).range()
            if inner is None or (first is not None and first != found):
                return None
            first = found
            lows.append(inner[0])
            highs.append(inner[1] + (access.lanes - 1 if axis == len(access.indices) - 1 else 0))
        if first is None or max(highs) - min(lows) >= abs(first[1]):
            return None
        return digit_of(first[0], self._ranges, sure=True)

    @cached_property
    def _ranges(self) -> Ranges:
        return Ranges(self.function)

    def _cuts_by_size(self, accesses: Sequence[Access], loop: ir.Operation, axis: int) -> bool:
        """True if iterations access separate parts of a dimension, of a length that is a value: ``i * size + j``."""
        first: tuple[ir.Value, Mapping[ir.Value, int]] | None = None
        for access in accesses:
            form = self.forms.of(access.indices[axis])
            products = [v for v, f in form.terms.items() if f == 1 and _factor(v, loop) is not None]
            if len(products) != 1 or access.lanes > 1:
                return False
            size = _factor(products[0], loop)
            others = {v: f for v, f in form.terms.items() if v != products[0]}
            outer = {v: f for v, f in others.items() if not is_inside(v, loop)}
            inner = Form({v: f for v, f in others.items() if v not in outer}, form.rest)
            if size is None or (first is not None and first != (size, outer)):
                return False
            if variable_of(loop) in inner.terms or not self.forms.is_part_of(inner, size):
                return False
            first = (size, outer)
        return first is not None

    def _cuts(self, accesses: Sequence[Access], loop: ir.Operation, step: int, axis: int) -> bool:
        """True if iterations access separate parts of a dimension, each narrower than the distance to the next."""
        variable = variable_of(loop)
        lows, highs = [], []
        first: tuple[int, Mapping[ir.Value, int]] | None = None
        for access in accesses:
            form = self.forms.of(access.indices[axis])
            factor = form.terms.get(variable, 0)
            others = {v: f for v, f in form.terms.items() if v != variable}
            outer = {v: f for v, f in others.items() if not is_inside(v, loop)}
            if factor == 0 or (first is not None and first != (factor, outer)):
                return False
            first = (factor, outer)
            inner = Form({v: f for v, f in others.items() if v not in outer}, form.rest).range()
            if inner is None:
                return False
            lows.append(inner[0])
            highs.append(inner[1] + (access.lanes - 1 if axis == len(access.indices) - 1 else 0))
        assert first is not None
        return max(highs) - min(lows) < abs(first[0]) * step

    def _name(self, root: ir.Value) -> str:
        declared = prim_params(self.function)
        if defining_op(root) is not None:
            return "a local buffer"
        number = ir.BlockArgument(root).arg_number
        return f"'{declared[number].name}'" if declared is not None else f"parameter {number}"


def _factor(value: ir.Value, loop: ir.Operation) -> ir.Value | None:
    """The other factor if a value is the loop's induction variable times a loop-invariant value; else None."""
    op = defining_op(value)
    if op is None or op.name != "arith.muli" or variable_of(loop) not in op.operands:
        return None
    other = next((operand for operand in op.operands if operand != variable_of(loop)), None)
    return None if other is None or is_inside(other, loop) else other


def _touches_memory(op: ir.Operation) -> bool:
    if op.name == "func.call":
        return True
    return any(isinstance(value.type, ir.MemRefType) for value in _values(op))


def _values(op: ir.Operation) -> Iterator[ir.Value]:
    yield from op.operands
    yield from op.results
