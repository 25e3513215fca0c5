"""Bytecode as arrays of opcodes, operands and arguments, which makes checks of whole programs fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.error import BytecodeError
from relax_mlir.vm.bytecode import LENGTHS, MAX_ARGS, VALUE_BITS, Opcode
from relax_mlir.vm.function_info import FunctionInfo

Words = np.ndarray[Any, np.dtype[np.int64]]
"""A one-dimensional array of signed 64-bit integers."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class CodeTable:
    """All instructions, indexed by instruction number.

    `first` and `second` are the words after the opcode (zero if there is none): register and function of a call,
    register of a `Ret`, offset of a `Goto`, register and offset of an `If`. Argument j of the concatenated arguments of
    all calls belongs to instruction ``arg_instr[j]``.
    """

    ops: Words
    first: Words
    second: Words
    counts: Words
    arg_instr: Words
    arg_kind: Words
    arg_value: Words

    @property
    def size(self) -> int:
        """The number of instructions."""
        return int(self.ops.size)

    def having(self, opcode: Opcode) -> Words:
        """Return the indices of the instructions with an opcode."""
        return np.flatnonzero(self.ops == opcode)

    @classmethod
    def of(cls, words: Words, offsets: Words, functions: Sequence[FunctionInfo]) -> CodeTable:
        """Decode words; errors name the `functions`, whose ranges cover all instructions.

        Raises BytecodeError (invariants 4 and 6 of `verify`): the words are not a sequence of instructions.
        """
        where = Places(functions)
        if not offsets.size or offsets[0] != 0:
            where.check(words.size == 0 and not offsets.size, "the first instruction begins at word 0", 4)
        where.forbid((offsets < 0) | (offsets >= words.size), "begins outside of the words", 4)
        ops = words[offsets]
        where.forbid((ops < Opcode.CALL) | (ops > Opcode.IF), "has no known opcode", 4)
        lengths = np.array([0, *(LENGTHS[op] for op in Opcode)], np.int64)[ops]
        where.forbid(offsets > words.size - lengths, "ends behind the words", 4)
        calls = ops == Opcode.CALL
        counts = np.where(calls, _at(words, offsets + 3), 0)
        where.forbid((counts < 0) | (counts > MAX_ARGS), f"has not between 0 and {MAX_ARGS} arguments", 6)
        ends = offsets + lengths + counts
        following = np.append(offsets[1:], words.size)
        where.forbid(ends != following, "does not end where the next one, or the end of the words, is", 4)
        arg_instr = np.repeat(np.arange(ops.size), counts)
        begins = offsets + 4 - (np.cumsum(counts) - counts)
        args = words[np.repeat(begins, counts) + np.arange(arg_instr.size)]
        return cls(
            ops=ops,
            first=words[np.minimum(offsets + 1, words.size - 1)],
            second=np.where(lengths > 2, _at(words, offsets + 2), 0),
            counts=counts,
            arg_instr=arg_instr,
            arg_kind=args >> VALUE_BITS,
            arg_value=(args << (64 - VALUE_BITS)) >> (64 - VALUE_BITS),
        )


def _at(words: Words, places: Words) -> Words:
    """Return the words at indices; for an index past the end, the last word."""
    return words[np.minimum(places, words.size - 1)]


class Places:
    """Maps instruction indices to function names and indices in the function, for errors."""

    def __init__(self, functions: Sequence[FunctionInfo]) -> None:
        self._functions = sorted(
            (info for info in functions if info.kind == "vm"), key=lambda info: info.start
        )

    def fail(
        self, reason: str, invariant: int, instruction: int | None = None, register: str | None = None
    ) -> BytecodeError:
        """Return the error for an instruction."""
        reason = f"{reason} [invariant {invariant}]"
        if instruction is None:
            return BytecodeError(reason)
        for info in self._functions:
            if info.start <= instruction < info.end:
                return BytecodeError(reason, info.name, instruction - info.start, register)
        return BytecodeError(reason, None, instruction, register)

    def check(self, holds: bool, reason: str, invariant: int) -> None:
        """Raise BytecodeError unless `holds`."""
        if not holds:
            raise self.fail(reason, invariant)

    def forbid(self, wrong: Mask, reason: str, invariant: int) -> None:
        """Raise BytecodeError for the first instruction that is `wrong`."""
        if wrong.any():
            raise self.fail(reason, invariant, int(np.argmax(wrong)))
