"""Patterns of dataflow: `DFPattern`, its classes, the matcher, and the functions that construct patterns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import implies, ir_fields
from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.dialects.nodes import Constant, Node, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.symbols import bounds_around
from relax_mlir.dialects.traits import CallsFunction, InvokesClosure, ListsArguments, ops_with
from relax_mlir.dialects.types import DimLike, Shape, StructInfo, Tensor, as_dim, shape_text
from relax_mlir.dialects.value import CheckedType, Value, Var
from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.expr.bindings import Attrs, Binding, DataflowVar, Program
from relax_mlir.expr.compound import Call
from relax_mlir.ir_module import GlobalVar
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir
from relax_mlir.op.op_registry import Op, op_class_of
from relax_mlir.symbolic import Dim, assuming, prove_equal

if TYPE_CHECKING:
    from relax_mlir.dpl.pattern_context import PatternContext, PatternSeq


# The stack of open `PatternContext`s: new patterns register with the innermost one.


class _Stack(threading.local):
    def __init__(self) -> None:
        self.open: list[PatternContext] = []


_stack = _Stack()


def enter_context(context: PatternContext) -> None:
    """Push a context."""
    _stack.open.append(context)


def leave_context(context: PatternContext) -> None:
    """Pop the innermost context, which must be `context`."""
    assert _stack.open[-1] is context, "contexts are nested"
    _stack.open.pop()


def current_context() -> PatternContext | None:
    """The innermost open context, or None."""
    return _stack.open[-1] if _stack.open else None


def require_context(what: str) -> PatternContext:
    """The innermost open context; raises `ArgumentError` if there is none."""
    found = current_context()
    if found is None:
        raise ArgumentError(f"{what}: no PatternContext is open; write it inside `with PatternContext() as ctx:`")
    return found


def note_pattern(pattern: DFPattern) -> None:
    """Register a new pattern with the innermost open context, if any."""
    if _stack.open:
        _stack.open[-1].note(pattern)


# The backtracking match of patterns against expressions.

Expression = Any
"""The subject of a match: a view of a value, an `Op`, a `GlobalVar`, an `ExternFunc`, or a literal."""

Found = Mapping["DFPattern", Expression]
"""The expression that each pattern matches, in the current state of the search."""

MAX_DEPTH = 200
"""Maximum nesting depth of patterns; the search is recursive."""


def as_expression(where: str, value: object) -> Expression:
    """`value` as a view of its program.

    Raises:
        ArgumentError: `value` is no value of a program; the message begins with `where`.
    """
    if isinstance(value, Binding) and value.is_view:
        value = value.var if len(value.operation.results) else value.value
    if isinstance(value, Value) and value._identity is not None:
        return value
    if not isinstance(value, Value) or isinstance(value, Node):
        raise ArgumentError(
            f"{where}: {value!r} ({type(value).__name__}) is no value of a program: take one of mod[...].body, "
            "or what a mutator gives"
        )
    ssa = value.ssa
    owner = ssa.owner.owner.operation if isinstance(ssa.owner, ir.Block) else ssa.owner.operation
    return Program(owner).expression(ssa)


def program_of(expression: Value) -> Program:
    """The program of a view."""
    found = expression.resolver if isinstance(expression, Node) else expression._frame
    assert isinstance(found, Program), "views have one"
    return found


def definition_of(expression: Expression) -> Node | None:
    """The expression bound to a variable; `expression` itself if it is not a variable, None for a parameter."""
    if isinstance(expression, Node):
        return expression
    if not isinstance(expression, Var) or expression._identity is None:
        return None
    op = defining_op(expression._identity)
    return None if op is None else program_of(expression).node(op)


def is_same(first: Expression, second: Expression) -> bool:
    """True if two expressions are the same value, or equal constants."""
    if not isinstance(first, Value) or not isinstance(second, Value):
        return type(first) is type(second) and bool(first == second)
    if first.same_as(second):
        return True
    left, right = definition_of(first), definition_of(second)
    if not isinstance(left, Constant) or not isinstance(right, Constant):
        return False
    return bool(left.operation.attributes["value"] == right.operation.attributes["value"])


def equal_dims(first: tuple[Dim | None, ...] | None, second: tuple[Dim | None, ...]) -> bool:
    """True if the shape `first` is proved equal to `second`; a None in `second` matches any dimension."""
    if first is None or len(first) != len(second):
        return False
    return all(
        want is None or (have is not None and prove_equal(have, want)) for have, want in zip(first, second, strict=True)
    )


class Matcher:
    """Matches patterns against expressions, and backtracks to other alternatives if a later part does not match."""

    def __init__(self) -> None:
        self._depth = 0

    def match(self, pattern: DFPattern, expression: Expression, found: Found) -> Iterator[Found]:
        """Yield every match of `pattern` at `expression` that extends `found`; a pattern matches one value only."""
        if pattern in found:
            if is_same(found[pattern], expression):
                yield found
            return
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise ArgumentError(
                    f"a pattern is nested deeper than {MAX_DEPTH}: name the parts that a smaller pattern finds, "
                    "and match those that use them afterwards"
                )
            for each in pattern.matches(expression, found, self):
                yield {**each, pattern: expression}
        finally:
            self._depth -= 1

    def match_all(
        self, patterns: tuple[DFPattern, ...], expressions: tuple[Expression, ...], found: Found
    ) -> Iterator[Found]:
        """Yield every match of the patterns at the expressions, pairwise."""
        if len(patterns) != len(expressions):
            return
        if not patterns:
            yield found
            return
        for each in self.match(patterns[0], expressions[0], found):
            yield from self.match_all(patterns[1:], expressions[1:], each)


def search(pattern: DFPattern, expression: Expression) -> Found | None:
    """The expressions that `pattern` and its sub-patterns match at `expression`; None if there is no match."""
    with assuming(_bounds_of(expression)):
        return next(Matcher().match(pattern, expression, {}), None)


def _bounds_of(expression: Expression) -> Any:  # noqa: ANN401 - as `bounds_around` gives them
    """The bounds of the symbols at an expression."""
    identity = expression._identity if isinstance(expression, Value) else None
    op = None if identity is None else defining_op(identity)
    if op is not None:
        return bounds_around(op)
    if identity is not None:
        return bounds_around(ir.BlockArgument(identity).owner.owner.operation)
    return {}


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
        note_pattern(self)

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
        note_pattern(made)
        return made

    # -- properties of the value

    def has_dtype(self, dtype: str) -> DFPattern:
        """Narrow to tensors of a dtype."""

        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Sequence[DimLike]) -> DFPattern:
        """Narrow to tensors that are proved to have a shape; ``"?"`` matches any dimension."""

        return ShapePattern(self, shape)

    def has_attr(self, attrs: Mapping[str, Any]) -> DFPattern:
        """Narrow to calls whose attributes have these values."""

        return AttrPattern(self, attrs)

    def has_struct_info(self, struct_info: StructInfo) -> DFPattern:
        """Narrow to values with this struct info or a more precise one."""

        return StructInfoPattern(self, struct_info)

    def has_type(self, ttype: CheckedType) -> DFPattern:
        """Narrow to values of a type: rank and dtype, without the shape (`Value.checked_type`)."""

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
        require_context("same_shape_as").add_same_shape((self, *args))
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


# Patterns of one expression by kind: wildcard, variable, constant, op, call, tuple, shape.


class WildcardPattern(DFPattern):
    """Any expression."""

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        yield found


class VarPattern(DFPattern):
    """A parameter or the variable of a binding; named `name`, unless that is empty."""

    kind: type[Var] = Var

    def __init__(self, name: str = "") -> None:
        expect(f"{type(self).__name__}: 'name'", name, str, "a name, or the empty text for any")
        self.name = name
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if isinstance(expression, self.kind) and self.name in ("", expression.name):
            yield found


class DataflowVarPattern(VarPattern):
    """A variable that is visible only in its dataflow block."""

    kind = DataflowVar


class GlobalVarPattern(DFPattern):
    """A function of the module; named `name`, unless that is empty."""

    def __init__(self, name: str = "") -> None:
        expect("GlobalVarPattern: 'name'", name, str, "a name, or the empty text for any")
        self.name = name
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if isinstance(expression, GlobalVar) and self.name in ("", str(expression)):
            yield found


class ExternFuncPattern(DFPattern):
    """A packed function; named `name`, unless that is empty."""

    def __init__(self, global_symbol: str = "") -> None:
        expect("ExternFuncPattern: 'global_symbol'", global_symbol, str, "a name, or the empty text for any")
        self.global_symbol = global_symbol
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if isinstance(expression, ExternFunc) and self.global_symbol in ("", expression.global_symbol):
            yield found


class ConstantPattern(DFPattern):
    """A constant tensor."""

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if isinstance(definition_of(expression), Constant):
            yield found


class ExprPattern(DFPattern):
    """One expression: a value, or an op (``is_op``), which also matches its calls with any arguments."""

    def __init__(self, expr: Op | Value) -> None:
        expect("ExprPattern: 'expr'", expr, Op | Value, "an Op, or a value of a program")
        self.expr = expr
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if isinstance(self.expr, Op):
            call = None if isinstance(expression, Op) else definition_of(expression)
            called = call.op if isinstance(call, Call) else expression
            if isinstance(called, Op) and called == self.expr:
                yield found
        elif is_same(self.expr, expression):
            yield found

    def __repr__(self) -> str:
        return f"is_op({self.expr.name!r})" if isinstance(self.expr, Op) else f"is_expr({self.expr!r})"


class CallPattern(DFPattern):
    """A call whose callee `op` matches and whose arguments `args` match."""

    def __init__(self, op: DFPattern, args: Sequence[DFPattern], varg_default_wildcard: bool = False) -> None:
        expect_patterns("CallPattern: 'op'", op)
        expect_patterns(f"CallPattern: an argument of {op!r}", *args)
        self.varg_default_wildcard = varg_default_wildcard
        self.children = (op, *args)
        self._check_count()
        super().__init__()

    @property
    def op(self) -> DFPattern:
        """The pattern of the callee."""
        return self.children[0]

    @property
    def args(self) -> tuple[DFPattern, ...]:
        """The patterns of the arguments."""
        return self.children[1:]

    def _check_count(self) -> None:
        """Raise `ArgumentError` if the op cannot take this number of arguments."""
        op = self.op.expr if isinstance(self.op, ExprPattern) else None
        cls = op_class_of(op.name) if isinstance(op, Op) else None
        if cls is None or cls.OPERATION_NAME in ops_with(CallsFunction, InvokesClosure, ListsArguments):
            return
        names = ir_fields(cls)[0]
        count = len(self.args)
        if count > len(names) or (count < len(names) and not self.varg_default_wildcard):
            raise ArgumentError(
                f"{self.op!r} has the operands ({', '.join(names)}), but the pattern has {count} arguments; a list of "
                "values is one, is_tuple([...]), and varg_default_wildcard=True leaves out the last ones"
            )

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        call = definition_of(expression)
        if not isinstance(call, Call):
            return
        given = call.args
        if self.varg_default_wildcard:
            given = given[: len(self.args)]
        if len(given) != len(self.args):
            return
        for each in matcher.match(self.op, call.op, found):
            yield from matcher.match_all(self.args, given, each)

    def __repr__(self) -> str:
        return f"{self.op!r}({', '.join(map(repr, self.args))})"


class TuplePattern(DFPattern):
    """A tuple with these fields, in order."""

    def __init__(self, fields: Sequence[DFPattern]) -> None:
        expect(f"{type(self).__name__}: 'fields'", fields, list | tuple, "a list of patterns")
        expect_patterns(f"{type(self).__name__}: a field", *fields)
        self.children = tuple(fields)
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        made = definition_of(expression)
        if isinstance(made, Tuple):
            yield from matcher.match_all(self.children, made.fields, found)


class UnorderedTuplePattern(TuplePattern):
    """A tuple with these fields, in any order."""

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        made = definition_of(expression)
        if isinstance(made, Tuple) and len(made.fields) == len(self.children):
            yield from _in_any_order(self.children, made.fields, found, matcher)


def _in_any_order(
    patterns: Sequence[DFPattern], fields: Sequence[Expression], found: Found, matcher: Matcher
) -> Iterator[Found]:
    if not patterns:
        yield found
        return
    for index, field in enumerate(fields):
        rest = [*fields[:index], *fields[index + 1 :]]
        for each in matcher.match(patterns[0], field, found):
            yield from _in_any_order(patterns[1:], rest, each, matcher)


class TupleGetItemPattern(DFPattern):
    """Field `index` of a tuple; any field if that is None."""

    def __init__(self, tuple_value: DFPattern, index: int | None = None) -> None:
        expect_patterns("TupleGetItemPattern: 'tuple_value'", tuple_value)
        expect("TupleGetItemPattern: 'index'", index, int | None, "a number, or None for any field")
        self.children = (tuple_value,)
        self.index = index
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        item = definition_of(expression)
        if isinstance(item, TupleGetItem) and self.index in (None, item.index):
            yield from matcher.match(self.children[0], item.tuple_value, found)


class PrimArrPattern(DFPattern):
    """A shape value whose dimensions are proved equal to the given ones; ``"?"`` matches any dimension."""

    def __init__(self, shape: Sequence[DimLike]) -> None:
        expect("is_shape: 'shape'", shape, list | tuple, "a list of dimensions")
        self.shape = tuple(map(as_dim, shape))
        super().__init__()

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        made = definition_of(expression)
        info = expression.struct_info if isinstance(expression, Value) else None
        is_shape = (made is None or isinstance(made, ShapeExpr)) and isinstance(info, Shape)
        if is_shape and isinstance(info, Shape) and equal_dims(info.values, self.shape):
            yield found


# Patterns that narrow another one by dtype, shape, struct info, type or attributes of the value.


class ConditionPattern(DFPattern):
    """The matches of another pattern for which a condition holds."""

    def __init__(self, pattern: DFPattern) -> None:
        expect_patterns(f"{type(self).__name__}: 'pattern'", pattern)
        self.children = (pattern,)
        super().__init__()

    @property
    def pattern(self) -> DFPattern:
        """The pattern to narrow."""
        return self.children[0]

    def holds(self, expression: Expression) -> bool:
        """True if the condition holds for an expression."""
        raise NotImplementedError  # abstract

    def matches(self, expression: Expression, found: Found, matcher: Matcher) -> Iterator[Found]:
        if self.holds(expression):
            yield from matcher.match(self.pattern, expression, found)


class DataTypePattern(ConditionPattern):
    """Tensors of a dtype."""

    def __init__(self, pattern: DFPattern, dtype: str) -> None:
        self.dtype = dtypes.dtype(dtype)
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        info = expression.struct_info if isinstance(expression, Value) else None
        return isinstance(info, Tensor) and info.dtype == self.dtype


class ShapePattern(ConditionPattern):
    """Tensors that are proved to have a shape, under the bounds of the function's symbols."""

    def __init__(self, pattern: DFPattern, shape: Sequence[DimLike]) -> None:
        expect("has_shape: 'shape'", shape, list | tuple, "a list of dimensions")
        self.shape = tuple(map(as_dim, shape))
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        info = expression.struct_info if isinstance(expression, Value) else None
        return isinstance(info, Tensor) and equal_dims(info.shape, self.shape)

    def __repr__(self) -> str:
        return f"{self.pattern!r}.has_shape({shape_text(self.shape)})"


class StructInfoPattern(ConditionPattern):
    """Values with this struct info or a more precise one."""

    def __init__(self, pattern: DFPattern, struct_info: StructInfo) -> None:
        expect("has_struct_info: 'struct_info'", struct_info, StructInfo, "a StructInfo, such as Tensor((4,))")
        self.struct_info = struct_info
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        return isinstance(expression, Value) and implies(expression.struct_info, self.struct_info)


class TypePattern(ConditionPattern):
    """Values of a type (rank and dtype, without the shape)."""

    def __init__(self, pattern: DFPattern, ttype: CheckedType) -> None:
        expect("has_type: 'ttype'", ttype, CheckedType, "a type, such as DynTensorType(2, 'float32')")
        self.type = ttype
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        return isinstance(expression, Value) and expression.checked_type == self.type


class AttrPattern(ConditionPattern):
    """Calls whose attributes have the given values, each in the form that `Call.attrs` returns."""

    def __init__(self, pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
        expect("has_attr: 'attrs'", attrs, Mapping, 'a dictionary such as {"axis": -1}')
        _check_names(pattern, attrs)
        self.attrs = dict(attrs)
        super().__init__(pattern)

    def holds(self, expression: Expression) -> bool:
        call = definition_of(expression)
        if not isinstance(call, Call):
            return False
        given = call.attrs
        assert isinstance(given, Attrs)
        return all(name in given and _equal(given.raw[name], given[name], want) for name, want in self.attrs.items())


def _check_names(pattern: DFPattern, attrs: Mapping[str, Any]) -> None:
    """Raise `UnknownNameError` for an attribute that the op of `pattern` does not have."""
    op = pattern.op if isinstance(pattern, CallPattern) else pattern
    called = op.expr if isinstance(op, ExprPattern) else None
    cls = op_class_of(called.name) if isinstance(called, Op) else None
    for name in attrs if cls is not None else ():
        known = ir_fields(cls)[1] if cls is not None else ()
        if name not in known:
            raise UnknownNameError(f"attribute of {op!r}", name, known)


def _equal(raw: ir.Attribute, value: object, wanted: object) -> bool:
    """True if an attribute (`raw` in the IR, `value` in Python) equals `wanted`."""
    if isinstance(raw, ir.TypeAttr) and isinstance(wanted, str):
        return bool(dtypes.from_element_type(raw.value) == dtypes.dtype(wanted))
    if isinstance(value, np.ndarray) or isinstance(wanted, np.ndarray):
        return np.array_equal(np.asarray(value), np.asarray(wanted))
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return list(value) == list(wanted)
    return type(value) is type(wanted) and bool(value == wanted) if _are_flags(value, wanted) else bool(value == wanted)


def _are_flags(*values: object) -> bool:
    """True if any of the values is a bool, which does not compare equal to a number here."""
    return any(isinstance(value, bool) for value in values)


# The functions that construct patterns, with the names of TVM's ``relax.dpl``.

Arguments = Sequence[DFPattern] | TuplePattern | None
"""Patterns of the arguments of a call; None matches any arguments."""


def wildcard() -> WildcardPattern:
    """Match any value."""
    return WildcardPattern()


def is_op(op_name: str) -> ExprPattern:
    """Match an op: ``is_op("relax.add")(x, y)`` matches its calls, ``is_op("relax.add")`` calls with any arguments.

    Raises:
        UnknownNameError: no such op.
    """
    return ExprPattern(Op.get(op_name))


def is_expr(expr: Value) -> ExprPattern:
    """Match one value of a program, or a constant equal to it."""
    return ExprPattern(expr)


def is_var(name: str = "") -> VarPattern:
    """Match a parameter or the variable of a binding; with this name, if one is given."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Match a variable that is visible only in its dataflow block; with this name, if one is given."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Match a function of the module; with this name, if one is given."""
    return GlobalVarPattern(name)


def is_extern_func(global_symbol: str = "") -> ExternFuncPattern:
    """Match a packed function; with this name, if one is given."""
    return ExternFuncPattern(global_symbol)


def is_const() -> ConstantPattern:
    """Match a constant tensor."""
    return ConstantPattern()


def is_tuple(fields: Sequence[DFPattern], unordered: bool = False) -> TuplePattern:
    """Match a tuple of these fields, in order, or with `unordered` in any order."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Match field `index` of a tuple; None matches any field."""
    return TupleGetItemPattern(tuple_value, index)


def is_shape(shape: Sequence[DimLike]) -> PrimArrPattern:
    """Match a shape value whose dimensions are proved equal to these; ``"?"`` matches any dimension."""
    return PrimArrPattern(shape)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Match a tensor of this dtype that `pattern` matches; None matches any."""
    return DataTypePattern(pattern or wildcard(), dtype)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Match a call that `pattern` matches and whose attributes have these values; None matches any call."""
    return AttrPattern(pattern or wildcard(), attrs)


def is_call_tir(func_name: str, args: Arguments = None, tir_vars: Sequence[DimLike] | None = None) -> CallPattern:
    """Match a `call_tir` of a prim func of the module.

    Args:
        func_name: name of the prim func.
        args: patterns of the arguments; None matches any.
        tir_vars: the symbolic integers that are passed in addition; None matches any, including none.
    """
    given = [is_gv(func_name), _listed("is_call_tir", args)]
    if tir_vars is None:
        return CallPattern(is_op("relax.call_tir"), given, varg_default_wildcard=True)
    return CallPattern(is_op("relax.call_tir"), [*given, is_shape(tir_vars)])


def is_call_dps_packed(func_name: str, args: Arguments = None) -> CallPattern:
    """Match a `call_dps_packed` of a packed function.

    Args:
        func_name: name of the packed function.
        args: patterns of the arguments; None matches any.
    """
    given = [is_extern_func(func_name), _listed("is_call_dps_packed", args)]
    return CallPattern(is_op("relax.call_dps_packed"), given)


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> DFPattern:
    """Match a call of a packed function that returns its results: `call_packed` or `call_pure_packed`.

    Args:
        func_name: name of the packed function.
        args: patterns of the arguments; None matches any.
    """
    expect("is_call_packed: 'args'", args, list | tuple | None, "a list of patterns, or None for any")
    callee, given, any_args = is_extern_func(func_name), list(args or ()), args is None
    pure = CallPattern(is_op("relax.call_pure_packed"), [callee, *given], any_args)
    return CallPattern(callee, given, any_args) | pure


def _listed(where: str, args: Arguments) -> DFPattern:
    """The pattern of the argument tuple."""
    if args is None or isinstance(args, TuplePattern):
        return args or wildcard()
    expect(f"{where}: 'args'", args, list | tuple, "a list of patterns, is_tuple([...]), or None for any")
    return is_tuple(args)
