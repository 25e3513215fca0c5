"""How patterns are compared with expressions: subjects, what has been found so far, and the search."""

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
"""What a pattern is compared with: a view of a value, an `Op`, a `GlobalVar`, an `ExternFunc`, or a literal."""

Found = Mapping["DFPattern", Expression]
"""What each pattern stands for, as far as the search has come."""

MAX_DEPTH = 200
"""How deep patterns may be nested: the search is recursive."""


def as_expression(where: str, value: object) -> Expression:
    """`value` as a view of the program that it is part of.

    Raises:
        ArgumentError: it is no value of a program; begins with `where`.
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
    """The program that a view is part of."""
    found = expression.resolver if isinstance(expression, Node) else expression._frame
    assert isinstance(found, Program), "views have one"
    return found


def definition_of(expression: Expression) -> Node | None:
    """The expression that a variable is bound to, or `expression` itself if it is none; None of a parameter."""
    if isinstance(expression, Node):
        return expression
    if not isinstance(expression, Var) or expression._identity is None:
        return None
    op = defining_op(expression._identity)
    return None if op is None else program_of(expression).node(op)


def is_same(first: Expression, second: Expression) -> bool:
    """Whether two expressions are one value: the same, or equal constants."""
    if not isinstance(first, Value) or not isinstance(second, Value):
        return type(first) is type(second) and bool(first == second)
    if first.same_as(second):
        return True
    left, right = definition_of(first), definition_of(second)
    if not isinstance(left, Constant) or not isinstance(right, Constant):
        return False
    return bool(left.operation.attributes["value"] == right.operation.attributes["value"])


def equal_dims(first: tuple[Dim | None, ...] | None, second: tuple[Dim | None, ...]) -> bool:
    """Whether a shape is proved to be the one wanted; a dimension that is None there may be any."""
    if first is None or len(first) != len(second):
        return False
    return all(
        want is None or (have is not None and prove_equal(have, want))
        for have, want in zip(first, second, strict=True)
    )


class Matcher:
    """Compares patterns with expressions, and tries again with other alternatives where a later part does not fit."""

    def __init__(self) -> None:
        self._depth = 0

    def match(self, pattern: DFPattern, expression: Expression, found: Found) -> Iterator[Found]:
        """All ways in which `pattern` stands for `expression`; a pattern stands for one value only."""
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
        """All ways in which the patterns stand for the expressions, one for one."""
        if len(patterns) != len(expressions):
            return
        if not patterns:
            yield found
            return
        for each in self.match(patterns[0], expressions[0], found):
            yield from self.match_all(patterns[1:], expressions[1:], each)


def search(pattern: DFPattern, expression: Expression) -> Found | None:
    """What `pattern` and its parts stand for if it stands for `expression`, else None."""
    with assuming(_bounds_of(expression)):
        return next(Matcher().match(pattern, expression, {}), None)


def _bounds_of(expression: Expression) -> Any:  # noqa: ANN401 - as `bounds_around` gives them
    """The bounds of the symbols where an expression stands."""
    identity = expression._identity if isinstance(expression, Value) else None
    op = None if identity is None else defining_op(identity)
    if op is not None:
        return bounds_around(op)
    if identity is not None:
        return bounds_around(ir.BlockArgument(identity).owner.owner.operation)
    return {}
