"""An executable in memory, as the native core reads it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np
import tvm_ffi

from relax_mlir.arrays import to_ffi
from relax_mlir.lowering.runtime_lib.vm_core import DESCRIPTOR, HEAD
from relax_mlir.vm.bytecode import Opcode
from relax_mlir.vm.code_table import CodeTable, Words
from relax_mlir.vm.core import core
from relax_mlir.vm.executable import Executable

_WORD, _ANY = 8, 16


class Image:
    """The memory of a machine: a head, tables, code (see `lowering.runtime_lib.vm_core`).

    The native core frees it with the last reference: one belongs to this object, one to each function made of it.
    """

    def __init__(
        self,
        executable: Executable,
        functions: Mapping[str, tvm_ffi.Function],
        max_depth: int,
        max_frame_bytes: int,
    ) -> None:
        """`functions`: the packed functions by name. Raises MemoryError."""
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
            name, count = names[number], takes[number]
            ctypes.memmove(at + text, name + count, len(name) + len(count))
            self._fill(
                where,
                DESCRIPTOR,
                machine=at,
                start=int(executable.offsets[info.start]),
                registers=info.num_registers,
                parameters=info.num_args,
                name=at + text,
                first=info.start,
                takes=at + text + len(name),
            )
            text += len(name) + len(count)
            self._store(by_function + _WORD * index, at + where)
        for index, value in enumerate(executable.constants):
            core().store_any(at + constants + _ANY * index, to_ffi(value))
        self.counters_address, self._count = at + counters, executable.offsets.size
        self._first_descriptor = at + descriptors

    def function(self, name: str) -> tvm_ffi.Function:
        """A new function of the FFI for a function of the machine; it keeps the memory."""
        made: tvm_ffi.Function = core().make_function(self.descriptor(name))
        return made

    def descriptor(self, name: str) -> int:
        """The address of the descriptor of a function."""
        return self._first_descriptor + _WORD * len(DESCRIPTOR) * self._descriptors[name]

    def counters(self) -> Words:
        """Where the core counts for a profile: calls and nanoseconds, for each instruction; valid while this is."""
        numbers = (ctypes.c_int64 * (2 * self._count)).from_address(self.counters_address)
        return np.ctypeslib.as_array(numbers).reshape(-1, 2)

    def keep(self, field: str, value: object) -> None:
        """Keep a value in the head, `vm_state` or `instrument`, before the first function is made."""
        core().store_any(self.address + _WORD * HEAD.index(field), value)

    def set(self, field: str, value: int) -> None:
        """Write a word of the head."""
        self._store(_WORD * HEAD.index(field), value)

    def observe(self, is_watched: bool) -> None:
        """Let calls go through what tells the instrument and the profile of them, or past it."""
        self.set("observer", core().observe if is_watched else 0)

    def release(self) -> None:
        """Give up the object's own reference; nothing else may be asked of it then."""
        core().release(self.address)

    def _fill(self, where: int, fields: tuple[str, ...], **values: int) -> None:
        for field, value in values.items():
            self._store(where + _WORD * fields.index(field), value)

    def _store(self, where: int, value: int) -> None:
        ctypes.c_int64.from_address(self.address + where).value = value


class _Layout:
    """Pieces of a block of memory, one behind the other."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, size: int) -> int:
        """Where a piece of `size` bytes begins, a multiple of 16."""
        start = self.size
        self.size += -(-size // _ANY) * _ANY
        return start


def _code(executable: Executable) -> tuple[Words, Words, int]:
    """The words, with offsets in words; the number of the instruction at each word; the most arguments of a call."""
    offsets = executable.offsets
    table = CodeTable.of(executable.words, offsets, executable.functions)
    words = executable.words.copy()
    numbers = np.zeros(words.size, np.int64)
    numbers[offsets] = np.arange(offsets.size)
    for opcode, field, jumps in ((Opcode.GOTO, 1, table.first), (Opcode.IF, 2, table.second)):
        places = table.having(opcode)
        words[offsets[places] + field] = offsets[places + jumps[places]] - offsets[places]
    return words, numbers, int(table.counts.max(initial=1))
