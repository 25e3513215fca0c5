"""Instruments: objects that observe the passes of a `PassContext` (timing, printing, dumping, checking)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.instrument.pass_instrument import PassInstrument, pass_instrument
from relax_mlir.lazy import lazy_names

if TYPE_CHECKING:
    from relax_mlir.instrument.print_ir import FileTree, PrintAfter, PrintBefore
    from relax_mlir.instrument.stages import DumpStages
    from relax_mlir.instrument.statistics import PassStatistics
    from relax_mlir.instrument.timing import PassTimingInstrument
    from relax_mlir.instrument.verify_well_formed import WellFormed

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
        "DumpStages": "stages",
        "FileTree": "print_ir",
        "PassStatistics": "statistics",
        "PassTimingInstrument": "timing",
        "PrintAfter": "print_ir",
        "PrintBefore": "print_ir",
        "WellFormed": "verify_well_formed",
    },
)
