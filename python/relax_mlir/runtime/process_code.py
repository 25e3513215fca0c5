"""Machine code that a process loads once and never unloads: memory pool, thread pool, virtual machine."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence

from relax_mlir.lowering.abi.internalize import Internalize
from relax_mlir.lowering.abi.lower_checks import LowerChecks
from relax_mlir.lowering.llvm.function_cpu import FunctionCpu
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import machine, sources_of
from relax_mlir.runtime.code_makers import MAKERS
from relax_mlir.runtime.compile_module import compile_module
from relax_mlir.runtime.compile_parts import compile_part
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.machine_code import MachineCode, ObjectCode, shared_libraries
from relax_mlir.spare_context import spare_context
from relax_mlir.transform import PassContext
from relax_mlir.transform.native_pipeline import run_native


def state_address(text: str, function: str, opt_level: int = 2) -> int:
    """Load the code of a module permanently; return the result of its `function`, of type ``() -> !llvm.ptr``.

    Args:
        text: a module of scf, arith and LLVM ops. Its code is taken from the persistent cache if possible.
        function: the name of the function, the only public one.
        opt_level: LLVM's; 0 takes half of the time and inlines only always-inline functions.
    """
    return pointer_from(load_code(text, (function,), opt_level), function)


def load_code(
    text: str, functions: Sequence[str], opt_level: int = 2, has_checks: bool = False
) -> MachineCode:
    """Load the code of a module permanently.

    Args:
        text: a module of scf, arith and LLVM ops; with `has_checks`, its functions contain checks that fail. Its code
            is taken from the persistent cache if possible.
        functions: the names of its public functions.
        opt_level: see `state_address`.
    """
    code = _load(part_of(text, functions, has_checks), opt_level)
    # Other threads, and results that outlive the interpreter, may use this code at any time.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    return code


def part_of(text: str, functions: Sequence[str], has_checks: bool = False) -> Part:
    """Return a module as a compilation unit; the arguments are those of `load_code`."""
    return Part(
        text.encode(),
        tuple(functions),
        tuple(functions),
        (),
        None,
        0,
        is_flat=False,
        all_vectors=False,
        optimised=True,
        has_checks=has_checks,
    )


def object_of(part: Part, opt_level: int = 2, cpu: FunctionCpu | None = None) -> bytes:
    """Return the object file of a unit for the host or another CPU, from the persistent cache if possible."""
    key = _key(part, opt_level, cpu) if cache_store.enabled() else None
    if key is not None and (data := cache_store.load(key)) is not None:
        return data
    data = compile_part(part, shared_libraries(), opt_level, low_precision=False, cpu=cpu)
    if key is not None:
        cache_store.store(key, data)
    return data


def pointer_from(code: MachineCode, function: str) -> int:
    """Return the result of a function ``() -> !llvm.ptr`` of loaded code."""
    address: int | None = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(function))()
    assert address is not None
    return address


def _load(part: Part, opt_level: int) -> MachineCode:
    if not SUPPORTED or not cache_store.enabled():
        return _compile(part, opt_level)[0]
    key = _key(part, opt_level)
    data = cache_store.load(key)
    if data is not None:
        try:
            return ObjectCode([data])
        except ObjectFileError as error:
            cache_store.drop(key, f"it cannot be loaded ({error})")
    code, data = _compile(part, opt_level)
    if data is not None:
        cache_store.store(key, data)
    return code


def _key(part: Part, opt_level: int, cpu: FunctionCpu | None = None) -> str:
    how = f"{opt_level} {part.has_checks} {cpu or ''}"
    parts = (*machine(), sources_of(MAKERS), how, *part.exported, part.source.decode())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _compile(part: Part, opt_level: int) -> tuple[MachineCode, bytes | None]:
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
