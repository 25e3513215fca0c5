"""A function while it is built by hand: its instructions, labels and final checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relax_mlir.error import ArgumentError, BytecodeError
from relax_mlir.vm import bytecode
from relax_mlir.vm.bytecode import VOID, Arg, ArgKind, Call, Goto, If, Instruction, Ret, register_name
from relax_mlir.vm.function_info import FunctionInfo
from relax_mlir.vm.verify import verify_code


class Label:
    """A jump target in a function, created by `ExecBuilder.label` and positioned by `ExecBuilder.place`."""

    __slots__ = ("_body",)

    def __init__(self, body: FunctionBody) -> None:
        self._body = body


@dataclass(frozen=True)
class FinishedBody:
    """The words of a verified function, in which functions have the indices of the builder.

    The instruction range of `info` begins at 0. `mentioned` are the functions that are called or passed as arguments;
    `unused` are the parameters that no instruction reads.
    """

    info: FunctionInfo
    words: list[int]
    offsets: list[int]
    mentioned: frozenset[int]
    unused: list[int]

    def renumbered(self, numbers: Mapping[int, int]) -> FinishedBody:
        """Return a copy with other function indices."""
        instructions = (bytecode.decode(self.words, offset) for offset in self.offsets)
        words = [word for each in instructions for word in _renumbered(each, numbers).encode()]
        return replace(self, words=words)


class FunctionBody:
    """The instructions of an unfinished function."""

    def __init__(self, name: str, num_args: int, param_names: tuple[str, ...], allow_unused: bool) -> None:
        self.name, self.num_args, self.param_names = name, num_args, param_names
        self.allow_unused = allow_unused
        self._code: list[Instruction] = []
        self._places: dict[Label, int] = {}
        self._jumps: list[tuple[int, Label]] = []
        """Instructions that jump to labels, by index."""

    def where(self, what: str) -> str:
        """Return `what`, prefixed with the position of the next instruction."""
        return f"function '{self.name}', instruction {len(self._code)}: {what}"

    def call(self, func: int, args: tuple[Arg, ...], dst: int) -> None:
        """Append a call."""
        self._code.append(Call(func, args, dst))

    def ret(self, result: int) -> None:
        """Append a return."""
        self._code.append(Ret(result))

    def goto(self, target: int | Label) -> None:
        """Append a jump."""
        self._code.append(Goto(self._offset(target)))

    def branch(self, cond: int, target: int | Label) -> None:
        """Append a conditional jump."""
        self._code.append(If(cond, self._offset(target)))

    def _offset(self, target: int | Label) -> int:
        if not isinstance(target, Label):
            if abs(target) >= 1 << 63:
                raise ArgumentError(f"{self.where('the offset')} is {target}, which needs more than 64 bits")
            return target
        self._check_own(target)
        self._jumps.append((len(self._code), target))
        return 0

    def label(self) -> Label:
        """A new label of this function."""
        return Label(self)

    def put(self, label: Label) -> None:
        """Place `label` before the next instruction."""
        self._check_own(label)
        if label in self._places:
            raise ArgumentError(
                f"{self.where('ib.place')}: the label is placed already, at instruction {self._places[label]}"
            )
        self._places[label] = len(self._code)

    def _check_own(self, label: Label) -> None:
        if label._body is not self:
            raise ArgumentError(f"{self.where('the label')} is one of function '{label._body.name}'")

    def finish(self, infos: Sequence[FunctionInfo | None], index: int, constants: int) -> FinishedBody:
        """Verify the function and renumber its registers.

        `infos` are the known functions of the builder, of which this one has number `index`; `constants` is the size of
        the constant pool. Raises BytecodeError.
        """
        code = self._resolved()
        if not code:
            raise BytecodeError("has no instructions; a function ends in a ret [invariant 8]", self.name)
        names = {register: register for register in range(self.num_args)}
        code = [_renamed(each, names) for each in code]
        words: list[int] = []
        offsets: list[int] = []
        for each in code:
            offsets.append(len(words))
            words += each.encode()
        info = FunctionInfo(self.name, "vm", 0, len(code), self.num_args, len(names), self.param_names)
        callees = [info if place == index else known for place, known in enumerate(infos)]
        try:
            verify_code((info,), np.array(words, np.int64), np.array(offsets, np.int64), callees, constants)
        except BytecodeError as error:
            raise self._in_own_names(error, names) from None
        mentioned = frozenset(function for each in code for function in _functions(each))
        read = {register for each in code for register in bytecode.registers_read(each)}
        unused = [register for register in range(self.num_args) if register not in read]
        return FinishedBody(info, words, offsets, mentioned, unused)

    def _resolved(self) -> list[Instruction]:
        """Return the instructions with labels replaced by offsets."""
        code = list(self._code)
        for number, label in self._jumps:
            if label not in self._places:
                reason = "jumps to a label that is not placed; call ib.place(label) [invariant 7]"
                raise BytecodeError(reason, self.name, number)
            offset, jump = self._places[label] - number, code[number]
            code[number] = If(jump.cond, offset) if isinstance(jump, If) else Goto(offset)
        return code

    def _in_own_names(self, error: BytecodeError, names: Mapping[int, int]) -> BytecodeError:
        """Return the error with the user's register number."""
        own = {register_name(new): register_name(old) for old, new in names.items()}
        register = own.get(error.register, error.register) if error.register is not None else None
        return BytecodeError(error.reason, error.function, error.instruction, register)


def _renamed(instruction: Instruction, names: dict[int, int]) -> Instruction:
    """Rename the registers of an instruction; a register that is not in `names` gets the next number."""

    def name(register: int) -> int:
        return register if register >= VOID else names.setdefault(register, len(names))

    if isinstance(instruction, Call):
        args = tuple(
            Arg(arg.kind, name(arg.value)) if arg.kind is ArgKind.REGISTER else arg
            for arg in instruction.args
        )
        return Call(instruction.func, args, name(instruction.dst))
    if isinstance(instruction, Ret):
        return Ret(name(instruction.result))
    if isinstance(instruction, If):
        return If(name(instruction.cond), instruction.false_offset)
    return instruction


def _renumbered(instruction: Instruction, numbers: Mapping[int, int]) -> Instruction:
    if not isinstance(instruction, Call):
        return instruction
    args = tuple(
        Arg(arg.kind, numbers[arg.value]) if arg.kind is ArgKind.FUNCTION else arg for arg in instruction.args
    )
    return Call(numbers[instruction.func], args, instruction.dst)


def _functions(instruction: Instruction) -> list[int]:
    """Return the functions that an instruction calls or passes as arguments."""
    if not isinstance(instruction, Call):
        return []
    return [instruction.func, *(arg.value for arg in instruction.args if arg.kind is ArgKind.FUNCTION)]
