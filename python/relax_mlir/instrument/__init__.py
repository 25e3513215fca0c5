"""Instruments: objects that observe the passes of a `PassContext` (timing, printing, dumping, checking)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.lazy import lazy_names
from relax_mlir.transform.context import PassInstrument, pass_instrument

if TYPE_CHECKING:
    from relax_mlir.instrument.print_ir import DumpStages, FileTree, PassStatistics, PrintAfter, PrintBefore
    from relax_mlir.instrument.timing import PassTimingInstrument, WellFormed

__all__ = [
    "DumpStages",
    "FileTree",
    "PassInstrument",
    "PassStatistics",
    "PassTimingInstrument",
    "PrintAfter",
    "PrintBefore",
    "WellFormed",
    "pass_instrument",
]

__getattr__ = lazy_names(
    __name__,
    {
        "DumpStages": "print_ir",
        "FileTree": "print_ir",
        "PassStatistics": "print_ir",
        "PassTimingInstrument": "timing",
        "PrintAfter": "print_ir",
        "PrintBefore": "print_ir",
        "WellFormed": "timing",
    },
)
