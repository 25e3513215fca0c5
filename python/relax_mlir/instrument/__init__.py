"""Instruments: objects that observe the passes of a `PassContext` (timing, printing, dumping, checking)."""

from relax_mlir.instrument.pass_instrument import PassInstrument, pass_instrument
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
