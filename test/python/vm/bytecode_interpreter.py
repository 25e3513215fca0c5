"""An interpreter of bytecode in Python, one instruction at a time: the reference of the machine's native core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import relax_mlir as rx
from relax_mlir.bytecode.instructions import VM, VOID, Arg, ArgKind, Call, Goto, If
from relax_mlir.error import ArgumentError, BytecodeError, RecursionLimitError

MAX_STEPS = 5000


class TooLong(BaseException):
    """A program ran for more than `MAX_STEPS` instructions."""


class Interpreter:
    """Runs functions of an executable; `packed` are its packed functions, `state` is the value of `%vm`."""

    def __init__(
        self, ex: rx.vm.Executable, packed: Mapping[str, Callable[..., object]], state: object, max_depth: int
    ) -> None:
        self._ex, self._packed, self._state, self._max_depth = ex, packed, state, max_depth
        self._steps = 0

    def function(self, name: str) -> Callable[..., object]:
        """The function as seen by external callers: frames are counted from 0 again."""
        return lambda *args: self._run(name, args, 1)

    def _run(self, name: str, args: Sequence[object], depth: int) -> object:
        info = self._ex.function(name)
        if depth > self._max_depth:
            raise RecursionLimitError(f"{name}: too deep")
        if len(args) != info.num_args:
            raise ArgumentError(f"{name}: {len(args)} arguments")
        registers: dict[int, object] = dict(enumerate(args))
        at = info.start
        while True:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise TooLong
            instruction = self._ex.instruction(at)
            if isinstance(instruction, Call):
                result = self._call(instruction, registers, depth)
                if instruction.dst != VOID:
                    registers[instruction.dst] = result
                at += 1
            elif isinstance(instruction, Goto):
                at += instruction.offset
            elif isinstance(instruction, If):
                value = registers[instruction.cond]
                if not isinstance(value, int):
                    raise BytecodeError(f"{name}: no condition: {value!r}")
                at += 1 if value else instruction.false_offset
            else:
                return registers[instruction.result]

    def _call(self, call: Call, registers: Mapping[int, object], depth: int) -> object:
        args = [self._value(arg, registers) for arg in call.args]
        name = self._ex.functions[call.func].name
        if name in self._packed:
            return self._packed[name](*args)
        # A callee that receives functions of the machine runs on a separate stack: its frames are counted from 0 again.
        given = (self._ex.functions[arg.value] for arg in call.args if arg.kind is ArgKind.FUNCTION)
        return self._run(name, args, 1 if any(info.kind == "vm" for info in given) else depth + 1)

    def _value(self, arg: Arg, registers: Mapping[int, object]) -> Any:
        if arg.kind is ArgKind.REGISTER:
            return self._state if arg.value == VM else registers[arg.value]
        if arg.kind is ArgKind.IMMEDIATE:
            return arg.value
        if arg.kind is ArgKind.CONSTANT:
            return self._ex.constants[arg.value]
        name = self._ex.functions[arg.value].name
        return self._packed[name] if name in self._packed else self.function(name)
