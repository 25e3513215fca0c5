"""Source locations: the line of the user's Python that made an op."""

from __future__ import annotations

import sys

from relax_mlir.mlir import ir

_PACKAGE = "relax_mlir"


def user_frame_position() -> tuple[str, int]:
    """File and line of the innermost caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name not in (_PACKAGE, "contextlib") and not name.startswith(_PACKAGE + "."):
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def user_location(name: str | None = None) -> ir.Location:
    """Location of the user's line, named after the value if it has a name; needs a current context."""
    filename, line = user_frame_position()
    location = ir.Location.file(filename, line, 0)
    return ir.Location.name(name, location) if name else location
