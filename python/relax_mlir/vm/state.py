"""The state of a machine, which builtins and packed functions get for the argument `ib.vm_state()`."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.error import (
    RelaxError,
    expect,
)
from relax_mlir.runtime.memory import MemoryStats, memory_stats, release_memory

if TYPE_CHECKING:
    from relax_mlir.vm.machine import VirtualMachine, VMFunction


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
            raise RelaxError(
                "VMState: the virtual machine is gone; keep a reference to it while its functions run"
            )
        return machine

    def __getitem__(self, name: str) -> VMFunction:
        """Return a function of the machine."""
        return self.machine[name]

    def __repr__(self) -> str:
        machine = self._machine()
        return f"<state of {machine!r}>" if machine is not None else "<state of a machine that is gone>"
