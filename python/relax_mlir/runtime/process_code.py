"""Machine code that a process loads once and never unloads: memory pool, thread pool, virtual machine."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence

from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import MAKERS, machine, sources_of
from relax_mlir.runtime.elf import SUPPORTED, ObjectFileError
from relax_mlir.runtime.machine_code import MachineCode, ObjectCode


def state_address(text: str, function: str, opt_level: int = 2) -> int:
    """Load the code of a module permanently; return the result of its `function`, of type ``() -> !llvm.ptr``.

    Args:
        text: a module of scf, arith and LLVM ops. Its code is taken from the persistent cache if possible.
        function: the name of the function, the only public one.
        opt_level: LLVM's; 0 takes half of the time and inlines only always-inline functions.
    """
    return pointer_from(load_code(text, (function,), opt_level), function)


def load_code(text: str, functions: Sequence[str], opt_level: int = 2, has_checks: bool = False) -> MachineCode:
    """Load the code of a module permanently.

    Args:
        text: a module of scf, arith and LLVM ops; with `has_checks`, its functions contain checks that fail. Its code
            is taken from the persistent cache if possible.
        functions: the names of its public functions.
        opt_level: see `state_address`.
    """
    code = _load(text, tuple(functions), opt_level, has_checks)
    # Other threads, and results that outlive the interpreter, may use this code at any time.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    return code


def pointer_from(code: MachineCode, function: str) -> int:
    """Return the result of a function ``() -> !llvm.ptr`` of loaded code."""
    address: int | None = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(function))()
    assert address is not None
    return address


def _load(text: str, functions: tuple[str, ...], opt_level: int, has_checks: bool) -> MachineCode:
    key = None
    if SUPPORTED and cache_store.enabled():
        key = key_of(text, functions, opt_level, has_checks)
        data = cache_store.load(key)
        if data is not None:
            try:
                return ObjectCode([data])
            except ObjectFileError as error:
                cache_store.drop(key, f"it cannot be loaded ({error})")
    # Code from the cache does without the lowering.
    from relax_mlir.runtime.process_codegen import compile_code, part_of

    code, data = compile_code(part_of(text, functions, has_checks), opt_level)
    if key is not None and data is not None:
        cache_store.store(key, data)
    return code


def key_of(text: str, functions: Sequence[str], opt_level: int, has_checks: bool, cpu: str = "") -> str:
    """Return the cache key of a module; `cpu`: the CPU that it is compiled for, if it is not the host's."""
    how = f"{opt_level} {has_checks} {cpu}"
    parts = (*machine(), sources_of(MAKERS), how, *functions, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
