"""Functions that bytecode calls: builtins, functions that raise errors, and the state of the machine that they get."""

from __future__ import annotations

import functools
import importlib.util
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tvm_ffi

from relax_mlir.dialects.effects import message_pieces
from relax_mlir.error import RelaxError, ShapeError, UnknownNameError, expect
from relax_mlir.ffi import to_numpy
from relax_mlir.lowering.runtime_lib.vm_builtins import BUILTINS, ENTRIES, MEMORY_ADDRESS, builtins_text
from relax_mlir.runtime import memory
from relax_mlir.runtime.memory import MemoryStats, memory_stats, release_memory
from relax_mlir.runtime.process_code import load_code, pointer_from

if TYPE_CHECKING:
    from relax_mlir.vm.machine import VirtualMachine, VMFunction


# The builtins of the virtual machine: native code, shared by bytecode and Python.
#
# They are registered with the FFI as ``vm.builtin.*``, so that ``tvm_ffi.get_global_func("vm.builtin.shape_of")``
# returns one. They are not registered if TVM is installed: TVM has builtins of the same names and aborts the process
# when a name is taken. Machines and ``rx.vm.builtin("shape_of")`` always use those of this module.


PREFIX = "vm.builtin."


@functools.cache
def builtin_functions() -> dict[str, tvm_ffi.Function]:
    """Return all builtins by name; they are compiled once per process."""
    code = load_code(builtins_text(), (MEMORY_ADDRESS, *ENTRIES.values()), has_checks=True)
    memory.bind(pointer_from(code, MEMORY_ADDRESS))
    found = {name: tvm_ffi.Function.__from_extern_c__(code.address(entry)) for name, entry in ENTRIES.items()}
    if may_register():
        for name, function in found.items():
            tvm_ffi.register_global_func(name, function, override=True)
    return found


def may_register() -> bool:
    """True if no builtin name is registered and TVM is not installed."""
    is_taken = any(tvm_ffi.get_global_func(name, allow_missing=True) is not None for name in ENTRIES)
    if "tvm" in sys.modules:  # `relax_mlir.tvm.install` lends it the name
        return not is_taken and sys.modules["tvm"].__name__.split(".")[0] == __name__.split(".")[0]
    return not is_taken and importlib.util.find_spec("tvm") is None


def builtin(name: str) -> tvm_ffi.Function:
    """Return the builtin `name`, with or without the prefix ``vm.builtin.``. Raises UnknownNameError."""
    expect("vm.builtin: 'name'", name, str, "a name")
    functions = builtin_functions()
    full = name if name.startswith(PREFIX) else PREFIX + name
    if full not in functions:
        raise UnknownNameError("builtin of the virtual machine", name, [n.removeprefix(PREFIX) for n in functions])
    return functions[full]


def builtin_names() -> tuple[str, ...]:
    """Return the names of all builtins."""
    return tuple(BUILTINS)


# Packed functions that bytecode calls when an assertion or a run-time check fails.


FAIL = "relax.vm.fail_assertion"
"""The packed function that raises the error of a failed assertion. Arguments: the message, then the values in it."""


FAIL_DIVISION = "relax.vm.fail_division"
"""The packed function that raises the error of a division. Arguments: the location, then the divisor."""


FAIL_LOOP = "relax.vm.fail_loop"
"""The packed function that raises the error of a loop that cannot end. Arguments: location, step, upper bound."""


def register_assertions() -> None:
    """Register these packed functions."""
    tvm_ffi.register_global_func(FAIL, fail_assertion, override=True)
    tvm_ffi.register_global_func(FAIL_DIVISION, fail_division, override=True)
    tvm_ffi.register_global_func(FAIL_LOOP, fail_loop, override=True)


def fail_division(where: str, divisor: int) -> None:
    """Raise ShapeError for a division by a divisor that is not positive, as native code does."""
    raise ShapeError(f"{where}: division by {divisor}; divisors of integers are positive")


def fail_loop(where: str, step: int, upper: int) -> None:
    """Raise ShapeError for a loop whose step is not positive or whose variable would overflow, as native code does."""
    if step <= 0:
        raise ShapeError(f"{where}: the loop has the step {step}; loops count upwards")
    raise ShapeError(f"{where}: the loop ends at {upper}: in steps of {step} its variable would pass 64 bits")


def fail_assertion(message: str, *values: object) -> None:
    """Raise AssertionError with `message`, whose ``{}`` are replaced by `values` (tensors of rank 0, numbers)."""
    shown = [to_numpy(value).item() if isinstance(value, tvm_ffi.Tensor) else value for value in values]
    pieces = message_pieces("assert_op", str(message), len(shown))
    raise AssertionError("".join(piece if isinstance(piece, str) else _text(shown[piece]) for piece in pieces))


def _text(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


# The state of a machine, which builtins and packed functions get for the argument `ib.vm_state()`.


@dataclass(frozen=True)
class Allocator:
    """The allocator of storages: the memory pool of the process (see `relax_mlir.runtime.memory`)."""

    device: int = 0

    @property
    def stats(self) -> MemoryStats:
        """Statistics of the pool, which compiled code and machines share."""
        return memory_stats()

    def release(self) -> int:
        """Return unused memory to the system; returns its size in bytes."""
        return release_memory()


class VMState:
    """The state of one machine, passed to Python packed functions for the argument `%vm`.

    Attributes:
        allocators: one per device.
        values: a dictionary in which packed functions may keep values between calls.
    """

    def __init__(self, machine: VirtualMachine) -> None:
        from relax_mlir.vm.machine import VirtualMachine  # which imports this module

        expect("VMState: 'machine'", machine, VirtualMachine, "a virtual machine")
        self._machine = weakref.ref(machine)
        self.allocators: tuple[Allocator, ...] = (Allocator(),)
        self.values: dict[str, Any] = {}

    @property
    def machine(self) -> VirtualMachine:
        """The machine. Raises RelaxError if it has been deleted; its functions may outlive it."""
        machine = self._machine()
        if machine is None:
            raise RelaxError("VMState: the virtual machine is gone; keep a reference to it while its functions run")
        return machine

    def __getitem__(self, name: str) -> VMFunction:
        """Return a function of the machine."""
        return self.machine[name]

    def __repr__(self) -> str:
        machine = self._machine()
        return f"<state of {machine!r}>" if machine is not None else "<state of a machine that is gone>"
