"""Groups of the functions of a GEMM. Except for a few variants, a group is identical in all modules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Groups:
    """The groups of one GEMM, each of which is compiled separately (see `relax_mlir.lowering.parts.shared_code`).

    Attributes:
        tile: micro-kernels, and the functions for blocks that call them.
        plain_b: functions that read a B that is not prepacked, or that pack it. They allocate no memory, so they are
            outlined early (see `CutKernels`) and compile concurrently with their callers.
        pack: functions that pack A.
        unpacked: tiles that read their operands in place.
        panels: the GEMM with a prepacked B.
        product: the entry, and the code paths that it selects from.
    """

    tile: str
    plain_b: str
    pack: str
    unpacked: str
    panels: str
    product: str

    @staticmethod
    def of(kernel: str) -> Groups:
        """The groups for a GEMM, from the name of its entry."""
        kinds = ("tile", "plain_b", "pack", "unpacked", "panels", "product")
        return Groups(*(f"{kernel} {kind}" for kind in kinds))
