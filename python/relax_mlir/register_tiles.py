"""The tile of a GEMM that fits in the vector registers of a target."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.target import Target

VECTORS = 2
"""Vectors per row."""
SPARE = 2
"""Registers for the element of A, and for a product or a widened vector."""


@dataclass(frozen=True)
class RegisterTile:
    """`rows` rows of `vectors` vectors of `lanes` elements; code can use `registers` registers."""

    rows: int
    vectors: int
    lanes: int
    registers: int

    @property
    def columns(self) -> int:
        """Elements per row."""
        return self.lanes * self.vectors


def register_tile(target: Target, bits: int) -> RegisterTile:
    """The tile of accumulators of `bits` bits: it, a row of B and an element of A fill the registers."""
    # AArch64's code loads elements of A ahead, since its instructions have no memory operands: with too few registers
    # for that, LLVM spills accumulators.
    registers = max(4, target.num_vector_registers - (4 if target.architecture == "aarch64" else 0))
    rows = max(1, (registers - VECTORS - SPARE) // VECTORS)
    return RegisterTile(rows, VECTORS, target.lanes(bits), registers)
