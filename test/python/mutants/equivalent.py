"""Mutants that compute what the sources compute, which no test can notice; `make mutants` leaves them out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """A mutant by its lines before and after the change, without indentation."""

    path: str
    before: str
    after: str
    reason: str


EQUIVALENT: tuple[Equivalent, ...] = ()
