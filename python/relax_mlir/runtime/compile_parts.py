"""A module of level L as object files: its parts are compiled on several threads, shared ones once per process."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from relax_mlir.lowering.split_module import Part, split_module
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import environment
from relax_mlir.runtime.elf_object import LoadedObject, ObjectFileError
from relax_mlir.runtime.llvm_codegen import LLVM_OPTIONS, object_code
from relax_mlir.runtime.lru import LRU
from relax_mlir.target import usable_cpus

SHARED_ENTRY = "shared-"
"""How the names of the cache's entries for shared parts begin."""

KEPT_PARTS = 256
"""Parts whose code a process keeps: some 10 kB each."""

_kept: LRU[str, bytes] = LRU(KEPT_PARTS)
_lock = Lock()


def compile_objects(
    module: ir.Module, libraries: Sequence[str], opt_level: int, persistent: bool
) -> list[bytes]:
    """The object files that together are a module of level L, which is left as it is.

    Args:
        libraries: paths of the shared libraries that define what the module calls.
        opt_level: LLVM's, 0 to 3.
        persistent: whether shared parts are looked for in the persistent cache, and kept there.

    Raises CompileError if LLVM cannot compile a part.
    """
    parts = split_module(module)
    objects: dict[int, bytes] = {}
    keys = {number: _key(part, opt_level) for number, part in enumerate(parts) if part.shared}
    for number, key in keys.items():
        known = _known(key, persistent)
        if known is not None:
            objects[number] = known
    missing = [number for number in range(len(parts)) if number not in objects]
    missing.sort(key=lambda number: -parts[number].ops)
    modules = {number: ir.Module.parse(parts[number].bytecode, _context()) for number in missing}

    def compiled(number: int) -> bytes:
        part = parts[number]
        return object_code(modules[number], part.symbol, part.external, libraries, opt_level)

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


def _key(part: Part, opt_level: int) -> str:
    digest = hashlib.sha256("\0".join((*environment(), *LLVM_OPTIONS, str(opt_level))).encode())
    digest.update(part.bytecode)
    return f"{SHARED_ENTRY}{digest.hexdigest()}"


def _known(key: str, persistent: bool) -> bytes | None:
    with _lock:
        code = _kept.get(key)
    if code is not None and persistent and not cache_store.contains(key):
        cache_store.store(key, code)  # a build without the cache has made it
    if code is None and persistent and (code := cache_store.load(key)) is not None:
        try:
            LoadedObject(code)
        except ObjectFileError as error:
            cache_store.drop(key, f"it cannot be loaded ({error})")
            return None
    return code


def _keep(key: str, code: bytes, persistent: bool) -> None:
    with _lock:
        _kept.put(key, code)
    if persistent:
        cache_store.store(key, code)


@functools.cache
def _context() -> ir.Context:
    """The context of all parts: unlike those of modules, one that several threads may use at a time."""
    return ir.Context()
