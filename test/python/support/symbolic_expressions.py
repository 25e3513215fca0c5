"""Random expressions with independent semantics, as a reference for the algebra."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from relax_mlir import symbolic
from relax_mlir.symbolic import Dim

NAMES = ("a", "b", "n")


@dataclass(frozen=True)
class Tree:
    """An expression as written: its operation and arguments, a symbol, or a number."""

    operation: str
    args: tuple[Tree, ...] = ()
    value: int = 0

    def text(self) -> str:
        """The expression with every operation in parentheses."""
        match self.operation:
            case "number":
                return str(self.value) if self.value >= 0 else f"({self.value})"
            case "neg":
                return f"(-{self.args[0].text()})"
            case "+" | "-" | "*" | "//" | "%":
                return f"({self.args[0].text()} {self.operation} {self.args[1].text()})"
            case "min" | "max" | "ceildiv" | "floordiv" | "floormod":
                return f"{self.operation}({', '.join(arg.text() for arg in self.args)})"
            case name:
                return name

    def evaluate(self, values: dict[str, int]) -> int:
        """The value by Python's own arithmetic. ZeroDivisionError as there."""
        x = [arg.evaluate(values) for arg in self.args]
        match self.operation:
            case "number":
                return self.value
            case "neg":
                return -x[0]
            case "+":
                return x[0] + x[1]
            case "-":
                return x[0] - x[1]
            case "*":
                return x[0] * x[1]
            case "//" | "floordiv":
                return x[0] // x[1]
            case "%" | "floormod":
                return x[0] % x[1]
            case "ceildiv":
                return x[0] // x[1] + (x[0] % x[1] != 0)
            case "min":
                return min(x)
            case "max":
                return max(x)
            case name:
                return values[name]

    def build(self) -> Dim:
        """The expression built with the operators of `Expr`. ShapeError: division by zero."""
        x = [arg.build() for arg in self.args]
        match self.operation:
            case "number":
                return self.value
            case "neg":
                return -x[0]
            case "+":
                return x[0] + x[1]
            case "-":
                return x[0] - x[1]
            case "*":
                return x[0] * x[1]
            case "//" | "floordiv":
                return symbolic.floordiv(x[0], x[1]) if isinstance(x[1], int) else x[0] // x[1]
            case "%" | "floormod":
                return symbolic.floormod(x[0], x[1]) if isinstance(x[1], int) else x[0] % x[1]
            case "ceildiv":
                return symbolic.ceildiv(x[0], x[1])
            case "min":
                return symbolic.minimum(*x)
            case "max":
                return symbolic.maximum(*x)
            case name:
                return symbolic.symbol(name)


def _nodes(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    binary = st.sampled_from(["+", "-", "*", "//", "%", "+", "-", "*", "ceildiv", "floordiv", "floormod"])
    divisors = st.builds(lambda k: Tree("number", value=k), st.sampled_from([1, 2, 3, 4, 6, 8, -2, -3]))
    return st.one_of(
        st.builds(lambda x: Tree("neg", (x,)), children),
        st.builds(lambda op, x, y: Tree(op, (x, y)), binary, children, children),
        st.builds(lambda op, x, y: Tree(op, (x, y)), st.sampled_from(["//", "%"]), children, divisors),
        st.builds(
            lambda op, x: Tree(op, tuple(x)),
            st.sampled_from(["min", "max"]),
            st.lists(children, min_size=2, max_size=3),
        ),
    )


NUMBERS = st.builds(lambda value: Tree("number", value=value), st.integers(-6, 12))
SYMBOLS = st.builds(Tree, st.sampled_from(NAMES))
TREES = st.recursive(st.one_of(SYMBOLS, SYMBOLS, NUMBERS), _nodes, max_leaves=8)
VALUES = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 40)))
