"""Find the source of a class or a function by the line numbers of its code objects, never by its name alone."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from relax_mlir.script.typed_source import typed_lines
from relax_mlir.source_frame import source_lines

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
    own = [
        m for m in members if inspect.isfunction(m) and m.__qualname__ == f"{cls.__qualname__}.{m.__name__}"
    ]
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
