"""``--verify-diagnostics``: compare the diagnostics of a module with the comments that expect them.

``// expected-error @below {{part of the message}}`` (``-warning``, ``-note``, ``-remark``) expects a diagnostic on the
line of the comment, relative to it (``@above``, ``@below``, ``@+2``, ``@-1``), in line 7 (``@7``), or without a
location (``@unknown``). ``expected-error-re {{... {{regular expression}} ...}}`` matches regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relax_mlir.error import Diagnostic

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)?"
    r"\s*(?:@(?P<place>above|below|unknown|[+-]?\d+))?\s*\{\{"
)
_MALFORMED = re.compile(r"expected-\w+")
OP_NOTE = "see current operation"
"""The note with the op that the bindings attach to every error; ``mlir-opt`` does not in this mode."""


@dataclass(frozen=True)
class Expectation:
    """One comment: the diagnostic expected on `line` (None: no location), and the position of the comment."""

    severity: str
    line: int | None
    pattern: str
    shown: str
    written_at: str
    length: int

    def matches(self, diagnostic: Diagnostic) -> bool:
        if self.severity != diagnostic.severity or self.line != line_of(diagnostic):
            return False
        return re.search(self.pattern, diagnostic.message, re.DOTALL) is not None


class Complaint(NamedTuple):
    """An error, its location in the input, and the number of characters to underline."""

    diagnostic: Diagnostic
    underlined: int = 1


def line_of(diagnostic: Diagnostic) -> int | None:
    """The line that a diagnostic refers to."""
    parts = diagnostic.location.rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else None


def read_expectations(text: str) -> tuple[list[Expectation], list[Complaint]]:
    """The expectations in `text`, and complaints about malformed ones; their locations name the file ``-``."""
    found: list[Expectation] = []
    malformed: list[Complaint] = []
    for number, line in enumerate(text.split("\n"), 1):
        position = 0
        spans: list[tuple[int, int]] = []
        while match := _EXPECTED.search(line, position):
            end = line.rfind("}}") if match["re"] else line.find("}}", match.end())
            if end < match.end():
                break
            found.append(_expectation(match, line[match.end() : end], number))
            position = end + 2
            spans.append((match.start(), position))
        for match in _MALFORMED.finditer(line):
            if not any(start <= match.start() < end for start, end in spans):
                place = f"-:{number}:{match.start() + 1}"
                error = Diagnostic("error", place, f"malformed expected-* comment: {line.strip()}")
                malformed.append(Complaint(error, match.end() - match.start()))
                break
    return found, malformed


def _expectation(match: re.Match[str], content: str, number: int) -> Expectation:
    pattern = re.escape(content)
    if match["re"]:
        parts = re.split(r"\{\{(.*?)\}\}", content)
        pattern = "".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(parts))
    place = f"-:{number}:{match.start() + 1}"
    length = len("expected-" + match["severity"])
    return Expectation(match["severity"], _place(match["place"], number), pattern, content, place, length)


def _place(place: str | None, number: int) -> int | None:
    if place == "unknown":
        return None
    if place in (None, "above", "below"):
        return number + {None: 0, "above": -1, "below": 1}[place]
    return number + int(place) if place[0] in "+-" else int(place)


def compare(expected: Sequence[Expectation], diagnostics: Sequence[Diagnostic]) -> list[Complaint]:
    """Complaints about unexpected diagnostics, and about expected ones that are missing."""
    open_ = list(expected)
    complaints: list[Complaint] = []
    for diagnostic in diagnostics:
        if diagnostic.severity == "note" and diagnostic.message.startswith(OP_NOTE):
            continue
        match = next((e for e in open_ if e.matches(diagnostic)), None)
        if match is not None:
            open_.remove(match)
            continue
        if any(e.matches(diagnostic) for e in expected):
            continue
        message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
        complaints.append(Complaint(Diagnostic("error", diagnostic.location, message)))
    for left in open_:
        message = f'expected {left.severity} "{left.shown}" was not produced'
        complaints.append(Complaint(Diagnostic("error", left.written_at, message), left.length))
    return complaints
