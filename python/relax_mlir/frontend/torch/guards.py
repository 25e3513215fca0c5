"""PyTorch's assumptions about sizes at tracing time, as conditions that each call of the program checks."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.error import RelaxError
from relax_mlir.frontend.torch.sizes import NoDimension, Sizes
from relax_mlir.symbolic import Dim

_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Guard:
    """One comparison of sizes."""

    left: Dim
    relation: str
    right: Dim

    def substituted(self, sizes: Sizes) -> Guard:
        """Return the guard with symbols replaced by their meanings."""
        meanings = {name: dim for name, dim in sizes.meanings.items() if str(dim) != name}
        return Guard(
            symbolic.substitute(self.left, meanings), self.relation, symbolic.substitute(self.right, meanings)
        )

    @property
    def difference(self) -> Dim:
        """The value that is at most 0 if a comparison with ``<=`` or ``>=`` holds."""
        return self.left - self.right if self.relation == "<=" else self.right - self.left

    @property
    def holds(self) -> bool:
        """True if the guard is proved."""
        left, right = self.left, self.right
        if self.relation == "==":
            return symbolic.prove_equal(left, right)
        if self.relation == "!=":
            return symbolic.prove_not_equal(left, right)
        if self.relation in ("<", ">"):
            low, high = (left, right) if self.relation == "<" else (right, left)
            return symbolic.prove_less_equal(low + 1, high)
        low, high = (left, right) if self.relation == "<=" else (right, left)
        return symbolic.prove_less_equal(low, high)

    @property
    def names(self) -> set[str]:
        """The symbols in the guard."""
        return {name for side in (self.left, self.right) for name in symbolic.symbols(side)}

    @property
    def is_of_tracing(self) -> bool:
        """True if the guard only states that sizes are two or more, which torch always assumes when it traces."""
        with symbolic.assuming(dict.fromkeys(self.names, (2, None))):
            return self.holds

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def emit(self) -> None:
        """Emit a check of the guard; its `CheckError` names the sizes."""
        names = sorted(self.names)
        shown = ", ".join(f"{name} = {{}}" for name in names)
        R.assert_op(
            str(self),
            *map(symbolic.symbol, names),
            format=f"the program was exported for {self}, but {shown}",
        )


class UnknownGuard(RelaxError):
    """A guard that is no comparison of sizes."""


def read_guards(texts: Sequence[str], shapes: Mapping[str, Any], sizes: Sizes) -> list[Guard]:
    """Parse the guards of a program; `shapes` maps torch's names of arguments' sizes to these.

    Raises:
        UnknownGuard: this importer cannot check a guard.
    """
    found: list[Guard] = []
    for text in texts:
        try:
            found += _conjunction(ast.parse(text, mode="eval").body, shapes, sizes)
        except (SyntaxError, NoDimension, _NoSize) as error:
            raise UnknownGuard(
                f"the program was exported for '{text}', which cannot be checked: {error}"
            ) from None
    return found


class _NoSize(Exception):
    """Part of a guard is no expression of sizes."""


def _conjunction(
    node: ast.expr, shapes: Mapping[str, Any], sizes: Sizes, negated: bool = False
) -> list[Guard]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _conjunction(node.operand, shapes, sizes, not negated)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or if negated else ast.And):
        return [guard for part in node.values for guard in _conjunction(part, shapes, sizes, negated)]
    if not isinstance(node, ast.Compare) or (negated and len(node.ops) > 1):
        raise _NoSize(f"'{ast.unparse(node)}' is no comparison")
    sides = [_size(side, shapes, sizes) for side in (node.left, *node.comparators)]
    relations = [_RELATIONS.get(type(operator)) for operator in node.ops]
    guards = []
    for left, relation, right in zip(sides, relations, sides[1:], strict=False):
        if relation is None:
            raise _NoSize(f"'{ast.unparse(node)}' is no comparison of numbers")
        guards.append(Guard(left, _NEGATED[relation] if negated else relation, right))
    return guards


def _size(node: ast.expr, shapes: Mapping[str, Any], sizes: Sizes) -> Dim:
    text = ast.unparse(node)
    if text in shapes:
        return sizes.dim(shapes[text])
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_size(node.operand, shapes, sizes)
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, _size(node.left, shapes, sizes), _size(node.right, shapes, sizes))
    if isinstance(node, ast.Call):
        return _called(node, [_size(item, shapes, sizes) for item in node.args])
    raise _NoSize(f"'{text}' is no size")


def _arithmetic(node: ast.BinOp, left: Dim, right: Dim) -> Dim:
    operator = type(node.op)
    if operator is ast.Add:
        return left + right
    if operator is ast.Sub:
        return left - right
    if operator is ast.Mult:
        return symbolic.product([left, right])
    if operator is ast.FloorDiv:
        return symbolic.floordiv(left, right)
    if operator is ast.Mod:
        return symbolic.floormod(left, right)
    if operator is ast.Pow and isinstance(right, int) and 0 <= right <= 16:
        return symbolic.product([left] * right)
    raise _NoSize(f"'{ast.unparse(node)}' is no integer")


def _called(node: ast.Call, args: list[Dim]) -> Dim:
    name = ast.unparse(node.func).rpartition(".")[2]
    if name in ("Max", "max", "sym_max"):
        return symbolic.maximum(*args)
    if name in ("Min", "min", "sym_min"):
        return symbolic.minimum(*args)
    if name in ("Mod", "PythonMod"):
        return symbolic.floormod(*args)
    if name in ("FloorDiv", "CleanDiv"):
        return symbolic.floordiv(*args)
    raise _NoSize(f"'{ast.unparse(node)}' is no size")
