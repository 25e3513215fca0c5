"""What tables of the meanings of ops share: errors, and the values of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class UnknownMeaningError(Exception):
    """The interpreter does not know what this means: the mutant is not compared."""


class FailsError(Exception):
    """The program fails here."""


class Sizes(tuple[int, ...]):
    """The value of a shape."""


def in_range(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A meaning whose program fails where NumPy finds an index out of range."""

    def guarded(*arguments: Any) -> Any:
        try:
            return meaning(*arguments)
        except IndexError as error:
            raise FailsError(str(error)) from None

    return guarded
