"""Range analysis of ``index`` values in a prim func: proves that an index is within a dimension of a buffer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import LOOP_KIND
from relax_mlir.dialects.prim_funcs import PrimParam, prim_params
from relax_mlir.error import RelaxError
from relax_mlir.fork_safety import cached_property
from relax_mlir.ir_queries import ancestors, defining_op, entry_block
from relax_mlir.lowering.analysis.loop_annotations import constant_of
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.symbolic import Dim
from relax_mlir.symbolic.expr import exact_quotient, terms_of

# Offsets, sizes and strides of slices of tensors and buffers.


@dataclass(frozen=True)
class Slices:
    """Offsets, sizes and strides of a slice: ints, or SSA values."""

    offsets: tuple[int | ir.Value, ...]
    sizes: tuple[int | ir.Value, ...]
    strides: tuple[int | ir.Value, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Slices:
        """Read the slice of a ``tensor.extract_slice``, ``tensor.insert_slice`` or ``memref.subview``."""
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        dynamic = int(ir.ShapedType.get_dynamic_size())
        waiting = list(op.operands)[sum(segments[:-3]) :]
        found = []
        for name in ("static_offsets", "static_sizes", "static_strides"):
            numbers = list(ir.DenseI64ArrayAttr(op.attributes[name]))
            found.append(tuple(waiting.pop(0) if number == dynamic else int(number) for number in numbers))
        return cls(*found)

    def kept_axes(self, rank: int) -> list[int] | None:
        """The axes that remain when a slice drops axes of length 1; None if they are ambiguous."""
        if rank == len(self.sizes):
            return list(range(rank))
        kept = [axis for axis, size in enumerate(self.sizes) if size != 1]
        return kept if len(kept) == rank else None


# The sizes of buffers and tensors as expressions of the symbols of a prim func.


def dimension(ranges: Ranges, buffer: ir.Value, axis: int) -> Dim | None:
    """The size of a dimension; None if it is not an expression of the symbols."""
    if buffer in ranges.shapes:
        return ranges.shapes[buffer][axis] if axis < len(ranges.shapes[buffer]) else None
    type_ = ir.ShapedType(buffer.type)
    if not 0 <= axis < type_.rank:
        return None
    if not type_.is_dynamic_dim(axis):
        return int(type_.get_dim_size(axis))
    op = defining_op(buffer)
    if op is None:
        return _carried(ranges, buffer, axis)
    if op.name in ("memref.alloc", "tensor.empty"):
        number = sum(type_.is_dynamic_dim(a) for a in range(axis))
        return ranges.exact(op.operands[number])
    if op.name in ("memref.cast", "tensor.cast"):
        return ranges.size(op.operands[0], axis)
    if op.name == "tensor.insert":
        return ranges.size(op.operands[1], axis)
    if op.name == "tensor.insert_slice":
        return ranges.size(op.operands[1], axis)
    if op.name.startswith("linalg."):
        results = len(op.results)
        tied = list(op.operands)[len(op.operands) - results :]
        return ranges.size(tied[ir.OpResult(buffer).result_number], axis)
    if op.name == "scf.for":
        number = ir.OpResult(buffer).result_number + 1
        return ranges.size(entry_block(op).arguments[number], axis)
    if op.name in ("tensor.extract_slice", "memref.subview"):
        slices = Slices.of(op)
        axes = slices.kept_axes(type_.rank)
        size = slices.sizes[axes[axis]] if axes is not None else None
        return size if size is None or isinstance(size, int) else ranges.exact(size)
    return None


def _carried(ranges: Ranges, buffer: ir.Value, axis: int) -> Dim | None:
    """The size of a loop-carried value: that of its initial value, if no iteration changes it."""
    block = buffer.owner
    loop = block.owner.operation if isinstance(block, ir.Block) else None
    if loop is None or loop.name != "scf.for":
        return None
    number = ir.BlockArgument(buffer).arg_number - 1
    handed_on = block.operations[len(block.operations) - 1].operation.operands[number]
    first = ranges.size(loop.operands[3 + number], axis)
    ranges.shapes[buffer] = tuple(
        first if a == axis and first is not None else symbolic.symbol("unknown")
        for a in range(ir.ShapedType(buffer.type).rank)
    )
    try:
        same = first is not None and ranges.size(handed_on, axis) == first
    finally:
        del ranges.shapes[buffer]
    return first if same else None


def own_shape(argument: ir.Value, number: int) -> tuple[Dim, ...]:
    """The shape of an argument, with a new symbol for each dynamic dimension."""
    type_ = ir.ShapedType(argument.type)
    return tuple(
        symbolic.symbol(f"arg{number}_{axis}") if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    )


def loop_size(ranges: Ranges, index: ir.Operation) -> Dim | None:
    """The length of the loop of a ``linalg`` op that ``linalg.index`` counts; None if it is not known."""
    dim = int(ir.IntegerAttr(index.attributes["dim"]).value)
    loop = index.parent.operation
    while not loop.name.startswith("linalg."):
        loop = loop.parent.operation
    for operand, map_ in zip(loop.operands, linalg.get_indexing_maps(loop) or (), strict=False):
        for axis, expr in enumerate(map_.value.results):
            if isinstance(expr, ir.AffineDimExpr) and ir.AffineDimExpr(expr).position == dim:
                size = ranges.size(operand, axis)
                if size is not None:
                    return size
    return None


# Match quotients and remainders of indices in the form that `relax_mlir.tir.expressions` emits.


def quotient_of(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """x and d of ``x // d``, or None. d is the divisor in the IR, which may be the maximum of 1 and a size."""
    op = defining_op(value)
    if op is not None and op.name == "arith.select":
        test, zero, quotient = op.operands
        inner, compared = defining_op(quotient), defining_op(test)
        if inner is None or inner.name != "arith.floordivsi" or compared is None or compared.name != "arith.cmpi":
            return None
        size, none = compared.operands
        is_zero = constant_of(zero) == 0 and constant_of(none) == 0 and compared.attributes["predicate"].value == 0
        if not is_zero or size_of(inner.operands[1]) != size:
            return None
        return inner.operands[0], inner.operands[1]
    return (op.operands[0], op.operands[1]) if op is not None and op.name == "arith.floordivsi" else None


def remainder_of(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """x and d of ``x % d``, which is emitted as ``x - x // d * d``, or None."""
    op = defining_op(value)
    if op is None or op.name != "arith.subi":
        return None
    product = defining_op(op.operands[1])
    if product is None or product.name != "arith.muli":
        return None
    for quotient, factor in (product.operands, list(product.operands)[::-1]):
        found = defining_op(quotient)
        if found is None or found.name != "arith.floordivsi":
            continue
        dividend, divisor = found.operands
        if dividend == op.operands[0] and (divisor == factor or _same_number(divisor, factor)):
            return dividend, divisor
    return None


def size_of(divisor: ir.Value) -> ir.Value:
    """The size whose maximum with 1 is the divisor, or the divisor itself."""
    op = defining_op(divisor)
    if op is None or op.name != "arith.maxsi" or 1 not in map(constant_of, op.operands):
        return divisor
    return next((side for side in op.operands if constant_of(side) != 1), divisor)


def _same_number(left: ir.Value, right: ir.Value) -> bool:
    number = constant_of(left)
    return number is not None and number == constant_of(right)


# Linear forms of loop variables over expressions of sizes, and a test that such expressions cannot overflow.


SMALL = 1024
"""Bound on the integers in a size formula that cannot overflow; each size is less than 2**48."""


@dataclass(frozen=True)
class Linear:
    """``sum(coefficient * loop variable) + rest``; `rest` is an expression of the function's symbols."""

    terms: Mapping[ir.Value, int]
    rest: Dim

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + sign * factor
        return Linear({v: f for v, f in terms.items() if f}, self.rest + sign * other.rest)

    @property
    def has_small_factors(self) -> bool:
        return all(abs(factor) <= SMALL for factor in self.terms.values())

    def shifted(self, number: int) -> Linear:
        return Linear(self.terms, self.rest + number)

    def times(self, factor: int) -> Linear:
        return Linear({v: f * factor for v, f in self.terms.items()}, self.rest * factor)


def is_small(dim: Dim, counts: Sequence[Dim] = ()) -> bool:
    """True if a formula cannot overflow: its integers are small, and it multiplies no two sizes.

    `counts` are formulas that may be part of it: element counts of buffers, which fit in memory.
    """
    return isinstance(dim, int) or _has_small_terms(dim, counts)


def _has_small_terms(dim: Dim, counts: Sequence[Dim]) -> bool:
    for count in counts:
        dim = dim - _multiple(dim, count) * count
    return all(
        abs(factor) <= SMALL
        and len(monomial) <= 1
        and all(_has_small_terms(argument, counts) for atom in monomial for argument in atom.args)
        for monomial, factor in terms_of(dim)
    )


def _multiple(dim: Dim, count: Dim) -> int:
    """The number of times that a sum contains `count`; 0 if it is not small."""
    product, factor = max(terms_of(count), key=lambda term: len(term[0]))
    times, rest = divmod(dict(terms_of(dim)).get(product, 0), factor)
    return times if rest == 0 and abs(times) <= SMALL else 0


# Facts about index values inside the branches of ``scf.if``, from the conditions that lead there.


EQ, NE, SLT, SLE, SGT, SGE = range(6)
"""Signed predicates of ``arith.cmpi``, by MLIR's enum value."""
OPPOSITE = {EQ: NE, NE: EQ, SLT: SGE, SGE: SLT, SLE: SGT, SGT: SLE}


def facts_at(op: ir.Operation, ranges: Ranges) -> Iterator[Linear]:
    """Yield linear forms that are not negative whenever `op` executes."""
    inner = op
    while True:
        outer = inner.parent
        if outer is None or outer.name == "func.func":
            return
        if outer.name == "scf.if":
            is_then = any(block == inner.block for block in outer.regions[0].blocks)
            yield from _facts(outer.operands[0], is_then, ranges)
        inner = outer.operation


def _facts(condition: ir.Value, holds: bool, ranges: Ranges) -> Iterator[Linear]:
    """Yield the facts that follow if a condition holds, or if it does not."""
    op = defining_op(condition)
    if op is None:
        return
    if op.name == ("arith.andi" if holds else "arith.ori"):
        for part in op.operands:
            yield from _facts(part, holds, ranges)
        return
    if op.name != "arith.cmpi" or not isinstance(op.operands[0].type, ir.IndexType):
        return
    predicate = int(ir.IntegerAttr(op.attributes["predicate"]).value)
    if predicate not in OPPOSITE:
        return
    predicate = predicate if holds else OPPOSITE[predicate]
    left, right = (ranges.exact_form(operand) for operand in op.operands)
    if left is None or right is None:
        return
    if predicate in (SLT, SLE, EQ):
        yield right.plus(left, -1).shifted(-1 if predicate == SLT else 0)
    if predicate in (SGT, SGE, EQ):
        yield left.plus(right, -1).shifted(-1 if predicate == SGT else 0)


# Range analysis of ``index`` values in a prim func: proves that an index is within a dimension of a buffer.


MOST_FORMS = 64
"""Maximum number of forms tried to bound a value; each argument of a minimum is a separate bound."""


@dataclass
class Ranges:
    """Ranges of the index values of one prim func; its sizes are symbols, either declared or one per dimension.

    Index arithmetic wraps around, but formulas are proved for exact integers. Sums, differences and products may wrap
    in intermediate steps, because a result that is proved to be in range is exact. Comparisons and divisions need
    operands that do not overflow.
    """

    function: func.FuncOp
    params: Sequence[PrimParam] | None = None
    """The parameters' shapes and names, if the function does not declare them."""
    shapes: dict[ir.Value, tuple[Dim, ...]] = field(default_factory=dict)
    values: dict[ir.Value, Linear | None] = field(default_factory=dict)
    spans: dict[ir.Value, tuple[tuple[Linear, ...], tuple[Linear, ...]]] = field(default_factory=dict)
    """Lower and upper bounds of results that are not linear forms."""

    def __post_init__(self) -> None:
        arguments = list(self.function.arguments)
        declared = prim_params(self.function) or self.params
        integers: dict[str, Dim] = {}
        if declared is not None:
            declared, integers = _by_sizes(declared)
        for number, argument in enumerate(arguments):
            if declared is not None and declared[number].shape is None:
                value = integers.get(declared[number].name)
                self.values[argument] = None if value is None else Linear({}, value)
            elif isinstance(argument.type, ir.MemRefType | ir.RankedTensorType):
                shape = declared[number].shape if declared is not None else None
                self.shapes[argument] = shape if shape is not None else own_shape(argument, number)

    def is_small(self, dim: Dim) -> bool:
        """True if a formula cannot overflow: small integers, and no products except the element count of a buffer."""
        return is_small(dim) or is_small(dim, self._counts)

    @cached_property
    def _counts(self) -> list[Dim]:
        """The element counts of the arguments that are products of sizes; they fit in memory."""
        shapes = [shape for argument, shape in self.shapes.items() if isinstance(argument.owner, ir.Block)]
        counts = [count for count in dict.fromkeys(map(symbolic.product, shapes)) if not is_small(count)]
        return sorted(counts, key=lambda count: len(terms_of(count)), reverse=True)

    def _does_not_sink(self, dim: Dim) -> bool:
        """True if a formula is proved not to be below the minimum integer, so that a wrapped value is less than it."""
        return self.is_small(dim) or symbolic.prove_less_equal(0, dim)

    def within(self, index: ir.Value, buffer: ir.Value, axis: int, at: ir.Operation | None = None) -> bool:
        """True if ``0 <= index < size`` of the dimension is proved whenever the access `at` executes."""
        size = self.size(buffer, axis)
        if size is None:
            return False
        if self.between(index, 0, size - 1):
            return True
        value = self.linear(index)
        if at is None or value is None:
            return False
        facts = list(facts_at(at, self))
        return all(self._follows(goal, facts) for goal in (value, Linear({}, size - 1).plus(value, -1)))

    def _follows(self, goal: Linear, facts: Sequence[Linear]) -> bool:
        """True if a form is proved to be non-negative, alone or with one of the non-negative facts."""
        return any(
            symbolic.prove_less_equal(0, low)
            for form in (goal, *(goal.plus(fact, -1) for fact in facts))
            for low in self.extremes(form, greatest=False)
        )

    def exact_form(self, value: ir.Value) -> Linear | None:
        """`value` as a linear form that does not overflow, or None."""
        form = self.linear(value)
        return form if form is not None and is_small(form.rest) and self._cannot_overflow(form) else None

    def between(self, index: ir.Value, least: Dim, most: Dim) -> bool:
        """True if `index` is proved to be between `least` and `most`, inclusive."""
        value = self.linear(index)
        return (
            value is not None
            and any(symbolic.prove_less_equal(least, low) for low in self.extremes(value, greatest=False))
            and any(symbolic.prove_less_equal(high, most) for high in self.extremes(value, greatest=True))
        )

    def at_least(self, index: ir.Value, least: int) -> bool:
        """True if `index` is proved to be at or above `least`, without overflow."""
        value = self.linear(index)
        if value is None or not is_small(value.rest) or not self._cannot_overflow(value):
            return False
        return any(symbolic.prove_less_equal(least, low) for low in self.extremes(value, greatest=False))

    def size(self, buffer: ir.Value, axis: int) -> Dim | None:
        """The size of a dimension; None if it is not an expression of the symbols."""
        return dimension(self, buffer, axis)

    def exact(self, value: ir.Value) -> Dim | None:
        """A value as an expression of the symbols; `check-bounds` ensures that sizes do not overflow."""
        found = self.linear(value)
        return found.rest if found is not None and not found.terms else None

    def extremes(self, value: Linear, *, greatest: bool) -> Iterator[Dim]:
        """Yield upper (or lower) bounds of the value over all loop iterations, as expressions of the symbols.

        Variables are eliminated innermost first, because their bounds refer to outer ones.
        """
        waiting = [value]
        for _ in range(MOST_FORMS):
            if not waiting:
                return
            form = waiting.pop()
            if not form.terms:
                yield form.rest
                continue
            variable = max(form.terms, key=self._place)
            factor = form.terms[variable]
            rest = Linear({v: f for v, f in form.terms.items() if v != variable}, form.rest)
            limits = self.ends(variable) if (factor > 0) == greatest else self.begins(variable)
            waiting += [rest.plus(limit.times(factor)) for limit in reversed(limits)]

    def extreme(self, value: Linear, *, greatest: bool) -> Dim | None:
        """The first of `extremes`."""
        return next(self.extremes(value, greatest=greatest), None)

    def _place(self, variable: ir.Value) -> tuple[int, int]:
        """Sort key of a variable: its nesting depth, then its order among variables of the same depth."""
        owner = variable.owner
        depth = sum(1 for _ in ancestors(owner.owner.operation if isinstance(owner, ir.Block) else owner.operation))
        return (depth + 1, 0) if isinstance(owner, ir.Block) else (depth, 1 + list(self.spans).index(variable))

    def begins(self, variable: ir.Value) -> tuple[Linear, ...]:
        """Lower bounds of a variable."""
        if variable in self.spans:
            return self.spans[variable][0]
        found = self.linear(variable.owner.owner.operands[0])
        return (found,) if found is not None and self.is_small(found.rest) and found.has_small_factors else ()

    def ends(self, variable: ir.Value) -> tuple[Linear, ...]:
        """Upper bounds of a variable."""
        if variable in self.spans:
            return self.spans[variable][1]
        stop = variable.owner.owner.operands[1]
        found = [form for value in least_of(stop) if (form := self.linear(value)) is not None]
        return tuple(
            form.plus(Linear({}, -1))
            for form in found
            if self._does_not_sink(form.rest) and self._cannot_overflow(form)
        )

    def _cannot_overflow(self, form: Linear) -> bool:
        """True if no multiple of a variable in a bound overflows.

        A sequential loop that starts at a small value cannot reach large ones in any realistic time. Parallel loops and
        computed values may start anywhere.
        """
        for variable in form.terms:
            if not any(self.is_small(low.rest) for low in self.begins(variable)):
                return False
            jumps = variable in self.spans or is_parallel(variable.owner.owner)
            if jumps and not any(self.is_small(high.rest) for high in self.ends(variable)):
                return False
        return form.has_small_factors

    def linear(self, value: ir.Value) -> Linear | None:
        """`value` as a linear form of loop variables, or None."""
        if value not in self.values:
            self.values[value] = None
            try:
                self.values[value] = self.form(value)
            except RelaxError:
                self.values[value] = None
        return self.values[value]

    def form(self, value: ir.Value) -> Linear | None:
        op = defining_op(value)
        if op is None:
            owner = value.owner.owner
            is_loop = owner.name == "scf.for" and value == entry_block(owner).arguments[0]
            return Linear({value: 1}, 0) if is_loop and isinstance(value.type, ir.IndexType) else None
        if op.name == "arith.constant":
            attribute = op.attributes["value"]
            return Linear({}, int(attribute.value)) if isinstance(attribute, ir.IntegerAttr) else None
        if op.name in ("memref.dim", "tensor.dim"):
            axis = self.linear(op.operands[1])
            size = (
                self.size(op.operands[0], axis.rest)
                if axis is not None and not axis.terms and isinstance(axis.rest, int)
                else None
            )
            return None if size is None else Linear({}, size)
        if op.name == "linalg.index":
            return self.spanned(value, 0, loop_size(self, op))
        return self.arithmetic(op) if op.name.startswith("arith.") else None

    def spanned(self, value: ir.Value, least: Dim | None, size: Dim | None) -> Linear | None:
        """A value known only by its range, from `least` to ``size - 1``."""
        return self.limit(value, [least], [None if size is None else size - 1])

    def limit(
        self, value: ir.Value, lows: Sequence[Linear | Dim | None], highs: Sequence[Linear | Dim | None]
    ) -> Linear | None:
        """A value with the given lower and upper bounds."""
        least, most = (
            tuple(x if isinstance(x, Linear) else Linear({}, x) for x in side if x is not None)
            for side in (lows, highs)
        )
        if not least and not most:
            return None
        self.spans[value] = (least, most)
        return Linear({value: 1}, 0)

    def arithmetic(self, op: ir.Operation) -> Linear | None:
        remainder, quotient = remainder_of(op.results[0]), quotient_of(op.results[0])
        if remainder is not None:
            return self.remainder(op, *remainder)
        if op.name == "arith.select":
            return None if quotient is None else self.quotient(op, *quotient)
        if len(op.operands) != 2 or not isinstance(op.results[0].type, ir.IndexType):
            return None
        left, right = (self.linear(operand) for operand in op.operands)
        if op.name in ("arith.maxsi", "arith.minsi"):
            return self.limited(op, left, right)
        if left is None or right is None:
            return None
        if op.name in ("arith.addi", "arith.subi"):
            return left.plus(right, 1 if op.name == "arith.addi" else -1)
        number = right.rest if not right.terms and isinstance(right.rest, int) else None
        if op.name == "arith.muli":
            if number is not None:
                return left.times(number)
            if not left.terms and isinstance(left.rest, int):
                return right.times(left.rest)
            if left.terms and right.terms:
                return None
            if left.terms or right.terms:
                return self.scaled(op, *((left, right.rest) if left.terms else (right, left.rest)))
            return Linear({}, left.rest * right.rest)
        if op.name not in ("arith.floordivsi", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui"):
            return None
        return self.divided(op, left, number)

    def scaled(self, op: ir.Operation, value: Linear, size: Dim) -> Linear | None:
        """A non-negative value times a size, such as the start of a block of that size."""
        low, high = self.extreme(value, greatest=False), self.extreme(value, greatest=True)
        if low is None or high is None or not symbolic.prove_less_equal(0, low):
            return None
        fits = symbolic.prove_less_equal(0, size) and self.is_small(high * size)
        return self.limit(op.results[0], [0], [high * size]) if fits else None

    def limited(self, op: ir.Operation, left: Linear | None, right: Linear | None) -> Linear | None:
        """The maximum or minimum of two values; one known value is enough for a bound."""
        greater = op.name == "arith.maxsi"
        sides = [side for side in (left, right) if side is not None and self.is_small(side.rest)]
        combine = symbolic.maximum if greater else symbolic.minimum
        if len(sides) == 2 and not sides[0].terms and not sides[1].terms:
            return Linear({}, combine(sides[0].rest, sides[1].rest))
        lows = [low for side in sides if (low := self.extreme(side, greatest=False)) is not None]
        highs = [high for side in sides if (high := self.extreme(side, greatest=True)) is not None]
        limits = [side for side in sides if self._cannot_overflow(side)]
        if greater:
            return self.limit(op.results[0], limits, [_of_both(highs, combine)])
        return self.limit(op.results[0], [_of_both(lows, combine)], limits)

    def divided(self, op: ir.Operation, left: Linear, number: int | None) -> Linear | None:
        """Quotients and remainders of a non-negative value by a positive integer."""
        if number is None or number <= 0 or not self.is_small(left.rest):
            return None
        low, high = self.extreme(left, greatest=False), self.extreme(left, greatest=True)
        if low is None or not symbolic.prove_less_equal(0, low):
            return None
        if "rem" in op.name:
            return self.spanned(op.results[0], 0, number)
        if not left.terms:
            return Linear({}, symbolic.floordiv(left.rest, number))
        size = None if high is None else symbolic.floordiv(high, number) + 1
        return self.spanned(op.results[0], 0, size)

    def remainder(self, op: ir.Operation, dividend: ir.Value, divisor: ir.Value) -> Linear | None:
        """``x % d``, which is non-negative."""
        number = constant_of(divisor)
        if number is not None:
            return self.spanned(op.results[0], 0, number) if number > 0 else None
        size, multiple = self.exact(size_of(divisor)), self._multiple(dividend, divisor)
        if size is None or not is_small(size):
            return None
        most = size - 1 if multiple is not None else symbolic.maximum(size - 1, 0)
        return self.limit(op.results[0], [0], [most])

    def quotient(self, op: ir.Operation, dividend: ir.Value, divisor: ir.Value) -> Linear | None:
        """``x // d`` for a size d."""
        multiple = self._multiple(dividend, divisor)
        return None if multiple is None else self.limit(op.results[0], [0], [multiple - 1])

    def divides(self, dividend: ir.Value, divisor: ir.Value) -> bool:
        """True if a divisor is proved to be nonzero when it is used."""
        number = constant_of(divisor)
        return number > 0 if number is not None else self._multiple(dividend, divisor) is not None

    def _multiple(self, dividend: ir.Value, divisor: ir.Value) -> Dim | None:
        """m such that ``0 <= x < m * d``; then m and d are nonzero whenever x is computed."""
        value, size = self.linear(dividend), self.exact(size_of(divisor))
        if value is None or size is None or isinstance(size, int):
            return None
        low = self.extreme(value, greatest=False)
        if low is None or not symbolic.prove_less_equal(0, low):
            return None
        for high in self.extremes(value, greatest=True):
            multiple = exact_quotient(end, size) if not isinstance(end := high + 1, int) else None
            if multiple is not None:
                return multiple
        return None


def _of_both(found: Sequence[Dim], combine: Callable[..., Dim]) -> Dim | None:
    """The combined bound of two values, or None unless both are known."""
    return combine(*found) if len(found) == 2 else None


def least_of(value: ir.Value) -> list[ir.Value]:
    """The operands of a (nested) minimum, or the value itself."""
    op = defining_op(value)
    if op is None or op.name != "arith.minsi":
        return [value]
    return [found for operand in op.operands for found in least_of(operand)]


def is_parallel(loop: ir.Operation) -> bool:
    """True if a loop is declared parallel, so that its iterations may run in any order."""
    kind = loop.attributes.get(LOOP_KIND)
    return isinstance(kind, ir.StringAttr) and kind.value == "parallel"


def _by_sizes(params: Sequence[PrimParam]) -> tuple[list[PrimParam], dict[str, Dim]]:
    """Rewrite parameters so that their size formulas are non-negative; also return the non-negative integers, by name.

    An integer may be negative unless it is the size of a buffer. If a size is an integer plus a constant, ``n + 1``,
    the size becomes a new symbol, and the integer is that symbol minus the constant.
    """
    sizes = {dim for param in params for dim in param.shape or ()}
    integers: dict[str, Dim] = {}
    found = list(params)
    for param in params:
        symbol = symbolic.symbol(param.name)
        more = sorted(d for size in sizes if isinstance(d := size - symbol, int) and d > 0)
        if param.shape is not None or (symbol not in sizes and not more):
            continue
        integers[param.name] = symbol
        if symbol not in sizes:
            least = symbolic.symbol(_unused(f"{param.name}_and_{more[0]}", sizes))
            integers[param.name] = least - more[0]
            found = [replace(p, shape=_moved(p.shape, symbol, least - more[0])) for p in found]
    return found, integers


def _unused(name: str, sizes: Collection[Dim]) -> str:
    """A symbol name that no size uses."""
    taken = {symbol for size in sizes for symbol in symbolic.symbols(size)}
    while name in taken:
        name += "_"
    return name


def _moved(shape: tuple[Dim, ...] | None, symbol: Dim, value: Dim) -> tuple[Dim, ...] | None:
    """A shape in which each dimension `symbol` + constant becomes `value` + constant."""
    if shape is None:
        return None
    apart = [dim - symbol for dim in shape]
    return tuple(value + d if isinstance(d, int) else dim for dim, d in zip(shape, apart, strict=True))
