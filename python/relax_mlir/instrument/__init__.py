"""Instruments: objects that observe the passes of a `PassContext` (timing, printing, dumping, checking)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.lazy import lazy_names, modules_of
from relax_mlir.transform.context import PassInstrument, pass_instrument

if TYPE_CHECKING:
    from relax_mlir.instrument.print_ir import DumpStages, FileTree, PassStatistics, PrintAfter, PrintBefore
    from relax_mlir.instrument.timing import PassTimingInstrument, WellFormed

__all__ = [
    "DumpStages", "FileTree", "PassInstrument", "PassStatistics", "PassTimingInstrument", "PrintAfter",
    "PrintBefore", "WellFormed", "pass_instrument",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    modules_of(
        {
            "relax_mlir.instrument.print_ir": (
                *("DumpStages", "FileTree", "PassStatistics", "PrintAfter", "PrintBefore"),
            ),
            "relax_mlir.instrument.timing": ("PassTimingInstrument", "WellFormed"),
        }
    ),
)
