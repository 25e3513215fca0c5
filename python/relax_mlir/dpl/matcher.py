"""The backtracking match of patterns against expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.bounds import bounds_around
from relax_mlir.dialects.nodes import Constant, Node
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError
from relax_mlir.expr.bindings import Binding
from relax_mlir.expr.program import Program
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir
from relax_mlir.symbolic import Dim, assuming, prove_equal

if TYPE_CHECKING:
    from relax_mlir.dpl.patterns import DFPattern

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
        want is None or (have is not None and prove_equal(have, want))
        for have, want in zip(first, second, strict=True)
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
