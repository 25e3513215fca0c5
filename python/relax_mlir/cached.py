"""Properties that are computed once, without a lock.

Up to Python 3.11, `functools.cached_property` holds a lock of the class while it computes. Another thread that computes
the same property of another object waits, and the child of a fork during the computation waits forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

ValueT = TypeVar("ValueT")


class cached_property(Generic[ValueT]):
    """A property whose value is stored in the object's dictionary; two threads may compute it concurrently."""

    def __init__(self, function: Callable[[Any], ValueT]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[ValueT]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> ValueT: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[ValueT] | ValueT:
        if instance is None:
            return self
        value: ValueT = instance.__dict__.setdefault(self._name, self._function(instance))
        return value
