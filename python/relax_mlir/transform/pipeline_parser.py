"""Textual pass pipelines: ``builtin.module(legalize-ops{mode=fast},func.func(canonicalize,cse))``.

The grammar is MLIR's::

    pipeline := element ("," element)*
    element  := name ["{" options "}"] | anchor "(" [pipeline] ")"
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.error import ParseError, expect

NAME_STOPS = "{}(),"


@dataclass(frozen=True)
class Element:
    """A pass with its options (the text between the braces), or an anchor with the elements inside it."""

    name: str
    options: str = ""
    children: tuple[Element, ...] | None = None

    def __str__(self) -> str:
        if self.children is not None:
            return f"{self.name}({','.join(map(str, self.children))})"
        return f"{self.name}{{{self.options}}}" if self.options else self.name


def parse_elements(text: str) -> tuple[Element, ...]:
    """The elements of a pipeline.

    Raises:
        ParseError: text that does not follow the grammar; the message marks the position.
    """
    expect("parse_pipeline: 'text'", text, str, "text")
    parser = _Parser(text)
    elements = parser.pipeline(end="")
    parser.expect_end()
    return elements


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def fail(self, message: str, position: int | None = None) -> ParseError:
        column = self.position if position is None else position
        return ParseError(f"pass pipeline: {message}\n  {self.text}\n  {' ' * column}^")

    def peek(self) -> str:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position] if self.position < len(self.text) else ""

    def expect_end(self) -> None:
        if self.peek():
            raise self.fail(f"unexpected '{self.peek()}'")

    def pipeline(self, end: str) -> tuple[Element, ...]:
        elements: list[Element] = []
        if self.peek() == end:
            return ()
        while True:
            elements.append(self.element())
            if self.peek() != ",":
                return tuple(elements)
            self.position += 1

    def element(self) -> Element:
        name = self.name()
        if self.peek() == "{":
            return Element(name, self.options())
        if self.peek() != "(":
            return Element(name)
        opened = self.position
        self.position += 1
        children = self.pipeline(end=")")
        if self.peek() != ")":
            raise self.fail("this '(' is never closed", opened)
        self.position += 1
        return Element(name, children=children)

    def name(self) -> str:
        self.peek()
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in NAME_STOPS:
            self.position += 1
        name = self.text[start : self.position].strip()
        if not name or any(c.isspace() for c in name):
            raise self.fail("expected the name of a pass", start)
        return name

    def options(self) -> str:
        """The text in the braces; inner braces balance, except in quotes."""
        opened, depth, quote = self.position, 0, ""
        while self.position < len(self.text):
            char = self.text[self.position]
            self.position += 1
            if quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
            elif char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
            if depth == 0 and not quote:
                return self.text[opened + 1 : self.position - 1].strip()
        raise self.fail("this '{' is never closed", opened)
