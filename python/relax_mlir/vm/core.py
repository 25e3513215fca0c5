"""The native core of the virtual machine, and the memory image of an executable that it interprets."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import tvm_ffi

from relax_mlir.bytecode.executable import Executable
from relax_mlir.bytecode.instructions import CodeTable, FunctionInfo, Opcode, Words
from relax_mlir.ffi import to_ffi
from relax_mlir.fork_safety import cached_property
from relax_mlir.lowering.runtime_lib.vm_builtins import DESCRIPTOR, HEAD, STATE, TABLE, vm_core_text
from relax_mlir.runtime import fast_call
from relax_mlir.runtime.process_code import state_address

# The native core of the virtual machine, compiled once per process.


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


# The memory image of an executable that the native core interprets.


_WORD, _ANY = 8, 16


class Image:
    """The memory of a machine: head, tables and code (see `lowering.runtime_lib.vm_core`).

    The native core frees it with the last reference. This object holds one reference, each function created from it
    another.
    """

    def __init__(
        self,
        executable: Executable,
        functions: Mapping[str, tvm_ffi.Function],
        max_depth: int,
        max_frame_bytes: int,
    ) -> None:
        """Build the image with the packed functions in `functions`, by name. Raises MemoryError."""
        infos = executable.functions
        own = [info for info in infos if info.kind == "vm"]
        self._descriptors = {info.name: number for number, info in enumerate(own)}
        names = [info.name.encode() + b"\0" for info in own]
        takes = [info.takes().encode() + b"\0" for info in own]
        code, numbers, max_args = _code(executable)
        layout = _Layout()
        head = layout.take(_WORD * len(HEAD))
        descriptors = layout.take(_WORD * len(DESCRIPTOR) * len(names))
        by_function = layout.take(_WORD * len(infos))
        values = layout.take(_ANY * (2 * len(infos) + len(executable.constants)))
        code_at, numbers_at = layout.take(code.nbytes), layout.take(numbers.nbytes)
        text = layout.take(sum(map(len, [*names, *takes])))
        counters = layout.take(_ANY * executable.offsets.size)
        self.address = core().create(layout.size)
        if not self.address:
            raise MemoryError(f"VirtualMachine: no memory is left for {layout.size} bytes")
        constants = values + _ANY * len(infos)
        value_names = constants + _ANY * len(executable.constants)
        at = self.address
        ctypes.memmove(at + code_at, code.ctypes.data, code.nbytes)
        ctypes.memmove(at + numbers_at, numbers.ctypes.data, numbers.nbytes)
        self._fill(
            head,
            HEAD,
            code=at + code_at,
            functions=at + values,
            constants=at + constants,
            descriptors=at + by_function,
            max_depth=max_depth,
            max_frame_bytes=max_frame_bytes,
            max_args=max_args,
            values=at + values,
            value_count=2 * len(infos) + len(executable.constants),
            numbers=at + numbers_at,
            names=at + value_names,
            references=1,
        )
        for index, info in enumerate(infos):
            core().store_any(at + value_names + _ANY * index, info.name)
            if info.kind == "packed":
                core().store_any(at + values + _ANY * index, functions[info.name])
                continue
            number = self._descriptors[info.name]
            where = descriptors + _WORD * len(DESCRIPTOR) * number
            start = int(executable.offsets[info.start])
            text = self._describe(where, info, start, text, names[number], takes[number])
            self._store(by_function + _WORD * index, at + where)
        for index, value in enumerate(executable.constants):
            core().store_any(at + constants + _ANY * index, to_ffi(value))
        self.counters_address, self._count = at + counters, executable.offsets.size
        self._first_descriptor = at + descriptors

    def _describe(self, where: int, info: FunctionInfo, start: int, text: int, name: bytes, takes: bytes) -> int:
        """Write the descriptor of a function, and its name and parameters at `text`; return the end of that text."""
        at = self.address
        ctypes.memmove(at + text, name + takes, len(name) + len(takes))
        self._fill(
            where,
            DESCRIPTOR,
            machine=at,
            start=start,
            registers=info.num_registers,
            parameters=info.num_args,
            name=at + text,
            first=info.start,
            takes=at + text + len(name),
        )
        return text + len(name) + len(takes)

    def function(self, name: str) -> tvm_ffi.Function:
        """Create an FFI function for a VM function; it keeps the memory alive."""
        made: tvm_ffi.Function = core().make_function(self.descriptor(name))
        return made

    def descriptor(self, name: str) -> int:
        """Return the address of a function's descriptor."""
        return self._first_descriptor + _WORD * len(DESCRIPTOR) * self._descriptors[name]

    def counters(self) -> Words:
        """The core's profile counters, calls and nanoseconds per instruction; valid as long as this object."""
        numbers = (ctypes.c_int64 * (2 * self._count)).from_address(self.counters_address)
        return np.ctypeslib.as_array(numbers).reshape(-1, 2)

    def keep(self, field: str, value: object) -> None:
        """Store a value in the head field `vm_state` or `instrument`; call it before the first function is created."""
        core().store_any(self.address + _WORD * HEAD.index(field), value)

    def set(self, field: str, value: int) -> None:
        """Store an integer in a field of the head."""
        self._store(_WORD * HEAD.index(field), value)

    def observe(self, is_watched: bool) -> None:
        """Route calls through the function that calls the instrument and updates the profile, or bypass it."""
        self.set("observer", core().observe if is_watched else 0)

    def release(self) -> None:
        """Drop this object's reference; the object must not be used afterwards."""
        core().release(self.address)

    def _fill(self, where: int, fields: tuple[str, ...], **values: int) -> None:
        for field, value in values.items():
            self._store(where + _WORD * fields.index(field), value)

    def _store(self, where: int, value: int) -> None:
        ctypes.c_int64.from_address(self.address + where).value = value


class _Layout:
    """Allocates consecutive pieces of a block of memory."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, size: int) -> int:
        """Return the offset of a piece of `size` bytes, a multiple of 16."""
        start = self.size
        self.size += -(-size // _ANY) * _ANY
        return start


def _code(executable: Executable) -> tuple[Words, Words, int]:
    """Return words with jumps relative in words, instruction numbers by word, and the maximum argument count."""
    offsets = executable.offsets
    table = CodeTable.of(executable.words, offsets, executable.functions)
    words = executable.words.copy()
    numbers = np.zeros(words.size, np.int64)
    numbers[offsets] = np.arange(offsets.size)
    for opcode, field, jumps in ((Opcode.GOTO, 1, table.first), (Opcode.IF, 2, table.second)):
        places = table.having(opcode)
        words[offsets[places] + field] = offsets[places + jumps[places]] - offsets[places]
    return words, numbers, int(table.counts.max(initial=1))
