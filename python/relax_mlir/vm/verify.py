"""Verify bytecode; the native core of the machine relies on these invariants.

Errors and tests cite the numbers of the invariants:

 1. Function names are distinct and not empty. Packed functions have no instructions, parameters or registers.
 2. The instruction ranges of the other functions are not empty and cover all instructions, each once.
 3. A function has at most 4,096 parameters, at least as many registers as parameters, and at most one further register
    per instruction. Parameter names, if given, are complete, distinct and not empty.
 4. The words are a sequence of instructions with known opcodes; the offsets are the indices of their first words.
 5. Registers are in the function's range; `%vm` is only an argument, `%void` only a result register.
 6. Calls have at most 4,096 arguments, of known kinds; functions and constants exist. Calls of the executable's VM
    functions have one argument per parameter.
 7. Jumps stay inside their function.
 8. The last instruction of a function is a `Ret` or a `Goto`, so that no path runs past it.
 9. Every register that is no parameter is written before it is read, on every path from the function's entry.
10. Every loop contains a call: a loop of only jumps never ends and cannot be interrupted.
11. Constants are of the kinds in `constant_pool`. Kernels are text, and the constants that they use exist.
12. There are at most 2^24 words.

The checks take time linear in the number of words. The exception is registers that are written in some branches and
read after them: they take time proportional to the number of branches times such registers, divided by 4,096.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.error import ArgumentError, BytecodeError, expect
from relax_mlir.vm.bytecode import MAX_ARGS
from relax_mlir.vm.code_table import CodeTable, Words
from relax_mlir.vm.constant_pool import kind_of
from relax_mlir.vm.control_flow import ControlFlow
from relax_mlir.vm.function_info import FunctionInfo, Kernels
from relax_mlir.vm.operands import check_operands
from relax_mlir.vm.written_registers import check_written

MAX_WORDS = 1 << 24


def verify(
    functions: Sequence[FunctionInfo],
    constants: Sequence[object],
    words: Words,
    offsets: Words,
    kernels: Kernels | None = None,
) -> None:
    """Raise BytecodeError unless all invariants hold; it names function, instruction and register.

    Raises ArgumentError for fields of other kinds than they are declared with.
    """
    verify_functions(functions, offsets.size)
    verify_constants(constants, kernels)
    verify_code(functions, words, offsets, functions, len(constants))


def verify_functions(functions: Sequence[FunctionInfo], instructions: int) -> None:
    """Check the function table (invariants 1 to 3) of an executable with this number of instructions."""
    seen: set[str] = set()
    for index, info in enumerate(functions):
        _verify_kinds(info, index)
        if not info.name:
            raise BytecodeError(f"function {index} of the table has the name {info.name!r} [invariant 1]")
        if info.name in seen:
            raise BytecodeError("is in the function table twice [invariant 1]", info.name)
        seen.add(info.name)
        if info.kind == "packed":
            if (info.start, info.end, info.num_args, info.num_registers, info.param_names) != (
                0,
                0,
                0,
                0,
                (),
            ):
                raise BytecodeError("is packed, but has instructions of its own [invariant 1]", info.name)
        elif info.kind == "vm":
            _verify_registers(info)
        else:
            raise BytecodeError(f"is of the unknown kind {info.kind!r} [invariant 1]", info.name)
    reached = 0
    for info in own_functions(functions):
        if info.start != reached or info.end <= info.start or info.end > instructions:
            raise BytecodeError(
                f"has instructions {info.start} to {info.end}, expected them to begin at {reached} and to end at "
                f"{instructions} at most [invariant 2]",
                info.name,
            )
        reached = info.end
    if reached != instructions:
        raise BytecodeError(f"instructions from {reached} on belong to no function [invariant 2]")


def _verify_kinds(info: object, index: int) -> None:
    """Raise unless an entry of the table is a `FunctionInfo` with fields of the declared types."""
    expect(f"function {index} of the table", info, FunctionInfo, "a FunctionInfo")
    assert isinstance(info, FunctionInfo)
    expect(f"function {index} of the table: name", info.name, str, "a string")
    for name in ("start", "end", "num_args", "num_registers"):
        expect(f"function '{info.name}': {name}", getattr(info, name), int, "an integer")
    expect(f"function '{info.name}': param_names", info.param_names, tuple, "a tuple of strings")
    for name in info.param_names:
        expect(f"function '{info.name}': the name of a parameter", name, str, "a string")


def own_functions(functions: Sequence[FunctionInfo]) -> list[FunctionInfo]:
    """Return the functions that have instructions, in instruction order."""
    return sorted((info for info in functions if info.kind == "vm"), key=lambda info: (info.start, info.end))


def _verify_registers(info: FunctionInfo) -> None:
    if not 0 <= info.num_args <= MAX_ARGS:
        raise BytecodeError(
            f"has {info.num_args} parameters, expected at most {MAX_ARGS} [invariant 3]", info.name
        )
    most = info.num_args + max(info.end - info.start, 0)
    if not info.num_args <= info.num_registers <= most:
        raise BytecodeError(
            f"has {info.num_registers} registers, expected {info.num_args} to {most} [invariant 3]", info.name
        )
    names = info.param_names
    if names and (len(names) != info.num_args or len(set(names)) != len(names) or not all(names)):
        told = ", ".join(map(repr, names))
        raise BytecodeError(
            f"has {info.num_args} parameters; their names are {told} [invariant 3]", info.name
        )


def verify_constants(constants: Sequence[object], kernels: Kernels | None) -> None:
    """Check the constant pool and the constants that kernels use (invariant 11)."""
    for index, value in enumerate(constants):
        try:
            kind_of(value)
        except ArgumentError as error:
            raise BytecodeError(f"constant {index}: {error} [invariant 11]") from None
    if kernels is None:
        return
    expect("kernels", kernels, Kernels, "Kernels or None")
    expect("kernels: text", kernels.text, str, "a string")
    for index in kernels.constants:
        expect("kernels: a constant", index, int, "its place in the pool")
        if not 0 <= index < len(constants):
            raise BytecodeError(
                f"the kernels use constant {index} of {len(constants)} constants [invariant 11]"
            )


def verify_code(
    functions: Sequence[FunctionInfo],
    words: Words,
    offsets: Words,
    callees: Sequence[FunctionInfo | None],
    num_constants: int,
) -> None:
    """Check the instructions of `functions` (invariants 4 to 10 and 12).

    `callees` is the function table that calls refer to, with None for functions that may be defined later.
    """
    own = own_functions(functions)
    if words.size > MAX_WORDS:
        raise BytecodeError(f"{words.size} words, expected at most {MAX_WORDS} [invariant 12]")
    table = CodeTable.of(words, offsets, own)
    if not table.size:
        return
    check_operands(table, own, callees, num_constants)
    check_written(table, ControlFlow.of(table, own), own)
