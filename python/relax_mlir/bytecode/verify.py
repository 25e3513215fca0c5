"""Verify bytecode; the native core of the machine relies on these invariants.

Errors and tests cite the numbers of the invariants:

 1. Function names are distinct and not empty. Packed functions have no instructions, parameters or registers.
 2. The instruction ranges of the other functions are not empty and cover all instructions, each once.
 3. A function has at most 4,096 parameters, no fewer registers than parameters, and at most one further register
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

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.bytecode.constant_pool import kind_of
from relax_mlir.bytecode.instructions import (
    MAX_ARGS,
    VM,
    VOID,
    ArgKind,
    CodeTable,
    FunctionInfo,
    Kernels,
    Mask,
    Opcode,
    Places,
    Words,
    register_name,
)
from relax_mlir.error import ArgumentError, BytecodeError, expect

__all__ = ["own_functions", "verify", "verify_code", "verify_constants", "verify_functions"]

# Control flow of bytecode: jumps, basic blocks, and loops that never end.


@dataclass(frozen=True)
class ControlFlow:
    """Control flow of functions whose ranges cover all instructions, in the order of the ranges.

    `function_of` and `block_of` give the function and block of each instruction, `targets` its jump target (itself if
    it does not jump). `block_starts` is the first instruction of each block.
    """

    function_of: Words
    targets: Words
    block_of: Words
    block_starts: Words

    @classmethod
    def of(cls, table: CodeTable, functions: Sequence[FunctionInfo]) -> ControlFlow:
        """Compute the control flow of a table.

        Raises BytecodeError (invariants 7, 8 and 10 of `verify`): a jump leaves its function, execution falls off the
        end of a function, or a loop contains no call.
        """
        where = Places(functions)
        numbers = np.arange(table.size)
        starts, ends = _bounds(functions)
        function_of = np.repeat(np.arange(len(functions)), ends - starts)
        gotos, ifs, rets = (table.ops == op for op in (Opcode.GOTO, Opcode.IF, Opcode.RET))
        offsets = np.where(gotos, table.first, np.where(ifs, table.second, 0))
        far = np.abs(np.clip(offsets, -table.size - 1, table.size + 1)) > table.size
        targets = numbers + np.where(far, 0, offsets)
        outside = far | (targets < starts[function_of]) | (targets >= ends[function_of])
        where.forbid(outside, "jumps out of its function", 7)
        falls_off = np.zeros(table.size, np.bool_)
        falls_off[ends - 1] = ~(gotos | rets)[ends - 1]
        where.forbid(falls_off, "is the last one of its function, but neither a ret nor a goto", 8)
        _check_loops(table, targets, where)
        leads = np.zeros(table.size + 1, np.bool_)
        leads[starts] = True
        leads[targets[gotos | ifs]] = True
        leads[1:][gotos | ifs | rets] = True
        block_of = np.cumsum(leads[:-1]) - 1
        return cls(function_of, targets, block_of, np.flatnonzero(leads[:-1]))

    def edges(self, table: CodeTable) -> tuple[Words, Words]:
        """Return all edges between blocks, as sources and targets."""
        last = np.append(self.block_starts[1:], table.size) - 1
        ops, blocks = table.ops[last], np.arange(last.size)
        following = blocks[(ops == Opcode.CALL) | (ops == Opcode.IF)]
        jumping = blocks[(ops == Opcode.GOTO) | (ops == Opcode.IF)]
        targets = self.block_of[self.targets[last[jumping]]]
        return np.concatenate([following, jumping]), np.concatenate([following + 1, targets])


def _bounds(functions: Sequence[FunctionInfo]) -> tuple[Words, Words]:
    starts = np.array([info.start for info in functions], np.int64)
    return starts, np.array([info.end for info in functions], np.int64)


def _check_loops(table: CodeTable, targets: Words, where: Places) -> None:
    """Raise for a cycle of only `Goto` and `If`: no condition in it can change, and it cannot be interrupted."""
    jumps: Mask = (table.ops == Opcode.GOTO) | (table.ops == Opcode.IF)
    if not (jumps & (targets <= np.arange(table.size)) & jumps[targets]).any():
        return
    finished: set[int] = set()
    for start in np.flatnonzero(jumps).tolist():
        path: set[int] = set()
        stack = [] if start in finished else [(start, True)]
        while stack:
            node, enters = stack.pop()
            if not enters:
                path.discard(node)
                finished.add(node)
                continue
            if node in path:
                raise where.fail("is in a loop without a call, which never ends", 10, node)
            if node in finished:
                continue
            path.add(node)
            stack.append((node, False))
            nexts = [int(targets[node])] + [node + 1] * bool(table.ops[node] == Opcode.IF)
            stack += [(following, True) for following in nexts if jumps[following]]


# Check the operands of all instructions (invariants 5 and 6 of `verify`).


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
    _check_range(args & (table.arg_value != VM), table.arg_value, counts[table.arg_instr], table.arg_instr, where)


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


# Check that every register is written before it is read, on every path.
#
# Most reads are decided at once: they follow the register's first write in the same block, or that write is in the
# entry block and the read in another one. The remaining reads are propagated backwards through blocks that do not write
# the register, many registers at a time. None of them may reach the function's entry.


_SET_SIZE = 4096
"""The number of registers propagated at once, as the bits of an integer."""
MAX_VISITS = 2_000_000
"""The limit of block visits (some seconds) beyond which the code counts as too large to check."""


@dataclass(frozen=True)
class Accesses:
    """Pairs of instruction and register; registers are numbered across all functions."""

    instr: Words
    register: Words

    def where(self, chosen: Mask) -> Accesses:
        """Return the accesses selected by a mask."""
        return Accesses(self.instr[chosen], self.register[chosen])


def register_reads(table: CodeTable) -> Accesses:
    """Return all register reads except `%vm`, those of calls first; registers are numbered per function."""
    is_register = (table.arg_kind == ArgKind.REGISTER) & (table.arg_value < VOID)
    others = np.flatnonzero((table.ops == Opcode.RET) | (table.ops == Opcode.IF))
    return Accesses(
        np.concatenate([table.arg_instr[is_register], others]),
        np.concatenate([table.arg_value[is_register], table.first[others]]),
    )


def check_written(table: CodeTable, flow: ControlFlow, functions: Sequence[FunctionInfo]) -> None:
    """Raise BytecodeError (invariant 9 of `verify`) for a read of a register that may be unwritten.

    `functions` are those of `flow`. Their registers are in range.
    """
    counts = np.array([info.num_registers for info in functions], np.int64)
    bases = np.cumsum(counts) - counts
    params = np.array([info.num_args for info in functions], np.int64)

    def numbered(found: Accesses) -> Accesses:
        function = flow.function_of[found.instr]
        own = found.where(found.register >= params[function])
        return Accesses(own.instr, own.register + bases[flow.function_of[own.instr]])

    calls = table.having(Opcode.CALL)
    writing = calls[table.first[calls] != VOID]
    writes = numbered(Accesses(writing, table.first[writing]))
    reads = numbered(register_reads(table))
    first_write = np.full(int(counts.sum()), table.size)
    first_write[writes.register[::-1]] = writes.instr[::-1]
    places = Places(functions)

    def fail(instr: int, register: int, reason: str) -> None:
        local = register - int(bases[flow.function_of[instr]])
        raise places.fail(reason, 9, instr, register_name(local))

    never = first_write[reads.register] == table.size
    if never.any():
        at = np.flatnonzero(never)[np.argmin(reads.instr[never])]
        fail(int(reads.instr[at]), int(reads.register[at]), "is read, but no instruction writes it")
    open_reads = reads.where(~_settled(reads, first_write, flow, functions))
    for function, found in _by_function(_exposed(open_reads, writes, flow), flow):
        own_writes = writes.where(flow.function_of[writes.instr] == function)
        unwritten = _Propagation(table, flow, functions[function]).first_unwritten(found, own_writes, places)
        if unwritten is not None:
            fail(*unwritten, "is read, but not written on every path that leads there")


def _settled(reads: Accesses, first_write: Words, flow: ControlFlow, functions: Sequence[FunctionInfo]) -> Mask:
    """Select the reads that always follow the first write of their register."""
    written_at = first_write[reads.register]
    starts = np.array([info.start for info in functions], np.int64)
    entry = flow.block_of[starts[flow.function_of[reads.instr]]]
    read_block, write_block = flow.block_of[reads.instr], flow.block_of[written_at]
    same_block: Mask = (read_block == write_block) & (written_at < reads.instr)
    behind_entry: Mask = (write_block == entry) & (read_block != entry)
    settled: Mask = same_block | behind_entry
    return settled


def _exposed(reads: Accesses, writes: Accesses, flow: ControlFlow) -> Accesses:
    """Return, for each block and register, the first read that no write in the block precedes."""
    if not reads.instr.size:
        return reads
    span = int(max(reads.register.max(), writes.register.max(initial=0))) + 1
    write_keys, first = np.unique(flow.block_of[writes.instr] * span + writes.register, return_index=True)
    read_keys = flow.block_of[reads.instr] * span + reads.register
    order = np.lexsort((reads.instr, read_keys))
    read_keys, order_of_first = np.unique(read_keys[order], return_index=True)
    reads = Accesses(reads.instr[order][order_of_first], reads.register[order][order_of_first])
    if not write_keys.size:
        return reads
    at = np.minimum(np.searchsorted(write_keys, read_keys), write_keys.size - 1)
    written_before = (write_keys[at] == read_keys) & (writes.instr[first[at]] < reads.instr)
    return reads.where(~written_before)


def _by_function(found: Accesses, flow: ControlFlow) -> list[tuple[int, Accesses]]:
    functions = flow.function_of[found.instr]
    return [(number, found.where(functions == number)) for number in np.unique(functions).tolist()]


class _Propagation:
    """Propagates sets of registers of one function that are read before they are written, back to its entry."""

    def __init__(self, table: CodeTable, flow: ControlFlow, function: FunctionInfo) -> None:
        self._flow, self._function = flow, function
        self._entry, last = (int(flow.block_of[at]) for at in (function.start, function.end - 1))
        self._before: dict[int, list[int]] = defaultdict(list)
        self._behind: dict[int, list[int]] = defaultdict(list)
        sources, targets = flow.edges(table)
        own = (sources >= self._entry) & (sources <= last)
        for source, target in zip(sources[own].tolist(), targets[own].tolist(), strict=True):
            self._before[target].append(source)
            self._behind[source].append(target)
        self._visits = 0

    def first_unwritten(self, reads: Accesses, writes: Accesses, places: Places) -> tuple[int, int] | None:
        """Return one of `reads` (instruction and register) that a path without a write leads to.

        `reads` are those without a preceding write in their own block; see `_exposed`.
        """
        registers = np.unique(reads.register)
        for begin in range(0, registers.size, _SET_SIZE):
            chosen = registers[begin : begin + _SET_SIZE]
            needed = self._needed_at_entry(self._sets(reads, chosen), self._sets(writes, chosen), places)
            if needed:
                register = int(chosen[(needed & -needed).bit_length() - 1])
                mine, own = reads.register == register, writes.register == register
                return self._read_on_a_path(reads.instr[mine], writes.instr[own]), register
        return None

    def _sets(self, accesses: Accesses, registers: Words) -> dict[int, int]:
        """Return the accessed ones of `registers` as bits, by block."""
        at = np.minimum(np.searchsorted(registers, accesses.register), registers.size - 1)
        known = registers[at] == accesses.register
        sets: dict[int, int] = defaultdict(int)
        blocks = self._flow.block_of[accesses.instr[known]].tolist()
        for block, bit in zip(blocks, at[known].tolist(), strict=True):
            sets[block] |= 1 << bit
        return sets

    def _needed_at_entry(self, needed: dict[int, int], written: dict[int, int], places: Places) -> int:
        """Return the registers that a path from the entry reads before writing; `needed` are those of each block."""
        waiting = [-block for block in needed]
        heapq.heapify(waiting)
        while waiting and not needed.get(self._entry):
            self._visits += 1
            if self._visits > MAX_VISITS:
                reason = "begins a function with too many branches and registers to be checked; split it"
                raise places.fail(reason, 9, self._function.start)
            block = -heapq.heappop(waiting)
            for before in self._before[block]:
                more = needed[block] & ~written.get(before, 0) & ~needed.get(before, 0)
                if more:
                    needed[before] = needed.get(before, 0) | more
                    heapq.heappush(waiting, -before)
        return needed.get(self._entry, 0)

    def _read_on_a_path(self, reads: Words, writes: Words) -> int:
        """Return the first of `reads` of one register on a path from the entry without any of its `writes`."""
        writing = set(self._flow.block_of[writes].tolist())
        reached, waiting = {self._entry}, [self._entry]
        while waiting:
            block = waiting.pop()
            if block not in writing:
                waiting += [following for following in self._behind[block] if following not in reached]
                reached.update(self._behind[block])
        found: list[int] = [at for at in reads.tolist() if int(self._flow.block_of[at]) in reached]
        return min(found)


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
        raise BytecodeError(f"has {info.num_args} parameters, expected at most {MAX_ARGS} [invariant 3]", info.name)
    most = info.num_args + max(info.end - info.start, 0)
    if not info.num_args <= info.num_registers <= most:
        raise BytecodeError(
            f"has {info.num_registers} registers, expected {info.num_args} to {most} [invariant 3]", info.name
        )
    names = info.param_names
    if names and (len(names) != info.num_args or len(set(names)) != len(names) or not all(names)):
        told = ", ".join(map(repr, names))
        raise BytecodeError(f"has {info.num_args} parameters; their names are {told} [invariant 3]", info.name)


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
            raise BytecodeError(f"the kernels use constant {index} of {len(constants)} constants [invariant 11]")


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
