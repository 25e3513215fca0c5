"""`PatternContext`: patterns that are matched together in a block, with constraints on their uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from relax_mlir.dialects.nodes import Tuple
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, Var
from relax_mlir.dpl import patterns
from relax_mlir.dpl.patterns import (
    CallPattern,
    DFPattern,
    Expression,
    Found,
    Matcher,
    definition_of,
    equal_dims,
    expect_patterns,
    program_of,
)
from relax_mlir.error import ArgumentError, expect
from relax_mlir.expr.bindings import Program, is_hidden
from relax_mlir.expr.compound import BindingBlock, Call
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Bounds, assuming

# Users of the values of a block, as in its script form: inline tuples and shapes do not count as users.


class _Elsewhere(Var):
    """The users outside of bindings: the outputs of a block or function."""


ELSEWHERE = _Elsewhere("elsewhere")


class Uses:
    """The variables that a block binds or uses from outside, and their users."""

    def __init__(self, block: BindingBlock) -> None:
        bindings = block.bindings
        self._program: Program | None = bindings[0].program if bindings else None
        self.bounds: Bounds = bounds_around(bindings[0].operation) if bindings else {}
        self.values = self._values([op for op in block.ops if not is_hidden(op)])

    def _values(self, ops: Sequence[ir.Operation]) -> list[Value]:
        """The variables that the ops bind, in order, then those from outside that they use."""
        if self._program is None:
            return []
        bound = [result for op in ops for result in op.results]
        outside = [operand for op in ops for operand in _visible_operands(op)]
        found: dict[ir.Value, Value] = {}
        for ssa in (*bound, *outside):
            variable = self._program.expression(ssa)
            assert variable._identity is not None
            found.setdefault(variable._identity, variable)
        return list(found.values())

    def users(self, value: Value) -> list[Value]:
        """The variables whose bindings use `value`, in no particular order."""
        return [user for user in self.all_users(value) if user is not ELSEWHERE]

    def all_users(self, value: Value) -> list[Value]:
        """The same, plus `ELSEWHERE` if `value` is an output of a block or function."""
        assert value._identity is not None
        found: dict[ir.Value | None, Value] = {}
        self._collect(value._identity, program_of(value), found)
        return list(found.values())

    def _collect(self, ssa: ir.Value, program: Program, found: dict[ir.Value | None, Value]) -> None:
        for use in ssa.uses:
            user = use.owner.operation
            if has_trait(user, EndsBlock) or not len(user.results):
                found[None] = ELSEWHERE
            elif is_hidden(user):
                self._collect(user.results[0], program, found)
            else:
                found[user.results[0]] = program.variable(user.results[0])


def _visible_operands(op: ir.Operation) -> list[ir.Value]:
    """The operands of an op, with inline (hidden) operands replaced by their own operands."""
    from relax_mlir.ir_queries import defining_op

    found = []
    for operand in op.operands:
        maker = defining_op(operand)
        if maker is not None and is_hidden(maker):
            found += _visible_operands(maker)
        else:
            found.append(operand)
    return found


@dataclass(frozen=True)
class _Use:
    """`user` uses `used`."""

    used: DFPattern
    user: DFPattern
    index: int
    only: bool


class PatternSeq:
    """A chain of patterns, each of which uses the previous one: the result of ``a ^ b >> c``."""

    def __init__(self, patterns: Sequence[DFPattern]) -> None:
        expect_patterns("PatternSeq: an entry", *patterns)
        self.patterns = tuple(patterns)

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that the first pattern of `other` uses the last one of this chain; as argument `index`, unless -1."""
        return self._linked(other, index, only=False)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Require that the first pattern of `other` is the only user of the last one of this chain."""
        return self._linked(other, index, only=True)

    def _linked(self, other: DFPattern | PatternSeq, index: int, only: bool) -> PatternSeq:
        what = "only_used_by" if only else "used_by"
        expect(f"{what}: 'other'", other, DFPattern | PatternSeq, "a pattern")
        expect(f"{what}: 'index'", index, int, "the number of an argument, or -1 for any")
        behind = PatternSeq([other]) if isinstance(other, DFPattern) else other
        patterns.require_context(what).add_use(_Use(self.patterns[-1], behind.patterns[0], index, only))
        return PatternSeq([*self.patterns, *behind.patterns])

    __xor__ = used_by
    __rshift__ = only_used_by

    def __getitem__(self, index: int) -> DFPattern:
        return self.patterns[index]

    def __len__(self) -> int:
        return len(self.patterns)


class PatternContext:
    """Patterns that are matched together: those constructed inside the context and those named in constraints.

    >>> with PatternContext() as ctx:
    ...     x = wildcard()
    ...     left = is_op("relax.matmul")(x, wildcard())
    ...     right = is_op("relax.matmul")(x, wildcard())
    ...     left.only_used_by(is_op("relax.nn.relu")(left))
    >>> found = ctx.match_dfb(mod["main"].body.blocks[0])
    """

    def __init__(self, incremental: bool = False) -> None:
        """`incremental`: start with the patterns and constraints of the enclosing context."""
        self._patterns: dict[DFPattern, None] = {}
        self._uses: list[_Use] = []
        self._same_shapes: list[tuple[DFPattern, ...]] = []
        if incremental:
            around = patterns.require_context("PatternContext(incremental=True)")
            self._patterns = dict(around._patterns)
            self._uses, self._same_shapes = list(around._uses), list(around._same_shapes)

    def __enter__(self) -> PatternContext:
        patterns.enter_context(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        patterns.leave_context(self)

    def note(self, pattern: DFPattern) -> None:
        """Add a pattern; it is matched if it contains a call, or if a constraint names it."""
        self._patterns[pattern] = None

    def add_use(self, use: _Use) -> None:
        """Add the constraint that one pattern uses another."""
        self._uses.append(use)

    def add_same_shape(self, patterns: Sequence[DFPattern]) -> None:
        """Add the constraint that all of these are tensors of equal shape."""
        expect_patterns("same_shape_as: a pattern", *patterns)
        self._same_shapes.append(tuple(patterns))

    def match_dfb(
        self, dfb: BindingBlock, start_hint: Var | None = None, must_include_hint: bool = False
    ) -> dict[DFPattern, Any] | None:
        """The values that all patterns match together in a block, the first solution in program order; None if none.

        Top-level patterns match distinct values; a shared sub-pattern matches one value. Candidates are the values that
        the block binds or uses.

        Args:
            dfb: a `DataflowBlock`, or a `BindingBlock` outside of one.
            start_hint: a variable; the first solution that contains it is preferred.
            must_include_hint: accept only solutions that contain `start_hint`.

        Raises:
            ArgumentError: there is nothing to match, or `dfb` is not part of a program.
        """
        expect("match_dfb: 'dfb'", dfb, BindingBlock, "a block of a program: mod[...].body.blocks[0]")
        expect("match_dfb: 'start_hint'", start_hint, Var | None, "a variable of the block")
        if not dfb.is_view:
            raise ArgumentError("match_dfb: 'dfb' is no part of a program; take one of mod[...].body.blocks")
        if must_include_hint and start_hint is None:
            raise ArgumentError("match_dfb: must_include_hint needs a start_hint")
        uses = Uses(dfb)
        with assuming(uses.bounds):
            solutions = _Search(self, uses).solutions()
            first = None
            for found in solutions:
                if start_hint is None or any(
                    isinstance(value, Value) and value.same_as(start_hint) for value in found.values()
                ):
                    return dict(found)
                first = first or found
        return None if must_include_hint or first is None else dict(first)

    def roots(self) -> list[DFPattern]:
        """The top-level patterns to match; all others are sub-patterns of these."""
        named = {end: None for use in self._uses for end in (use.used, use.user)}
        named |= {pattern: None for group in self._same_shapes for pattern in group}
        parts = {part for pattern in (*self._patterns, *named) for part in _parts(pattern)}
        calls = [pattern for pattern in self._patterns if _has_call(pattern)]
        found = [pattern for pattern in dict.fromkeys([*calls, *named]) if pattern not in parts]
        if not found:
            raise ArgumentError(
                "match_dfb: the PatternContext has nothing to look for: make patterns of calls inside it"
            )
        return found

    @property
    def uses(self) -> Sequence[_Use]:
        """The use constraints."""
        return self._uses

    @property
    def same_shapes(self) -> Sequence[tuple[DFPattern, ...]]:
        """The groups of patterns that must match tensors of equal shape."""
        return self._same_shapes


def _parts(pattern: DFPattern) -> set[DFPattern]:
    """All sub-patterns of a pattern."""
    found: set[DFPattern] = set()
    waiting = list(pattern.children)
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += part.children
    return found


def _has_call(pattern: DFPattern) -> bool:
    return any(isinstance(part, CallPattern) for part in (pattern, *_parts(pattern)))


class _Search:
    """The search for all top-level patterns of a context in one block."""

    def __init__(self, context: PatternContext, uses: Uses) -> None:
        self._context, self._uses, self._matcher = context, uses, Matcher()
        self._roots = context.roots()

    def solutions(self) -> Iterator[Found]:
        return self._extend(self._roots, {}, [])

    def _extend(self, left: list[DFPattern], found: Found, taken: list[Expression]) -> Iterator[Found]:
        if not left:
            yield found
            return
        root, candidates = self._next(left, found)
        rest = [pattern for pattern in left if pattern is not root]
        for candidate in candidates:
            if any(candidate.same_as(other) for other in taken):
                continue
            for each in self._matcher.match(root, candidate, found):
                if self._holds(each):
                    yield from self._extend(rest, each, [*taken, candidate])

    def _next(self, left: list[DFPattern], found: Found) -> tuple[DFPattern, Sequence[Expression]]:
        """The next root to match, preferably one that uses or is used by a matched one, and its candidates."""
        for root in left:
            for use in self._context.uses:
                if use.user is root and use.used in found:
                    return root, self._uses.users(found[use.used])
                if use.used is root and use.user in found:
                    return root, _arguments(found[use.user])
        return left[0], self._uses.values

    def _holds(self, found: Found) -> bool:
        """True if all constraints hold between the patterns matched so far."""
        for use in self._context.uses:
            if use.used in found and use.user in found and not self._is_used(use, found):
                return False
        for group in self._context.same_shapes:
            shapes = [_shape(found[pattern]) for pattern in group if pattern in found]
            if any(shape is None or not equal_dims(shape, shapes[0] or ()) for shape in shapes):
                return False
        return True

    def _is_used(self, use: _Use, found: Found) -> bool:
        used, user = found[use.used], found[use.user]
        arguments = _arguments(user)
        if use.index >= 0:
            call = definition_of(user)
            given = call.args if isinstance(call, Call) else ()
            arguments = _flattened(given[use.index : use.index + 1])
        if not any(isinstance(item, Value) and item.same_as(used) for item in arguments):
            return False
        return not use.only or all(other.same_as(user) for other in self._uses.all_users(used))


def _arguments(user: Expression) -> list[Expression]:
    """The direct operands of an expression, with the fields of tuples that are written inline."""
    made = definition_of(user)
    if isinstance(made, Call):
        return _flattened(made.args)
    if isinstance(made, Tuple):
        return _flattened(made.fields)
    item = getattr(made, "tuple_value", None)
    return [] if item is None else _flattened([item])


def _flattened(given: Sequence[Expression]) -> list[Expression]:
    found: list[Expression] = []
    for item in given:
        found.append(item)
        if isinstance(item, Tuple):
            found += _flattened(item.fields)
    return found


def _shape(expression: Expression) -> Any:  # noqa: ANN401 - dimensions, or None
    info = expression.struct_info if isinstance(expression, Value) else None
    return info.known_shape if isinstance(info, Tensor) else None
