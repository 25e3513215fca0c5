"""The location in a user's Python file where an exception was raised, for messages."""

from __future__ import annotations

import sysconfig
import traceback

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def place_in(error: BaseException, file: str) -> str | None:
    """``file:line:0`` of the innermost call in `file` in the traceback of an exception or of its causes.

    None if no call is in `file`.
    """
    found = None
    cause: BaseException | None = error
    while cause is not None:
        for frame in traceback.extract_tb(cause.__traceback__):
            if frame.filename == file:
                found = f"{file}:{frame.lineno}:0"
        cause = cause.__cause__
    return found


def user_place(error: BaseException) -> str | None:
    """``file:line:0`` of the innermost call in code that belongs neither to this project nor to a library."""
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        name, file = str(frame.f_globals.get("__name__", "")), frame.f_code.co_filename
        is_own = name == "relax_mlir" or name.startswith("relax_mlir.")
        if not is_own and not file.startswith(("<", *_LIBRARIES)):
            found = f"{file}:{line}:0"
    return found
