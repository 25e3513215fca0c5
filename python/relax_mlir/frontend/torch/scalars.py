"""Numbers that depend on sizes but are no dimensions: they are computed with tensors of rank 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from relax_mlir import op as R
from relax_mlir import symbolic
from relax_mlir.dialects.fresh_symbols import fresh_symbols
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch.sizes import NoDimension
from relax_mlir.frontend.torch.torch_types import Argument, Size, SymPy
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.frontend.torch.graph_importer import GraphImporter

_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "IntTrueDiv": R.divide,
    "FloatTrueDiv": R.divide,
    "FloatPow": R.power,
    "Pow": R.power,
    "PowByNatural": R.power,
    "FloorDiv": R.floor_divide,
    "Mod": R.floor_mod,
    "PythonMod": R.floor_mod,
}
_FOLDED: dict[str, Callable[[Value, Value], Value]] = {
    "Add": R.add,
    "Mul": R.multiply,
    "Max": R.maximum,
    "Min": R.minimum,
}
_UNARY: dict[str, Callable[[Value], Value]] = {
    "ToFloat": lambda x: x,
    "Identity": lambda x: x,
    "CeilToInt": R.ceil,
    "FloorToInt": R.floor,
    "TruncToInt": R.trunc,
    "TruncToFloat": R.trunc,
    "RoundToInt": R.round,
    "OpaqueUnaryFn_sqrt": R.sqrt,
    "OpaqueUnaryFn_exp": R.exp,
    "OpaqueUnaryFn_cos": R.cos,
    "OpaqueUnaryFn_sin": R.sin,
    "OpaqueUnaryFn_tanh": R.tanh,
    "OpaqueUnaryFn_log2": lambda x: R.divide(R.log(x), R.log(R.const(2.0, "float64"))),
    "Abs": R.abs,
}
_KNOWN = (*_UNARY, *_BINARY, *_FOLDED)
_RELATIONS = {
    "Equality": "equal",
    "Eq": "equal",
    "Unequality": "not_equal",
    "Ne": "not_equal",
    "StrictLessThan": "less",
    "LessThan": "less_equal",
    "StrictGreaterThan": "greater",
    "GreaterThan": "greater_equal",
}


class Scalars:
    """Symbolic numbers of one graph: dimensions if possible, else tensors of rank 0."""

    def __init__(self, importer: GraphImporter) -> None:
        self._importer = importer
        self.known: dict[str, Value] = {}
        """The tensors of rank 0 for torch's symbols of floats and bools that the program computes."""
        self._computed: dict[str, Dim] = {}

    def number(self, value: Size) -> Argument:
        """Convert a number for rules: an int, float or bool, a dimension, or a tensor of rank 0."""
        kind = type(value).__name__
        if kind == "SymInt":
            return self._importer.dim(value)
        if kind == "SymFloat":
            expression = value.node.expr
            return float(expression) if expression.is_number else self.compute(expression)
        return self.flag(value.node.expr) if kind == "SymBool" else value

    def symbol(self, value: Size) -> Dim:
        """Return a symbol for a size computed at run time, one per expression."""
        expression = value.node.expr if hasattr(value, "node") else value
        text = str(expression)
        if text not in self._computed:
            self._computed[text] = self.bind(R.astype(self.compute(expression), "int64"))
        return self._computed[text]

    def bind(self, number: Value, name: str | None = None) -> Expr:
        """Bind a symbol to an integer tensor of rank 0; a negative value is an error at run time."""
        chosen = name or fresh_symbols(1)[0]
        flat = R.reshape(number if number.dtype == "int64" else R.astype(number, "int64"), (1,))
        R.match_shape(R.tensor_to_shape(flat), (chosen,))
        return symbolic.symbol(chosen)

    def compute(self, expression: SymPy) -> Value:
        """Emit an expression as a float64 tensor of rank 0. Raises `UnsupportedError`."""
        name = type(expression).__name__
        if expression.is_number:
            return R.const(float(expression), "float64")
        if expression.is_Symbol and str(expression) in self.known:
            return R.astype(self.known[str(expression)], "float64")
        if name not in _KNOWN or expression.is_integer:
            try:
                return R.astype(R.prim_to_tensor(self._importer.sizes.expression(expression)), "float64")
            except NoDimension as error:
                if name not in _KNOWN:
                    raise UnsupportedError(f"the size or number '{expression}': {error}") from None
        parts = [self.compute(part) for part in expression.args]
        if name in _UNARY:
            return _UNARY[name](parts[0])
        if name in _BINARY:
            return _BINARY[name](*parts)
        total = parts[0]
        for part in parts[1:]:
            total = _FOLDED[name](total, part)
        return total

    def flag(self, expression: SymPy) -> Argument:
        """Evaluate a condition on sizes to a bool, or emit it. Raises `UnsupportedError`."""
        from relax_mlir.dialects.integers import compare

        name = type(expression).__name__
        if str(expression) in ("True", "False"):
            return str(expression) == "True"
        if name in ("And", "Or"):
            combine = R.logical_and if name == "And" else R.logical_or
            parts = [self._flag_tensor(part) for part in expression.args]
            total = parts[0]
            for part in parts[1:]:
                total = combine(total, part)
            return total
        if name == "Not":
            return R.logical_not(self._flag_tensor(expression.args[0]))
        if expression.is_Symbol and str(expression) in self.known:
            return self.known[str(expression)]
        if name not in _RELATIONS:
            raise UnsupportedError(f"the condition '{expression}' on sizes")
        relation = _RELATIONS[name]
        try:
            left, right = (self._importer.sizes.expression(part) for part in expression.args)
            return compare(relation, left, right)
        except NoDimension:
            return getattr(R, relation)(*(self.compute(part) for part in expression.args))

    def _flag_tensor(self, expression: SymPy) -> Value:
        found = self.flag(expression)
        return found if isinstance(found, Value) else R.const(found, "bool")
