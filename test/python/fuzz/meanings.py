"""Common parts of the tables of op semantics: errors, and the values of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class UnknownMeaningError(Exception):
    """The interpreter does not know these semantics: the mutant is not compared."""


class FailsError(Exception):
    """The program fails here."""


class Sizes(tuple[int, ...]):
    """The value of a shape."""


def in_range(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """Semantics of an op that fails if NumPy finds an index out of range."""

    def guarded(*arguments: Any) -> Any:
        try:
            return meaning(*arguments)
        except IndexError as error:
            raise FailsError(str(error)) from None

    return guarded
