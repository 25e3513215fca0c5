"""Check that every register is written before it is read, on every path.

Most reads are decided at once: they follow the register's first write in the same block, or that write is in the entry
block and the read in another one. The remaining reads are propagated backwards through blocks that do not write the
register, many registers at a time. None of them may reach the function's entry.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.vm.bytecode import VOID, ArgKind, Opcode, register_name
from relax_mlir.vm.code_table import CodeTable, Mask, Places, Words
from relax_mlir.vm.control_flow import ControlFlow
from relax_mlir.vm.function_info import FunctionInfo

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


def _settled(
    reads: Accesses, first_write: Words, flow: ControlFlow, functions: Sequence[FunctionInfo]
) -> Mask:
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
