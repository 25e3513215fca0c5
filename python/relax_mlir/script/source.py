"""Sources of scripts: their text, the functions in it, decorator options, and where an error is."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import itertools
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from relax_mlir.diagnostics import source_lines
from relax_mlir.error import Diagnostic, RelaxError, ScriptError, UnknownNameError, UnsupportedError
from relax_mlir.fork_safety import cached_property

COMMAND, PROMPT = "<string>", "<stdin>"
"""Python's file names of such text. Later versions name each typed input separately."""
MAX_LINES = 2000
"""The maximum number of history lines searched for the start of a definition."""


def typed_lines(filename: str) -> list[str]:
    """Return the lines of the text that Python runs as `filename`; empty if they are not available."""
    if filename == COMMAND:
        return _command()
    return _last_block(_history()) if filename == PROMPT else []


def _command() -> list[str]:
    """Return the text after ``python -c``."""
    given = sys.orig_argv
    for option, text in itertools.pairwise(given):
        if option.startswith("-") and not option.startswith("--") and option.endswith("c"):
            return source_lines(text, keepends=True)
    return []


def _history() -> list[str]:
    """Return the most recently typed lines, in order."""
    readline = sys.modules.get("readline")
    if readline is None:
        return []
    count = readline.get_current_history_length()
    items = (readline.get_history_item(number) for number in range(max(1, count - MAX_LINES), count + 1))
    return [item for item in items if item is not None]


def _last_block(lines: list[str]) -> list[str]:
    """Return the last class or function definition among typed lines; empty if they end in something else."""
    for start in range(len(lines) - 1, -1, -1):
        if not lines[start].startswith(("@", "class ", "def ")):
            continue
        if start and lines[start - 1].startswith("@"):
            continue  # a decorator precedes it
        found = [line + "\n" for line in lines[start:]]
        try:
            body = ast.parse("".join(found)).body
        except (SyntaxError, ValueError):
            return []
        is_definition = len(body) == 1 and isinstance(body[0], ast.ClassDef | ast.FunctionDef)
        return found if is_definition else []
    return []


Definition = ast.ClassDef | ast.FunctionDef


class NotFound(Exception):
    """The source of a definition cannot be determined; the message gives the reason and a remedy."""


@dataclass(frozen=True)
class Text:
    """The source of a definition: its text, the file, and its first line."""

    text: str
    filename: str
    first_line: int


@dataclass(frozen=True)
class _File:
    lines: list[str]
    definitions: list[Definition]
    codes: dict[tuple[str, int], CodeType]
    """Code objects by name and first line; empty if the file cannot be compiled by itself."""


def find(item: type | Callable[..., Any], frame: FrameType) -> Text:
    """Return the source of a class or function that is decorated in `frame`. Raises `NotFound`."""
    functions = _methods(item) if isinstance(item, type) else [inspect.unwrap(item)]
    codes = [f.__code__ for f in functions if inspect.isfunction(f)]
    filename = codes[0].co_filename if codes else frame.f_code.co_filename
    if not isinstance(item, type) and (not codes or codes[0].co_name == "<lambda>"):
        raise NotFound(f"{item!r} is no function made by `def`, whose source can be read")
    if codes and codes[0].co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NotFound(f"'{codes[0].co_name}' is a coroutine, which a script does not have: write `def`")
    file, filename, typed = _read(item, filename, frame)
    try:
        node = _definition(item, codes, file, filename, frame)
    except NotFound:
        if typed:  # other code runs under this name
            raise _no_file(item, filename) from None
        raise
    assert node.end_lineno is not None
    first = _first_line(node)
    return Text("".join(file.lines[first - 1 : node.end_lineno]), filename, first)


def _definition(
    item: type | Callable[..., Any], codes: list[CodeType], file: _File, filename: str, frame: FrameType
) -> Definition:
    """Return the syntax node of `item`. Raises `NotFound`."""
    node: Definition
    is_class = isinstance(item, type)
    node = _class(item, codes, file, filename, frame) if is_class else _function(codes[0], file, filename)
    for code in codes:
        _check_unchanged(code, file, filename)
    return node


def _methods(cls: type) -> list[Callable[..., Any]]:
    """Return the functions defined in the body of a class."""
    members = [getattr(member, "__func__", member) for member in vars(cls).values()]
    own = [m for m in members if inspect.isfunction(m) and m.__qualname__ == f"{cls.__qualname__}.{m.__name__}"]
    return [m for m in own if m.__module__ == cls.__module__]


def _read(item: type | Callable[..., Any], filename: str, frame: FrameType) -> tuple[_File, str, bool]:
    """Return the source that holds a definition, its file name, and True if it was typed, not read from a file."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, frame.f_globals)
    if not lines:
        with contextlib.suppress(OSError, TypeError):  # a class whose module is not in sys.modules
            filename = inspect.getsourcefile(item) or filename
        lines = linecache.getlines(filename, frame.f_globals)
    typed = not lines
    lines = lines or typed_lines(filename)
    if not lines:
        raise _no_file(item, filename)
    return _parsed("".join(lines), filename), filename, typed


def _no_file(item: type | Callable[..., Any], filename: str) -> NotFound:
    return NotFound(
        f"cannot read the source of '{item.__qualname__}': {filename} is no file; "
        "relax_mlir.script.parse reads a script that is a text"
    )


@functools.lru_cache(maxsize=8)
def _parsed(text: str, filename: str) -> _File:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotFound(f"{filename} is not the text that runs: {error}; import the file again") from None
    definitions = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    try:
        code = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):  # such as `await` in a notebook cell
        return _File(source_lines(text, keepends=True), definitions, {})
    codes = {(c.co_name, c.co_firstlineno): c for c in _codes(code)}
    return _File(source_lines(text, keepends=True), definitions, codes)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _first_line(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _function(code: CodeType, file: _File, filename: str) -> ast.FunctionDef:
    for node in file.definitions:
        named = isinstance(node, ast.FunctionDef) and node.name == code.co_name
        if named and _first_line(node) == code.co_firstlineno:
            assert isinstance(node, ast.FunctionDef)
            return node
    raise _changed(code.co_name, code.co_firstlineno, filename)


def _class(
    cls: type | Callable[..., Any], codes: list[CodeType], file: _File, filename: str, frame: FrameType
) -> ast.ClassDef:
    """Find the class whose methods are `codes`. A class without methods is found by the current line of `frame`."""
    first = getattr(cls, "__firstlineno__", None)  # Python 3.13
    lines = [code.co_firstlineno for code in codes]
    if not lines:
        lines = [frame.f_lineno if first is None else first]
    found = [
        node
        for node in file.definitions
        if isinstance(node, ast.ClassDef)
        and node.name == cls.__name__
        and all(_first_line(node) <= line <= (node.end_lineno or 0) for line in lines)
    ]
    if not found:
        raise _changed(cls.__qualname__, lines[0], filename)
    node = max(found, key=_first_line)
    inside = {(n.name, _first_line(n)) for n in node.body if isinstance(n, ast.FunctionDef)}
    missing = [c for c in codes if (c.co_name, c.co_firstlineno) not in inside]
    if missing or (first is not None and first != _first_line(node)):
        raise _changed(cls.__qualname__, lines[0], filename)
    return node


def _changed(name: str, line: int, filename: str) -> NotFound:
    return NotFound(
        f"cannot read the source of '{name}': line {line} of {filename} is not where it is defined. "
        "The file has changed since it was imported, or the code does not come from it: import the file again, "
        "or give the text to relax_mlir.script.parse"
    )


def _check_unchanged(code: CodeType, file: _File, filename: str) -> None:
    """Raise `NotFound` if the file differs from the code that runs.

    Tools that rewrite `assert`, such as pytest, add names that start with "@"; such code is accepted.
    """
    written = file.codes.get((code.co_name, code.co_firstlineno))
    if written is None:
        return
    expected, found = _words(written), _words(code)
    rewritten = any(word.startswith("@") for word in found) and expected <= found
    if not rewritten and (expected != found or _instructions(written) != _instructions(code)):
        raise _changed(code.co_name, code.co_firstlineno, filename)


def _words(code: CodeType) -> set[str]:
    """The names and constants of a function and of the functions nested in it."""
    found: set[str] = set()
    for one in _codes(code):
        found.update(one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars)
        found.update(repr(c) for c in one.co_consts if not isinstance(c, CodeType))
    return found


def _instructions(code: CodeType) -> list[bytes]:
    return [one.co_code for one in _codes(code)]


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
            found = find(item, frame)
        except NotFound as error:
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
        self.diagnostics.append(Diagnostic("error", f"{self.filename}:{line}:{begin + 1}", f"{kind}: {message}"))

    def span(self, node: ast.AST) -> tuple[int, int, int]:
        """Return the line, first column and end column of a node. For several lines, the span of the first."""
        number = getattr(node, "lineno", self.first_line)
        text = self.line(number)
        begin = _characters(text, getattr(node, "col_offset", 0))
        last = getattr(node, "end_lineno", number) == number
        end = _characters(text, node.end_col_offset) if last and hasattr(node, "end_col_offset") else len(text)
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


OPTIONS: Mapping[str, tuple[str, ...]] = {
    "ir_module": ("check_well_formed", "s_tir"),
    "function": ("private", "pure", "check_well_formed"),
    "prim_func": ("private", "check_well_formed", "s_tir"),
}
"""The options of each decorator.

`check_well_formed` and `s_tir` are accepted for TVM: modules are always verified, and every prim func is S-TIR.
"""


def options(node: ast.expr, kind: str) -> dict[str, bool]:
    """Return the options of the decorator `node`. Raises `Problem` for an unknown option or a value that is no bool."""
    if not isinstance(node, ast.Call):
        return {}
    if node.args:
        raise Problem(node, f"@{ast.unparse(node.func)} takes its options by name: {', '.join(OPTIONS[kind])}")
    found: dict[str, bool] = {}
    for keyword in node.keywords:
        if keyword.arg not in OPTIONS[kind]:
            error = UnknownNameError(f"option of @{ast.unparse(node.func)}", str(keyword.arg), OPTIONS[kind])
            raise Problem(keyword, str(error), "ArgumentError")
        if not isinstance(keyword.value, ast.Constant) or not isinstance(keyword.value.value, bool):
            raise Problem(keyword, f"{keyword.arg} is True or False, written out", "ArgumentError")
        found[keyword.arg] = keyword.value.value
    return found
