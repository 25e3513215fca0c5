"""Parser of the section after the module in MLIR text, ``{-# external_resources: { … } #-}``.

The grammar is MLIR's::

    section := "{-#" entries "#-}"
    entries := [entry ("," entry)*]
    entry   := key ":" value
    value   := "{" entries "}" | string | word
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from relax_mlir.error import ParseError
from relax_mlir.mlir_text import unquoted

_LANDMARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|\{-#')
_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[\w.$/+-]+)|(?P<mark>#-\}|[{}:,]))', re.DOTALL
)

EXTERNAL = "external_resources"


class Span(NamedTuple):
    """The start and end of an entry of a section in the text."""

    start: int
    end: int


class _Section:
    """One section: its entries, and the spans of the outermost ones."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.start, self.position = text, start, start + len("{-#")
        self.spans: dict[str, Span] = {}
        self.entries = self._entries("#-}", outermost=True)
        self.end = self.position

    def _entries(self, end: str, outermost: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (token := self._next())[1] != end:
            kind, key = token
            begin = self.position - len(key)
            if kind == "mark":
                raise self._wrong(key)
            self._expect(":")
            found[key] = self._value()
            if outermost:
                self.spans[key] = Span(begin, self.position)
            kind, mark = self._next()
            if mark == end:
                return found
            if mark != ",":
                raise self._wrong(mark)
        return found

    def _value(self) -> Any:  # noqa: ANN401 - a text, a word, or entries
        kind, token = self._next()
        if token == "{":
            return self._entries("}")
        if kind == "mark":
            raise self._wrong(token)
        return unquoted(token) if kind == "text" else token

    def _expect(self, mark: str) -> None:
        token = self._next()[1]
        if token != mark:
            raise self._wrong(token)

    def _next(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:
            raise self._wrong(self.text[self.position : self.position + 10].strip())
        self.position = found.end()
        return found.lastgroup, found[found.lastgroup]

    def _wrong(self, token: str) -> ParseError:
        line = self.text.count("\n", 0, self.position) + 1
        return ParseError(f"line {line}: unexpected {token!r} in the resources of the module")


def take_external_resources(text: str) -> tuple[dict[str, Any], str]:
    """The external resources of a module's text by name, and the text without them, with unchanged line numbers.

    Raises ParseError: text that does not follow the grammar.
    """
    found: dict[str, Any] = {}
    position = 0
    while landmark := _LANDMARK.search(text, position):
        position = landmark.end()
        if landmark[0] != "{-#":
            continue
        section = _Section(text, landmark.start())
        position = section.end
        external = section.entries.get(EXTERNAL)
        if isinstance(external, dict):
            found |= external
            text = _without(text, section)
    return found, text


def _without(text: str, section: _Section) -> str:
    """The text with the section's external resources blanked out, or the whole section if it has no other entries."""
    span = section.spans[EXTERNAL]
    start, end = span if len(section.spans) > 1 else (section.start, section.end)
    if len(section.spans) > 1:  # also remove the comma that separates them from their neighbour
        following = re.compile(r"\s*,").match(text, end)
        if following is not None:
            end = following.end()
        else:
            start = text.rindex(",", section.start, start)
    blank = re.sub(r"[^\n]", " ", text[start:end])
    return text[:start] + blank + text[end:]
