"""Profile compiled code: time per op, with the bytes it moves and the floating-point operations it executes.

``rx.build(mod, profile=True)`` compiles a module so that it can be profiled;
``with executable.profile() as p`` records the calls in it. Then ``p.print()`` shows a table,
``p.save_trace("trace.json")`` writes a file for chrome://tracing, and
``p.save_roofline("roofline.png")`` plots (with matplotlib).
"""

from relax_mlir.lowering.entry.instrument_calls import Site
from relax_mlir.profiler.profile_library import profile_library
from relax_mlir.runtime.profile import (
    Event,
    Limits,
    OpSummary,
    Profile,
    copy_bandwidth,
    fma_peak,
    recording,
)

__all__ = [
    "Event", "Limits", "OpSummary", "Profile", "Site", "copy_bandwidth", "fma_peak", "profile_library",
    "recording",
]  # fmt: skip
