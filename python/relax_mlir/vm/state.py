"""What `ib.vm_state()` stands for: the state of a machine, which builtins and packed functions get as an argument."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.error import RelaxError
from relax_mlir.runtime.memory import MemoryStats, memory_stats, release_memory

if TYPE_CHECKING:
    from relax_mlir.vm.machine import VirtualMachine, VMFunction


@dataclass(frozen=True)
class Allocator:
    """Where storages come from: the memory pool of the process (see `relax_mlir.runtime.memory`)."""

    device: int = 0

    @property
    def stats(self) -> MemoryStats:
        """What the pool has given out and kept so far, for compiled code and machines together."""
        return memory_stats()

    def release(self) -> int:
        """Give what nobody uses back to the system; returns its bytes."""
        return release_memory()


class VMState:
    """The state of one machine; packed functions written in Python get this object where the code says `%vm`.

    Attributes:
        allocators: one per device.
        values: a dictionary for what packed functions want to keep from call to call.
    """

    def __init__(self, machine: VirtualMachine) -> None:
        self._machine = weakref.ref(machine)
        self.allocators: tuple[Allocator, ...] = (Allocator(),)
        self.values: dict[str, Any] = {}

    @property
    def machine(self) -> VirtualMachine:
        """The machine; raises RelaxError once it is gone, though functions of it may still run."""
        machine = self._machine()
        if machine is None:
            raise RelaxError(
                "VMState: the virtual machine is gone; keep a reference to it while its functions run"
            )
        return machine

    def __getitem__(self, name: str) -> VMFunction:
        """The function of this name of the machine."""
        return self.machine[name]

    def __repr__(self) -> str:
        machine = self._machine()
        return f"<state of {machine!r}>" if machine is not None else "<state of a machine that is gone>"
