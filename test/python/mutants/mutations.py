"""Mutants of a source file: cosmic-ray's operators, and two for conditions and for statements."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator

NEIGHBOURS = {
    "ReplaceComparisonOperator": (
        *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
        *("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt"),
    ),
    "ReplaceBinaryOperator": (
        *("Add_Sub", "Sub_Add", "Mul_FloorDiv", "FloorDiv_Mul", "Div_Mul", "Mod_FloorDiv", "Pow_Mul"),
        *("RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr"),
    ),
    "ReplaceUnaryOperator": ("Delete_USub", "Delete_Invert", "Delete_Not"),
}
"""One replacement of each operator, the nearest: cosmic-ray has eleven, most of which any test notices."""
CORE = (
    *(f"{family}_{change}" for family, changes in NEIGHBOURS.items() for change in changes),
    *("ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak"),
    *("NumberReplacer", "ZeroIterationForLoop", "ExceptionReplacer"),
)
"""The operators of cosmic-ray in use. `ConstantCondition` is finer than its `AddNot` and `ReplaceAndWithOr`."""


def condition_terms(node: Any) -> list[tuple[Any, str]]:
    """The conditions among the children of a node of parso, with the constants that may replace them."""
    kind, children = node.type, getattr(node, "children", [])
    if kind == "if_stmt":
        after = [right for left, right in itertools.pairwise(children) if left in ("if", "elif")]
        return [(term, constant) for term in after for constant in ("True", "False")]
    if kind == "while_stmt":
        return [(children[1], "False")]
    if kind == "and_test":
        return [(term, "True") for term in children[::2]]
    if kind == "or_test":
        return [(term, "False") for term in children[::2]]
    if kind == "comp_if":
        return [(children[1], "True")]
    if kind == "test" and len(children) == 5:
        return [(children[2], "True"), (children[2], "False")]
    return []


class ConstantCondition(Operator):  # type: ignore[misc]  # cosmic-ray has no types
    """Replace a condition, or a term of one, by a constant: a guard that never holds, an action that is always done."""

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """The begin and end of each term."""
        for term, _ in condition_terms(node):
            yield term.start_pos, term.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Replace the term at `index`."""
        term, constant = condition_terms(node)[index]
        place = next(i for i, child in enumerate(node.children) if child is term)
        node.children[place] = parso.python.tree.Name(constant, term.start_pos, " ")
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Examples for cosmic-ray."""
        return (Example("if x: y()", "if True: y()"),)


class StatementRemover(Operator):  # type: ignore[misc]  # cosmic-ray has no types
    """Replace a statement that is a call by ``pass``."""

    @staticmethod
    def _is_call(node: Any) -> bool:
        return bool(node.type == "simple_stmt" and node.children[0].type == "atom_expr")

    def mutation_positions(self, node: Any) -> Iterator[Any]:
        """The begin and end of such a statement."""
        if self._is_call(node):
            yield node.children[0].start_pos, node.children[0].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """Replace the statement."""
        first = node.children[0]
        node.children[0] = parso.python.tree.Name("pass", first.start_pos, first.get_first_leaf().prefix)
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """Examples for cosmic-ray."""
        return (Example("f(x)", "pass"),)


OWN: dict[str, type[Any]] = {"ConstantCondition": ConstantCondition, "StatementRemover": StatementRemover}


def _is_skipped(node: Any) -> bool:
    """True for what is not run, or is no part of what a pass computes.

    That are annotations, class variables (name and level of a pass), what type checkers alone see, the values of error
    messages, and ``strict=`` and ``frozen=``, which only assert.
    """
    parent = node
    while parent is not None:
        if parent.type == "annassign" and _within(node, parent.children[1]):
            return True
        if parent.type == "tfpdef" and _within(node, parent.children[2]):
            return True
        if parent.type == "annassign" and "ClassVar" in parent.children[1].get_code():
            return True
        if parent.type == "funcdef" and parent.annotation is not None and _within(node, parent.annotation):
            return True
        if parent.type == "if_stmt" and "TYPE_CHECKING" in parent.children[1].get_code():
            return True
        if parent.type == "raise_stmt":
            return True
        if parent.type == "argument" and parent.children[0].get_code().strip() in ("strict", "frozen"):
            return True
        parent = parent.parent
    return False


def _within(node: Any, other: Any) -> bool:
    return bool(other.start_pos <= node.start_pos and node.end_pos <= other.end_pos)


def _is_only_element(name: str, node: Any, index: int) -> bool:
    """True for the index 0 that becomes -1, which is the same element of a list of one."""
    return name == "NumberReplacer" and node.value == "0" and index == 1 and node.parent.type == "trailer"


@dataclass(frozen=True)
class Site:
    """A place where an operator may change a file."""

    module: str
    path: str
    """Relative to the root of the tree."""
    operator: str
    occurrence: int
    line: int


def _operator(name: str) -> Any:
    return OWN[name]() if name in OWN else get_operator(f"core/{name}")()


def sites(module: str, path: str, source: str) -> list[Site]:
    """All sites of a file."""
    nodes = list(ast_nodes(get_ast(source)))
    found = []
    for name in (*CORE, *OWN):
        operator, occurrence = _operator(name), -1
        for node in nodes:
            for index, (start, _) in enumerate(operator.mutation_positions(node)):
                occurrence += 1
                if not _is_skipped(node) and not _is_only_element(name, node, index):
                    found.append(Site(module, path, name, occurrence, start[0]))
    return found


@dataclass(frozen=True)
class Mutant:
    """A change of one line of a file, as a rule."""

    site: Site
    before: str
    after: str
    source: str
    """The whole file with the change."""

    def __str__(self) -> str:
        return f"{self.site.path}:{self.site.line}: {self.site.operator}\n  - {self.before}\n  + {self.after}"


def mutate(site: Site, source: str) -> Mutant:
    """The file with a change."""
    mutated = mutate_code(source, _operator(site.operator), site.occurrence)
    before, after = source.splitlines(), mutated.splitlines()
    first = _equal_lines(before, after)
    last = _equal_lines(before[first:][::-1], after[first:][::-1])
    old, new = (" ".join(map(str.strip, lines[first : len(lines) - last])) for lines in (before, after))
    return Mutant(site, old, new, mutated)


def _equal_lines(lines: Sequence[str], others: Sequence[str]) -> int:
    """The number of lines that two texts have in common at the beginning."""
    equal = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False))
    return sum(1 for _ in equal)
