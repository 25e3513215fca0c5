"""Machine code that a process has once and keeps until it ends: the memory pool, the team of threads."""

from __future__ import annotations

import ctypes
import hashlib

from relax_mlir.mlir import ir, spare_context
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import environment
from relax_mlir.runtime.compile_module import compile_module
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.machine_code import MachineCode, ObjectCode
from relax_mlir.transform.native_pipeline import run_native

_LOWERING = "builtin.module(convert-scf-to-cf)"
_OPT_LEVEL = 2


def state_address(text: str, function: str) -> int:
    """Load the code of a module for good; gives what its `function`, ``() -> !llvm.ptr``, returns.

    Args:
        text: a module of scf, arith and LLVM ops. It comes from the persistent cache if that has it.
        function: the name of the function.
    """
    code = _load(text)
    # Other threads, and results that outlive the interpreter, may be in this code at any time.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    address = ctypes.c_void_p()
    call = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p))(code.address(function))
    call((ctypes.c_void_p * 1)(ctypes.addressof(address)))
    assert address.value is not None
    return address.value


def _load(text: str) -> MachineCode:
    if not SUPPORTED or not cache_store.enabled():
        return _compile(text)[0]
    key = hashlib.sha256("\0".join((*environment(), _LOWERING, str(_OPT_LEVEL), text)).encode()).hexdigest()
    data = cache_store.load(key)
    if data is not None:
        try:
            return ObjectCode([data])
        except ObjectFileError as error:
            cache_store.drop(key, f"it cannot be loaded ({error})")
    code, objects = _compile(text)
    if len(objects) == 1:
        cache_store.store(key, objects[0])
    return code


def _compile(text: str) -> tuple[MachineCode, list[bytes]]:
    with spare_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_native(_LOWERING, module)
        return compile_module(module, _OPT_LEVEL, half_floats=False)
