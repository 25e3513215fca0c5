"""A module of level F as object files: its parts are compiled on several threads, shared ones once per process."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.text import symbol_name
from relax_mlir.lowering.shared_code import llvm_level
from relax_mlir.lowering.split_module import Part, split_module
from relax_mlir.mlir import ir, llvm
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import environment
from relax_mlir.runtime.elf_object import LoadedObject, ObjectFileError
from relax_mlir.runtime.llvm_codegen import LLVM_OPTIONS, object_code
from relax_mlir.runtime.lru import LRU
from relax_mlir.runtime.part_lowering import lowered_part
from relax_mlir.target import usable_cpus

SHARED_ENTRY = "shared-"
"""How the names of the cache's entries for shared parts begin."""

KEPT_PARTS = 256
"""Parts whose code a process keeps: some 10 kB each."""

_kept: LRU[str, bytes] = LRU(KEPT_PARTS)
_lock = Lock()


def compile_objects(
    module: ir.Module, libraries: Sequence[str], opt_level: int, persistent: bool, half_floats: bool
) -> list[bytes]:
    """The object files that together are a module of level F or L, which is left as it is.

    Args:
        libraries: paths of the shared libraries that define what the module calls.
        opt_level: LLVM's, 0 to 3, for parts that are not shared.
        persistent: whether shared parts are looked for in the persistent cache, and kept there.
        half_floats: whether f16 or bf16 may occur in a module of level F.

    Raises CompileError if a part cannot be lowered or compiled, or calls what nothing here defines.
    """
    parts = split_module(module)
    objects: dict[int, bytes] = {}
    levels = [opt_level if part.group is None else min(opt_level, llvm_level(part.group)) for part in parts]
    keys = {n: _key(part, levels[n]) for n, part in enumerate(parts) if part.group is not None}
    for number, key in keys.items():
        known = _known(key, persistent)
        if known is not None:
            objects[number] = known
    missing = [number for number in range(len(parts)) if number not in objects]
    missing.sort(key=lambda number: -parts[number].ops)

    def compiled(number: int) -> bytes:
        part = parts[number]
        lowered = lowered_part(part.bytecode, part.exported, half_floats)
        require_symbols(lowered, libraries, part.external)
        return object_code(lowered, part.exported[0], part.external, libraries, levels[number])

    workers = min(usable_cpus(), len(missing))
    if workers <= 1:
        objects.update({number: compiled(number) for number in missing})
    else:
        with ThreadPoolExecutor(workers, "relax-mlir-compile") as pool:
            objects.update(zip(missing, pool.map(compiled, missing), strict=True))
    for number in missing:
        if number in keys:
            _keep(keys[number], objects[number], persistent)
    return [objects[number] for number in range(len(parts))]


def require_symbols(module: ir.Module, libraries: Sequence[str], external: Sequence[str] = ()) -> None:
    """Raise CompileError if a module of level L declares what neither the process nor `libraries` define.

    `external`: what somebody else defines.
    """
    declared = [
        symbol_name(op)
        for op in module.body.operations
        if isinstance(op, llvm.LLVMFuncOp) and not op.regions[0].blocks
    ]
    missing = [
        name
        for name in declared
        if name not in external
        and not name.startswith("llvm.")
        and not any(hasattr(library, name) for library in _loaded(tuple(libraries)))
    ]
    if missing:
        names = ", ".join(sorted(missing))
        raise CompileError(f"compiled code calls functions that do not exist here: {names}")


@functools.cache
def _loaded(libraries: tuple[str, ...]) -> tuple[ctypes.CDLL, ...]:
    return (ctypes.CDLL(None), *map(ctypes.CDLL, libraries))


def _key(part: Part, opt_level: int) -> str:
    return hashlib.sha256(b"%d:%s" % (opt_level, part.bytecode)).hexdigest()


def _entry(key: str) -> str:
    """The name of the persistent cache's entry."""
    digest = hashlib.sha256("\0".join((*environment(), *LLVM_OPTIONS, key)).encode())
    return f"{SHARED_ENTRY}{digest.hexdigest()}"


def _known(key: str, persistent: bool) -> bytes | None:
    with _lock:
        code = _kept.get(key)
    if not persistent:
        return code
    entry = _entry(key)
    if code is not None and not cache_store.contains(entry):
        cache_store.store(entry, code)  # a build without the cache has made it
    if code is None and (code := cache_store.load(entry)) is not None:
        try:
            LoadedObject(code)
        except ObjectFileError as error:
            cache_store.drop(entry, f"it cannot be loaded ({error})")
            return None
    return code


def _keep(key: str, code: bytes, persistent: bool) -> None:
    with _lock:
        _kept.put(key, code)
    if persistent:
        cache_store.store(_entry(key), code)
