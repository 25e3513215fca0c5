"""`DFPattern`, the base class of patterns, and the patterns that combine others."""

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
    """A pattern, which matches values of a program.

    Patterns are compared by identity: a pattern used twice matches the same value in both positions, or equal
    constants. Patterns look through bindings: ``is_op("relax.nn.relu")(is_op("relax.add")(x, y))`` matches regardless
    of the variables in between. ``pattern(x, y)`` is a call whose callee `pattern` matches; ``a | b``, ``a & b`` and
    ``~a`` combine patterns. In a `PatternContext`, ``a ^ b`` requires that `b` uses `a`, and ``a >> b`` that `b` is the
    only user of `a`.
    """

    children: tuple[DFPattern, ...] = ()
    """The direct sub-patterns."""

    def __init__(self) -> None:
        scopes.note(self)

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        """Yield every match of the pattern at an expression; `found` holds the matches of other patterns so far."""
        raise NotImplementedError  # abstract

    # -- matching

    def match(self, value: Value) -> bool:
        """True if the pattern matches a value of a program.

        Args:
            value: a view (``mod["main"].body.blocks[0].bindings[0].var``, or ``.value``), a binding, or a value that a
                mutator returns.

        Raises:
            ArgumentError: `value` is no value of a program.
        """
        return self.extract_matched_expr(value) is not None

    def extract_matched_expr(self, value: Value) -> dict[DFPattern, Any] | None:
        """The values that the pattern and each of its sub-patterns match at `value`; None if there is no match.

        A bound value appears as its variable; sub-patterns of an alternative that was not taken are absent.
        """
        found = search(self, as_expression(f"{type(self).__name__}: the value", value))
        return None if found is None else dict(found)

    # -- combining

    def __call__(self, *args: DFPattern, varg_default_wildcard: bool = False) -> DFPattern:
        """A pattern of a call whose callee this pattern matches.

        Args:
            args: patterns of the arguments, in the order of `Call.args`.
            varg_default_wildcard: True if the call may have more arguments than these.
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
        """A pattern that matches `option_constructor(self)`, or else this pattern alone."""
        return OrPattern(option_constructor(self), self)

    def dup(self) -> DFPattern:
        """A copy of this pattern with the same sub-patterns; the copy may match another value."""
        made = copy(self)
        scopes.note(made)
        return made

    # -- properties of the value

    def has_dtype(self, dtype: str) -> DFPattern:
        """Narrow to tensors of a dtype."""
        from relax_mlir.dpl.narrowing import DataTypePattern

        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[DimLike]) -> DFPattern:
        """Narrow to tensors that are proved to have a shape; ``"?"`` matches any dimension."""
        from relax_mlir.dpl.narrowing import ShapePattern

        return ShapePattern(self, shape)

    def has_attr(self, attrs: Mapping[str, Any]) -> DFPattern:
        """Narrow to calls whose attributes have these values."""
        from relax_mlir.dpl.narrowing import AttrPattern

        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: StructInfo) -> DFPattern:
        """Narrow to values with this struct info or a more precise one."""
        from relax_mlir.dpl.narrowing import StructInfoPattern

        return StructInfoPattern(self, struct_info)

    def has_type(self, ttype: CheckedType) -> DFPattern:
        """Narrow to values of a type: rank and dtype, without the shape (`Value.checked_type`)."""
        from relax_mlir.dpl.narrowing import TypePattern

        return TypePattern(self, ttype)

    def has_ty_info(self, info: StructInfo | CheckedType) -> DFPattern:
        """`has_struct_info` or `has_type`, by the class of `info`."""
        expect(
            "has_ty_info: 'info'",
            info,
            StructInfo | CheckedType,
            "a StructInfo, or a type such as DynTensorType",
        )
        return self.has_type(info) if isinstance(info, CheckedType) else self.has_struct_info(info)

    def same_shape_as(self, *args: DFPattern) -> DFPattern:
        """In a `PatternContext`, require that all of these have provably equal shapes; returns the pattern itself."""
        scopes.require("same_shape_as").add_same_shape((self, *args))
        return self

    # -- uses of the value

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In a `PatternContext`, require that `other` uses this pattern; as argument `index`, unless -1."""
        from relax_mlir.dpl.pattern_context import PatternSeq

        return PatternSeq([self]).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In a `PatternContext`, require that `other` is the only user of this pattern."""
        from relax_mlir.dpl.pattern_context import PatternSeq

        return PatternSeq([self]).only_used_by(other, index)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def fork_to(self, *items: DFPattern) -> None:
        """In a `PatternContext`, require that all of `items` use this pattern."""
        for item in items:
            self.used_by(item)

    def __repr__(self) -> str:
        parts = ", ".join(map(repr, self.children))
        return f"{type(self).__name__}({parts})"


def expect_patterns(where: str, *given: object) -> None:
    """Raise `ArgumentError` for an object that is not a pattern."""
    for item in given:
        expect(where, item, DFPattern, "a pattern, such as wildcard() or is_op(...)(...)")


class OrPattern(DFPattern):
    """Either of two patterns; the left one is tried first, the right one also if a later part does not match."""

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
    """Values that the inner pattern does not match. Its sub-patterns have no match in the result."""

    def __init__(self, to_reject: DFPattern) -> None:
        expect_patterns("NotPattern: what to reject", to_reject)
        self.children = (to_reject,)
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if next(matcher.match(self.children[0], expression, found), None) is None:
            yield found
