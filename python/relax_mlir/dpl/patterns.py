"""`DFPattern`: what all patterns can do, and the patterns that combine others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.checked_types import CheckedType
from relax_mlir.dialects.types import DimLike, StructInfo
from relax_mlir.dialects.value import Value
from relax_mlir.dpl import scopes
from relax_mlir.dpl.matcher import Expression, Found, Matcher, as_expression, search
from relax_mlir.error import expect

if TYPE_CHECKING:
    from relax_mlir.dpl.pattern_context import PatternSeq


class DFPattern:
    """A pattern: it stands for values of a program.

    Patterns are compared by identity: one that is used in two places stands for the same value in both, or for equal
    constants. They look through bindings: ``is_op("relax.nn.relu")(is_op("relax.add")(x, y))`` finds both, however the
    program names what is between. ``pattern(x, y)`` is a call of what `pattern` stands for; ``a | b``, ``a & b`` and
    ``~a`` combine patterns. In a `PatternContext`, ``a ^ b`` says that `b` uses `a`, ``a >> b`` that nothing else does.
    """

    children: tuple[DFPattern, ...] = ()
    """The patterns that it is made of."""

    def __init__(self) -> None:
        scopes.note(self)

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        """All ways in which the pattern stands for an expression; `found`: what others stand for already."""
        raise NotImplementedError  # abstract

    # -- comparing

    def match(self, value: Value) -> bool:
        """Whether the pattern stands for a value of a program.

        Args:
            value: a view (``mod["main"].body.blocks[0].bindings[0].var``, or ``.value``), a binding, or a value that a
                mutator gives.

        Raises:
            ArgumentError: it is no value of a program.
        """
        return self.extract_matched_expr(value) is not None

    def extract_matched_expr(self, value: Value) -> dict[DFPattern, Any] | None:
        """What the pattern, and each of its parts, stands for if it stands for `value`; else None.

        What is bound to a variable is given as that; parts of an alternative that was not taken are not there.
        """
        found = search(self, as_expression(f"{type(self).__name__}: the value", value))
        return None if found is None else dict(found)

    # -- combining

    def __call__(self, *args: DFPattern, varg_default_wildcard: bool = False) -> DFPattern:
        """A call of what the pattern stands for.

        Args:
            args: patterns of the arguments, as `Call.args` has them.
            varg_default_wildcard: the call may have more arguments than these.
        """
        from relax_mlir.dpl.expression_patterns import CallPattern

        return CallPattern(self, args, varg_default_wildcard)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> DFPattern:
        """`option_constructor(self)`, or the pattern alone."""
        return OrPattern(option_constructor(self), self)

    def dup(self) -> DFPattern:
        """A new pattern like this one, of the same parts: it may stand for another value."""
        made = copy(self)
        scopes.note(made)
        return made

    # -- what is known of the value

    def has_dtype(self, dtype: str) -> DFPattern:
        """The same for tensors of a dtype only."""
        from relax_mlir.dpl.narrowing import DataTypePattern

        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[DimLike]) -> DFPattern:
        """The same for tensors that are proved to have a shape; ``"?"``: any dimension."""
        from relax_mlir.dpl.narrowing import ShapePattern

        return ShapePattern(self, shape)

    def has_attr(self, attrs: Mapping[str, Any]) -> DFPattern:
        """The same for calls whose attributes have these values."""
        from relax_mlir.dpl.narrowing import AttrPattern

        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: StructInfo) -> DFPattern:
        """The same for values of which at least `struct_info` is known."""
        from relax_mlir.dpl.narrowing import StructInfoPattern

        return StructInfoPattern(self, struct_info)

    def has_type(self, ttype: CheckedType) -> DFPattern:
        """The same for values of a type: rank and dtype, without the shape (`Value.checked_type`)."""
        from relax_mlir.dpl.narrowing import TypePattern

        return TypePattern(self, ttype)

    def has_ty_info(self, info: StructInfo | CheckedType) -> DFPattern:
        """`has_struct_info` or `has_type`, as `info` is."""
        expect(
            "has_ty_info: 'info'",
            info,
            StructInfo | CheckedType,
            "a StructInfo, or a type such as DynTensorType",
        )
        return self.has_type(info) if isinstance(info, CheckedType) else self.has_struct_info(info)

    def same_shape_as(self, *args: DFPattern) -> DFPattern:
        """In a `PatternContext`: all of these have proved to have one shape. Gives the pattern itself."""
        scopes.require("same_shape_as").add_same_shape((self, *args))
        return self

    # -- who uses the value

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In a `PatternContext`: `other` uses this one; as argument `index`, unless that is -1."""
        from relax_mlir.dpl.pattern_context import PatternSeq

        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In a `PatternContext`: `other` uses this one, and nothing else does."""
        from relax_mlir.dpl.pattern_context import PatternSeq

        return PatternSeq([self]).only_used_by(other, index)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def fork_to(self, *items: DFPattern) -> None:
        """In a `PatternContext`: all of `items` use this one."""
        for item in items:
            self.used_by(item)

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self.children))
        return f"{type(self).__name__}({parts})"


def expect_patterns(where: str, *given: object) -> None:
    """Raise `ArgumentError` for what is no pattern."""
    for item in given:
        expect(where, item, DFPattern, "a pattern, such as wildcard() or is_op(...)(...)")


class OrPattern(DFPattern):
    """Either of two patterns; the left one is tried first, the right one also where a later part does not fit."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        expect_patterns("OrPattern: an alternative", left, right)
        self.children = (left, right)
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        for child in self.children:
            yield from matcher.match(child, expression, found)


class AndPattern(DFPattern):
    """Both of two patterns."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        expect_patterns("AndPattern: a condition", left, right)
        self.children = (left, right)
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        for each in matcher.match(self.children[0], expression, found):
            yield from matcher.match(self.children[1], expression, each)


class NotPattern(DFPattern):
    """What the pattern inside does not stand for. Its parts stand for nothing afterwards."""

    def __init__(self, to_reject: DFPattern) -> None:
        expect_patterns("NotPattern: what to reject", to_reject)
        self.children = (to_reject,)
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if next(matcher.match(self.children[0], expression, found), None) is None:
            yield found
