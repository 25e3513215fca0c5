"""The virtual machine, which runs the functions of a bytecode executable; its instruments, and notes on errors."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.bytecode.executable import Executable
from relax_mlir.bytecode.instructions import Call, FunctionInfo, Words
from relax_mlir.error import ArgumentError, DeviceError, PackedFunctionError, UnknownNameError, expect
from relax_mlir.ffi import to_ffi
from relax_mlir.lazy import how_to_register, library_of
from relax_mlir.lowering.base.signature import Place, before_results
from relax_mlir.lowering.runtime_lib.fast_call_state import MACHINE_BIT
from relax_mlir.runtime.native_function import NativeFunction
from relax_mlir.runtime.packed_functions import keep_errors
from relax_mlir.vm.builtins import VMState, builtin_functions, register_assertions
from relax_mlir.vm.core import Image
from relax_mlir.vm.kernel_library import functions_of, load_kernels

if TYPE_CHECKING:
    from relax_mlir.bytecode.executable import Executable


# Notes on run-time errors: the instructions that led to the error, with their registers.
#
# The native core adds function names and instruction numbers to the traceback; the notes show the instructions.


FILE = "<bytecode>"
"""The file name of bytecode frames in tracebacks."""
MAX_CHARS = 200


def add_notes(raised: BaseException, told: BaseException, executable: Executable) -> None:
    """Add notes to `raised` for the bytecode frames in the traceback of `told`, the innermost last."""
    found: dict[str, None] = {}
    place = told.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        if code.co_filename == FILE:
            found.setdefault(_text(executable, code.co_name, place.tb_lineno))
        place = place.tb_next
    known = getattr(raised, "__notes__", ())
    for note in found:
        if note and note not in known:
            _add(raised, note)


def _add(error: BaseException, note: str) -> None:
    if sys.version_info >= (3, 11):
        error.add_note(note)


def _text(executable: Executable, name: str, number: int) -> str:
    """Format ``main, instruction 2: call vm.builtin.shape_of in: %0 dst: %1``; empty for another machine's function."""
    from relax_mlir.bytecode.text_forms import instruction_text

    info = next((info for info in executable.functions if info.name == name and info.kind == "vm"), None)
    if info is None or not 0 <= number < info.end - info.start:
        return ""
    words = instruction_text(executable, info.start + number).split()
    return f"{name}, instruction {number}: {' '.join(words)}"[:MAX_CHARS]


# Instruments around the calls of a machine, and profiles of them.


SKIP = 1
"""An instrument's result for skipping the call, which then returns None."""

GO_ON = 0
"""An instrument's result for continuing."""


@dataclass(frozen=True)
class Replace:
    """An instrument's result for replacing the value of a call."""

    value: Any


Instrument = Callable[..., Any]
"""``(function, name, before, result, *args) -> SKIP, Replace(value), or anything else to continue``."""


class Watcher:
    """Holds the current instrument. The core always calls the same function, since other threads may be in it."""

    def __init__(self) -> None:
        self.instrument: Instrument | None = None


def function_of(watcher: Watcher) -> tvm_ffi.Function:
    """Wrap the watcher for the core; a list of one value denotes `Replace`."""

    def call(*args: Any) -> Any:  # noqa: ANN401 - values of the FFI
        instrument = watcher.instrument
        answer = None if instrument is None else instrument(*args)
        if isinstance(answer, Replace):
            return [to_ffi(answer.value)]
        return SKIP if type(answer) is int and answer == SKIP else None

    return tvm_ffi.convert(keep_errors(call))


class VMProfile:
    """Call counts and times of a program while the profile was open; see `VirtualMachine.profile`.

    Times are inclusive, in seconds.
    """

    def __init__(self, executable: Executable, start: Callable[[VMProfile | None], Words]) -> None:
        from relax_mlir.bytecode.executable import Executable  # which imports this module

        expect("VMProfile: 'executable'", executable, Executable, "an executable of bytecode")
        self._executable, self._start = executable, start
        self._numbers = np.zeros((executable.offsets.size, 2), np.int64)

    def __enter__(self) -> VMProfile:
        self._numbers = self._start(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._numbers = self._start(None)

    @property
    def rows(self) -> list[tuple[str, int, str, int, float]]:
        """Rows of function, instruction number, callee, calls and seconds; the slowest first."""
        functions = self._executable.functions
        found = []
        for info in functions:
            for number in range(info.start, info.end):
                count, nanoseconds = (int(n) for n in self._numbers[number])
                if count:
                    call = self._executable.instruction(number)
                    assert isinstance(call, Call)
                    row = (
                        info.name,
                        number - info.start,
                        functions[call.func].name,
                        count,
                        nanoseconds * 1e-9,
                    )
                    found.append(row)
        return sorted(found, key=lambda row: -row[4])

    def __str__(self) -> str:
        lines = [f"{'function':16} {'instr':>5} {'calls':>8} {'total us':>10} {'each us':>8}  callee"]
        for function, number, callee, count, seconds in self.rows:
            total = seconds * 1e6
            lines.append(f"{function[:16]:16} {number:5} {count:8} {total:10.1f} {total / count:8.2f}  {callee[:26]}")
        return "\n".join(lines)


# The virtual machine, which runs the functions of a bytecode executable.


DEFAULT_MAX_DEPTH = 10_000
"""The maximum number of active VM function calls."""
DEFAULT_MAX_FRAME_BYTES = 256 << 20
"""The maximum number of bytes of registers per thread."""


class VMFunction(NativeFunction):
    """A function of a virtual machine.

    Arguments are NumPy arrays, FFI tensors, torch tensors or other DLPack tensors, shapes (tuples of integers),
    numbers, strings, functions, and tuples of these. Results are FFI values; tensors are torch tensors or NumPy arrays
    if the arguments were. `ffi` is the bare `tvm_ffi.Function`, which accepts what the FFI converts by itself. Both
    stay valid without the machine. A prim func takes its outputs as arguments, as in native mode (`written`).

    A call raises ArgumentError for a wrong number of arguments or one that the FFI cannot convert, RecursionError if
    too many calls are active, and BytecodeError if an instruction cannot be executed with the given values. Errors of
    packed functions are passed on.
    """

    __slots__ = ("executable", "info")

    def __init__(
        self,
        info: FunctionInfo,
        ffi: tvm_ffi.Function,
        descriptor: int,
        executable: Executable,
        written: Sequence[int] = (),
    ) -> None:
        """Wrap a function of `executable`; `descriptor` is its descriptor in a machine that `ffi` keeps alive."""
        expect("VMFunction: 'info'", info, FunctionInfo, "a function of the executable")
        names = info.param_names or [str(number) for number in range(info.num_args)]
        places = tuple(Place((number,), names[number]) for number in written)
        inputs = before_results(places, info.num_args)
        super().__init__(info.name, ffi, inputs, descriptor | MACHINE_BIT, places)
        self.info, self.executable = info, executable

    def _explain(self, raised: BaseException, told: BaseException) -> None:
        add_notes(raised, told, self.executable)

    def _check_written(self, args: tuple[object, ...]) -> None:
        if len(args) == self.info.num_args:
            super()._check_written(args)

    def __repr__(self) -> str:
        names = ", ".join(self.info.param_names) or f"{self.info.num_args} arguments"
        return f"<function {self.name}({names}) of a virtual machine>"


def _require_cpu(device: object) -> None:
    expect("VirtualMachine: 'device'", device, str | tvm_ffi.Device, 'a device, such as "cpu"')
    if str(device).partition(":")[0] != "cpu":
        raise DeviceError(f"VirtualMachine: 'device' is {device}; the one device of a machine is the CPU")


class VirtualMachine(Mapping[str, VMFunction]):
    """Runs an executable: a mapping from the names of its functions to callable functions.

    The core is native code with an overhead of a few nanoseconds per instruction. Calls between VM functions do not use
    the C stack. A machine may run on several threads at a time.

    Attributes:
        executable: the program.
        state: the value of the register `%vm`.
        max_depth: the maximum number of active VM function calls.
        max_frame_bytes: the maximum number of bytes of their registers.
    """

    def __init__(
        self,
        executable: Executable,
        device: str | tvm_ffi.Device = "cpu",
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        max_depth: int = DEFAULT_MAX_DEPTH,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
    ) -> None:
        """Load `executable`: compile its kernels and look up its packed functions.

        Args:
            device: the CPU, the only supported device.
            functions: packed functions of this machine only, which take precedence over those registered with the FFI.
            max_depth: the maximum number of active VM function calls.
            max_frame_bytes: the maximum number of bytes of their registers, 16 each, including those of other machines
                that the thread is running.

        Raises:
            PackedFunctionError: packed functions are not registered; names them and their callers.
            ArgumentError: an argument has the wrong type. DeviceError: another device.
        """
        expect(
            "VirtualMachine: 'executable'",
            executable,
            Executable,
            "a bytecode executable (ExecBuilder.get() gives one)",
        )
        _require_cpu(device)
        _check_limit("max_depth", max_depth, "calls")
        _check_limit("max_frame_bytes", max_frame_bytes, "bytes")
        register_assertions()
        self.executable = executable
        self._library = executable.library or load_kernels(executable)
        self.max_depth, self.max_frame_bytes = max_depth, max_frame_bytes
        self._packed = _packed_functions(executable, {**functions_of(self._library), **(functions or {})})
        self._image = Image(executable, self._packed, max_depth, max_frame_bytes)
        weakref.finalize(self, self._image.release).atexit = False
        self.state = VMState(self)
        self._image.keep("vm_state", tvm_ffi.convert(self.state))
        self._functions: dict[str, VMFunction] = {}
        self._watcher = Watcher()
        self._image.keep("instrument", function_of(self._watcher))
        self._profile: VMProfile | None = None

    def __getitem__(self, name: str) -> VMFunction:
        expect("VirtualMachine: 'name'", name, str, "the name of a function")
        if name not in self._functions:
            known = self.executable.function_names
            if name not in known:
                raise UnknownNameError("function", name, known)
            info = self.executable.function(name)
            made, descriptor = self._image.function(name), self._image.descriptor(name)
            written = self._written(info)
            self._functions[name] = VMFunction(info, made, descriptor, self.executable, written)
        return self._functions[name]

    def _written(self, info: FunctionInfo) -> tuple[int, ...]:
        """Return the indices of the arguments that a prim func exposed to users writes."""
        written = () if self._library is None else self._library.written.get(info.name, ())
        return tuple(number for number in written if number < info.num_args)

    def __contains__(self, name: object) -> bool:
        return name in self.executable.function_names

    def __iter__(self) -> Iterator[str]:
        return iter(self.executable.function_names)

    def __len__(self) -> int:
        return len(self.executable.function_names)

    def __repr__(self) -> str:
        return f"<virtual machine with {', '.join(self)}>"

    def packed(self, name: str) -> tvm_ffi.Function:
        """Return the packed function that the machine calls by this name. Raises UnknownNameError."""
        expect("VirtualMachine.packed: 'name'", name, str, "the name of a packed function")
        if name not in self._packed:
            raise UnknownNameError("packed function", name, self._packed)
        return self._packed[name]

    # -- instruments and profiles

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Call `instrument` around each call of a packed or VM function; None removes it.

        It is called as ``instrument(function, name, before, result, *args)``: once before the call, with `before` True
        and `result` None, and once after it, with the call's result. Its return value decides: `SKIP` before the call
        skips it, and the result is None. `Replace(value)` skips the call, or replaces its result, with `value`.
        Anything else continues. An error that it raises ends the program. Calls are slower while an instrument is set.
        """
        if instrument is not None and not callable(instrument):
            kind = type(instrument).__name__
            raise ArgumentError(
                f"set_instrument: 'instrument' is {instrument!r} ({kind}), expected a callable, or None"
            )
        self._watcher.instrument = instrument
        self._watch()

    def profile(self) -> VMProfile:
        """Count and time each call: ``with vm.profile() as p: main(x)``, then ``print(p)``."""
        return VMProfile(self.executable, self._start_profile)

    def _start_profile(self, profile: VMProfile | None) -> Words:
        """Start counting for `profile`, or stop; return the counters: live ones, or their final values."""
        counters = self._image.counters()
        if profile is None:
            counters = counters.copy()
        elif self._profile is not None:
            raise ArgumentError("profile: the machine is being profiled already")
        else:
            counters[...] = 0
        self._profile = profile
        self._image.set("profile", 0 if profile is None else self._image.counters_address)
        self._watch()
        return counters

    def _watch(self) -> None:
        watched = self._watcher.instrument is not None or self._profile is not None
        self._image.observe(watched)


def _check_limit(name: str, value: object, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 40:
        raise ArgumentError(f"VirtualMachine: '{name}' is {value!r}, expected a number of {what} from 1 on")


def _packed_functions(executable: Executable, own: Mapping[str, Callable[..., Any]]) -> dict[str, tvm_ffi.Function]:
    """Return the packed functions of an executable by name.

    Raises:
        PackedFunctionError: a function is missing.
        ArgumentError: an entry of `own` cannot be called.
    """
    for name, function in own.items():
        if not callable(function):
            kind = type(function).__name__
            raise ArgumentError(
                f"VirtualMachine: functions[{name!r}] is {function!r} ({kind}), expected a packed function: a callable"
            )
    known = {**builtin_functions(), **own}
    found: dict[str, tvm_ffi.Function] = {}
    missing = []
    for name in executable.packed_names:
        function = known[name] if name in known else tvm_ffi.get_global_func(name, allow_missing=True)
        if function is None:
            missing.append(name)
        else:
            is_ffi = isinstance(function, tvm_ffi.Function)
            found[name] = function if is_ffi else tvm_ffi.convert(keep_errors(function))
    if missing:
        raise PackedFunctionError(_missing_text(executable, missing))
    return found


def _missing_text(executable: Executable, missing: list[str]) -> str:
    from relax_mlir.bytecode.instructions import ArgKind, Call

    indices = {info.name: index for index, info in enumerate(executable.functions)}
    lines = []
    for name in missing:
        place = ""
        for info in executable.functions:
            for number in range(info.start, info.end):
                instruction = executable.instruction(number)
                if isinstance(instruction, Call) and (
                    instruction.func == indices[name]
                    or any(arg.kind is ArgKind.FUNCTION and arg.value == indices[name] for arg in instruction.args)
                ):
                    place = place or f" (used by instruction {number - info.start} of {info.name})"
        lines.append(f"'{name}'{place}")
    return (
        f"VirtualMachine: {len(missing)} packed functions are not registered: {', '.join(lines)}; register them with "
        f"tvm_ffi.register_global_func, or give them as `functions`{_of_libraries(missing)}"
    )


def _of_libraries(missing: list[str]) -> str:
    """Explain how functions of third-party libraries are registered."""
    hints = dict.fromkeys(how_to_register(name) for name in missing if library_of(name))
    return "".join(f"; {hint}" for hint in hints)
