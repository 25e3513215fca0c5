"""Print bytecode executables as text, in TVM's layout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import tvm_ffi

from relax_mlir.vm import bytecode
from relax_mlir.vm.bytecode import Arg, ArgKind, Call, Goto, Instruction, Ret, register_name

if TYPE_CHECKING:
    from relax_mlir.vm.executable import Executable


def as_text(executable: Executable) -> str:
    """Print all functions in the order of the function table, each followed by an empty line."""
    return "".join(_functions(executable))


def _functions(executable: Executable) -> Iterator[str]:
    names = [_printable(info.name) for info in executable.functions]
    for info, name in zip(executable.functions, names, strict=True):
        if info.kind == "packed":
            yield f"@{name} packed_func;\n\n"
            continue
        yield f"@{name}:\n"
        for offset in executable.offsets[info.start : info.end].tolist():
            yield f"  {_instruction(bytecode.decode(executable.words, offset), names)}\n"  # type: ignore[arg-type]  # a row of integers
        yield "\n"


def instruction_text(executable: Executable, index: int) -> str:
    """Print one instruction as a line."""
    return _instruction(
        executable.instruction(index), [_printable(info.name) for info in executable.functions]
    )


def _instruction(instruction: Instruction, names: list[str]) -> str:
    if isinstance(instruction, Call):
        args = ", ".join(_argument(arg, names) for arg in instruction.args)
        dst = register_name(instruction.dst)
        return f"{'call':6}{names[instruction.func]:16} in: {args:12} dst: {dst}"
    if isinstance(instruction, Ret):
        return f"{'ret':6}{register_name(instruction.result)}"
    if isinstance(instruction, Goto):
        return f"{'goto':6}{instruction.offset}"
    return f"{'If':6}{register_name(instruction.cond)}, {instruction.false_offset}"


def _argument(arg: Arg, names: list[str]) -> str:
    return f"f[{names[arg.value]}]" if arg.kind is ArgKind.FUNCTION else str(arg)


def _printable(name: str) -> str:
    """Escape a name to fit on one line."""
    return name if name.isprintable() else name.encode("unicode_escape").decode()


def stats(executable: Executable) -> str:
    """Summarise the constants and functions."""
    constants = ", ".join(map(_constant, executable.constants))
    names = ", ".join(_printable(info.name) for info in executable.functions)
    return (
        "Relax VM executable statistics:\n"
        f"  Constant pool (# {len(executable.constants)}): [{constants}]\n"
        f"  Globals (#{len(executable.functions)}): [{names}]\n"
    )


def _constant(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"[{', '.join(map(str, value.shape))}]" if value.ndim else "scalar"
    if isinstance(value, tvm_ffi.Shape):
        return f"shapetuple[{', '.join(map(str, value))}]"
    if isinstance(value, str) and not isinstance(value, tvm_ffi.dtype):
        return f'"{_printable(value)}"'
    return str(value)
