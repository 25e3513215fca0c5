"""Offsets, sizes and strides of slices of tensors and buffers."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.mlir import ir


@dataclass(frozen=True)
class Slices:
    """Offsets, sizes and strides of a slice: ints, or SSA values."""

    offsets: tuple[int | ir.Value, ...]
    sizes: tuple[int | ir.Value, ...]
    strides: tuple[int | ir.Value, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Slices:
        """Read the slice of a ``tensor.extract_slice``, ``tensor.insert_slice`` or ``memref.subview``."""
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        dynamic = int(ir.ShapedType.get_dynamic_size())
        waiting = list(op.operands)[sum(segments[:-3]) :]
        found = []
        for name in ("static_offsets", "static_sizes", "static_strides"):
            numbers = list(ir.DenseI64ArrayAttr(op.attributes[name]))
            found.append(tuple(waiting.pop(0) if number == dynamic else int(number) for number in numbers))
        return cls(*found)

    def kept_axes(self, rank: int) -> list[int] | None:
        """The axes that remain when a slice drops axes of length 1; None if they are ambiguous."""
        if rank == len(self.sizes):
            return list(range(rank))
        kept = [axis for axis, size in enumerate(self.sizes) if size != 1]
        return kept if len(kept) == rank else None
