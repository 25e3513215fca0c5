"""Text output of the debugger: locations, frames and values, in lines of at most 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_ffi, to_numpy
from relax_mlir.vm.bytecode import register_name
from relax_mlir.vm.function_info import FunctionInfo
from relax_mlir.vm.text_forms import instruction_text

if TYPE_CHECKING:
    from relax_mlir.vm.debugger import Debugger, Frame

WIDTH = 80
_SHOWN = 6
"""The maximum number of elements and fields to show."""


def _line(text: str) -> str:
    """Truncate a text to one line of output."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def place(debugger: Debugger, frame: Frame) -> str:
    """Return the location of a frame, with its instruction."""
    code = " ".join(instruction_text(debugger.executable, frame.info.start + frame.number).split())
    return _line(f"{frame.info.name}:{frame.number}  {code}")


def end_text(result: object) -> str:
    """Return the message for a function that has returned."""
    return _line(f"end: {describe(result)}")


def where(debugger: Debugger) -> str:
    """Return the frames, the innermost first."""
    lines = [f"#{i} {place(debugger, frame)}" for i, frame in enumerate(reversed(debugger.frames))]
    return "\n".join(map(_line, lines)) or "nothing runs"


def registers(frame: Frame) -> str:
    """Return the registers that have been written, by number; parameters with their names."""
    names = frame.info.param_names
    lines = []
    for number, value in sorted(frame.registers.items()):
        named = f" ({names[number]})" if number < len(names) else ""
        lines.append(_line(f"{register_name(number) + named:<8} {describe(value)}"))
    return "\n".join(lines) or "no register has been written"


def listing(debugger: Debugger, info: FunctionInfo) -> str:
    """Return the instructions of a function; ``->`` marks its innermost frame, ``*`` a breakpoint."""
    frames = [frame for frame in debugger.frames if frame.info is info]
    current = frames[-1].number if frames else -1
    lines = [f"@{info.name}:"]
    for number in range(info.end - info.start):
        mark = "->" if number == current else "  "
        star = "*" if (info.name, number) in debugger.breakpoints else " "
        lines.append(
            _line(f"{mark}{star}{number:4}  {instruction_text(debugger.executable, info.start + number)}")
        )
    return "\n".join(lines)


def describe(value: Any) -> str:  # noqa: ANN401 - any value
    """Describe a value: its kind, a tensor's dtype and shape, and a short excerpt of the contents."""
    if value is None:
        return "none"
    if isinstance(value, bool | int | float):
        return f"{type(value).__name__} {value}"
    if isinstance(value, tvm_ffi.dtype):
        return f"dtype {value}"
    if isinstance(value, str):
        return f"string {str(value)!r}"
    if isinstance(value, tvm_ffi.Shape):
        return f"shape {tuple(value)}"
    if isinstance(value, tvm_ffi.Function):
        return "function"
    if isinstance(value, tvm_ffi.Array | tvm_ffi.List | tuple | list):
        return f"tuple of {len(value)}: {_some([describe(item) for item in value[:_SHOWN]], len(value))}"
    if isinstance(value, tvm_ffi.Tensor) or hasattr(value, "__dlpack__"):
        return _tensor(to_ffi(value))
    return f"object {type(value).__name__}"


def _tensor(tensor: Any) -> str:  # noqa: ANN401 - a tensor of the FFI
    shape = tuple(int(size) for size in tensor.shape)
    text = f"tensor {tensor.dtype} {shape}"
    if 0 in shape:
        return text
    try:
        elements = to_numpy(tensor).flat[:_SHOWN]
    except (BufferError, RuntimeError, TypeError, ValueError):  # a dtype without a NumPy counterpart
        return text
    return f"{text} {_some([_number(x) for x in elements], int(np.prod(shape, dtype=object)))}"


def _number(value: Any) -> str:  # noqa: ANN401 - a number of NumPy
    plain = value.item() if isinstance(value, np.generic) else value
    return f"{plain:.6g}" if isinstance(plain, float) else str(plain)


def _some(items: Sequence[str], count: int) -> str:
    return f"[{', '.join(items)}{', …' if count > len(items) else ''}]"
