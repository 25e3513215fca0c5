"""Name resolution in a script: values of the function, symbols, and captured Python names."""

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
        return Scope(
            self.captured, self.values.new_child(), self.symbols.new_child(), self.hidden.new_child()
        )

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
        return [
            n for n, v in self.captured.items() if not n.startswith("_") and not isinstance(v, ModuleType)
        ]

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
            return ROOTS[root.__name__], ".".join(reversed(parts))
        return _direct(root) if not parts else None


ROOTS = {
    "relax_mlir.script.relax": "R",
    "relax_mlir.op": "R",
    "relax_mlir.script.ir": "I",
    "relax_mlir.script.tir": "T",
}


DIRECT = {"function": ("R", "function"), "ir_module": ("I", "ir_module"), "prim_func": ("T", "prim_func")}


def _direct(root: Any) -> tuple[str, str] | None:  # noqa: ANN401 - a captured Python object
    """The path of ``ir_module``, ``function`` or ``prim_func``, imported directly."""
    if getattr(root, "__module__", "") != "relax_mlir.script.decorators":
        return None
    return DIRECT.get(root.__name__)


def is_path(found: tuple[str, str] | None, root: str, *names: str) -> bool:
    """True if `found` is one of `names` in `root`."""
    return found is not None and found[0] == root and found[1] in names
