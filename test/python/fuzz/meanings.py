"""Errors of the interpreter, and the values of shapes."""

from __future__ import annotations


class UnknownMeaningError(Exception):
    """The interpreter does not know these semantics: the mutant is not compared."""


class FailsError(Exception):
    """The program fails here."""


class Sizes(tuple[int, ...]):
    """The value of a shape."""
