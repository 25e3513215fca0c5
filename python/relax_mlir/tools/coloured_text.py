"""IR and scripts in colour, for terminals."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from pygments import highlight
from pygments.formatters import TerminalFormatter
from pygments.lexer import RegexLexer
from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String, Text

MAX_SIZE = 1 << 20
"""Number of characters above which a text is not coloured, as that would take seconds."""

_WORD = r"[\w$.-]+"


class MLIRLexer(RegexLexer):  # type: ignore[misc]  # pygments has no types
    """The generic tokens of MLIR's text in any dialect: values, symbols, blocks, types, names of ops."""

    name = "MLIR"
    tokens: ClassVar[dict[str, list[tuple[str, object]]]] = {
        "root": [
            (r"//[^\n]*", Comment.Single),
            (r'@?"(?:[^"\\]|\\.)*"', String),
            (rf"%{_WORD}(?:#\d+)?", Name.Variable),
            (rf"@{_WORD}", Name.Function),
            (rf"\^{_WORD}", Name.Label),
            (rf"[#!]{_WORD}", Name.Attribute),
            (r"(?:tensor|memref|vector|tuple|index|none|complex|[su]?i\d+|bf16|t?f\d+\w*)\b", Keyword.Type),
            (r"(?:module|func|attributes|private|loc|dense|dense_resource|unit|true|false)\b(?!\.)", Keyword),
            (r"[a-z_]\w*(?:\.\w+)+", Keyword),
            (r"0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:e[+-]?\d+)?)?", Number),
            (r"[A-Za-z_]\w*", Text),
            (r"\s+|.", Text),
        ]
    }


def ir_in_colours(text: str) -> str:
    """MLIR's text in colour."""
    return _highlighted(text, MLIRLexer)


def script_in_colours(text: str) -> str:
    """A script in colour."""
    return _highlighted(text, PythonLexer)


def _highlighted(text: str, lexer: Callable[..., object]) -> str:
    if len(text) > MAX_SIZE:
        return text
    return str(highlight(text, lexer(stripnl=False, ensurenl=False), TerminalFormatter()))
