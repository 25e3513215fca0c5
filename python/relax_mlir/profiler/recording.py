"""Start and stop the recording of calls, and decode the records."""

from __future__ import annotations

import contextlib
import ctypes
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.error import ArgumentError
from relax_mlir.fork_safety import Order, process_lock
from relax_mlir.lowering.entry.instrument_calls import FIXED, HEADER
from relax_mlir.lowering.runtime_lib.library import PROFILE_FUNCTION
from relax_mlir.profiler.profile import Event, Profile
from relax_mlir.runtime.profile_sites import Site

_LOCK = process_lock(Order.PROFILES)


def profile_library(path: str | Path, capacity: int = 1 << 20) -> AbstractContextManager[Profile]:
    """Record calls of an exported library while the context is entered; see `Executable.profile`.

    Args:
        path: a shared library whose executable was built with ``profile=True``. It is loaded if it is not yet.
        capacity: size of the record buffer in 64-bit words.

    Raises:
        ArgumentError: the library writes no records, is already being profiled, or `capacity` is not positive.
        ParseError: the file is not a library of this project.
    """
    from relax_mlir.export import inspect_library  # the profiler is a lower layer

    sites = [
        Site(**{**site, "sizes": tuple(site["sizes"])}) for site in inspect_library(path).facts["profile"]
    ]
    address = None
    if sites:
        library = tvm_ffi.load_module(str(Path(path).resolve()))
        address = library.get_function(PROFILE_FUNCTION)().value
    return recording(address, sites, capacity, _kept[str(Path(path).resolve())].append)


_kept: defaultdict[str, deque[object]] = defaultdict(lambda: deque(maxlen=4))
"""The last record buffers of each library: a call on another thread may still be writing to them."""


@contextlib.contextmanager
def recording(
    address: int | None, sites: Sequence[Site], capacity: int, keep: Callable[[np.ndarray[Any, Any]], None]
) -> Iterator[Profile]:
    """A profile that is filled when the context is left; see `Executable.profile`.

    `address`: the location from which compiled code reads the buffer address; `keep`: gets the buffer, which must live
    as long as the code.
    """
    if not sites:
        raise ArgumentError(
            "profile: the executable writes no records; build it with rx.build(mod, profile=True)"
        )
    if not isinstance(capacity, int) or capacity < 1:
        raise ArgumentError(f"profile: 'capacity' must be a positive number of words, not {capacity!r}")
    if address is None:
        raise ArgumentError("profile: the executable has no place for the address of records")
    place = ctypes.c_void_p.from_address(address)
    buffer = np.zeros(HEADER + capacity, np.int64)
    buffer[:HEADER] = HEADER, HEADER + capacity
    with _LOCK:
        if place.value:
            raise ArgumentError("profile: the executable is being profiled already")
        place.value = buffer.ctypes.data
    profile = Profile(tuple(sites))
    # A call on another thread may still be writing when the context is left, so the buffer lives as long as the code.
    keep(buffer)
    try:
        yield profile
    finally:
        place.value = None
        profile.events = tuple(_read(buffer, sites))
        profile.truncated = bool(buffer[0] > buffer[1])


def _read(words: np.ndarray[Any, Any], sites: Sequence[Site]) -> Iterator[Event]:
    at, end = HEADER, int(min(words[0], words[1]))
    while at < end and words[at]:
        site = sites[int(words[at]) - 1]
        length = FIXED + len(site.sizes)
        thread, start, stop, *sizes = (int(word) for word in words[at + 1 : at + length])
        yield Event(site, thread, start, stop, dict(zip(site.sizes, sizes, strict=True)))
        at += length
