"""Instruments: objects that observe the passes of a `PassContext` (timing, printing, dumping, checking)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.instrument.pass_instrument import PassInstrument, pass_instrument
from relax_mlir.lazy import lazy_names

if TYPE_CHECKING:
    from relax_mlir.instrument.pass_instrument import PassTimingInstrument, WellFormed
    from relax_mlir.instrument.print_ir import DumpStages, FileTree, PassStatistics, PrintAfter, PrintBefore

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
        "PassTimingInstrument": "pass_instrument",
        "PrintAfter": "print_ir",
        "PrintBefore": "print_ir",
        "WellFormed": "pass_instrument",
    },
)
