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

from relax_mlir.error import ArgumentError

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
