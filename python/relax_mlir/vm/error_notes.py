"""What an error of a run tells beside its message: the instructions that led to it, with their registers.

The native core adds functions and numbers of instructions to the traceback; the notes say what these instructions are.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_mlir.vm.executable import Executable

FILE = "<bytecode>"
"""The file of frames of bytecode in tracebacks."""
MAX_CHARS = 200


def add_notes(raised: BaseException, told: BaseException, executable: Executable) -> None:
    """Note the instructions in the traceback of `told`, the innermost last, at `raised`, which is shown for it."""
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
    """``main, instruction 2: call vm.builtin.shape_of in: %0 dst: %1``; empty for a function of another machine."""
    from relax_mlir.vm.text_forms import instruction_text

    info = next((info for info in executable.functions if info.name == name and info.kind == "vm"), None)
    if info is None or not 0 <= number < info.end - info.start:
        return ""
    words = instruction_text(executable, info.start + number).split()
    return f"{name}, instruction {number}: {' '.join(words)}"[:MAX_CHARS]
