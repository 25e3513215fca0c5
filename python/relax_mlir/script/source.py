"""Source text of a script: positions, and errors that show the line with the mistake underlined."""

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
"""How messages name the ops, which a script calls R.…"""


class Problem(Exception):
    """A mistake at a node of the script; `kind` is the name of the error that it stands for."""

    def __init__(self, node: ast.AST, message: str, kind: str = "ScriptError") -> None:
        super().__init__(message)
        self.node, self.message, self.kind = node, message, kind

    @classmethod
    def of(cls, node: ast.AST, error: Exception) -> Problem:
        """The problem that `error`, raised on behalf of `node`, is."""
        kind = type(error).__name__ if isinstance(error, RelaxError) else "ArgumentError"
        return cls(node, _OPS.sub("R.", str(error)), kind)


class Poisoned(Exception):
    """Raised by the use of a name whose definition was a mistake: that one has been reported already."""


@dataclass
class Source:
    """A piece of Python text, and the mistakes found in it.

    `first_line` is the line of `filename` at which `text` begins; an indented piece (a class inside a function)
    is parsed as it stands, so that columns are those of the file.
    """

    text: str
    filename: str
    first_line: int = 1
    frames: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    unsupported: bool = True
    """Whether all mistakes so far are constructs that this version does not read."""
    mistakes: int = 0
    """How many statements and heads went wrong so far, those that only use what was a mistake before included."""

    @classmethod
    def of(cls, item: type | Callable[..., Any], frame: FrameType) -> Source:
        """The source of a class or a function that is decorated in `frame`; raises `ScriptError` if it has none."""
        try:
            found = definitions.find(item, frame)
        except definitions.NotFound as error:
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}:1"
            message = f"{place}: ScriptError: {error}"
            raise ScriptError([message], [Diagnostic("error", place, f"ScriptError: {error}")]) from None
        return cls(found.text, found.filename, found.first_line)

    def tree(self) -> ast.Module:
        """The syntax tree, with the lines of the file."""
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
        """Line `number` of the file, without its end."""
        index = number - self.first_line
        return self.lines[index] if 0 <= index < len(self.lines) else ""

    @cached_property
    def lines(self) -> list[str]:
        return source_lines(self.text)

    def report(self, problem: Problem) -> None:
        """Note a mistake; `error` raises all of them in the end."""
        line, begin, end = self.span(problem.node)
        self.report_at(line, begin, end, problem.kind, problem.message)

    def report_at(self, line: int, begin: int, end: int, kind: str, message: str) -> None:
        """Note a mistake at columns ``begin:end`` (counted from 0) of `line`."""
        self.unsupported = self.unsupported and kind == "UnsupportedError"
        self.mistakes += 1
        frame = self.frame(line, begin, end, kind, message)
        if frame in self.frames:
            return  # what follows an `if` with a `return` is read once per branch
        self.frames.append(frame)
        self.diagnostics.append(
            Diagnostic("error", f"{self.filename}:{line}:{begin + 1}", f"{kind}: {message}")
        )

    def span(self, node: ast.AST) -> tuple[int, int, int]:
        """Line, first column and end column of a node; of one with several lines, its first."""
        number = getattr(node, "lineno", self.first_line)
        text = self.line(number)
        begin = _characters(text, getattr(node, "col_offset", 0))
        last = getattr(node, "end_lineno", number) == number
        end = (
            _characters(text, node.end_col_offset) if last and hasattr(node, "end_col_offset") else len(text)
        )
        return number, begin, end

    def frame(self, line: int, begin: int, end: int, kind: str, message: str) -> str:
        """The message with its place and the source line underlined."""
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
        """All mistakes as one error, in the order in which they have been found."""
        if self.unsupported:
            return UnsupportedError("\n".join(["not supported in a script", *self.frames]))
        return ScriptError(self.frames, self.diagnostics)

    def check(self) -> None:
        """Raise if there are mistakes."""
        if self.frames:
            raise self.error()


def _check_names(tree: ast.Module) -> None:
    """Raise `SyntaxError` for a name given twice to a parameter or an argument, which the parser lets pass."""
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
    """A column counted in bytes of UTF-8, as `ast` does, in characters."""
    return len(text.encode()[:offset].decode(errors="ignore"))
