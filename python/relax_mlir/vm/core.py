"""The native core of the virtual machine, compiled once per process."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass

import tvm_ffi

from relax_mlir.cached import cached_property
from relax_mlir.lowering.runtime_lib.vm_core import STATE, TABLE, vm_core_text
from relax_mlir.runtime import fast_call
from relax_mlir.runtime.process_code import state_address


@dataclass(frozen=True)
class Core:
    """The functions of the core; addresses are integers.

    `create(bytes)` returns the zeroed memory of a machine with one reference, or 0. `retain` and `release` count
    references. `store_any(address, value)` stores an FFI value in a table of a machine. `make_function(descriptor)`
    returns an FFI function. `observe` is the address of the function that calls go through while an instrument or a
    profile is active. `enter` is the address of the function that runs a VM function; it has the calling convention of
    entry points.
    """

    table: int

    @cached_property
    def create(self) -> Callable[[int], int]:
        return ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int64)(self._address("create"))

    @cached_property
    def release(self) -> Callable[[int], None]:
        return ctypes.CFUNCTYPE(None, ctypes.c_size_t)(self._address("release"))

    @cached_property
    def store_any(self) -> tvm_ffi.Function:
        return tvm_ffi.Function.__from_extern_c__(self._address("store_any"))

    @cached_property
    def make_function(self) -> tvm_ffi.Function:
        return tvm_ffi.Function.__from_extern_c__(self._address("make_function"))

    @property
    def observe(self) -> int:
        return self._address("observe")

    @property
    def enter(self) -> int:
        return self._address("enter")

    def _address(self, name: str) -> int:
        address = ctypes.c_size_t.from_address(self.table + 8 * TABLE.index(name))
        return int(address.value)


@functools.cache
def core() -> Core:
    """Return the core, compiled on first use."""
    found = Core(state_address(vm_core_text(), STATE))
    fast_call.fast_calls()
    fast_call.set_machine_entry(found.enter)
    return found
