"""Profile compiled code: time per op, with the bytes it moves and the floating-point operations it executes.

``rx.build(mod, profile=True)`` compiles a module so that it can be profiled;
``with executable.profile() as p`` records the calls in it. Then ``p.print()`` shows a table,
``p.save_trace("trace.json")`` writes a file for chrome://tracing, and
``p.save_roofline("roofline.png")`` plots (with matplotlib).
"""

from __future__ import annotations

from collections import defaultdict, deque
from contextlib import AbstractContextManager
from pathlib import Path

import tvm_ffi

from relax_mlir.export.metadata import inspect_library
from relax_mlir.lowering.entry.instrument_calls import Site
from relax_mlir.lowering.runtime_lib.library import PROFILE_FUNCTION
from relax_mlir.runtime.profile import Event, Limits, OpSummary, Profile, copy_bandwidth, fma_peak, recording

__all__ = [
    "Event", "Limits", "OpSummary", "Profile", "Site", "copy_bandwidth", "fma_peak", "profile_library",
    "recording",
]  # fmt: skip


def profile_library(path: str | Path, capacity: int = 1 << 20) -> AbstractContextManager[Profile]:
    """Record calls of an exported library while the context is entered; see `Executable.profile`.

    Args:
        path: a shared library whose executable was built with ``profile=True``. It is loaded if it is not yet.
        capacity: size of the record buffer in 64-bit words.

    Raises:
        ArgumentError: the library writes no records, is already being profiled, or `capacity` is not positive.
        ParseError: the file is not a library of this project.
    """
    sites = [Site(**{**site, "sizes": tuple(site["sizes"])}) for site in inspect_library(path).facts["profile"]]
    address = None
    if sites:
        library = tvm_ffi.load_module(str(Path(path).resolve()))
        address = library.get_function(PROFILE_FUNCTION)().value
    return recording(address, sites, capacity, _kept[str(Path(path).resolve())].append)


_kept: defaultdict[str, deque[object]] = defaultdict(lambda: deque(maxlen=4))
"""The last record buffers of each library: a call on another thread may still be writing to them."""
