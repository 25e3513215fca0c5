"""The code that runs in the processes of `map_batches`: it needs NumPy and the TVM FFI, not the compiler.

A process loads a library with the first batch that needs it, and keeps it. Its weights are in the file, which the
system maps once for all processes of a machine.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, NamedTuple

import numpy as np
import tvm_ffi

from relax_mlir.ffi import limit_threads, register_errors, thread_pools, to_ffi, to_numpy
from relax_mlir.fork_safety import Order, process_lock


class LibraryFile(NamedTuple):
    """An exported library, and what identifies it.

    Attributes: its path, which is the same on all machines; its size in bytes; the offset, size and SHA-256 of its
    metadata. The metadata name the module, the weights and the target.
    """

    path: str
    size: int
    offset: int
    length: int
    digest: str


class Sizes(NamedTuple):
    """A shape in the form in which it is sent."""

    values: tuple[int, ...]


class Done(NamedTuple):
    """The result of a batch: arrays, `Sizes`, numbers, and tuples of them."""

    value: Any


class Failed(NamedTuple):
    """An error of the model: the name of its class, and its message. The engine does not see it as a failure."""

    kind: str
    message: str


register_errors()
_lock = process_lock(Order.LIBRARIES)
_libraries: dict[tuple[LibraryFile, int], tuple[tvm_ffi.Module, list[int]]] = {}


def run_batch(library: LibraryFile, function: str, threads: int, arguments: tuple[Any, ...]) -> Done | Failed:
    """Call a function of a library.

    Args:
        threads: the maximum number of threads of the function, in this process; 0: the number that it is compiled for.
        arguments: arrays, `Sizes`, numbers, and tuples of them.

    Raises:
        OSError: there is no such file on this machine.
        RuntimeError: the library cannot be loaded, or is not the one that the caller read.
    """
    module, of = _load(library)
    call = module.get_function(function)
    limit_threads(of, threads)
    try:
        return Done(_sent(call(*map(_given, arguments))))
    except Exception as error:  # any error of the model: returned as a value, so that the engine does not retry
        known = getattr(error, "__tvm_ffi_error__", None)
        return Failed(type(error).__name__ if known is None else str(known.kind), str(error))


def _load(library: LibraryFile) -> tuple[tvm_ffi.Module, list[int]]:
    """The library, loaded on first use, and its thread pools. A replaced file is loaded as a new library."""
    inode = os.stat(library.path).st_ino
    with _lock:
        if (library, inode) not in _libraries:
            _require_same(library)
            module = tvm_ffi.load_module(_spelling(library.path, inode))
            _libraries[library, inode] = module, thread_pools()
        return _libraries[library, inode]


def _spelling(path: str, inode: int) -> str:
    """A unique spelling of the path of a file: the bits of its inode, as slashes and dots.

    The dynamic loader identifies libraries by path: for a replaced file it would return the one already loaded.
    """
    folder, name = os.path.split(path)
    return folder + "".join("/." if bit == "1" else "/" for bit in f"{inode:b}") + "/" + name


def _require_same(library: LibraryFile) -> None:
    with open(library.path, "rb") as stream:
        stream.seek(library.offset)
        digest = hashlib.sha256(stream.read(library.length)).hexdigest()
        size = os.fstat(stream.fileno()).st_size
    if (size, digest) != (library.size, library.digest):
        raise RuntimeError(
            f"{library.path} on {os.uname().nodename} is another library than that of map_batches: "
            "copy it to all machines"
        )


def _given(value: Any) -> Any:  # noqa: ANN401 - any argument
    if isinstance(value, Sizes):
        return tvm_ffi.Shape(value.values)
    if isinstance(value, tuple):
        return tuple(map(_given, value))
    return to_ffi(value)


def _sent(value: Any) -> Any:  # noqa: ANN401 - any result
    if isinstance(value, tvm_ffi.Tensor):
        return to_numpy(value)
    if isinstance(value, tvm_ffi.Shape):
        return Sizes(tuple(map(int, value)))
    if isinstance(value, tvm_ffi.Array | tuple | list):
        return tuple(map(_sent, value))
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return value
    raise TypeError(
        f"a result of type {type(value).__name__} cannot leave its process, expected tensors, shapes and numbers"
    )
