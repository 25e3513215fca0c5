"""Notes on run-time errors: the instructions that led to the error, with their registers.

The native core adds function names and instruction numbers to the traceback; the notes show the instructions.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_mlir.vm.executable import Executable

FILE = "<bytecode>"
"""The file name of bytecode frames in tracebacks."""
MAX_CHARS = 200


def add_notes(raised: BaseException, told: BaseException, executable: Executable) -> None:
    """Add notes to `raised` for the bytecode frames in the traceback of `told`, the innermost last."""
    found: dict[str, None] = {}
    place = told.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if code.co_filename == FILE:
            found.setdefault(_text(executable, code.co_name, place.tb_lineno))
        place = place.tb_next
    known = getattr(raised, "__notes__", ())
    for note in found:
        if note and note not in known:
            _add(raised, note)


def _add(error: BaseException, note: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(note)


def _text(executable: Executable, name: str, number: int) -> str:
    """Format ``main, instruction 2: call vm.builtin.shape_of in: %0 dst: %1``; empty for another machine's function."""
    from relax_mlir.vm.text_forms import instruction_text

    info = next((info for info in executable.functions if info.name == name and info.kind == "vm"), None)
    if info is None or not 0 <= number < info.end - info.start:
        return ""
    words = instruction_text(executable, info.start + number).split()
    return f"{name}, instruction {number}: {' '.join(words)}"[:MAX_CHARS]
