"""Instructions of the virtual machine and their encoding in words, the same as TVM's.

A word is a signed 64-bit integer. An instruction is its opcode, then:

| Instruction | Words after the opcode |
|---|---|
| `Call` | result register, index of the function, number of arguments, one word per argument |
| `Ret` | register that is returned |
| `Goto` | offset |
| `If` | condition register, offset if it is zero |

Offsets count instructions from the jump itself. If the condition is not zero, execution continues with the next
instruction. The upper 8 bits of an argument are its kind, the lower 56 bits a signed value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np

from relax_mlir.error import ArgumentError, BytecodeError

__all__ = [
    "Arg", "ArgKind", "Call", "Goto", "If", "Opcode", "Ret", "decode", "register_name", "registers_read",
]  # fmt: skip

VALUE_BITS = 56
MAX_VALUE = (1 << (VALUE_BITS - 1)) - 1
MIN_VALUE = -(1 << (VALUE_BITS - 1))
MAX_WORD = (1 << 63) - 1
_VALUE_MASK = (1 << VALUE_BITS) - 1

VOID = 1 << 54
"""The register that discards results."""
VM = VOID + 1
"""The register that holds the machine itself, which some builtins take as an argument."""

MAX_ARGS = 4096
"""The maximum number of arguments of a call and of parameters of a function."""


class Opcode(IntEnum):
    """The opcodes, which are the first words of instructions."""

    CALL = 1
    RET = 2
    GOTO = 3
    IF = 4


class ArgKind(IntEnum):
    """Argument kinds: a register, an immediate, an index of the constant pool or of the function table."""

    REGISTER = 0
    IMMEDIATE = 1
    CONSTANT = 2
    FUNCTION = 3


@dataclass(frozen=True)
class Arg:
    """An argument of a call; also the builder's form of the registers of other instructions."""

    kind: ArgKind
    value: int

    def encode(self) -> int:
        """Return the argument's word. Raises ArgumentError for a value that needs more than 56 bits."""
        if not MIN_VALUE <= self.value <= MAX_VALUE:
            raise ArgumentError(f"{self.kind.name.lower()} {self.value} needs more than {VALUE_BITS} bits")
        return int(self.kind) << VALUE_BITS | (self.value & _VALUE_MASK)

    @classmethod
    def decode(cls, word: int) -> Arg:
        """Return the argument that a word encodes. Raises ArgumentError for an unknown kind."""
        kind, value = word >> VALUE_BITS, word & _VALUE_MASK
        if kind not in tuple(ArgKind):
            raise ArgumentError(f"word {word:#x} is no argument: kind {kind & 0xFF}")
        return cls(ArgKind(kind), value - (1 << VALUE_BITS) if value > MAX_VALUE else value)

    def __str__(self) -> str:
        if self.kind is ArgKind.REGISTER:
            return register_name(self.value)
        if self.kind is ArgKind.IMMEDIATE:
            return f"i{self.value}"
        return f"{'c' if self.kind is ArgKind.CONSTANT else 'f'}[{self.value}]"


def register_name(register: int) -> str:
    """Return the register as text: ``%0``, ``%vm``, ``%void``."""
    return {VOID: "%void", VM: "%vm"}.get(register, f"%{register}")


@dataclass(frozen=True)
class Call:
    """Call function `func` of the function table; the result is written to register `dst`."""

    func: int
    args: tuple[Arg, ...] = ()
    dst: int = VOID

    def encode(self) -> tuple[int, ...]:
        """Return the words of the instruction."""
        return (Opcode.CALL, self.dst, self.func, len(self.args), *(arg.encode() for arg in self.args))


@dataclass(frozen=True)
class Ret:
    """Return the value of register `result`."""

    result: int

    def encode(self) -> tuple[int, ...]:
        """Return the words of the instruction."""
        return (Opcode.RET, self.result)


@dataclass(frozen=True)
class Goto:
    """Jump by `offset` instructions, backwards if it is negative."""

    offset: int

    def encode(self) -> tuple[int, ...]:
        """Return the words of the instruction."""
        return (Opcode.GOTO, self.offset)


@dataclass(frozen=True)
class If:
    """Continue with the next instruction, or jump by `false_offset` if register `cond` is zero."""

    cond: int
    false_offset: int

    def encode(self) -> tuple[int, ...]:
        """Return the words of the instruction."""
        return (Opcode.IF, self.cond, self.false_offset)


Instruction = Call | Ret | Goto | If


def registers_read(instruction: Instruction) -> list[int]:
    """Return the registers that an instruction reads, `%vm` included."""
    if isinstance(instruction, Call):
        return [arg.value for arg in instruction.args if arg.kind is ArgKind.REGISTER]
    if isinstance(instruction, Ret):
        return [instruction.result]
    return [instruction.cond] if isinstance(instruction, If) else []


LENGTHS: dict[int, int] = {Opcode.CALL: 4, Opcode.RET: 2, Opcode.GOTO: 2, Opcode.IF: 3}
"""The number of words of an instruction by opcode; for a call without its arguments."""


def decode(words: Sequence[int], start: int = 0) -> Instruction:
    """Decode the instruction whose first word is ``words[start]``.

    Raises ArgumentError: an unknown opcode or argument kind, or truncated words.
    """
    opcode = int(words[start]) if 0 <= start < len(words) else 0
    if opcode not in LENGTHS:
        raise ArgumentError(f"word {start}: {opcode} is no opcode")
    fields = [int(word) for word in words[start + 1 : start + LENGTHS[opcode]]]
    if len(fields) + 1 < LENGTHS[opcode]:
        raise ArgumentError(f"word {start}: the words end inside of a {Opcode(opcode).name}")
    if opcode == Opcode.RET:
        return Ret(*fields)
    if opcode == Opcode.GOTO:
        return Goto(*fields)
    if opcode == Opcode.IF:
        return If(*fields)
    dst, func, count = fields
    if not 0 <= count <= len(words) - start - LENGTHS[opcode]:
        raise ArgumentError(f"word {start}: the words end inside of a CALL with {count} arguments")
    args = words[start + 4 : start + 4 + count]
    return Call(func, tuple(Arg.decode(int(word)) for word in args), dst)


# Entries of the function table, and the kernels of a bytecode executable.


FunctionKind = Literal["packed", "vm"]

MAX_LISTED = 500
"""The maximum length in characters of a parameter list in error messages."""


@dataclass(frozen=True)
class FunctionInfo:
    """A function of the function table.

    A ``packed`` function is registered with the FFI or is a kernel of the executable. A ``vm`` function consists of the
    instructions from `start` up to, not including, `end`. Its first `num_args` registers are the parameters; it has
    `num_registers` registers in all. `param_names` are the names of all parameters, or empty.
    """

    name: str
    kind: FunctionKind = "packed"
    start: int = 0
    end: int = 0
    num_args: int = 0
    num_registers: int = 0
    param_names: tuple[str, ...] = ()

    def takes(self) -> str:
        """Describe the number of parameters for errors; a long list of names is omitted."""
        names = ", ".join(self.param_names)
        listed = f" ({names})" if 0 < len(names) <= MAX_LISTED else ""
        return f"{self.name}: takes {self.num_args} argument{'' if self.num_args == 1 else 's'}{listed}"


@dataclass(frozen=True)
class Kernels:
    """Code of prim funcs that the machine compiles when it loads the executable.

    Attributes: the module as MLIR text, and the indices of the constants that it uses.
    """

    text: str
    constants: tuple[int, ...] = ()


# Bytecode as arrays of opcodes, operands and arguments, which makes checks of whole programs fast.


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
        self._functions = sorted((info for info in functions if info.kind == "vm"), key=lambda info: info.start)

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
