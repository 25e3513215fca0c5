"""Code and tables in colour: IR and scripts on terminals, HTML in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import ClassVar

from pygments import highlight
from pygments.formatters import HtmlFormatter, TerminalFormatter
from pygments.lexer import RegexLexer
from pygments.lexers import PythonLexer
from pygments.style import Style
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text

# HTML for notebooks: code and tables that are readable on light and on dark pages.
#
# Text has the colour of the page. Coloured text has a contrast of 4 or more to white and to near black, since notebook
# output may be exported, without its styles, to a page of the other kind.

_PRE = "background: transparent; color: inherit; line-height: 1.35; overflow-x: auto; tab-size: 4;"
_CELL = "padding: 0 0.8em 0 0; color: inherit; background: transparent; font-family: monospace;"


class PageStyle(Style):  # type: ignore[misc]  # pygments is seen without types
    """Colours of medium brightness."""

    background_color = "transparent"
    styles: ClassVar = {
        Comment: "italic #787878",
        Keyword: "#b843d0",
        Operator.Word: "#b843d0",
        Name.Decorator: "#188585",
        Name.Function: "#1376e7",
        Name.Class: "#1376e7",
        Name.Builtin: "#db356d",
        String: "#1d8a41",
        Number: "#c25a10",
    }


def code_html(text: str) -> str:
    """Python or script text in colour."""
    formatter = HtmlFormatter(style=PageStyle, noclasses=True, nobackground=True, prestyles=_PRE)
    return str(highlight(text, PythonLexer(), formatter))


def preformatted_html(text: str) -> str:
    """Preformatted text in the colour of the page."""
    return f'<pre style="{_PRE}">{escape(text)}</pre>'


def table_html(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A table whose first `words` columns are text and whose other columns are numbers."""

    def line(tag: str, cells: Sequence[str]) -> str:
        aligned = ["left" if number < words else "right" for number in range(len(cells))]
        made = (
            f'<{tag} style="{_CELL} text-align: {side};">{escape(cell)}</{tag}>'
            for side, cell in zip(aligned, cells, strict=True)
        )
        return f'<tr style="background: transparent;">{"".join(made)}</tr>'

    body = "\n".join(line("td", row) for row in rows)
    caption = f'<caption style="color: inherit; text-align: left;">{escape(title)}</caption>'
    head = f"<thead>{line('th', header)}</thead>"
    return f'<table style="color: inherit; border: none;">{caption}{head}<tbody>\n{body}\n</tbody></table>'


# IR and scripts in colour, for terminals.

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
