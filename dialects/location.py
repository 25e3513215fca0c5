"""Source locations: the user's Python line that created an op."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from relax_mlir.mlir import ir

_PACKAGE = "relax_mlir"


class _Stated(threading.local):
    """The position in the source text that is being parsed, or the op that is being replaced, if any."""

    position: tuple[str, int, int] | None = None
    replaced: tuple[ir.Location, FrameType] | None = None


_stated = _Stated()


@contextlib.contextmanager
def located_at(filename: str, line: int, column: int) -> Iterator[None]:
    """A context in which ops get this location instead of the caller's line: for parsers."""
    outer, _stated.position = _stated.position, (filename, line, column)
    try:
        yield
    finally:
        _stated.position = outer


@contextlib.contextmanager
def replacing(location: ir.Location) -> Iterator[None]:
    """A context in which ops get the location of the op that they replace, without its name.

    This includes ops that this package emits in between. Ops emitted by user functions, such as strategies, get the
    lines of these functions.
    """
    outer = _stated.replaced
    _stated.replaced = unnamed(location), sys._getframe(2)  # the frame of the `with` statement
    try:
        yield
    finally:
        _stated.replaced = outer


def user_frame_position() -> tuple[str, int]:
    """File and line of the innermost caller outside this package, or of the op that is being replaced."""
    frame, replaced = sys._getframe(1), _stated.replaced
    while frame.f_back is not None:
        if replaced is not None and frame is replaced[1]:
            exact = ir.Location.from_attr(replaced[0].attr, replaced[0].context)
            if isinstance(exact, ir.FileLineColLoc):
                return exact.filename, exact.start_line
        name = frame.f_globals.get("__name__", "")
        if name not in (_PACKAGE, "contextlib") and not name.startswith(_PACKAGE + "."):
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def user_location(name: str | None = None) -> ir.Location:
    """Location of the user's line, named after the value if it has a name; needs a current context."""
    if _stated.replaced is not None:
        location = _stated.replaced[0]
    else:
        location = ir.Location.file(*(_stated.position or (*user_frame_position(), 0)))
    return ir.Location.name(name, location) if name else location


def name_of(location: ir.Location) -> str | None:
    """The name in a location, which names the value of its op, or None."""
    exact = ir.Location.from_attr(location.attr, location.context)
    return str(exact.name_str) if isinstance(exact, ir.NameLoc) else None


def unnamed(location: ir.Location) -> ir.Location:
    """The location without a name: for ops that contribute to a named value of the user."""
    exact = ir.Location.from_attr(location.attr, location.context)
    while isinstance(exact, ir.NameLoc):
        exact = ir.Location.from_attr(exact.child_loc.attr, location.context)
    return exact


def renamed(name: str | None, location: ir.Location) -> ir.Location:
    """The location with `name` instead of its name, if any."""
    plain = unnamed(location)
    return ir.Location.name(name, plain, location.context) if name else plain


def name_value(value: ir.Value, location: ir.Location) -> None:
    """Name the op that defines `value` after `location`, unless it has a name; block arguments are unchanged."""
    name = name_of(location)
    owner = value.owner
    if name is not None and not isinstance(owner, ir.Block) and name_of(owner.location) is None:
        owner.operation.location = ir.Location.name(name, owner.location, location.context)
