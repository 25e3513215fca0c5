"""The part of a matrix product that the vector registers of a target hold."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.target import Target

VECTORS = 2
"""Vectors of each row."""
SPARE = 2
"""Registers for the element of A, and for a product or a widened vector."""


@dataclass(frozen=True)
class RegisterTile:
    """`rows` of `vectors` vectors of `lanes` elements; `registers` are those that code can count on."""

    rows: int
    vectors: int
    lanes: int
    registers: int

    @property
    def columns(self) -> int:
        """Elements of a row."""
        return self.lanes * self.vectors


def register_tile(target: Target, bits: int) -> RegisterTile:
    """The tile of sums of so many bits: they, a row of B and an element of A fill the registers."""
    # AArch64's code loads elements of A ahead, since its instructions cannot take them from memory: if registers lack
    # for that, LLVM spills sums.
    registers = max(4, target.num_vector_registers - (4 if target.architecture == "aarch64" else 0))
    rows = max(1, (registers - VECTORS - SPARE) // VECTORS)
    return RegisterTile(rows, VECTORS, target.lanes(bits), registers)
