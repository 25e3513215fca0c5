"""Patterns of one expression by kind: wildcard, variable, constant, op, call, tuple, shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_mlir.dialects.base import ir_fields
from relax_mlir.dialects.extern_func import ExternFunc
from relax_mlir.dialects.nodes import Constant, ShapeExpr, Tuple, TupleGetItem
from relax_mlir.dialects.traits import CallsFunction, InvokesClosure, ListsArguments, ops_with
from relax_mlir.dialects.types import DimLike, Shape, as_dim
from relax_mlir.dialects.value import Value, Var
from relax_mlir.dpl.matcher import Expression, Found, Matcher, definition_of, equal_dims, is_same
from relax_mlir.dpl.patterns import DFPattern, expect_patterns
from relax_mlir.error import ArgumentError, expect
from relax_mlir.expr.compound import Call
from relax_mlir.expr.program import DataflowVar
from relax_mlir.module_functions import GlobalVar
from relax_mlir.op.op_registry import Op, op_class_of


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
