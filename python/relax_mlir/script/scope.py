"""Names in a script: values of the function, declared symbols, and captured Python names."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import UnknownNameError
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.symbolic import Expr

POISON = object()
"""The value of a name whose definition had an error."""


@dataclass
class Scope:
    """The names of a function: its `values`, the `symbols` in use, and the `captured` Python names.

    An inner scope sees the names of the enclosing ones without a copy, since a function may have many branches.
    """

    captured: Mapping[str, Any]
    values: ChainMap[str, Any] = field(default_factory=ChainMap)
    symbols: ChainMap[str, None] = field(default_factory=ChainMap)
    hidden: ChainMap[str, str] = field(default_factory=ChainMap)
    """Names that have no value in this scope, with the reason."""

    def branch(self) -> Scope:
        """Return a scope for a branch or a loop; its names and symbols are not visible outside."""
        return Scope(self.captured, self.values.new_child(), self.symbols.new_child(), self.hidden.new_child())

    def inner(self) -> Scope:
        """Return a scope for a dataflow block; its names are not visible outside, its symbols are."""
        return Scope(self.captured, self.values.new_child(), self.symbols, self.hidden.new_child())

    def function(self) -> Scope:
        """Return a scope for a nested function."""
        return Scope(self.captured, self.values.new_child(), self.symbols.new_child())

    def add_symbols(self, names: Iterable[str]) -> None:
        """Record that `names` are in use as symbols."""
        self.symbols.update(dict.fromkeys(names))

    def lookup(self, node: ast.Name) -> Any:  # noqa: ANN401 - a Relax value or any Python constant
        """Return the value of a name. Raises `Poisoned` or `Problem`."""
        name = node.id
        if name in self.values:
            if self.values[name] is POISON:
                raise Poisoned(name)
            return self.values[name]
        if name in self.hidden:
            raise Problem(node, f"'{name}' {self.hidden[name]}", "UnknownNameError")
        if name in self.symbols:
            return symbolic.symbol(name)
        if name in self.captured:
            return self.captured[name]
        known = [*self.values, *self.symbols, *self._constants()]
        raise Problem.of(node, UnknownNameError("name", name, known))

    def _constants(self) -> list[str]:
        """Captured names that may denote a constant."""
        return [n for n, v in self.captured.items() if not n.startswith("_") and not isinstance(v, ModuleType)]

    def path(self, node: ast.expr) -> tuple[str, str] | None:
        """``("R", "nn.softmax")`` for a name from `relax_mlir.script` or `relax_mlir.op`, else None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.values:
            return None
        root = self.captured.get(node.id)
        if isinstance(root, ModuleType) and root.__name__ in ROOTS:
            path = ROOTS[root.__name__], ".".join(reversed(parts)).removeprefix("op.")
            return RENAMED.get(path, path)
        return _direct(root) if not parts else None


ROOTS = {
    "relax_mlir.script.relax": "R",
    "relax_mlir.op": "R",
    "relax_mlir.script.ir": "I",
    "relax_mlir.script.tir": "T",
}
RENAMED = {("R", "func"): ("R", "function"), ("T", "func"): ("T", "prim_func")}
"""Older names of the decorators."""

DIRECT = {"function": ("R", "function"), "ir_module": ("I", "ir_module"), "prim_func": ("T", "prim_func")}


def _direct(root: Any) -> tuple[str, str] | None:  # noqa: ANN401 - a captured Python object
    """The path of ``ir_module``, ``function`` or ``prim_func``, imported directly."""
    if getattr(root, "__module__", "") != "relax_mlir.script.decorators":
        return None
    return DIRECT.get(root.__name__)


def is_path(found: tuple[str, str] | None, root: str, *names: str) -> bool:
    """True if `found` is one of `names` in `root`."""
    return found is not None and found[0] == root and found[1] in names


INTEGERS = ("int64", "int32")
"""Integer types of typed integers."""
SYMBOL = "int64"
"""The type of symbols."""
FLOATS = ("float16", "float32", "float64")
IMMEDIATE = {"IntImm": INTEGERS, "FloatImm": FLOATS}
"""TVM's typed numbers whose dtype is a string."""
NAMED = ("Var", "SizeVar", "var")
"""``T.Var("m", "int64")``; ``T.var("int64")``."""


def declared(scope: Scope, target: ast.expr, value: ast.expr) -> dict[str, Expr] | None:
    """Return the symbols declared by ``m = T.int64()`` or ``m, n = T.int64(), T.int64()``; None for other code."""
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        parts = [declared(scope, *pair) for pair in zip(target.elts, value.elts, strict=False)]
        if not parts or len(target.elts) != len(value.elts) or any(part is None for part in parts):
            return None
        return {name: symbol for part in parts if part is not None for name, symbol in part.items()}
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return None
    path = scope.path(value.func)
    if path is None or path[0] != "T":
        return None
    name = _name(target, value, path[1])
    return None if name is None else {target.id: symbolic.symbol(name)}


def _name(target: ast.Name, node: ast.Call, kind: str) -> str | None:
    """Return the symbol's name; None if the call declares none."""
    if kind in INTEGERS and not node.args:
        for keyword in node.keywords:
            if keyword.arg != "is_size_var":
                raise Problem(keyword, f"T.{kind}() takes is_size_var, not '{keyword.arg}'", "ArgumentError")
        if kind != SYMBOL:
            raise Problem(node, f"symbols are integers of 64 bits: write {target.id} = T.{SYMBOL}()", "DTypeError")
        return target.id
    if kind not in NAMED:
        return None
    written = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
    texts = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else None for a in written]
    dtype = texts[-1] if kind == "var" or len(texts) > 1 else "int64"
    if not texts or texts[0] is None or dtype != SYMBOL:
        raise Problem(node, 'a symbol is declared by `m = T.int64()`, or `m = T.Var("m", "int64")`')
    name = target.id if kind == "var" else texts[0]
    if not symbolic.is_identifier(name):
        raise Problem(node, f"{name!r} is no name of a symbol")
    return name


def require_exact(node: ast.expr, dtype: str, value: object, text: str) -> None:
    """Raise `Problem` if an integer of `dtype` may not hold `value`, which is written as `text`: symbols are int64."""
    if dtype == "int64" or (isinstance(value, int) and -(2**31) <= value < 2**31):
        return
    message = f"{dtype} may not hold {text}, and a dimension is an int64: write T.int64({text})"
    raise Problem(node, message, "DTypeError")


INSTEAD = {
    "max": "R.max is that of the elements of one tensor, R.maximum that of two",
    "min": "R.min is that of the elements of one tensor, R.minimum that of two",
    "sum": "R.sum adds the elements of one tensor, + adds tensors",
    "any": "R.max of a bool tensor says whether any is true",
    "all": "R.min of a bool tensor says whether all are true",
    "len": "write x.shape[0]",
    "int": 'write R.astype(x, "int64")',
    "bool": 'write R.astype(x, "bool")',
    "divmod": "write x // y and x % y",
    "pow": "write x ** y",
    "range": "loops run over it: `for i in range(n):`",
    "str": "R.print shows values when the program runs",
    "repr": "R.print shows values when the program runs",
}
"""Replacements by function name."""

ATTRIBUTES = {
    "T": "R.permute_dims({0})",
    "mT": "R.permute_dims({0}, axes)",
    "transpose": "R.permute_dims({0})",
    "view": "R.reshape({0}, …)",
    "to": "R.astype({0}, …)",
    "float": 'R.astype({0}, "float32")',
    "int": 'R.astype({0}, "int32")',
    "size": "R.prod(R.shape_to_tensor(R.shape_of({0})))",
    "item": "{0}",
    "numpy": "{0}",
    "tolist": "{0}",
}
"""Replacements of methods and attributes of NumPy and PyTorch."""
