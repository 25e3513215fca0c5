"""Source text of a script: positions, and errors that show the line with the error underlined."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from relax_mlir.cached import cached_property
from relax_mlir.error import Diagnostic, RelaxError, ScriptError, UnsupportedError
from relax_mlir.script import definitions
from relax_mlir.source_frame import source_lines

_OPS = re.compile(r"\bop\.(?=[a-z])")
"""Messages name ops ``op.…``; a script calls them ``R.…``."""


class Problem(Exception):
    """An error at a node of the script; `kind` is the name of its error class."""

    def __init__(self, node: ast.AST, message: str, kind: str = "ScriptError") -> None:
        super().__init__(message)
        self.node, self.message, self.kind = node, message, kind

    @classmethod
    def of(cls, node: ast.AST, error: Exception) -> Problem:
        """Convert an `error` raised on behalf of `node`."""
        kind = type(error).__name__ if isinstance(error, RelaxError) else "ArgumentError"
        return cls(node, _OPS.sub("R.", str(error)), kind)


class Poisoned(Exception):
    """Raised when a name is used whose definition had an error, which has been reported already."""


@dataclass
class Source:
    """Python text and the errors found in it.

    `first_line` is the line of `filename` at which `text` begins. An indented definition (a class inside a function) is
    parsed with its indentation, so that columns are those of the file.
    """

    text: str
    filename: str
    first_line: int = 1
    frames: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    unsupported: bool = True
    """True while all errors are constructs that this version does not read."""
    mistakes: int = 0
    """The number of statements and heads with an error, including those that only use a poisoned name."""

    @classmethod
    def of(cls, item: type | Callable[..., Any], frame: FrameType) -> Source:
        """The source of a class or function that is decorated in `frame`. Raises `ScriptError` if it has none."""
        try:
            found = definitions.find(item, frame)
        except definitions.NotFound as error:
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}:1"
            message = f"{place}: ScriptError: {error}"
            raise ScriptError([message], [Diagnostic("error", place, f"ScriptError: {error}")]) from None
        return cls(found.text, found.filename, found.first_line)

    def tree(self) -> ast.Module:
        """Return the syntax tree, with line numbers of the file."""
        indented = self.text[:1] in (" ", "\t")
        try:
            tree = ast.parse("if True:\n" + self.text if indented else self.text)
            _check_names(tree)
        except (SyntaxError, ValueError, RecursionError) as error:
            line = (getattr(error, "lineno", None) or 1) - indented
            offset = getattr(error, "offset", None) or 1
            message = getattr(error, "msg", None) or str(error)
            self.report_at(self.first_line + line - 1, offset - 1, offset, "SyntaxError", message)
            raise self.error() from None
        if indented:
            assert isinstance(tree.body[0], ast.If)
            tree = ast.Module(body=tree.body[0].body, type_ignores=[])
        if lines := self.first_line - 1 - indented:
            ast.increment_lineno(tree, lines)
        return tree

    def line(self, number: int) -> str:
        """Return line `number` of the file, without its line end."""
        index = number - self.first_line
        return self.lines[index] if 0 <= index < len(self.lines) else ""

    @cached_property
    def lines(self) -> list[str]:
        return source_lines(self.text)

    def report(self, problem: Problem) -> None:
        """Record an error; `error` raises all of them at the end."""
        line, begin, end = self.span(problem.node)
        self.report_at(line, begin, end, problem.kind, problem.message)

    def report_at(self, line: int, begin: int, end: int, kind: str, message: str) -> None:
        """Record an error at columns ``begin:end`` (counted from 0) of `line`."""
        self.unsupported = self.unsupported and kind == "UnsupportedError"
        self.mistakes += 1
        frame = self.frame(line, begin, end, kind, message)
        if frame in self.frames:
            return  # statements after an `if` with a `return` are read once per branch
        self.frames.append(frame)
        self.diagnostics.append(
            Diagnostic("error", f"{self.filename}:{line}:{begin + 1}", f"{kind}: {message}")
        )

    def span(self, node: ast.AST) -> tuple[int, int, int]:
        """Return the line, first column and end column of a node. For several lines, the span of the first."""
        number = getattr(node, "lineno", self.first_line)
        text = self.line(number)
        begin = _characters(text, getattr(node, "col_offset", 0))
        last = getattr(node, "end_lineno", number) == number
        end = (
            _characters(text, node.end_col_offset) if last and hasattr(node, "end_col_offset") else len(text)
        )
        return number, begin, end

    def frame(self, line: int, begin: int, end: int, kind: str, message: str) -> str:
        """Format a message with its location and the source line underlined."""
        text = self.line(line)
        margin = f"{line:5}"
        end = min(max(end, begin + 1), max(len(text), begin + 1))
        return "\n".join(
            [
                f"{self.filename}:{line}:{begin + 1}: {kind}: {message}",
                f"{margin} | {text}",
                f"{' ' * len(margin)} | {' ' * begin}{'^' * (end - begin)}",
            ]
        )

    def error(self) -> ScriptError | UnsupportedError:
        """Return all errors as one exception, in the order in which they were found."""
        if self.unsupported:
            return UnsupportedError("\n".join(["not supported in a script", *self.frames]))
        return ScriptError(self.frames, self.diagnostics)

    def check(self) -> None:
        """Raise if there are errors."""
        if self.frames:
            raise self.error()


def _check_names(tree: ast.Module) -> None:
    """Raise `SyntaxError` for a repeated parameter or argument name, which `ast.parse` accepts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            named: list[ast.arg | ast.keyword] = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            what = "parameter"
        elif isinstance(node, ast.Call):
            named, what = [item for item in node.keywords if item.arg is not None], "argument"
        else:
            continue
        seen: set[str | None] = set()
        for item in named:
            if item.arg in seen:
                message = f"{what} '{item.arg}' is given twice"
                raise SyntaxError(message, ("", item.lineno, item.col_offset + 1, None))
            seen.add(item.arg)


def _characters(text: str, offset: int) -> int:
    """Convert a column in UTF-8 bytes, as in `ast`, to one in characters."""
    return len(text.encode()[:offset].decode(errors="ignore"))
