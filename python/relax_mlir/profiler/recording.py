"""Switch records on and off, and read them."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relax_mlir.error import ArgumentError
from relax_mlir.lowering.abi.emit_lifecycle import PROFILE_ADDRESS
from relax_mlir.lowering.instrument.instrument_calls import FIXED, HEADER
from relax_mlir.profiler.profile import Event, Profile
from relax_mlir.runtime.engine import Engine
from relax_mlir.runtime.profile_sites import Site

_LOCK = threading.Lock()


@contextlib.contextmanager
def recording(engine: Engine, sites: Sequence[Site], capacity: int) -> Iterator[Profile]:
    """A profile that is filled when the context is left; see `Executable.profile`."""
    if not sites:
        raise ArgumentError(
            "profile: the executable writes no records; build it with rx.build(mod, profile=True)"
        )
    if not isinstance(capacity, int) or capacity < 1:
        raise ArgumentError(f"profile: 'capacity' must be a positive number of words, not {capacity!r}")
    address = engine.pointer(PROFILE_ADDRESS)
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
    # A call of another thread may still be writing when the context is left: the buffer lives with the code.
    engine.keep(buffer)
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
