"""The names of a graph during conversion."""

from __future__ import annotations

from collections.abc import Iterable

from relax_mlir.error import ParseError
from relax_mlir.frontend.onnx.items import Item


class Scope:
    """The names of a graph or function; names of enclosing graphs are visible."""

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self._items: dict[str, Item | None] = {}
        self._sources: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> Item | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._items:
                return scope._items[name]
            scope = scope._outer
        raise ParseError(f"the name '{name}' is used before anything defines it")

    def sources(self, name: str) -> tuple[str, ...]:
        """Return the inputs of the model from which `name` is computed."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._sources:
                return scope._sources[name]
            scope = scope._outer
        return ()

    def bind(self, name: str, item: Item | None, sources: Iterable[str] = ()) -> None:
        self._items[name] = item
        self._sources[name] = tuple(dict.fromkeys(sources))
