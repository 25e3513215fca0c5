"""Mutants that compute what the sources compute, which no test can notice; `make mutants` leaves them out.

They are listed in ``equivalent.txt``: a file, then lines of it (``-``), each followed by mutants (``+``) and reasons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Equivalent:
    """A mutant by its lines before and after the change, without indentation."""

    path: str
    before: str
    after: str
    reason: str


def _read(text: str) -> Iterator[Equivalent]:
    path = before = after = ""
    for line in filter(None, text.splitlines()):
        mark, rest = line[:2], line[2:]
        if mark == "- ":
            before = rest
        elif mark == "+ ":
            after = rest
        elif mark == "  ":
            yield Equivalent(path, before, after, rest)
        else:
            path = line


EQUIVALENT = tuple(_read(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")))
