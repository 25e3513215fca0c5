"""Source locations: the line of the user's Python that made an op."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from relax_mlir.mlir import ir

_PACKAGE = "relax_mlir"


class _Stated(threading.local):
    """The position in a source text that is being read, or the op that is being replaced, if any."""

    position: tuple[str, int, int] | None = None
    replaced: tuple[ir.Location, FrameType] | None = None


_stated = _Stated()


@contextlib.contextmanager
def located_at(filename: str, line: int, column: int) -> Iterator[None]:
    """Inside, ops get this location in place of the caller's line: for readers of source text."""
    outer, _stated.position = _stated.position, (filename, line, column)
    try:
        yield
    finally:
        _stated.position = outer


@contextlib.contextmanager
def replacing(location: ir.Location) -> Iterator[None]:
    """Inside, ops get the location of the op that they take the place of, without its name.

    So does what this package makes on the way. What functions of users make, such as their strategies, has their lines.
    """
    outer = _stated.replaced
    _stated.replaced = unnamed(location), sys._getframe(2)  # the frame of the `with` statement
    try:
        yield
    finally:
        _stated.replaced = outer


def user_frame_position() -> tuple[str, int]:
    """File and line of the innermost caller outside this package, or of the op that is being replaced."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if _stated.replaced is not None and frame is _stated.replaced[1]:
            exact = ir.Location.from_attr(_stated.replaced[0].attr, _stated.replaced[0].context)
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
    """The name that a location gives the value of its op; None for none."""
    exact = ir.Location.from_attr(location.attr, location.context)
    return str(exact.name_str) if isinstance(exact, ir.NameLoc) else None


def unnamed(location: ir.Location) -> ir.Location:
    """The location without a name: for ops that help to compute a value of the user and are not that value."""
    exact = ir.Location.from_attr(location.attr, location.context)
    while isinstance(exact, ir.NameLoc):
        exact = ir.Location.from_attr(exact.child_loc.attr, location.context)
    return exact


def renamed(name: str | None, location: ir.Location) -> ir.Location:
    """The location with `name` in place of the name that it has, if any."""
    plain = unnamed(location)
    return ir.Location.name(name, plain, location.context) if name else plain


def name_value(value: ir.Value, location: ir.Location) -> None:
    """Give the op that defines `value` the name of `location`, unless it has one; block arguments keep theirs."""
    name = name_of(location)
    owner = value.owner
    if name is not None and not isinstance(owner, ir.Block) and name_of(owner.location) is None:
        owner.operation.location = ir.Location.name(name, owner.location, location.context)
