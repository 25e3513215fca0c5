"""Sizes of PyTorch's graphs as dimensions of this project, and the assumptions about them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.error import RelaxError
from relax_mlir.frontend.torch.torch_types import Size, SymPy
from relax_mlir.symbolic import Dim

# Convert sizes of PyTorch's graphs, which are SymPy expressions, to dimensions of this project.


_LARGEST_DENOMINATOR = 2**16
"""The maximum denominator of float factors that are treated as fractions; for powers of two, products are exact."""


class NoDimension(RelaxError):
    """An expression that has no symbolic dimension and is computed at run time."""


class Sizes:
    """The sizes of one exported program: its symbols have users' names, or are expressions of other symbols."""

    def __init__(self, meanings: Mapping[str, Dim] | None = None) -> None:
        self.meanings: dict[str, Dim] = dict(meanings or {})
        """The meaning of torch's symbols; others keep their names."""

    def dim(self, size: Size) -> Dim:
        """Convert a size to a dimension. Raises `NoDimension`."""
        if isinstance(size, int):
            return size
        return self.expression(size.node.expr if hasattr(size, "node") else size)

    def shape(self, sizes: Size) -> list[Dim]:
        """Convert all sizes of a tensor. Raises `NoDimension`."""
        return [self.dim(size) for size in sizes]

    def expression(self, expression: SymPy) -> Dim:
        """Convert a SymPy expression of integers. Raises `NoDimension`."""
        if isinstance(expression, int) or expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            name = str(expression)
            return self.meanings[name] if name in self.meanings else symbolic.symbol(name)
        name = type(expression).__name__
        if name in ("Pow", "PowByNatural"):
            return self._power(*expression.args)
        if name in _ROUNDED:
            return self._rounded(name, expression.args[0])
        if name not in _FUNCTIONS:
            raise NoDimension(f"no dimension says '{expression}' ({name})")
        return _FUNCTIONS[name]([self.expression(part) for part in expression.args])

    def _power(self, base: SymPy, exponent: SymPy) -> Dim:
        if not exponent.is_Integer or not 0 <= int(exponent) <= 16:
            raise NoDimension(f"no dimension says '{base}**{exponent}'")
        factor = self.expression(base)
        return symbolic.product([factor] * int(exponent))

    def _rounded(self, name: str, inner: SymPy) -> Dim:
        above, below = self._fraction(inner)
        if name == "CeilToInt":
            return symbolic.ceildiv(above, below)
        if name == "TruncToInt":
            least, _ = symbolic.bounds(above)
            if least is None or least < 0:
                raise NoDimension(f"the sign of '{inner}' is not known")
        return symbolic.floordiv(above, below)

    def _fraction(self, expression: SymPy) -> tuple[Dim, int]:
        """Convert a float expression to a dimension and a divisor, if float arithmetic is exact or rounds the same."""
        name = type(expression).__name__
        if expression.is_number:
            value = Fraction(float(expression))
            if value.denominator > _LARGEST_DENOMINATOR:
                raise NoDimension(f"the factor {expression} is no short binary fraction")
            return value.numerator, value.denominator
        if name in ("ToFloat", "Identity"):
            return self._fraction(expression.args[0]) if name == "Identity" else self._whole(expression)
        if name in ("IntTrueDiv", "FloatTrueDiv"):
            (above, below), (factor, ratio) = map(self._fraction, expression.args)
            if (
                not isinstance(factor, int)
                or factor <= 0
                or (name == "FloatTrueDiv" and factor & (factor - 1))
            ):
                raise NoDimension(f"no dimension says '{expression}'")
            return above * ratio, below * factor
        if name == "Mul":
            parts = [self._fraction(part) for part in expression.args]
            below = 1
            for _, divisor in parts:
                below *= divisor
            return symbolic.product([above for above, _ in parts]), below
        if name == "Add":
            parts = [self._fraction(part) for part in expression.args]
            below = max(divisor for _, divisor in parts)
            if any(below % divisor for _, divisor in parts):
                raise NoDimension(f"no dimension says '{expression}'")
            total: Dim = 0
            for above, divisor in parts:
                total = total + above * (below // divisor)
            return total, below
        return self.expression(expression), 1

    def _whole(self, expression: SymPy) -> tuple[Dim, int]:
        return self.expression(expression.args[0]), 1


def _sum(parts: list[Dim]) -> Dim:
    total: Dim = 0
    for part in parts:
        total = total + part
    return total


_ROUNDED = ("CeilToInt", "FloorToInt", "TruncToInt")

_FUNCTIONS: dict[str, Callable[[list[Dim]], Dim]] = {
    "Add": _sum,
    "Mul": symbolic.product,
    "FloorDiv": lambda parts: symbolic.floordiv(*parts),
    "CleanDiv": lambda parts: symbolic.floordiv(*parts),
    "Mod": lambda parts: symbolic.floormod(*parts),
    "PythonMod": lambda parts: symbolic.floormod(*parts),
    "ModularIndexing": lambda parts: symbolic.floormod(symbolic.floordiv(parts[0], parts[1]), parts[2]),
    "Max": lambda parts: symbolic.maximum(*parts),
    "Min": lambda parts: symbolic.minimum(*parts),
    "Identity": lambda parts: parts[0],
}
"""Functions of SymPy and torch, by class name."""


# PyTorch's assumptions about sizes at tracing time, as conditions that each call of the program checks.


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
