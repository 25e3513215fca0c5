"""Control flow of bytecode: jumps, basic blocks, and loops that never end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_mlir.vm.bytecode import Opcode
from relax_mlir.vm.code_table import CodeTable, Mask, Places, Words
from relax_mlir.vm.function_info import FunctionInfo


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
