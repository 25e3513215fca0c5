"""Check the operands of all instructions (invariants 5 and 6 of `verify`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_mlir.vm.bytecode import VM, VOID, ArgKind, Opcode, register_name
from relax_mlir.vm.code_table import CodeTable, Mask, Places, Words
from relax_mlir.vm.function_info import FunctionInfo


def check_operands(
    table: CodeTable,
    functions: Sequence[FunctionInfo],
    callees: Sequence[FunctionInfo | None],
    num_constants: int,
) -> None:
    """Raise BytecodeError for an invalid operand.

    The ranges of `functions` cover all instructions. `callees` is the function table that calls refer to, with None for
    unknown signatures.
    """
    where = Places(functions)
    _check_registers(table, functions, where)
    _check_indices(table, len(callees), num_constants, where)
    _check_calls(table, callees, where)


def _check_registers(table: CodeTable, functions: Sequence[FunctionInfo], where: Places) -> None:
    sizes = [info.end - info.start for info in functions]
    counts = np.repeat(np.array([info.num_registers for info in functions], np.int64), sizes)
    is_call = table.ops == Opcode.CALL
    reads = (table.ops == Opcode.RET) | (table.ops == Opcode.IF)
    args = table.arg_kind == ArgKind.REGISTER
    everything = np.arange(table.size)
    _check_range(is_call & (table.first != VOID), table.first, counts, everything, where)
    _check_range(reads, table.first, counts, everything, where)
    _check_range(
        args & (table.arg_value != VM), table.arg_value, counts[table.arg_instr], table.arg_instr, where
    )


def _check_range(used: Mask, registers: Words, counts: Words, instrs: Words, where: Places) -> None:
    """Raise for the first of the `used` registers that is not below its function's register count."""
    wrong = used & ((registers < 0) | (registers >= counts))
    if not wrong.any():
        return
    at = int(np.argmax(wrong))
    register = int(registers[at])
    reason = f"is none of the function's {int(counts[at])}"
    if register == VOID:
        reason = "takes results only: it cannot be read"
    elif register == VM:
        reason = "is the machine: it can only be an argument of a call"
    raise where.fail(reason, 5, int(instrs[at]), register_name(register))


def _check_indices(table: CodeTable, num_functions: int, num_constants: int, where: Places) -> None:
    kinds, values = table.arg_kind, table.arg_value
    unknown = (kinds < 0) | (kinds > max(ArgKind))
    if unknown.any():
        at = int(np.argmax(unknown))
        reason = f"has an argument of the unknown kind {int(kinds[at]) & 0xFF}"
        raise where.fail(reason, 6, int(table.arg_instr[at]))
    for kind, count, what in (
        (ArgKind.CONSTANT, num_constants, "constant"),
        (ArgKind.FUNCTION, num_functions, "function"),
    ):
        wrong = (kinds == kind) & ((values < 0) | (values >= count))
        if wrong.any():
            at = int(np.argmax(wrong))
            reason = f"has {what} {int(values[at])} as an argument, but there are {count} {what}s"
            raise where.fail(reason, 6, int(table.arg_instr[at]))


def _check_calls(table: CodeTable, callees: Sequence[FunctionInfo | None], where: Places) -> None:
    calls = table.having(Opcode.CALL)
    called = table.second[calls]
    wrong = (called < 0) | (called >= len(callees))
    if wrong.any():
        at = int(np.argmax(wrong))
        reason = f"calls function {int(called[at])}, but there are {len(callees)} functions"
        raise where.fail(reason, 6, int(calls[at]))
    arities = np.array([info.num_args if info and info.kind == "vm" else -1 for info in callees], np.int64)
    given = table.counts[calls]
    wrong = (arities[called] >= 0) & (arities[called] != given)
    if wrong.any():
        at = int(np.argmax(wrong))
        callee = callees[int(called[at])]
        assert callee is not None
        reason = f"calls '{callee.name}' with {int(given[at])} arguments, expected {callee.num_args}"
        raise where.fail(reason, 6, int(calls[at]))
