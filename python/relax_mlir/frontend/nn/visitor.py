"""Replace parts of modules, such as layers by quantised ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from relax_mlir.frontend.nn.core import (
    Effect,
    Module,
    ModuleDict,
    ModuleList,
    Parameter,
    ParameterDict,
    ParameterList,
)

Part: TypeAlias = Any
"""A part of a module: a module, a parameter, an effect, or any other attribute."""


class Mutator:
    """Visits the parts of a module; each method returns what takes the place of `node`, which has the path `name`."""

    def visit_module(self, name: str, node: Module) -> Part:
        """A module: visit its attributes."""
        for key, item in list(vars(node).items()):
            setattr(node, key, self.visit(f"{name}.{key}" if name else key, item))
        return node

    def visit_effect(self, name: str, node: Effect) -> Part:
        """An effect."""
        return node

    def visit_param(self, name: str, node: Parameter) -> Part:
        """A parameter."""
        return node

    def visit_modulelist(self, name: str, node: ModuleList) -> Part:
        """A list of modules: visit the items."""
        return self._visit_items(name, node, enumerate(node))

    def visit_moduledict(self, name: str, node: ModuleDict) -> Part:
        """A dictionary of modules: visit the values."""
        return self._visit_items(name, node, node.items())

    def visit_paramlist(self, name: str, node: ParameterList) -> Part:
        """A list of parameters: visit the items."""
        return self._visit_items(name, node, enumerate(node))

    def visit_paramdict(self, name: str, node: ParameterDict) -> Part:
        """A dictionary of parameters: visit the values."""
        return self._visit_items(name, node, node.items())

    def _visit_items(self, name: str, node: Part, items: Iterable[tuple[Any, Part]]) -> Part:
        for key, item in list(items):
            node[key] = self.visit(f"{name}.{key}" if name else str(key), item)
        return node

    def visit(self, name: str, node: Part) -> Part:
        """Visit anything by its class; what is no part of a module stays."""
        visits = {
            ModuleList: self.visit_modulelist,
            ModuleDict: self.visit_moduledict,
            ParameterList: self.visit_paramlist,
            ParameterDict: self.visit_paramdict,
            Parameter: self.visit_param,
            Effect: self.visit_effect,
            Module: self.visit_module,
        }
        for kind, visit in visits.items():
            if isinstance(node, kind):
                return visit(name, node)  # type: ignore[operator]  # of this class
        return node
