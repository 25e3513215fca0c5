"""Bytecode executables as text: TVM's layout, and Python code that rebuilds an equal one."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import tvm_ffi

from relax_mlir.bytecode import instructions
from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.bytecode.instructions import (
    VM,
    VOID,
    Arg,
    ArgKind,
    Call,
    FunctionInfo,
    Goto,
    Instruction,
    Ret,
    register_name,
)
from relax_mlir.bytecode.verify import own_functions
from relax_mlir.error import RelaxError

if TYPE_CHECKING:
    from relax_mlir.bytecode.executable import Executable


# Print bytecode executables as text, in TVM's layout.


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
            yield f"  {_instruction(instructions.decode(executable.words, offset), names)}\n"  # type: ignore[arg-type]  # a row of integers
        yield "\n"


def instruction_text(executable: Executable, index: int) -> str:
    """Print one instruction as a line."""
    return _instruction(executable.instruction(index), [_printable(info.name) for info in executable.functions])


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


# Print bytecode executables as Python code that rebuilds an equal one.


_LARGE = 64
"""Tensors of at most this many elements are printed element by element."""
_LINE = 100
"""The number of characters of encoded data per line."""

Array = np.ndarray[Any, Any]


def as_python(executable: Executable, constants: Path | None = None) -> str:
    """Return code whose variable ``ex`` is equal to `executable`; see `Executable.as_python`.

    The code calls an `ExecBuilder`. Executables that no builder produces (registers in another order, a constant twice)
    are printed as their fields.
    """
    if constants is not None:
        executable.save(constants)
    values = [
        f"constants[{i}]" if constants is not None and _is_large(value) else literal(value)
        for i, value in enumerate(executable.constants)
    ]
    body = list(_calls(executable, values) if _is_rebuilt(executable) else _parts(executable, values))
    imports = [
        f"import {name}{alias}"
        for name, alias, use in (
            ("base64", "", "base64."),
            ("ml_dtypes", "", "ml_dtypes."),
            ("numpy", " as np", "np."),
            ("tvm_ffi", "", "tvm_ffi."),
        )
        if any(use in line for line in body)
    ]
    lines = [*imports, "import relax_mlir as rx", ""]
    if constants is not None:
        lines.append(f"constants = rx.vm.load_constants({text_literal(str(constants))})")
    return "\n".join([*lines, *body, ""])


def _is_large(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.size > _LARGE


# Calls of a builder


def _is_rebuilt(executable: Executable) -> bool:
    """True if the builder calls in the form of `_calls` rebuild an equal executable."""
    ib = ExecBuilder()
    constants = [ib.c(value) for value in executable.constants]
    if len(set(constants)) != len(constants):
        return False
    for name in _declarations(executable):
        ib.declare_function(name)
    try:
        for info in own_functions(executable.functions):
            with ib.function(info.name, info.num_args, info.param_names or None, allow_unused=True):
                for instruction in _instructions(executable, info):
                    _emit(ib, instruction, executable.functions)
        if executable.kernels is not None:
            used = executable.kernels.constants
            ib.set_kernels(executable.kernels.text, [constants[index] for index in used])
        return ib.get() == executable
    except RelaxError:
        return False


def _emit(ib: ExecBuilder, instruction: Instruction, functions: Sequence[FunctionInfo]) -> None:
    if isinstance(instruction, Call):
        args = [ib.f(functions[arg.value].name) if arg.kind is ArgKind.FUNCTION else arg for arg in instruction.args]
        dst = Arg(ArgKind.REGISTER, instruction.dst)
        ib.emit_call(functions[instruction.func].name, args, dst)
    elif isinstance(instruction, Ret):
        ib.emit_ret(ib.r(instruction.result))
    elif isinstance(instruction, Goto):
        ib.emit_goto(instruction.offset)
    else:
        ib.emit_if(ib.r(instruction.cond), instruction.false_offset)


def _instructions(executable: Executable, info: FunctionInfo) -> Iterator[Instruction]:
    for offset in executable.offsets[info.start : info.end].tolist():
        yield instructions.decode(executable.words, offset)  # type: ignore[arg-type]  # a row of integers


def _declarations(executable: Executable) -> list[str]:
    """Return the names to declare so that functions get their table indices; empty if the order of use is enough."""
    found: dict[str, None] = {}
    for info in own_functions(executable.functions):
        found[info.name] = None
        for instruction in _instructions(executable, info):
            if isinstance(instruction, Call):
                args = [arg.value for arg in instruction.args if arg.kind is ArgKind.FUNCTION]
                found |= {executable.functions[index].name: None for index in (*args, instruction.func)}
    names = [info.name for info in executable.functions]
    return [] if names == list(found) else names


def _calls(executable: Executable, values: Sequence[str]) -> Iterator[str]:
    yield "ib = rx.vm.ExecBuilder()"
    if values:
        yield "c = ["
        yield from (f"    ib.c({value})," for value in values)
        yield "]"
    for name in _declarations(executable):
        yield f"ib.declare_function({text_literal(name)})"
    for info in own_functions(executable.functions):
        code = list(_instructions(executable, info))
        yield f"with ib.function({', '.join(_function_arguments(info, code))}):"
        for instruction in code:
            yield f"    {_python_instruction(instruction, executable.functions)}"
    if executable.kernels is not None:
        used = ", ".join(f"c[{index}]" for index in executable.kernels.constants)
        yield f"ib.set_kernels({_text_block(executable.kernels.text)}, [{used}])"
    yield "ex = ib.get()"


def _function_arguments(info: FunctionInfo, code: Iterable[Instruction]) -> Iterator[str]:
    yield text_literal(info.name)
    yield f"num_inputs={info.num_args}"
    if info.param_names:
        yield f"param_names=[{', '.join(map(text_literal, info.param_names))}]"
    read = {register for instruction in code for register in instructions.registers_read(instruction)}
    if not read.issuperset(range(info.num_args)):
        yield "allow_unused=True"


def _python_instruction(instruction: Instruction, functions: Sequence[FunctionInfo]) -> str:
    if isinstance(instruction, Call):
        args = ", ".join(_python_argument(arg, functions) for arg in instruction.args)
        dst = f", dst=ib.r({instruction.dst})" if instruction.dst != VOID else ""
        return f"ib.emit_call({text_literal(functions[instruction.func].name)}, args=[{args}]{dst})"
    if isinstance(instruction, Ret):
        return f"ib.emit_ret(ib.r({instruction.result}))"
    if isinstance(instruction, Goto):
        return f"ib.emit_goto({instruction.offset})"
    return f"ib.emit_if(ib.r({instruction.cond}), {instruction.false_offset})"


def _python_argument(arg: Arg, functions: Sequence[FunctionInfo]) -> str:
    if arg.kind is ArgKind.REGISTER:
        return "ib.vm_state()" if arg.value == VM else f"ib.r({arg.value})"
    if arg.kind is ArgKind.IMMEDIATE:
        return f"ib.imm({arg.value})"
    if arg.kind is ArgKind.CONSTANT:
        return f"c[{arg.value}]"
    return f"ib.f({text_literal(functions[arg.value].name)})"


# Fields of the executable


def _parts(executable: Executable, values: Sequence[str]) -> Iterator[str]:
    yield "ex = rx.vm.Executable("
    yield "    functions=("
    yield from (f"        rx.vm.{info!r}," for info in executable.functions)
    yield "    ),"
    yield "    constants=("
    yield from (f"        {value}," for value in values)
    yield "    ),"
    for name, numbers in (("words", executable.words), ("offsets", executable.offsets)):
        yield f"    {name}=np.array({numbers.tolist()}, np.int64),"
    if executable.kernels is not None:
        text, used = _text_block(executable.kernels.text), executable.kernels.constants
        yield f"    kernels=rx.vm.Kernels({text}, {used!r}),"
    yield ")"


# Literals


def text_literal(text: str) -> str:
    """Return a string literal, in double quotes if it needs no escapes."""
    plain = text.isprintable() and '"' not in text and "\\" not in text
    return f'"{text}"' if plain else repr(text)


def _text_block(text: str) -> str:
    """Return a string literal of several lines."""
    return "\n".join(map(text_literal, text.splitlines(keepends=True))) or '""'


def literal(value: object) -> str:
    """Return an expression that evaluates to `value`, a constant of the pool."""
    if isinstance(value, np.ndarray):
        return _tensor(value)
    if isinstance(value, tvm_ffi.Shape):
        return repr(tuple(value))
    if isinstance(value, tvm_ffi.dtype):
        return f'tvm_ffi.dtype("{value}")'
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _tensor(array: Array) -> str:
    name = array.dtype.name
    dtype = "ml_dtypes.bfloat16" if array.dtype == ml_dtypes.bfloat16 else f'"{name}"'
    if not array.size:
        return f"np.zeros({array.shape!r}, {dtype})"
    if not _is_large(array):
        is_exact = array.dtype.kind in "iub"
        again = np.array([each if is_exact else float(str(each)) for each in array.flat], array.dtype)
        if again.tobytes() == array.tobytes():
            return f"np.array({_elements(array)}, {dtype})"
        return f'np.frombuffer(bytes.fromhex("{array.tobytes().hex()}"), {dtype}).reshape({array.shape!r})'
    data = base64.b64encode(array.tobytes()).decode()
    lines = "\n".join(f'"{data[at : at + _LINE]}"' for at in range(0, len(data), _LINE))
    return f"np.frombuffer(base64.b64decode(\n{lines}\n), {dtype}).reshape({array.shape!r})"


def _elements(array: Array) -> str:
    """Print the elements as nested lists."""
    if array.ndim:
        return f"[{', '.join(map(_elements, array))}]"
    element = array[()]
    text = str(element) if array.dtype.kind in "iub" else repr(float(str(element)))
    return f"np.{text}" if text in ("inf", "nan") else {"-inf": "-np.inf"}.get(text, text)
