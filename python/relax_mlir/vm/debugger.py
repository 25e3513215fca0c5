"""A debugger for bytecode: runs a function instruction by instruction, with the machine's own packed functions."""

from __future__ import annotations

import ast
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TextIO

import numpy as np
import tvm_ffi

from relax_mlir.bytecode.executable import Executable
from relax_mlir.bytecode.instructions import (
    VM,
    VOID,
    Arg,
    ArgKind,
    Call,
    FunctionInfo,
    Goto,
    Instruction,
    Ret,
    register_name,
)
from relax_mlir.bytecode.text_forms import instruction_text
from relax_mlir.error import ArgumentError, BytecodeError, RecursionLimitError, UnknownNameError, expect
from relax_mlir.ffi import to_ffi, to_numpy
from relax_mlir.runtime.packed_functions import live_error
from relax_mlir.vm.machine import VirtualMachine

# Text output of the debugger: locations, frames and values, in lines of at most 80 columns.


WIDTH = 80
_SHOWN = 6
"""The maximum number of elements and fields to show."""


def _line(text: str) -> str:
    """Truncate a text to one line of output."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def place(debugger: Debugger, frame: Frame) -> str:
    """Return the location of a frame, with its instruction."""
    code = " ".join(instruction_text(debugger.executable, frame.info.start + frame.number).split())
    return _line(f"{frame.info.name}:{frame.number}  {code}")


def end_text(result: object) -> str:
    """Return the message for a function that has returned."""
    return _line(f"end: {describe(result)}")


def where(debugger: Debugger) -> str:
    """Return the frames, the innermost first."""
    lines = [f"#{i} {place(debugger, frame)}" for i, frame in enumerate(reversed(debugger.frames))]
    return "\n".join(map(_line, lines)) or "nothing runs"


def registers(frame: Frame) -> str:
    """Return the registers that have been written, by number; parameters with their names."""
    names = frame.info.param_names
    lines = []
    for number, value in sorted(frame.registers.items()):
        named = f" ({names[number]})" if number < len(names) else ""
        lines.append(_line(f"{register_name(number) + named:<8} {describe(value)}"))
    return "\n".join(lines) or "no register has been written"


def listing(debugger: Debugger, info: FunctionInfo) -> str:
    """Return the instructions of a function; ``->`` marks its innermost frame, ``*`` a breakpoint."""
    frames = [frame for frame in debugger.frames if frame.info is info]
    current = frames[-1].number if frames else -1
    lines = [f"@{info.name}:"]
    for number in range(info.end - info.start):
        mark = "->" if number == current else "  "
        star = "*" if (info.name, number) in debugger.breakpoints else " "
        lines.append(_line(f"{mark}{star}{number:4}  {instruction_text(debugger.executable, info.start + number)}"))
    return "\n".join(lines)


def describe(value: Any) -> str:  # noqa: ANN401 - any value
    """Describe a value: its kind, a tensor's dtype and shape, and a short excerpt of the contents."""
    if value is None:
        return "none"
    if isinstance(value, bool | int | float):
        return f"{type(value).__name__} {value}"
    if isinstance(value, tvm_ffi.dtype):
        return f"dtype {value}"
    if isinstance(value, str):
        return f"string {str(value)!r}"
    if isinstance(value, tvm_ffi.Shape):
        return f"shape {tuple(value)}"
    if isinstance(value, tvm_ffi.Function):
        return "function"
    if isinstance(value, tvm_ffi.Array | tvm_ffi.List | tuple | list):
        return f"tuple of {len(value)}: {_some([describe(item) for item in value[:_SHOWN]], len(value))}"
    if isinstance(value, tvm_ffi.Tensor) or hasattr(value, "__dlpack__"):
        return _tensor(to_ffi(value))
    return f"object {type(value).__name__}"


def _tensor(tensor: Any) -> str:  # noqa: ANN401 - a tensor of the FFI
    shape = tuple(int(size) for size in tensor.shape)
    text = f"tensor {tensor.dtype} {shape}"
    if 0 in shape:
        return text
    try:
        elements = to_numpy(tensor).flat[:_SHOWN]
    except (BufferError, RuntimeError, TypeError, ValueError):  # a dtype without a NumPy counterpart
        return text
    return f"{text} {_some([_number_text(x) for x in elements], int(np.prod(shape, dtype=object)))}"


def _number_text(value: Any) -> str:  # noqa: ANN401 - a number of NumPy
    plain = value.item() if isinstance(value, np.generic) else value
    return f"{plain:.6g}" if isinstance(plain, float) else str(plain)


def _some(items: Sequence[str], count: int) -> str:
    return f"[{', '.join(items)}{', …' if count > len(items) else ''}]"


Reason = Literal["breakpoint", "call", "step", "end"]


class Frame:
    """An active call of a VM function.

    Attributes:
        info: the function.
        number: index of the next instruction, or of the call instruction that entered the frame above.
        registers: values by register number; registers that have not been written are missing.
    """

    def __init__(self, info: FunctionInfo, args: tuple[Any, ...], target: int) -> None:
        self.info, self.target = info, target
        self.number = 0
        self.registers: dict[int, Any] = dict(enumerate(args))


@dataclass(frozen=True)
class Stop:
    """The reason and place at which a run has stopped; at the end, `result` is the function's result."""

    reason: Reason
    function: str
    instruction: int
    text: str
    result: Any = None

    def __str__(self) -> str:
        return self.text


class Debugger:
    """Run functions of a machine in Python, one instruction at a time.

    >>> debugger = Debugger(executable)
    >>> debugger.break_at("main", 3)
    >>> print(debugger.run("main", x))
    >>> print(debugger.registers())

    It executes the same instructions with the same builtins, kernels and packed functions as the machine. Closures run
    natively, in one step; instruments are not called. An error leaves the frames unchanged, so that `where` and
    `registers` show the state that led to it.
    """

    def __init__(
        self,
        machine: VirtualMachine | Executable,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """`functions`: packed functions for an executable; a machine has its own."""
        expect("Debugger: 'machine'", machine, VirtualMachine | Executable, "a virtual machine or an executable")
        if isinstance(machine, VirtualMachine) and functions is not None:
            raise ArgumentError("Debugger: `functions` go with an executable; a virtual machine has its own")
        self.machine = machine if isinstance(machine, VirtualMachine) else VirtualMachine(machine, functions=functions)
        self.executable = self.machine.executable
        self.frames: list[Frame] = []
        """The active calls, the innermost last."""
        self.breakpoints: set[tuple[str, int]] = set()
        self.calls_to_break_on: set[str] = set()
        self.error: BaseException | None = None
        """The error of the last run."""
        self._result: Any = None

    # Breakpoints

    def break_at(self, function: str, instruction: int = 0) -> None:
        """Stop before an instruction of a VM function.

        Raises UnknownNameError, ArgumentError: there is no such function or instruction.
        """
        info = self._function(function)
        count = info.end - info.start
        expect("break_at: 'instruction'", instruction, int, "a number")
        if not 0 <= instruction < count:
            raise ArgumentError(f"break_at: '{function}' has instructions 0 to {count - 1}; there is no {instruction}")
        self.breakpoints.add((function, int(instruction)))

    def break_on_call(self, name: str) -> None:
        """Stop before each call of a packed or VM function. Raises UnknownNameError if there is none of this name."""
        known = [info.name for info in self.executable.functions]
        if name not in known:
            raise UnknownNameError("function", name, known)
        self.calls_to_break_on.add(name)

    def clear(self) -> None:
        """Remove all breakpoints."""
        self.breakpoints.clear()
        self.calls_to_break_on.clear()

    # Running

    def start(self, name: str, *args: object) -> Stop:
        """Start a run of a function, before its first instruction; a run in progress is abandoned."""
        info = self._function(name)
        if len(args) != info.num_args:
            raise ArgumentError(f"{info.takes()}; got {len(args)}")
        values = tuple(tvm_ffi.convert(to_ffi(arg)) for arg in args)
        self.error, self._result = None, None
        self.frames = [Frame(info, values, VOID)]
        return self._stop("step")

    def run(self, name: str, *args: object) -> Stop:
        """Start a run and continue to the first breakpoint, or to the end."""
        self.start(name, *args)
        reason = self._reason_to_stop()
        return self._stop(reason) if reason else self.continue_()

    def step(self) -> Stop:
        """Execute one instruction, stepping into VM functions."""
        self._advance()
        return self._stop("step")

    def next(self) -> Stop:
        """Execute one instruction with all its calls, unless a breakpoint is reached."""
        return self._go(len(self._running()))

    def finish(self) -> Stop:
        """Continue until the function returns, unless a breakpoint is reached."""
        return self._go(len(self._running()) - 1)

    def continue_(self) -> Stop:
        """Continue to the next breakpoint, or to the end."""
        return self._go(0)

    def _go(self, depth: int) -> Stop:
        """Execute at least one instruction, until at most `depth` frames are active."""
        while True:
            self._advance()
            reason = self._reason_to_stop()
            if reason or len(self.frames) <= depth:
                return self._stop(reason or "step")

    def _running(self) -> list[Frame]:
        if self.error is not None:
            raise ArgumentError("the run has failed: run() or start() begin another one") from self.error
        if not self.frames:
            raise ArgumentError("nothing runs: run() or start() begin a run")
        return self.frames

    def _reason_to_stop(self) -> Reason | None:
        if not self.frames:
            return None
        frame = self.frames[-1]
        if (frame.info.name, frame.number) in self.breakpoints:
            return "breakpoint"
        instruction = self.instruction(frame)
        if isinstance(instruction, Call):
            callee = self.executable.functions[instruction.func].name
            return "call" if callee in self.calls_to_break_on else None
        return None

    def _stop(self, reason: Reason) -> Stop:
        if not self.frames:
            return Stop("end", "", 0, end_text(self._result), self._result)
        frame = self.frames[-1]
        return Stop(reason, frame.info.name, frame.number, place(self, frame))

    # Looking

    def instruction(self, frame: Frame) -> Instruction:
        """Return the current instruction of a frame."""
        return self.executable.instruction(frame.info.start + frame.number)

    def where(self) -> str:
        """Return the frames, the innermost first, one per line."""
        return where(self)

    def registers(self, frame: int = 0) -> str:
        """Return the registers of a frame, one per line; frame 0 is the innermost."""
        return registers(self._frame(frame))

    def value(self, register: int, frame: int = 0) -> Any:  # noqa: ANN401 - whatever the register holds
        """Return the value of a register. Raises ArgumentError if it has not been written."""
        found = self._frame(frame).registers
        if register not in found:
            raise ArgumentError(f"value: register {register_name(register)} has not been written")
        return found[register]

    def listing(self, function: str | None = None) -> str:
        """Return the instructions of a function with breakpoint marks; None: the function of the innermost frame."""
        info = self._frame(0).info if function is None else self._function(function)
        return listing(self, info)

    def interact(self, commands: TextIO | None = None, output: TextIO | None = None) -> None:
        """Read and execute commands, one per line, until ``quit`` or the end of input; ``help`` lists them.

        By default the standard streams are used.
        """

        interact(self, commands or sys.stdin, output or sys.stdout)

    def _frame(self, number: int) -> Frame:
        if not 0 <= number < len(self.frames):
            raise ArgumentError(f"there is no frame {number}: {len(self.frames)} are active")
        return self.frames[-1 - number]

    def _function(self, name: str) -> FunctionInfo:
        known = self.executable.function_names
        if name not in known:
            raise UnknownNameError("function", name, known)
        return self.executable.function(name)

    # One instruction

    def _advance(self) -> None:
        frame = self._running()[-1]
        instruction = self.instruction(frame)
        if isinstance(instruction, Call):
            try:
                self._call(frame, instruction)
            except BaseException as error:
                self.error = error
                raise
        elif isinstance(instruction, Ret):
            self._return(frame.registers[instruction.result])
        elif isinstance(instruction, Goto):
            frame.number += instruction.offset
        else:
            condition = frame.registers[instruction.cond]
            if not isinstance(condition, int):
                self.error = BytecodeError(
                    f"`If` takes an integer or a truth value, not {type(condition).__name__}",
                    frame.info.name,
                    frame.number,
                    register_name(instruction.cond),
                )
                raise self.error
            frame.number += 1 if condition else instruction.false_offset

    def _call(self, frame: Frame, call: Call) -> None:
        callee = self.executable.functions[call.func]
        args = tuple(self._argument(frame, arg) for arg in call.args)
        if callee.kind == "vm":
            most = self.machine.max_depth
            if len(self.frames) >= most:
                raise RecursionLimitError(
                    f"{callee.name}: more than {most} calls are active: is the recursion endless?"
                )
            self.frames.append(Frame(callee, args, call.dst))
            return
        self._give(frame, call.dst, self._call_packed(callee.name, args))

    def _call_packed(self, name: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401 - any value
        try:
            return self.machine.packed(name)(*args)
        except BaseException as error:
            raised = error
        raise live_error(raised)

    def _argument(self, frame: Frame, arg: Arg) -> Any:  # noqa: ANN401 - any value
        if arg.kind is ArgKind.REGISTER:
            return self.machine.state if arg.value == VM else frame.registers[arg.value]
        if arg.kind is ArgKind.IMMEDIATE:
            return arg.value
        if arg.kind is ArgKind.CONSTANT:
            return to_ffi(self.executable.constants[arg.value])
        info = self.executable.functions[arg.value]
        return self.machine[info.name].ffi if info.kind == "vm" else self.machine.packed(info.name)

    def _return(self, value: Any) -> None:  # noqa: ANN401 - any value
        done = self.frames.pop()
        if not self.frames:
            self._result = value
            return
        self._give(self.frames[-1], done.target, value)

    @staticmethod
    def _give(frame: Frame, target: int, value: Any) -> None:  # noqa: ANN401 - any value
        if target != VOID:
            frame.registers[target] = value
        frame.number += 1


# The debugger's commands, one per line.


PROMPT = "(vm) "
HELP = """\
run FUNCTION [VALUE ...]  run a function with numbers, strings, tuples
break FUNCTION [NUMBER]   stop before an instruction (0 is the first)
catch FUNCTION            stop before calls of a function
clear                     forget all breakpoints
step, s                   one instruction, into functions
next, n                   one instruction, with what it calls
finish, f                 go on until the function returns
continue, c               go on to the next breakpoint
where, w                  the functions that are active
registers, r [FRAME]      what registers hold
list, l [FUNCTION]        the instructions
help, h                   this text
quit, q                   leave
An empty line repeats the last command."""

SHORT = {
    "s": "step",
    "n": "next",
    "f": "finish",
    "c": "continue",
    "w": "where",
    "r": "registers",
    "l": "list",
    "h": "help",
    "q": "quit",
    "b": "break",
}


def interact(debugger: Debugger, commands: TextIO, output: TextIO) -> None:
    """Execute the commands in a stream. Errors of the program are printed and keep the debugger's state."""
    last = ""
    while True:
        output.write(PROMPT)
        output.flush()
        line = commands.readline()
        if not line:
            output.write("\n")
            return
        line = line.strip() or last
        last = line
        if not line:
            continue
        try:
            words = shlex.split(line)
            name = SHORT.get(words[0], words[0])
            if name == "quit":
                return
            shown = _obey(debugger, name, words[1:])
        except Exception as error:  # any error of a packed function
            shown = f"{type(error).__name__}: {error}"
        if shown:
            output.write(f"{shown}\n")


def _obey(debugger: Debugger, name: str, words: list[str]) -> str:
    known: dict[str, tuple[int, int, Callable[..., object]]] = {
        "run": (1, 4096, lambda function, *values: debugger.run(function, *map(_value, values))),
        "break": (1, 2, lambda function, number="0": debugger.break_at(function, _number(number))),
        "catch": (1, 1, debugger.break_on_call),
        "clear": (0, 0, debugger.clear),
        "step": (0, 0, debugger.step),
        "next": (0, 0, debugger.next),
        "finish": (0, 0, debugger.finish),
        "continue": (0, 0, debugger.continue_),
        "where": (0, 0, debugger.where),
        "registers": (0, 1, lambda frame="0": debugger.registers(_number(frame))),
        "list": (0, 1, debugger.listing),
        "help": (0, 0, lambda: HELP),
    }
    if name not in known:
        raise ArgumentError(f"unknown command '{name}'; help lists them")
    least, most, function = known[name]
    if not least <= len(words) <= most:
        raise ArgumentError(f"{name}: {len(words)} words behind it; help tells what it takes")
    shown = function(*words)
    return "" if shown is None else str(shown)


def _number(word: str) -> int:
    if not word.isdecimal():
        raise ArgumentError(f"'{word}' is no number")
    return int(word)


def _value(word: str) -> object:
    """Parse a number, a tuple, True or None; anything else is a string."""
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return word
