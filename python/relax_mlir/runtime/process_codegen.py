"""Compile the code of `relax_mlir.runtime.process_code`, which is imported without the lowering."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.capi import spare_context
from relax_mlir.lowering.base.module_parts import FunctionCpu, Internalize, Part
from relax_mlir.lowering.checks import LowerChecks
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.compile_units import compile_module, compile_part
from relax_mlir.runtime.elf import SUPPORTED, ObjectFileError
from relax_mlir.runtime.machine_code import MachineCode, ObjectCode, shared_libraries
from relax_mlir.runtime.process_code import key_of
from relax_mlir.transform import PassContext
from relax_mlir.transform.pipeline import run_native


def part_of(text: str, functions: Sequence[str], has_checks: bool = False) -> Part:
    """Return a module as a compilation unit; the arguments are those of `process_code.load_code`."""
    return Part(
        text.encode(),
        tuple(functions),
        tuple(functions),
        (),
        False,
        0,
        is_flat=False,
        all_vectors=False,
        optimised=True,
        has_checks=has_checks,
    )


def object_of(part: Part, opt_level: int = 2, cpu: FunctionCpu | None = None) -> bytes:
    """Return the object file of a unit for the host or another CPU, from the persistent cache if possible."""
    key = None
    if cache_store.enabled():
        key = key_of(part.source.decode(), part.exported, opt_level, part.has_checks, str(cpu or ""))
    if key is not None and (data := cache_store.load(key)) is not None:
        return data
    data = compile_part(part, shared_libraries(), opt_level, low_precision=False, cpu=cpu)
    if key is not None:
        cache_store.store(key, data)
    return data


def compile_code(part: Part, opt_level: int) -> tuple[MachineCode, bytes | None]:
    """Return the code, and the object file if there is one."""
    if SUPPORTED:
        data = compile_part(part, shared_libraries(), opt_level, low_precision=False)
        try:
            return ObjectCode([data]), data
        except ObjectFileError:
            pass  # LLVM's linker supports more object files
    with spare_context(), ir.Location.unknown():
        module = ir.Module.parse(part.source.decode())
        run_native("builtin.module(strip-debuginfo,convert-scf-to-cf)", module)
        if part.has_checks:
            for step in (LowerChecks(), Internalize(part.optimised)):
                step.run(module, PassContext())
        return compile_module(module, opt_level, low_precision=False)[0], None
