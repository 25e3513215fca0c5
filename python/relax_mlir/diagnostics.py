"""MLIR's diagnostics as values: collected while code runs, never printed directly by the bindings; source frames."""

from __future__ import annotations

import ast
import functools
import io
import linecache
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relax_mlir.error import Diagnostic, ParseError, RelaxError, ScriptError, VerifyError
from relax_mlir.files import read_bytes
from relax_mlir.memory_left import for_text, require
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import undecodable

_PLACE = re.compile(r"^\S[^\n]*?:\d+:\d+: ")

Sink = Callable[[Diagnostic], None]


def location_text(location: ir.Location) -> str:
    """``file:line:column`` of a location; for fused, named and call-site locations, of the first file location."""
    exact: Any = ir.Location.from_attr(location.attr, location.context)
    if hasattr(exact, "filename"):
        return f"{exact.filename}:{exact.start_line}:{exact.start_col}"
    for inner in _inner_locations(exact):
        text = location_text(inner)
        if text != "unknown":
            return text
    return "unknown"


def all_places(location: ir.Location) -> list[str]:
    """``file:line:column`` of each distinct file location in a location, in order."""
    exact: Any = ir.Location.from_attr(location.attr, location.context)
    if hasattr(exact, "filename"):
        return [location_text(exact)]
    inner = [place for part in _inner_locations(exact) for place in all_places(part)]
    return list(dict.fromkeys(inner))


def where(op: ir.Operation) -> str:
    """``file:line:column`` of an op, in the form in which messages begin."""
    return location_text(op.location)


def locate(error: RelaxError, op: ir.Operation) -> None:
    """Prefix the message of `error` with the location and name of `op`, unless it begins with a location."""
    message = str(error)
    if _PLACE.match(message) is None and not isinstance(error, VerifyError | ScriptError):
        error.args = (f"{where(op)}: {op.name}: {message}",)


def _inner_locations(location: Any) -> list[ir.Location]:  # noqa: ANN401 - a location class of the bindings
    if hasattr(location, "locations"):
        return list(location.locations)
    return [getattr(location, name) for name in ("child_loc", "callee") if hasattr(location, name)]


def flatten(diagnostic: Any) -> list[Diagnostic]:  # noqa: ANN401 - Diagnostic or DiagnosticInfo of the bindings
    """The diagnostic and its notes, in order."""
    severity = diagnostic.severity.name.lower()
    result = [Diagnostic(severity, location_text(diagnostic.location), diagnostic.message)]
    for note in diagnostic.notes:
        result += flatten(note)
    return result


def of_error(error: BaseException) -> list[Diagnostic]:
    """The diagnostics that an ``MLIRError`` of the bindings carries (none for any other exception)."""
    return [d for item in getattr(error, "error_diagnostics", ()) for d in flatten(item)]


class _ThreadState(threading.local):
    """The active collectors of this thread, outermost first."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []


_state = _ThreadState()
_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING}


@contextmanager
def collect(context: ir.Context, sink: Sink) -> Iterator[None]:
    """Send every diagnostic of `context` to `sink` instead of stderr.

    Errors that are raised as an ``MLIRError`` are not included: the exception carries them (see `of_error`).
    """

    raised: list[BaseException] = []

    def handle(diagnostic: Any) -> bool:  # noqa: ANN401 - a class of the bindings
        try:
            for item in flatten(diagnostic):
                sink(item)
        except BaseException as error:  # an exception that passes MLIR leaves the lock of its diagnostics taken
            raised.append(error)
        return True

    handler = context.attach_diagnostic_handler(handle)
    _state.sinks.append(sink)
    try:
        yield
    finally:
        _state.sinks.pop()
        handler.detach()
        if raised:
            raise raised[0]


def report(diagnostic: Diagnostic) -> None:
    """Hand a diagnostic to the collector around this call; without one, log it under ``relax_mlir``."""
    if _state.sinks:
        _state.sinks[-1](diagnostic)
        return
    logging.getLogger("relax_mlir").log(_LEVELS.get(diagnostic.severity, logging.INFO), "%s", diagnostic)


def parse_module(text: str | bytes, context: ir.Context) -> ir.Module:
    """Parse and verify IR text into `context`; locations of its ops name the file ``-``.

    Raises:
        ir.MLIRError: the text is no valid module; carries MLIR's diagnostics.
        ParseError: the text is no valid module, and the diagnostics quote bytes of it that are not UTF-8, which the
            bindings cannot pass on.
    """
    require("a module", for_text(len(text)))
    data = text.encode() if isinstance(text, str) else text
    return _decodable(lambda: ir.Module.parse(text, context), lambda: data)


def name_source(module: ir.Module, source: str) -> None:
    """Rename the file in the locations of ops that `parse_module` has read from ``-`` to `source`."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        exact: Any = ir.Location.from_attr(op.location.attr, op.context)
        if hasattr(exact, "filename") and exact.filename == "-":
            op.location = ir.Location.file(source, exact.start_line, exact.start_col, op.context)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def parse_file(path: str, context: ir.Context) -> ir.Module:
    """Like `parse_module` for a file, which the locations name."""
    require(path, for_text(os.path.getsize(path) if os.path.isfile(path) else 0))
    return _decodable(lambda: ir.Module.parseFile(path, context), lambda: read_bytes(path))


BYTECODE = b"ML\xefR"
"""The first bytes of MLIR bytecode."""


def _decodable(parse: Callable[[], ir.Module], source: Callable[[], bytes]) -> ir.Module:
    """A module whose strings Python can decode, as it can the diagnostics."""
    try:
        module = parse()
        text = source()
        if text.startswith(BYTECODE):
            limits = {"large_elements_limit": 16, "large_resource_limit": 16}
            text = module.operation.get_asm(binary=True, enable_debug_info=True, **limits)
        if literal := undecodable(text):
            raise ParseError(f"not a valid module: the string {literal} is no UTF-8 text")
        return module
    except (UnicodeError, RuntimeError) as error:
        raise ParseError(f"not a valid module, and what MLIR says of it is no valid UTF-8 ({error})") from None


# The source line that an error refers to, underlined.

_AT_BEGIN = re.compile(r"^\s*(?P<place>\S[^\n]*?:\d+:\d+): ")
_IDENTIFIER = re.compile(r"[\w.$%@\"]+")


def split_place(place: str) -> tuple[str, int, int] | None:
    """File, line and column of ``file:line:column``; None for any other text."""
    parts = place.rsplit(":", 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return parts[0], int(parts[1]), int(parts[2])


def source_frame(place: str) -> list[str]:
    """The source line at ``file:line:column`` and carets below it; empty if the file cannot be read.

    In Python files, the whole expression that begins there is underlined, in other files the word; without a column,
    the whole line.
    """
    found = split_place(place)
    if found is None:
        return []
    filename, number, column = found
    text = linecache.getline(filename, number).rstrip("\n").replace("\t", " ")
    if not text.strip():
        return []
    begin, end = _span(filename, number, column, text)
    margin = f"{number:5}"
    return [f"{margin} | {text}", f"{' ' * len(margin)} | {' ' * begin}{'^' * max(end - begin, 1)}"]


def with_frames(message: str) -> str:
    """`message`, with the source line below each of its lines that begins with a source location."""
    lines: list[str] = []
    for line in message.split("\n"):
        lines.append(line)
        match = _AT_BEGIN.match(line)
        if match is not None:
            lines += source_frame(match["place"])
    return "\n".join(lines)


def _span(filename: str, number: int, column: int, text: str) -> tuple[int, int]:
    """The columns, counted from 0, to underline."""
    whole = len(text) - len(text.lstrip()), len(text)
    if column == 0:
        return whole
    begin = min(column - 1, len(text))
    if filename.endswith(".py"):
        ends = _expressions(filename, "".join(linecache.getlines(filename))).get((number, begin))
        if ends is not None:
            return begin, min(ends, len(text))
    word = _IDENTIFIER.match(text, begin)
    return begin, word.end() if word is not None else begin + 1


def source_lines(text: str, *, keepends: bool = False) -> list[str]:
    """The lines of Python text as its parser counts them; `str.splitlines` also splits at form feeds, for example."""
    lines = list(io.StringIO(text, newline=""))
    return lines if keepends else [line.rstrip("\r\n") for line in lines]


@functools.lru_cache(maxsize=8)
def _expressions(filename: str, text: str) -> dict[tuple[int, int], int]:
    """The last column, on its first line, of the longest expression that begins at each position of Python text."""
    try:
        tree = ast.parse(text, filename)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    lines = source_lines(text)
    found: dict[tuple[int, int], int] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or node.end_col_offset is None:
            continue
        line = lines[node.lineno - 1]
        begin = len(line.encode()[: node.col_offset].decode(errors="ignore"))
        last = node.end_lineno == node.lineno
        end = len(line.encode()[: node.end_col_offset].decode(errors="ignore")) if last else len(line)
        key = node.lineno, begin
        found[key] = max(found.get(key, 0), end)
    return found
