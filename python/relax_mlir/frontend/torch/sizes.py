"""Convert sizes of PyTorch's graphs, which are SymPy expressions, to dimensions of this project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from relax_mlir import symbolic
from relax_mlir.error import RelaxError
from relax_mlir.frontend.torch.torch_types import Size, SymPy
from relax_mlir.symbolic import Dim

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
