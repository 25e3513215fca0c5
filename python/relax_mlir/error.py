"""Every error that the project raises on purpose, in one hierarchy under `RelaxError`.

Errors that correspond to a built-in Python error also derive from it, so ``except ValueError`` keeps working.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType


@dataclass(frozen=True)
class Diagnostic:
    """One diagnostic of the compiler, with the source location that it refers to."""

    severity: str
    location: str
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.severity}: {self.message}"


class RelaxError(Exception):
    """Base of all errors of relax-mlir.

    Attributes: `pass_name` is the pass in which it was raised, if any; `batch` the number of the batch, counted from
    0, if it comes from `relax_mlir.distributed.map_batches`.
    """

    pass_name: str | None = None
    batch: int | None = None

    def add_hint(self, hint: str) -> None:
        """Append one line of help to the message."""
        self.args = (f"{self.args[0] if self.args else ''}\n  {hint}",)


class ParseError(RelaxError):
    """Text that is no valid IR, pipeline, shape expression or option; a file that cannot be read, or is no model."""


class UntrustedFileError(ParseError):
    """A file that could run code when read, opened without ``trusted=True``."""


class ScriptError(ParseError):
    """Errors in a script: each with its file, line and column, and the source underlined.

    `diagnostics` holds them one by one.
    """

    def __init__(self, frames: Sequence[str], diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        count = "1 mistake" if len(frames) == 1 else f"{len(frames)} mistakes"
        super().__init__("\n".join([f"{count} in the script", *frames]))


class UnknownNameError(RelaxError, LookupError):
    """An unknown name (op, pass, option, function); the message lists near matches."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.what, self.name, self.known = what, name, sorted(set(known))
        near = difflib.get_close_matches(name, self.known, n=3, cutoff=0.5) if isinstance(name, str) else []
        message = f"unknown {what} '{name}'"
        if near:
            message += "; did you mean " + " or ".join(f"'{n}'" for n in near) + "?"
        elif self.known and len(self.known) <= 12:
            message += "; known: " + ", ".join(self.known)
        super().__init__(message + (f" ({hint})" if hint else ""))


class UnknownAttributeError(RelaxError, AttributeError):
    """An attribute that an object does not have."""


class ShapeError(RelaxError, ValueError):
    """Shapes that contradict each other, at build time or at run time."""


class CheckError(RelaxError, AssertionError):
    """A check of data that failed at run time: an assertion, or a maximum of no elements."""


class BoundsError(RelaxError, IndexError):
    """An index outside of the buffer of a prim func, or a dimension that a value does not have."""


class RecursionLimitError(RelaxError, RecursionError):
    """A function that recurses too deeply."""


class OutOfMemoryError(RelaxError, MemoryError):
    """A buffer or result that could not be allocated."""


class DTypeError(RelaxError, TypeError):
    """A dtype that an operation does not accept, or dtypes that do not match."""


class DeviceError(RelaxError, ValueError):
    """A tensor on a device that the compiled function cannot read."""


class ArgumentError(RelaxError, TypeError):
    """A call with the wrong number or kind of arguments."""


class PackedFunctionError(RelaxError, LookupError):
    """A packed function that is not registered, or returned a value that its call site does not allow."""


class ScheduleError(RelaxError, ValueError):
    """An invalid step of a schedule.

    Attributes: the step and the reason; the name of the stage and of the axis, each None if the error does not concern
    one; the file and line of the user's call.
    """

    def __init__(
        self, step: str, reason: str, stage: str | None, axis: str | None, position: tuple[str, int] | None
    ) -> None:
        self.step, self.reason, self.stage, self.axis, self.position = step, reason, stage, axis, position
        place = f" (at {position[0]}:{position[1]})" if position else ""
        super().__init__(f"{step}: {reason}{place}")


class BatchError(RelaxError):
    """A batch of `map_batches` without a result: its worker is lost, or a function that the model calls failed."""


def expect(where: str, value: object, kinds: type | UnionType, what: str) -> None:
    """Raise `ArgumentError` unless `value` is an instance of `kinds`; `where`: the function and its parameter."""
    if not isinstance(value, kinds):
        raise ArgumentError(f"{where} is {value!r} ({type(value).__name__}), expected {what}")


def expect_all(where: str, values: object, kinds: type | UnionType, what: str) -> None:
    """Raise `ArgumentError` unless `values` is a list or tuple whose items are of `kinds`; see `expect`."""
    expect(where, values, list | tuple, f"a list of {what}")
    assert isinstance(values, list | tuple)
    for number, item in enumerate(values):
        if not isinstance(item, kinds):
            raise ArgumentError(f"{where}[{number}] is {item!r} ({type(item).__name__}), expected {what}")


class CompileError(RelaxError):
    """A module that cannot be compiled; carries the diagnostics."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join([message, *(f"  {d}" for d in self.diagnostics)]))


class VerifyError(CompileError):
    """A module that breaks an invariant of its level."""


class BytecodeError(VerifyError):
    """Bytecode that breaks an invariant of the virtual machine.

    Attributes: the reason; the name of the function, the number of the instruction in it, and the register (``%3``),
    each None if the error does not concern one.
    """

    def __init__(
        self,
        reason: str,
        function: str | None = None,
        instruction: int | None = None,
        register: str | None = None,
    ) -> None:
        self.reason, self.function, self.instruction, self.register = reason, function, instruction, register
        places = (
            f"function '{function}'" if function is not None else "",
            f"instruction {instruction}" if instruction is not None else "",
            f"register {register}" if register is not None else "",
        )
        place = ", ".join(filter(None, places))
        super().__init__(f"{place}: {reason}" if place else reason)


class UnsupportedError(CompileError):
    """A valid construct that this version cannot lower; the message says what to do instead."""


class PassError(CompileError):
    """A pass that failed.

    Attributes: the pass's name, the path of the module before the pass (or None), and the command line that repeats the
    failing pass on it (or None).
    """

    def __init__(
        self,
        pass_name: str,
        message: str,
        diagnostics: Sequence[Diagnostic] = (),
        dump: Path | None = None,
        reproducer: str | None = None,
    ) -> None:
        self.pass_name, self.dump, self.reproducer = pass_name, dump, reproducer
        text = f"pass '{pass_name}' failed: {message}"
        super().__init__(text, diagnostics)
        if dump is not None:
            self.add_hint(f"the module before the pass: {dump}")
        if reproducer is not None:
            self.add_hint(f"to reproduce: {reproducer}")
