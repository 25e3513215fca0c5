"""HTML for notebooks: code and tables that are readable on light and on dark pages.

Text has the colour of the page. Coloured text has a contrast of 4 or more to white and to near black, since notebook
output may be exported, without its styles, to a page of the other kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import ClassVar

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from pygments.style import Style
from pygments.token import Comment, Keyword, Name, Number, Operator, String

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


def code(text: str) -> str:
    """Python or script text in colour."""
    formatter = HtmlFormatter(style=PageStyle, noclasses=True, nobackground=True, prestyles=_PRE)
    return str(highlight(text, PythonLexer(), formatter))


def preformatted(text: str) -> str:
    """Preformatted text in the colour of the page."""
    return f'<pre style="{_PRE}">{escape(text)}</pre>'


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
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
