"""Build bytecode by hand, instruction by instruction."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType

import numpy as np

from relax_mlir.bytecode import instructions
from relax_mlir.bytecode.constant_pool import ConstantPool
from relax_mlir.bytecode.executable import Executable
from relax_mlir.bytecode.instructions import (
    MAX_ARGS,
    MAX_VALUE,
    MIN_VALUE,
    VM,
    VOID,
    Arg,
    ArgKind,
    Call,
    FunctionInfo,
    FunctionKind,
    Goto,
    If,
    Instruction,
    Kernels,
    Ret,
    register_name,
)
from relax_mlir.bytecode.verify import verify_code
from relax_mlir.error import ArgumentError, BytecodeError, expect

# A function while it is built by hand: its instructions, labels and final checks.


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
        code = (instructions.decode(self.words, offset) for offset in self.offsets)
        words = [word for each in code for word in _renumbered(each, numbers).encode()]
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
        read = {register for each in code for register in instructions.registers_read(each)}
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
            Arg(arg.kind, name(arg.value)) if arg.kind is ArgKind.REGISTER else arg for arg in instruction.args
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
    args = tuple(Arg(arg.kind, numbers[arg.value]) if arg.kind is ArgKind.FUNCTION else arg for arg in instruction.args)
    return Call(numbers[instruction.func], args, instruction.dst)


def _functions(instruction: Instruction) -> list[int]:
    """Return the functions that an instruction calls or passes as arguments."""
    if not isinstance(instruction, Call):
        return []
    return [instruction.func, *(arg.value for arg in instruction.args if arg.kind is ArgKind.FUNCTION)]


class UnusedInputWarning(UserWarning):
    """A function built by hand has a parameter that no instruction reads."""


class ExecBuilder:
    """Builds a bytecode executable; TVM's `ExecBuilder`.

    >>> ib = ExecBuilder()
    >>> with ib.function("double", num_inputs=1):
    ...     ib.emit_call("test.vm.add", args=[ib.r(0), ib.r(0)], dst=ib.r(1))
    ...     ib.emit_ret(ib.r(1))
    >>> ex = ib.get()

    A function is verified when its ``with`` block ends. Its registers are then renumbered in the order of first use,
    the parameters first, so any register numbers are allowed. If the block raises, the function is discarded; the
    builder stays usable.
    """

    def __init__(self) -> None:
        self._pool = ConstantPool()
        self._indices: dict[str, int] = {}
        """The index of each function mentioned so far."""
        self._declared: dict[str, FunctionKind | None] = {}
        self._bodies: dict[str, FinishedBody] = {}
        self._open: FunctionBody | None = None
        self._kernels: tuple[str, tuple[Arg, ...]] | None = None

    # Operands

    def r(self, index: int) -> Arg:
        """Register `index`; parameters are the first ones. Raises ArgumentError for an invalid number."""
        expect(self._at("ib.r: index"), index, int, "the number of a register")
        if isinstance(index, bool) or not 0 <= index < VOID:
            raise ArgumentError(f"{self._at('ib.r')}: {index} is no number of a register")
        return Arg(ArgKind.REGISTER, int(index))

    def imm(self, value: int) -> Arg:
        """An immediate integer.

        Raises ArgumentError: it needs more than 56 bits. Use `c`, or `convert_constant`, which chooses.
        """
        expect(self._at("ib.imm: value"), value, int, "an integer")
        if not MIN_VALUE <= value <= MAX_VALUE:
            raise ArgumentError(
                f"{self._at('ib.imm')}: {value} needs more than 56 bits; write ib.c({value}), a constant"
            )
        return Arg(ArgKind.IMMEDIATE, int(value))

    def c(self, value: object) -> Arg:
        """The constant `value`: a tensor, a shape (tuple of integers), a dtype, a string, a number, a bool or None.

        Equal constants are stored once. Tensors are copied, except for read-only NumPy arrays, which must not change.
        Raises ArgumentError, DTypeError: the value is not supported as a constant.
        """
        if isinstance(value, Arg):
            if value.kind is ArgKind.CONSTANT and 0 <= value.value < len(self._pool.values):
                return value
            raise ArgumentError(f"{self._at('ib.c')}: {value} is no constant of this builder")
        return Arg(ArgKind.CONSTANT, self._pool.add(value, self._at("ib.c: the constant")))

    def convert_constant(self, value: object) -> Arg:
        """`value` as an argument: `imm` for an integer of at most 56 bits, `c` for anything else."""
        if type(value) is int and MIN_VALUE <= value <= MAX_VALUE:
            return self.imm(value)
        return self.c(value)

    def f(self, name: str) -> Arg:
        """The function `name`: a VM function of this builder, defined before or after, or a packed function."""
        return Arg(ArgKind.FUNCTION, self._index(name, "ib.f: name"))

    def vm_state(self) -> Arg:
        """The machine itself, an argument of builtins such as ``vm.builtin.alloc_storage``."""
        return Arg(ArgKind.REGISTER, VM)

    def void_arg(self) -> Arg:
        """The register that discards results."""
        return Arg(ArgKind.REGISTER, VOID)

    # Functions

    def declare_function(self, name: str, kind: FunctionKind | None = None) -> None:
        """Add `name` to the function table unless it is there already; `kind` is checked by `get`."""
        self._index(name, "ib.declare_function: name")
        if kind not in ("packed", "vm", None):
            raise ArgumentError(f"ib.declare_function: kind is {kind!r}, expected 'packed', 'vm' or None")
        self._declared[name] = kind or self._declared.get(name)

    def function(
        self,
        name: str,
        num_inputs: int = 0,
        param_names: Sequence[str] | None = None,
        allow_unused: bool = False,
    ) -> FunctionScope:
        """Open a ``with`` block in which the instructions of function `name` are emitted.

        The function is verified at the end of the block.

        Args:
            num_inputs: the number of parameters: registers 0, 1, ….
            param_names: their names, for messages.
            allow_unused: do not warn about parameters that no instruction reads.

        Raises:
            ArgumentError: the name is empty or in use, the parameters are wrong, or the block is nested in another.
            BytecodeError: the function violates an invariant of `relax_mlir.bytecode.verify`: a register that is read
                before it is written on some path, a path without ``ret``, a jump out of the function, and so on.
        """
        expect("ib.function: name", name, str, "a string")
        expect(f"function '{name}': num_inputs", num_inputs, int, "an integer")
        if isinstance(num_inputs, bool) or not 0 <= num_inputs <= MAX_ARGS:
            raise ArgumentError(f"function '{name}': num_inputs is {num_inputs}, expected 0 to {MAX_ARGS}")
        expect(f"function '{name}': param_names", param_names, Sequence | None, "a list of strings")
        names = tuple(param_names or ())
        for place, item in enumerate(names):
            expect(f"function '{name}': param_names[{place}]", item, str, "a string")
        if param_names is not None and len(names) != num_inputs:
            raise ArgumentError(
                f"function '{name}': num_inputs is {num_inputs}, but param_names has {len(names)} names"
            )
        if len(set(names)) != len(names) or not all(names):
            raise ArgumentError(f"function '{name}': param_names are {names}, expected distinct names")
        return FunctionScope(self, FunctionBody(name, num_inputs, names, allow_unused))

    # Instructions

    def emit_call(self, name: str | Arg, args: Sequence[object] | None = None, dst: Arg | None = None) -> None:
        """Call a function, given by name or as the result of `f`; the result is written to register `dst`, if any.

        Arguments are results of `r`, `imm`, `c`, `f` and `vm_state`, or Python values other than integers, which become
        constants. Raises ArgumentError: another argument, or no function is being built.
        """
        body = self._body("ib.emit_call")
        where = body.where("ib.emit_call")
        if isinstance(name, Arg):
            self._expect_kind(where, name, ArgKind.FUNCTION, "a function: a name, or ib.f(name)")
            callee = name.value
        else:
            callee = self._index(name, f"{where}: name")
        if isinstance(args, str) or not isinstance(args, Sequence | None):
            raise ArgumentError(f"{where}: args is {args!r} ({type(args).__name__}), expected a list")
        converted = tuple(self._argument(f"{where}: args[{i}]", arg) for i, arg in enumerate(args or ()))
        if len(converted) > MAX_ARGS:
            raise ArgumentError(f"{where}: {len(converted)} arguments, expected at most {MAX_ARGS}")
        target = VOID if dst is None else self._register(f"{where}: dst", dst, VOID)
        body.call(callee, converted, target)

    def emit_ret(self, result: Arg) -> None:
        """Return register `result`. Raises ArgumentError: not a register, or no function is being built."""
        body = self._body("ib.emit_ret")
        body.ret(self._register(body.where("ib.emit_ret"), result, None))

    def emit_if(self, cond: Arg, false_offset: int | Label) -> None:
        """Continue with the next instruction if register `cond` is not zero, else at `false_offset`.

        `false_offset` is a label, or an offset counted in instructions from this one. Raises ArgumentError: a wrong
        operand, or no function is being built.
        """
        body = self._body("ib.emit_if")
        where = body.where("ib.emit_if")
        body.branch(self._register(where, cond, None), self._target(where, false_offset))

    def emit_goto(self, offset: int | Label) -> None:
        """Jump to a label, or by `offset` instructions, backwards if it is negative.

        Raises ArgumentError: a wrong operand, or no function is being built.
        """
        body = self._body("ib.emit_goto")
        body.goto(self._target(body.where("ib.emit_goto"), offset))

    def label(self) -> Label:
        """Create a jump target in the function being built; `place` defines its position, before or after the jump."""
        return self._body("ib.label").label()

    def place(self, label: Label) -> None:
        """Place `label` before the next instruction. Raises ArgumentError: it is placed, or another function's."""
        body = self._body("ib.place")
        expect(body.where("ib.place"), label, Label, "a label: ib.label()")
        body.put(label)

    def set_kernels(self, text: str, constants: Sequence[Arg] = ()) -> None:
        """Set the code of the executable's prim funcs: MLIR text, and the constants that it uses (see `c`)."""
        expect("ib.set_kernels: text", text, str, "a string")
        for i, constant in enumerate(constants):
            self._expect_kind(f"ib.set_kernels: constants[{i}]", constant, ArgKind.CONSTANT, "a constant")
        self._kernels = text, tuple(constants)

    # Result

    def get(self) -> Executable:
        """Return the executable with all functions so far; the builder stays usable.

        Raises:
            ArgumentError: a function is still being built, or was declared as ``vm`` and has no instructions.
            BytecodeError: a call has the wrong number of arguments for a function that was defined after it.
        """
        if self._open is not None:
            raise ArgumentError(f"ib.get: function '{self._open.name}' is still being built")
        for name, kind in self._declared.items():
            if kind is not None and (kind == "vm") != (name in self._bodies):
                told = "has no instructions" if kind == "vm" else "has instructions"
                raise ArgumentError(f"ib.get: function '{name}' was declared as {kind!r}, but {told}")
        numbers = self._numbers_of_used()
        table = [FunctionInfo(name) for name, index in self._indices.items() if index in numbers]
        words: list[int] = []
        offsets: list[int] = []
        for name, body in self._bodies.items():
            start = len(offsets)
            code = body.renumbered(numbers) if len(numbers) < len(self._indices) else body
            table[numbers[self._indices[name]]] = replace(body.info, start=start, end=start + body.info.end)
            offsets += [len(words) + offset for offset in code.offsets]
            words += code.words
        kernels = self._kernels and Kernels(self._kernels[0], tuple(constant.value for constant in self._kernels[1]))
        return Executable(
            tuple(table),
            tuple(self._pool.values),
            np.array(words, np.int64),
            np.array(offsets, np.int64),
            kernels,
        )

    def _numbers_of_used(self) -> dict[int, int]:
        """Map the builder's function indices to those of the executable, which omits discarded functions."""
        used = {self._indices[name] for name in (*self._declared, *self._bodies)}
        used = used.union(*(body.mentioned for body in self._bodies.values()))
        return {index: number for number, index in enumerate(sorted(used))}

    # Function blocks

    def _enter(self, body: FunctionBody) -> None:
        if self._open is not None:
            raise ArgumentError(
                f"function '{body.name}': its block is inside of that of '{self._open.name}'; end that one first"
            )
        if body.name in self._bodies:
            raise ArgumentError(f"function '{body.name}' is defined already")
        self._index(body.name, "ib.function: name")
        self._open = body

    def _leave(self, body: FunctionBody, failed: bool) -> None:
        self._open = None
        if failed:
            return
        infos: list[FunctionInfo | None] = [None] * len(self._indices)
        for name, finished in self._bodies.items():
            infos[self._indices[name]] = finished.info
        finished = body.finish(infos, self._indices[body.name], len(self._pool.values))
        self._bodies[body.name] = finished
        for place in [] if body.allow_unused else finished.unused:
            named = f" ('{body.param_names[place]}')" if body.param_names else ""
            message = f"function '{body.name}': the input {register_name(place)}{named} is never used"
            warnings.warn(message, UnusedInputWarning, stacklevel=3)

    def _body(self, what: str) -> FunctionBody:
        if self._open is None:
            raise ArgumentError(f"{what}: no function is being built; write it in: with ib.function(name):")
        return self._open

    # Argument checks

    def _at(self, what: str) -> str:
        return what if self._open is None else self._open.where(what)

    def _index(self, name: object, what: str) -> int:
        expect(self._at(what), name, str, "the name of a function")
        assert isinstance(name, str)
        if not name:
            raise ArgumentError(f"{self._at(what)} is empty")
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{self._at(what)} is {name!r}, no valid text: {error.reason}") from None
        return self._indices.setdefault(name, len(self._indices))

    def _argument(self, what: str, value: object) -> Arg:
        if isinstance(value, int) and not isinstance(value, bool):
            raise ArgumentError(
                f"{what} is the integer {value}: write ib.imm({value}) for the number, ib.r({value}) for the register"
            )
        if not isinstance(value, Arg):
            return Arg(ArgKind.CONSTANT, self._pool.add(value, what))
        if value.kind is ArgKind.REGISTER and value.value == VOID:
            raise ArgumentError(f"{what} is %void, which takes results only; write ib.c(None)")
        limit = {ArgKind.CONSTANT: len(self._pool.values), ArgKind.FUNCTION: len(self._indices)}
        if value.kind in limit and not 0 <= value.value < limit[value.kind]:
            raise ArgumentError(f"{what} is {value}, which this builder has not made")
        return value

    def _expect_kind(self, where: str, value: object, kind: ArgKind, what: str) -> None:
        limit = len(self._indices) if kind is ArgKind.FUNCTION else len(self._pool.values)
        if not isinstance(value, Arg) or value.kind is not kind or not 0 <= value.value < limit:
            raise ArgumentError(f"{where} is {value}, expected {what} of this builder")

    def _register(self, where: str, value: object, special: int | None) -> int:
        """Return the register number of an operand; `special` is the only special register that is allowed."""
        if not isinstance(value, Arg) or value.kind is not ArgKind.REGISTER:
            raise ArgumentError(f"{where} is {value!s} ({type(value).__name__}), expected a register: ib.r(number)")
        if value.value >= VOID and value.value != special:
            raise ArgumentError(f"{where} is {value}, expected one of the function's own registers: ib.r(number)")
        return value.value

    def _target(self, where: str, offset: object) -> int | Label:
        if isinstance(offset, bool) or not isinstance(offset, int | Label):
            raise ArgumentError(f"{where}: the offset is {offset!r}, expected an integer or ib.label()")
        return offset


class FunctionScope:
    """The ``with`` block of a function; see `ExecBuilder.function`."""

    def __init__(self, builder: ExecBuilder, body: FunctionBody) -> None:
        self._builder, self._body = builder, body

    def __enter__(self) -> FunctionScope:
        self._builder._enter(self._body)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._builder._leave(self._body, failed=kind is not None)
