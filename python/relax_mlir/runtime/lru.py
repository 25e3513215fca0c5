"""A mapping that keeps the most recently used items."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ItemT = TypeVar("ItemT")


class LRU(Generic[KeyT, ItemT]):
    """At most `bound` items; the least recently used one is evicted. Not thread-safe."""

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._items: OrderedDict[KeyT, ItemT] = OrderedDict()

    def get(self, key: KeyT) -> ItemT | None:
        """Return the item of `key` and mark it as used, or None."""
        found = self._items.get(key)
        if found is not None:
            self._items.move_to_end(key)
        return found

    def put(self, key: KeyT, item: ItemT) -> None:
        """Store `item` for `key`."""
        self._items[key] = item
        self._items.move_to_end(key)
        if len(self._items) > self.bound:
            self._items.popitem(last=False)

    def __len__(self) -> int:
        return len(self._items)
