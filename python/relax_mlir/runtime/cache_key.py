"""Cache key of a compilation: a hash of the module, its constants, the target, the options and all versions.

A module is hashed as bytecode without its large constants, which are hashed as bytes; printed text is never hashed.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir import dialects, lowering, passes
from relax_mlir.capi import library_path
from relax_mlir.dialects.attributes import CONSTANT_VALUE
from relax_mlir.dialects.constants import to_numpy
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.lowering.strategy.tuned import history_state, shipped_state
from relax_mlir.mlir import ir, provider
from relax_mlir.module_file import program_bytes
from relax_mlir.runtime.cache_store import LRU
from relax_mlir.target import Target
from relax_mlir.transform import PassContext
from relax_mlir.transform.context import DUMP_DIR

# The modules of this project that determine the code of a compilation unit: its cache key depends on their sources.


MAKERS = (
    "relax_mlir.capi",
    "relax_mlir.lowering.base.errors",
    "relax_mlir.lowering.base.module_parts",
    "relax_mlir.lowering.checks",
    "relax_mlir.lowering.llvm.to_llvm",
    "relax_mlir.mlir_text",
    "relax_mlir.runtime.compile_units",
    "relax_mlir.runtime.elf",
    "relax_mlir.runtime.machine_code",
    "relax_mlir.runtime.process_code",
    "relax_mlir.runtime.process_codegen",
    "relax_mlir.capi",
    "relax_mlir.transform.registry",
    "relax_mlir.transform.pipeline_text",
    "relax_mlir.transform.pipeline",
)
"""The modules that generate code from MLIR text, and load it.

The key covers only these: reading the state of all sources would take ten times as long, and would take the GIL as
often from the thread that lowers the first module.
"""

PART_PACKAGES = (
    "relax_mlir.lowering.base",
    "relax_mlir.lowering.entry",
    "relax_mlir.lowering.llvm",
    "relax_mlir.lowering.runtime_lib",
    "relax_mlir.runtime",
    "relax_mlir.transform",
)
"""The packages that generate code of compilation units."""

PART_MAKERS = (
    "relax_mlir.capi",
    "relax_mlir.dialects.attributes",
    "relax_mlir.dialects.constants",
    "relax_mlir.dialects.dtypes",
    "relax_mlir.error",
    "relax_mlir.ir_queries",
    "relax_mlir.lowering.checks",
    "relax_mlir.mlir_text",
)
"""Modules of other packages that also determine the code of compilation units; their checks raise errors at level V."""


_CPU_FIELDS = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")

_QUIET_NANOSECONDS = 2 * 10**9
"""The minimum age of a file for which an unchanged mtime proves unchanged contents; file system clocks are coarse."""
_WEIGHTS = 4096
_lock = process_lock(Order.KEPT_CODE)
_mapped: LRU[tuple[int, ...], bytes] = LRU(_WEIGHTS)
"""Hashes of arrays mapped from files, by `_file_part`."""


def module_constants(module: ir.Module) -> list[ir.Attribute]:
    """Return the distinct constants of a module, in order of first occurrence."""
    found: dict[ir.Attribute, None] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        for name in _constant_names(op):
            found[op.attributes[name]] = None
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return list(found)


def _constant_names(op: ir.Operation) -> tuple[str, ...]:
    """Return the names of the attributes of an op that are constants of its module."""
    name = op.name
    if name == "relax.constant":
        return ("value",)
    return (CONSTANT_VALUE,) if name == "func.func" and CONSTANT_VALUE in op.attributes else ()


def _large_constant_names(op: ir.Operation) -> list[str]:
    return [name for name in _constant_names(op) if not isinstance(op.attributes[name], ir.DenseElementsAttr)]


def source_hash(module: ir.Module) -> str:
    """Return the SHA-256 of a module, including its locations and the elements of its constants.

    It is the same in every process and independent of the names of constants.
    """
    code, taken = program_bytes(module.operation, _large_constant_names)
    numbers: dict[ir.Attribute, int] = {}
    digest = hashlib.sha256()
    _add(digest, code)
    for place, name, value in taken:
        _add(digest, f"{place} {name} {numbers.setdefault(value, len(numbers))}".encode())
    for value in numbers:
        _add(digest, str(value.type).encode())
        _add(digest, _array_hash(to_numpy(value)))
    return digest.hexdigest()


def cache_key(source: str, target: Target, variant: str = "") -> str:
    """Return the key of a compilation in the current `PassContext`; `source` is the module's `source_hash`."""
    digest = hashlib.sha256()
    for part in (*environment(), *_settings(target), variant, source):
        _add(digest, part.encode())
    return digest.hexdigest()


def _add(digest: Any, data: bytes) -> None:  # noqa: ANN401 - a hash of hashlib, whose class has no name
    """Add data, prefixed with its length, so that different lists of data have different hashes."""
    digest.update(b"%d:" % len(data))
    digest.update(data)


def _array_hash(array: np.ndarray[Any, Any]) -> bytes:
    """Return the SHA-256 of the elements of an array; arrays mapped from an unchanged file are hashed once."""
    part = _file_part(array)
    with _lock:
        known = None if part is None else _mapped.get(part)
    if known is None:
        known = hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).digest()
        if part is not None:
            with _lock:
                _mapped.put(part, known)
    return known


def _file_part(array: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """Return the identity of a file and the array's position in it; None for an array that may change unnoticed.

    The array must be mapped read-only by NumPy, from a file that has not changed for some seconds. The identity is
    device, inode, size and modification times.
    """
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode != "r" or root.filename is None:
        return None
    try:
        status = os.stat(root.filename)
    except OSError:
        return None
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - changed < _QUIET_NANOSECONDS or _mapped_inode(root.ctypes.data) != status.st_ino:
        return None
    start = root.offset + array.ctypes.data - root.ctypes.data
    file = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return (*file, start, array.nbytes)


def _mapped_inode(address: int) -> int | None:
    """Return the inode of the file that is mapped at an address on Linux; another file may have its name by now."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                span, _, _, _, inode = line.split(maxsplit=5)[:5]
                first, last = (int(number, 16) for number in span.split("-"))
                if first <= address < last:
                    return int(inode)
    except OSError:
        pass
    return None


def _settings(target: Target) -> tuple[str, ...]:
    context = PassContext.current()
    config = {key: value for key, value in context.config.items() if key != DUMP_DIR}
    return (
        target.describe(),
        str(context.opt_level),
        repr(sorted(context.required_pass)),
        repr(sorted(context.disabled_pass)),
        repr(sorted(config.items())),
        shipped_state(),
        history_state(),
    )


@functools.cache
def environment() -> tuple[str, ...]:
    """Everything that compiled code depends on in general: the machine, and the sources of this project."""
    return (*machine(), _sources())


@functools.cache
def machine() -> tuple[str, ...]:
    """The CPU, and the versions of MLIR, the TVM FFI, NumPy and Python."""
    library = library_path()
    status = library.stat()
    return (
        _cpu(),
        f"{provider} {library} {status.st_size} {status.st_mtime_ns}",
        f"{tvm_ffi.__version__} {np.__version__} {sys.version}",
    )


def sources_of(modules: Iterable[str]) -> str:
    """Return a string that changes with the sources of some modules of this project."""
    paths = map(_source, modules)
    return "\n".join(_state(path, os.stat(path)) for path in paths)


def _source(module: str) -> str:
    """Return the path of a module's source; the module need not have been imported."""
    if module in sys.modules:
        return str(sys.modules[module].__file__)
    found = importlib.util.find_spec(module)
    assert found is not None
    return str(found.origin)


def sources_in(packages: Iterable[str]) -> str:
    """Return a string that changes with the sources in some packages of this project."""
    return "\n".join(sorted(_states(str(sys.modules[name].__path__[0]) for name in packages)))


def _cpu() -> str:
    """Return Linux's description of the first CPU, for which LLVM generates code."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            first = stream.read(1 << 14).partition("\n\n")[0]
    except OSError:
        return ""
    fields = (line.partition(":") for line in first.splitlines())
    return "\n".join(f"{key.strip()}:{value}" for key, _, value in fields if key.strip() in _CPU_FIELDS)


def _sources() -> str:
    """Return a hash of names, sizes and modification times of the sources of all packages of this project.

    Reading the files would take as long as loading a module from the cache.
    """
    roots = [str(Path(__file__).parents[1])]
    roots += [*dialects.__path__, *lowering.__path__, *passes.__path__]
    return hashlib.sha256("\n".join(sorted(set(_states(roots)))).encode()).hexdigest()


def _states(folders: Iterable[str]) -> Iterator[str]:
    """Yield path, size and modification time of each source file in some folders."""
    for folder in folders:
        with os.scandir(folder) as items:
            inner = []
            for item in items:
                if item.is_dir():
                    inner.append(item.path)
                elif item.name.endswith((".py", ".mlir")):
                    yield _state(item.path, item.stat())
        yield from _states(inner)


def _state(path: str, status: os.stat_result) -> str:
    return f"{path} {status.st_size} {status.st_mtime_ns}"
