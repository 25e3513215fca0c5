"""Compute the expressions of tensor expressions at the insertion point.

Every part of an expression is computed once in a region and those inside it. A part that reads elements under a
condition stays under that condition: it is computed in a branch, or, in deeply nested conditions, each of its reads is.
"""

from __future__ import annotations

import functools
from collections import ChainMap, Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.error import UnsupportedError
from relax_mlir.loops import values
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import ALIASES, Scalar, Term, as_condition
from relax_mlir.te.expressions import (
    INDEX,
    Call,
    Cast,
    Expr,
    IfThenElse,
    Infix,
    IterVar,
    Limit,
    Load,
    Logical,
    Number,
    ScalarVar,
    Select,
    Size,
    Unary,
    post_order,
)

MAX_PARTS = 50_000
"""Maximum number of computed parts of an expression; a part used under two conditions counts twice."""
MAX_NODES = 400
"""Maximum number of nodes of an expression whose shared parts are computed where they are needed first."""
MAX_REGIONS = 30
"""Maximum nesting depth of branches."""

FUNCTIONS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "truediv",
    "//": "floordiv",
    "%": "floormod",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<<": "shift_left",
    ">>": "shift_right",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
"""The functions of infix operators."""
PREFIXES = {"-": "negative", "~": "bitwise_not", "not": "logical_not"}

Known = ChainMap[int, Term]
"""The values of parts that are computed, by id: in the region, then in those around it."""


@dataclass
class Evaluator:
    """Computes expressions whose variables have the values `variables`, and whose reads are emitted by `element`."""

    builder: LoopBuilder
    variables: dict[Expr, Term]
    element: Callable[[Load, Sequence[Term]], Scalar]
    is_lazy: bool = True
    """False if reads are block arguments, which need no conditions, and whose indices are not computed."""
    reads: dict[int, bool] = field(default_factory=dict)
    count: int = 0

    def value(self, root: Expr) -> Term:
        """The value of an expression."""
        order = self.ordered(root)
        known: Known = ChainMap()
        if self.is_lazy and len(order) > MAX_NODES:
            uses = Counter(id(child) for item in order for child in item.children)
            for item in order:
                if uses[id(item)] > 1 and not self.reads[id(item)]:
                    self.computed(item, known, 0)
        return self.computed(root, known, 0)

    def ordered(self, root: Expr) -> Sequence[Expr]:
        """The parts of an expression, children first; note which of them read elements."""
        order = post_order(root)
        for item in order:
            self.reads[id(item)] = isinstance(item, Load) or any(self.reads[id(c)] for c in item.children)
        return order

    def written(self, root: Expr) -> Term:
        """The value of an expression in which a part that is used twice is computed twice, as in a script.

        In a large expression it is computed once, and in one whose conditions test an index, which then is the same
        value in the access that it guards. Deeply nested branches would have no form in a script.
        """
        depths: dict[int, int] = {}
        sizes: dict[int, int] = {}
        branches: dict[int, int] = {}
        for item in self.ordered(root):
            depths[id(item)] = 1 + max((depths[id(child)] for child in item.children), default=0)
            sizes[id(item)] = 1 + sum(sizes[id(child)] for child in item.children)
            inside = max((branches[id(child)] for child in item.children), default=0)
            branches[id(item)] = inside + self.branches(item)
        if branches[id(root)] > MAX_REGIONS:
            return _Guarded(self, ChainMap(), 0).value(root)
        if depths[id(root)] <= MAX_REGIONS and sizes[id(root)] <= MAX_NODES and not _tests_index(root):
            return self.expanded(root)
        return self.value(root)

    def expanded(self, item: Expr) -> Term:
        """The value of a part, each of whose parts is computed where it is used."""
        if self.branches(item):
            return self.chosen(item, self.expanded(item.children[0]), self.expanded)
        if isinstance(item, Load):
            return self.element(item, self.positions(item))
        return self.combined(item, [self.expanded(child) for child in item.children])

    def positions(self, load: Load) -> list[Scalar]:
        """The indices of an access, in the order in which they are written."""
        return [Scalar(values.as_index(self.expanded(i), "the index"), values.INDEX) for i in load.children]

    def computed(self, root: Expr, known: Known, depth: int) -> Term:
        """The value of a part; `depth` is the number of branches around it."""
        waiting = [(root, False)]
        while waiting:
            item, is_ready = waiting.pop()
            if id(item) in known:
                continue
            if is_ready:
                self.tally()
                known[id(item)] = self.operation(item, known, depth)
            else:
                waiting.append((item, True))
                waiting += [(child, False) for child in reversed(self.unconditional(item))]
        return known[id(root)]

    def tally(self) -> None:
        """Count a part; raise `UnsupportedError` if there are too many."""
        self.count += 1
        if self.count > MAX_PARTS:
            raise UnsupportedError(
                f"an expression needs {MAX_PARTS} parts and more, since the same parts are used under many different "
                "conditions; compute a part of it as a tensor of its own"
            )

    def branches(self, item: Expr) -> bool:
        """True if some children are only computed under a condition, since they read elements."""
        if not self.is_lazy or not isinstance(item, IfThenElse | Logical):
            return False
        return any(self.reads[id(child)] for child in item.children[1:])

    def unconditional(self, item: Expr) -> Sequence[Expr]:
        """The children that are computed in any case."""
        if isinstance(item, Load) and not self.is_lazy:
            return ()
        return item.children[:1] if self.branches(item) else item.children

    def operation(self, item: Expr, known: Known, depth: int) -> Term:
        """The value of a part whose unconditional children are computed."""
        if not self.branches(item):
            return self.combined(item, [known[id(child)] for child in self.unconditional(item)])
        if depth >= MAX_REGIONS:
            return _Guarded(self, known, depth).value(item)
        condition = known[id(item.children[0])]
        return self.chosen(item, condition, lambda part: self.computed(part, known.new_child(), depth + 1))

    @staticmethod
    def chosen(item: Expr, condition: Term, compute: Callable[[Expr], Term]) -> Term:
        """The value of a choice that computes one of its values."""
        taken: list[Callable[[], Term]] = [functools.partial(compute, other) for other in item.children[1:]]
        if isinstance(item, Logical):
            taken.insert(0 if item.operator == "or" else 1, lambda: item.operator == "or")
        return values.choose(as_condition(condition), *taken)

    def combined(self, item: Expr, parts: Sequence[Term]) -> Term:
        """The value of a node from those of its children."""
        if isinstance(item, Load):
            return self.element(item, parts)
        if isinstance(item, IterVar | ScalarVar):
            return self.variables[item]
        if isinstance(item, Size):
            return self.builder.size(item.dim)
        if isinstance(item, Number):
            return item.value
        if isinstance(item, Logical):
            first, second = map(as_condition, parts)
            return first & second if item.operator == "and" else first | second
        if isinstance(item, Infix):
            return values.apply(FUNCTIONS[item.operator], parts)
        if isinstance(item, Call) and item.kind == INDEX and item.function == "index":
            return Scalar(values.as_index(parts[0], "an index"), values.INDEX)
        if isinstance(item, Call):
            return values.call(ALIASES.get(item.function, item.function), parts)
        if isinstance(item, Cast):
            return self.builder.cast(parts[0], str(item.kind))
        if isinstance(item, Select | IfThenElse):
            return self.builder.select(*parts)
        if isinstance(item, Unary):
            return values.apply(PREFIXES[item.operator], parts)
        assert isinstance(item, Limit)
        return self.builder.limit(item.function, str(item.kind))


def _tests_index(root: Expr) -> bool:
    """True if a condition tests an index: both must be the same SSA value, so that the access can be proved."""
    items = post_order(root)
    indices = {id(index) for item in items if isinstance(item, Load) for index in item.children}
    return any(
        isinstance(item, IfThenElse) and any(id(part) in indices for part in post_order(item.children[0]))
        for item in items
    )


Condition = Scalar | None
"""A condition; None holds always."""


@dataclass
class _Guarded:
    """Computes a part without branches but for single reads, each under the conjunction of its conditions."""

    evaluator: Evaluator
    known: Known
    depth: int
    found: dict[tuple[int, int], Term] = field(default_factory=dict)
    """The value of each part that reads under each condition."""
    conditions: dict[tuple[int, int, bool], Scalar] = field(default_factory=dict)

    def value(self, root: Expr) -> Term:
        """The value of a part."""
        waiting: list[tuple[Expr, Condition, int]] = [(root, None, 0)]
        while waiting:
            item, condition, number = waiting.pop()
            if number == len(item.children):
                self.evaluator.tally()
                self.found[id(item), id(condition)] = self.combined(item, condition)
                continue
            waiting.append((item, condition, number + 1))
            child = item.children[number]
            if not self.evaluator.reads[id(child)]:
                self.evaluator.computed(child, self.known, self.depth)
                continue
            below = self.below(item, condition, number)
            if id(child) not in self.known and (id(child), id(below)) not in self.found:
                waiting.append((child, below, 0))
        return self.found[id(root), id(None)]

    def below(self, item: Expr, condition: Condition, number: int) -> Condition:
        """The condition of child `number` of a part that is computed under `condition`."""
        if (id(item.children[number]), id(None)) in self.found:
            return None
        if number == 0 or not self.evaluator.branches(item):
            return condition
        holds = item.operator == "and" if isinstance(item, Logical) else number == 1
        test = as_condition(self.part(item, condition, 0))
        key = id(condition), id(item), holds
        if key not in self.conditions:
            own = test if holds else ~test
            self.conditions[key] = own if condition is None else condition & own
        return self.conditions[key]

    def part(self, item: Expr, condition: Condition, number: int) -> Term:
        """The value of child `number`."""
        child = item.children[number]
        if id(child) in self.known:
            return self.known[id(child)]
        return self.found[id(child), id(self.below(item, condition, number))]

    def combined(self, item: Expr, condition: Condition) -> Term:
        """The value of a part whose children are computed."""
        parts = [self.part(item, condition, number) for number in range(len(item.children))]
        if not isinstance(item, Load) or condition is None:
            return self.evaluator.combined(item, parts)
        zero = functools.partial(self.evaluator.builder.const, 0, item.dtype)
        return values.choose(condition, lambda: self.evaluator.combined(item, parts), zero)
