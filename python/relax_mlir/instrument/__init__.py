"""Instruments: objects that observe the passes of a `PassContext` (timing, printing, dumping, checking)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.lazy import lazy_names
from relax_mlir.transform.context import PassInstrument, pass_instrument

if TYPE_CHECKING:
    from relax_mlir.instrument.instruments import (
        DumpStages,
        FileTree,
        PassStatistics,
        PassTimingInstrument,
        PrintAfter,
        PrintBefore,
        WellFormed,
    )

__all__ = [
    "DumpStages", "FileTree", "PassInstrument", "PassStatistics", "PassTimingInstrument", "PrintAfter",
    "PrintBefore", "WellFormed", "pass_instrument",
]  # fmt: skip

__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, "relax_mlir.instrument.instruments"))
