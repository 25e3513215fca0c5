"""Groups of the functions of a product. One is, but for few variants, the same in all modules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Groups:
    """The groups of one product, which are compiled one by one (see `relax_mlir.lowering.parts.shared_code`).

    Attributes:
        tile: register tiles, and the blocks that they make.
        plain_b: what reads a B that is not packed beforehand, or packs it. It takes no memory, so it leaves its module
            early (see `CutKernels`), and what calls it is compiled beside it.
        pack: what packs A.
        unpacked: tiles that read their operands where they lie.
        panels: the product with a B that was packed beforehand.
        product: the entry, and the ways that it chooses among.
    """

    tile: str
    plain_b: str
    pack: str
    unpacked: str
    panels: str
    product: str

    @staticmethod
    def of(kernel: str) -> Groups:
        """Those of a product, from the name of its entry."""
        kinds = ("tile", "plain_b", "pack", "unpacked", "panels", "product")
        return Groups(*(f"{kernel} {kind}" for kind in kinds))
