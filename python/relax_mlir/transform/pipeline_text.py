"""Pipelines as text, ``builtin.module(legalize-ops{mode=fast},func.func(cse))``, and the options of passes."""

from __future__ import annotations

import dataclasses
import functools
import numbers
import types
import typing
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union

from relax_mlir.error import ArgumentError, ParseError, UnknownNameError, expect

# Textual pass pipelines: ``builtin.module(legalize-ops{mode=fast},func.func(canonicalize,cse))``.
#
# The grammar is MLIR's::
#
#     pipeline := element ("," element)*
#     element  := name ["{" options "}"] | anchor "(" [pipeline] ")"

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


# The options of a pass, as dataclass fields and as text: ``fuse-ops{max-depth=4 mode="fast"}``.
#
# A field ``max_depth`` is the option ``max-depth``. Types: bool, int, float, str, ``Literal``, tuples of these
# (``sizes=1,2,4``), and each of them or None (an absent option).

REQUIRED = "required"
"""The default that `describe_options` shows for an option without default."""
TRUE, FALSE = frozenset({"true", "1", ""}), frozenset({"false", "0"})
P = TypeVar("P")


def option_types(cls: type) -> dict[str, Any]:
    """Option name (with dashes) → type, in field order."""
    if not dataclasses.is_dataclass(cls):
        return {}
    hints = typing.get_type_hints(cls)
    return {f.name.replace("_", "-"): hints[f.name] for f in dataclasses.fields(cls) if f.init}


def create(cls: type[P], name: str, text: str) -> P:
    """The pass `cls` with the options in `text` (the text between the braces).

    Raises:
        UnknownNameError: no option of that name.
        ParseError: a value that is not of the option's type, or a missing option without default.
    """
    values: dict[str, Any] = {}
    given = split_options(name, text)
    types_ = option_types(cls) if given else {}
    for key, value in given:
        option = key.replace("_", "-")
        if option not in types_:
            hint = "" if types_ else "the pass takes no options"
            raise UnknownNameError(f"option of pass '{name}'", key, types_, hint)
        values[option.replace("-", "_")] = _convert(name, option, value, types_[option])
    for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
        if field.init and field.default is dataclasses.MISSING and field.name not in values:
            option = field.name.replace("_", "-")
            raise ParseError(f"pass '{name}': option '{option}' is required: {name}{{{option}=...}}")
    return cls(**values)


def check_options(instance: object) -> None:
    """Raise ArgumentError if an option of a pass has a value that is not of its type.

    The pass itself checks options of types that have no textual form.
    """
    try:
        cls: Any = type(instance)
        kinds = _known_types(cls)
    except (NameError, TypeError):  # annotations that use names local to a function
        return
    for option, kind in kinds.items():
        name = option.replace("-", "_")
        value = getattr(instance, name)
        if not _fits(value, kind):
            raise ArgumentError(
                f"{type(instance).__name__}: {name!r} is {_shortened(value)} ({type(value).__name__}), expected "
                f"{_described(kind)}"
            )


@functools.cache
def _known_types(cls: Hashable) -> dict[str, Any]:
    assert isinstance(cls, type)
    return option_types(cls)


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - any option type
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in arguments)
    if origin is tuple:
        return isinstance(value, tuple | list) and all(_fits(item, arguments[0]) for item in value)
    if origin is Literal:
        return value in arguments if isinstance(value, str | int) else False
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return isinstance(value, kind) if kind in (bool, str, types.NoneType) else True


def _described(kind: Any) -> str:  # noqa: ANN401 - any option type
    return str(getattr(kind, "__name__", kind) if not typing.get_origin(kind) else kind).replace("typing.", "")


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def split_options(name: str, text: str) -> list[tuple[str, str]]:
    """The options in ``a=1 b="x y" c`` as pairs; a value may be quoted or in braces, a key without value has ''."""
    pairs: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        end = _item_end(name, text, position)
        key, _, value = text[position:end].partition("=")
        pairs.append((key, _unwrap(value)))
        position = end
    return pairs


def _item_end(name: str, text: str, position: int) -> int:
    """The end of the item that starts at `position`: the first space outside quotes and braces."""
    depth, quote = 0, ""
    for index in range(position, len(text)):
        char = text[index]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "{}":
            depth += 1 if char == "{" else -1
        elif char.isspace() and depth == 0:
            return index
    if quote or depth:
        raise ParseError(f"pass '{name}': unbalanced {quote or 'braces'} in options {{{text}}}")
    return len(text)


def _unwrap(value: str) -> str:
    if len(value) >= 2 and (value[0], value[-1]) in {('"', '"'), ("'", "'"), ("{", "}")}:
        return value[1:-1]
    return value


def _convert(name: str, option: str, text: str, kind: Any) -> Any:  # noqa: ANN401 - any option type
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        kinds = [a for a in arguments if a is not type(None)]
        return _convert(name, option, text, kinds[0])
    if origin is tuple:
        return tuple(_convert(name, option, part.strip(), arguments[0]) for part in text.split(",") if part.strip())
    if origin is Literal:
        if text not in arguments:
            raise UnknownNameError(f"value of option '{option}' of pass '{name}'", text, arguments)
        return text
    try:
        return _scalar(text, kind)
    except ValueError:
        raise ParseError(f"pass '{name}': option '{option}' takes {kind.__name__}, got '{text}'") from None


def _scalar(text: str, kind: type) -> bool | int | float | str:
    if kind is bool:
        if text.lower() not in TRUE | FALSE:
            raise ValueError(text)
        return text.lower() in TRUE
    return kind(text) if kind in (int, float) else text


def format_options(instance: object) -> str:
    """The options that differ from their defaults, in braces; '' if there are none."""
    if not dataclasses.is_dataclass(instance):
        return ""
    parts = []
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name)
        if field.init and value is not None and value != field.default:
            parts.append(f"{field.name.replace('_', '-')}={format_value(value)}")
    return "{" + " ".join(parts) + "}" if parts else ""


def format_value(value: object) -> str:
    """The value of an option as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(format_value(item) for item in value)
    return option_text(value) if isinstance(value, str) else str(value)


def option_text(text: str) -> str:
    """A value as text of an option, in quotation marks if needed; options have no escapes.

    Raises ArgumentError if it contains quotation marks of both kinds.
    """
    if text and not set(text) & set(" \t\n{}'\""):
        return text
    marks = [mark for mark in "\"'" if mark not in text]
    if not marks:
        raise ArgumentError(f"{text!r} has quotation marks of both kinds: options of passes cannot have both")
    return f"{marks[0]}{text}{marks[0]}"


def describe_options(cls: type) -> list[tuple[str, str, str]]:
    """For help: name, type and default (as text) of each option, in field order."""
    described = []
    for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
        if not field.init:
            continue
        option = field.name.replace("_", "-")
        kind = option_types(cls)[option]
        shown = getattr(kind, "__name__", str(kind)) if not typing.get_origin(kind) else str(kind)
        default = REQUIRED if field.default is dataclasses.MISSING else format_value(field.default)
        described.append((option, shown.replace("typing.", ""), default))
    return described
