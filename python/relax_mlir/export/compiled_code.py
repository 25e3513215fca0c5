"""Compiled code with its constants, the layout of these in a library, and code for other architectures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from relax_mlir.analysis.well_formed import verify_linkable
from relax_mlir.dialects.constants import require
from relax_mlir.error import expect
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.base.constant_table import TableEntry, constant_table, table_entries
from relax_mlir.lowering.base.support import early_support
from relax_mlir.lowering.entry.instrument_calls import Site
from relax_mlir.lowering.kernels.library import Kernel, kernels_of
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.lowering.llvm.cross_compile import llvm_ir
from relax_mlir.lowering.llvm.link_kernels import units_of
from relax_mlir.lowering.pipeline import phases
from relax_mlir.runtime.cache_key import module_constants, source_hash
from relax_mlir.runtime.compile_native import run_phase
from relax_mlir.runtime.compile_units import lowered_part
from relax_mlir.runtime.executable import Executable, Interface
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

# The weights of a library: the constants in the layout of compiled code, one after the other.


Array: TypeAlias = np.ndarray[Any, Any]

ALIGNMENT = 64
"""Bytes of a cache line; every constant is aligned to one."""

PAGE_BYTES = {"x86_64": 1 << 12, "aarch64": 1 << 16}
"""For each architecture, the largest page size of Linux for files, to which the weights as a whole are aligned."""

FILE_ENDING = ".safetensors"

_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
"""The names of dtypes in safetensors; arrays of other dtypes are stored as bytes."""

_LENGTH_BYTES = 8


@dataclass(frozen=True)
class WeightsLayout:
    """The byte offsets of the constants of each level of a library, and their total size.

    `stored`: the arrays to store, with their offsets, in order; equal ones are stored once; `digest`: the SHA-256 of
    the SHA-256 of each in that order.
    """

    places: tuple[tuple[int, ...], ...]
    stored: tuple[tuple[int, Array], ...]
    size: int
    digest: str

    @staticmethod
    def of(levels: Sequence[Sequence[Array]]) -> WeightsLayout:
        """The layout of the constants of each level."""
        by_memory: dict[tuple[int, int], int] = {}
        by_content: dict[tuple[int, bytes], int] = {}
        stored: list[tuple[int, Array]] = []
        end = 0
        places: list[tuple[int, ...]] = []
        for constants in levels:
            own = []
            for array in constants:
                memory = (array.ctypes.data, array.nbytes)
                if memory not in by_memory:
                    content = (array.nbytes, hashlib.sha256(_bytes(array)).digest())
                    if content not in by_content:
                        by_content[content] = end
                        stored.append((end, array))
                        end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
                    by_memory[memory] = by_content[content]
                own.append(by_memory[memory])
            places.append(tuple(own))
        digest = hashlib.sha256(b"".join(own for _, own in by_content)).hexdigest()
        return WeightsLayout(tuple(places), tuple(stored), end, digest)


def write_weights(layout: WeightsLayout, stream: IO[bytes]) -> None:
    """Write the constants at the end of a file; gaps between them are filled with zeros."""
    start = stream.tell()
    for place, array in layout.stored:
        stream.seek(start + place)
        stream.write(_bytes(array))
    stream.truncate(start + layout.size)


def safetensors_header(layout: WeightsLayout) -> bytes:
    """The header of a safetensors file, of a length that is a multiple of `ALIGNMENT`.

    The format (https://github.com/huggingface/safetensors) allows no gaps between tensors, so each gap is stored as
    one.
    """
    entries: dict[str, Any] = {"__metadata__": {"made_by": "relax-mlir", "sha256": layout.digest}}
    for name, dtype, shape, begin, end in _tensors(layout):
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + _LENGTH_BYTES) % ALIGNMENT)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text


def _tensors(layout: WeightsLayout) -> Iterator[tuple[str, str, list[int], int, int]]:
    for number, (place, array) in enumerate(layout.stored):
        dtype = _DTYPES.get(array.dtype.name)
        shape = [array.nbytes] if dtype is None else list(array.shape)
        end = place + array.nbytes
        yield f"constant.{number}", dtype or "U8", shape, place, end
        if gap := -end % ALIGNMENT:
            yield f"gap.{number}", "U8", [gap], end, end + gap


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


# Compiled code with its constants, possibly for another machine.


@dataclass(frozen=True)
class CompiledCode:
    """The contents of a library: object files, the arrays that they read, and the functions that they define.

    `sites`: the recorded call sites, if it is profiled.
    """

    interface: Interface
    constants: Sequence[Array]
    objects: Sequence[bytes]
    sites: tuple[Site, ...] = ()

    @staticmethod
    def of(executable: Executable) -> CompiledCode:
        """The code of an executable of this process."""
        engine = executable.engine
        return CompiledCode(engine.interface, engine.constants, engine.objects, executable.profile_sites)

    @property
    def functions(self) -> Mapping[str, int]:
        """Names of the entry points, each with its number of parameters."""
        return self.interface.functions

    @property
    def memory_plans(self) -> Mapping[str, str]:
        """The memory plans of functions, as text."""
        return self.interface.memory_plans

    def export_library(self, path: str | Path, *, weights: str = "embed") -> Path:
        """Write the functions to a file for the target; see `relax_mlir.export.export_library`."""
        from relax_mlir.export.export_library import export_library  # which imports this module

        return export_library(self, path, weights=weights)


# `cross_build`: code for a machine of another architecture, generated by the LLVM of ``llvmlite``.


def cross_build(mod: IRModule, target: str | Target) -> CompiledCode:
    """Compile a module, which is not changed, for any machine that has the FFI; the code can only be exported.

    Args:
        mod: a module, as for `relax_mlir.build`.
        target: for example ``"cpu -mcpu=neoverse-n1"``.

    Returns:
        Code for `relax_mlir.export.export_library`.

    Raises:
        UnsupportedError: an op cannot be compiled, or llvmlite is not installed or has no code generator for the
            target. CompileError: llvmlite's LLVM is too old for the code. VerifyError, PassError: as from `build`.
    """
    expect("cross_build: 'mod'", mod, IRModule, "an IRModule (BlockBuilder.get() gives one)")
    expect("cross_build: 'target'", target, str | Target, "a Target or its text")
    target = Target.parse(target)
    require(module_constants(mod.mlir))
    mod.verify()
    verify_linkable(mod.mlir)
    facts = Interface.of_source(mod.mlir, str(target), source_hash(mod.mlir))
    work = mod.clone()
    table: list[TableEntry] = []
    kernels: list[Kernel] = []
    for phase in phases(str(target)):
        run_phase(phase, work, verify_each=True)
        if phase.name == "kernels":
            table = table_entries(work.mlir)
            facts = facts.with_facts_of(work.mlir)
            kernels = kernels_of(work.mlir, target)
    opt_level = PassContext.current().opt_level
    with work.context:
        units = list(units_of(kernels))
    if units:
        units.append(early_support())  # kernels call it
    modules = [work.mlir, *(lowered_part(unit, low_precision=True) for unit in units)]
    code = tuple(cross_compile.object_file(llvm_ir(module), target, opt_level) for module in modules)
    return CompiledCode(facts.with_entries_of(work.mlir), constant_table(table), code)
