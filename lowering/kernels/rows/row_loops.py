"""Elementwise prologues and epilogues of row kernels, run on each row while it is in L1.

A prologue fills a row of the output, on which the kernel then works in place; an epilogue works in place on a row that
the kernel has written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Strided, Value
from relax_mlir.mlir import ir, linalg

NEXT_ROW = "relax.next_row"
"""Attribute of a loop over a row: operands whose next row, adjacent in memory, is needed soon."""

OnRow = Callable[[Index], None]
"""Emits the work on a row, given its index."""


@dataclass(frozen=True)
class RowFusion:
    """The prologue and the epilogue of a kernel, run for each row."""

    prologue: RowLoop | None = None
    epilogue: RowLoop | None = None

    def prepare(self, out: Value, inner: int) -> tuple[OnRow, OnRow]:
        """Both for the rows of `out`, its last `inner` axes; loop-invariant code is emitted at once."""
        before = self.prologue.prepare(out, inner) if self.prologue else _nothing
        behind = self.epilogue.prepare(out, inner, is_behind=True) if self.epilogue else _nothing
        return before, behind


def _nothing(row: Index) -> None:
    pass


NO_ROW_FUSION = RowFusion()


@dataclass(frozen=True)
class RowLoop:
    """A parallel `linalg.generic` or `linalg.copy` on memrefs that writes the output of a kernel over rows."""

    operation: ir.Operation

    def prepare(self, out: Value, inner: int, is_behind: bool = False) -> OnRow:
        """The work on a row of `out`, its last `inner` axes; loop-invariant code is emitted at once.

        An epilogue prefetches the next row of its inputs (see `NEXT_ROW`), unless it only reads what the kernel has
        written.
        """
        rank = ir.MemRefType(out.type).rank
        maps, views_of = self._maps(rank), self.prepare_views(out, inner)
        asked_for = self._next_rows() if is_behind and inner == 1 else []

        def on_row(row: Index) -> None:
            views = views_of(row)
            if self.operation.name == "linalg.copy":
                linalg.copy(views[0], outs=views[1:])
            else:
                inner_maps = [_inner_map(map_, rank - inner, rank) for map_ in maps]
                loop = _emit_on(self.operation, views, inner_maps, inner)
                if asked_for:
                    loop.attributes[NEXT_ROW] = ir.DenseI64ArrayAttr.get(asked_for)

        return on_row

    def prepare_views(self, out: Value, inner: int) -> Callable[[Index], list[Value]]:
        """The slices of the operands for a row of `out`, given its index; loop-invariant code is emitted at once."""
        rank = ir.MemRefType(out.type).rank
        maps = self._maps(rank)
        operands = [*list(self.operation.operands)[:-1], out]
        parts = [emit.metadata(x) if isinstance(x.type, ir.MemRefType) else None for x in operands]
        sizes = [emit.dim(out, axis) for axis in range(rank)]
        outer = rank - inner

        def views_of(row: Index) -> list[Value]:
            places = _places(row, sizes[:outer])
            return [
                operand if part is None else _row_of(part, operand, map_, places, sizes)
                for operand, part, map_ in zip(operands, parts, maps, strict=True)
            ]

        return views_of

    def kind_of(self, number: int, inner: int) -> str:
        """The slice of an operand for a row: a ``number``, a contiguous ``row``, or else ``strided``."""
        operand = self.operation.operands[number]
        if not isinstance(operand.type, ir.MemRefType):
            return "number"
        type_ = ir.MemRefType(operand.type)
        rank = len(self.operation.attributes["iterator_types"])
        map_ = self._maps(rank)[number]
        moved = [axis for axis, x in enumerate(map_.results) if _dim(x) >= rank - inner]
        strides, _ = type_.get_strides_and_offset()
        if not moved:
            return "number"
        return "row" if moved == [type_.rank - 1] and strides[-1] == 1 else "strided"

    def _next_rows(self) -> list[int]:
        """The inputs whose next row is to be prefetched; none if they are only what the kernel has written."""
        *inputs, written = self.operation.operands
        found = [number for number in range(len(inputs)) if self._has_next_row(number)]
        return found if any(inputs[number] != written for number in found) else []

    def _has_next_row(self, number: int) -> bool:
        """True if the rows of an operand are adjacent in memory, as those of the output are."""
        operand = self.operation.operands[number]
        if self.operation.name != "linalg.generic" or not isinstance(operand.type, ir.MemRefType):
            return False
        type_ = ir.MemRefType(operand.type)
        identity = ir.AffineMap.get_identity(type_.rank)
        rank = len(self.operation.attributes["iterator_types"])
        return bool(self._maps(rank)[number] == identity == type_.affine_map and type_.rank == rank)

    def _maps(self, rank: int) -> list[ir.AffineMap]:
        if self.operation.name == "linalg.copy":
            return [ir.AffineMap.get_identity(rank)] * 2
        return [attribute.value for attribute in self.operation.attributes["indexing_maps"]]


def _dim(expr: ir.AffineExpr) -> int:
    """The loop of an affine dimension; -1 for other expressions."""
    return expr.position if isinstance(expr, ir.AffineDimExpr) else -1


def _places(row: Index, sizes: Sequence[Index]) -> dict[int, Index]:
    """Delinearise the index of a row: its index along each outer axis."""
    places: dict[int, Index] = {}
    left: Index = row
    for axis in range(len(sizes) - 1, 0, -1):
        above = emit.div(left, sizes[axis])
        places[axis] = emit.sub(left, emit.mul(above, sizes[axis]))
        left = above
    return {**places, 0: left} if sizes else {}


def _row_of(
    parts: Strided, operand: Value, map_: ir.AffineMap, places: Mapping[int, Index], sizes: Sequence[Index]
) -> Value:
    """The slice of an operand for a row: the axes that the row's loops move."""
    offset: Index = 0
    kept: list[tuple[Index, Index]] = []
    for axis, expr in enumerate(map_.results):
        if not isinstance(expr, ir.AffineDimExpr):
            continue
        if expr.position in places:
            offset = emit.add(offset, emit.mul(places[expr.position], parts.strides[axis]))
        else:
            kept.append((sizes[expr.position], parts.strides[axis]))
    known, _ = ir.MemRefType(operand.type).get_strides_and_offset()
    last = map_.results[len(map_.results) - 1] if len(map_.results) else None
    unit = (
        bool(kept) and known[-1] == 1 and isinstance(last, ir.AffineDimExpr) and last.position not in places
    )
    return emit.view(parts, [size for size, _ in kept], [x for _, x in kept], offset, unit_inner=unit)


def _inner_map(map_: ir.AffineMap, outer: int, rank: int) -> ir.AffineMap:
    dims = [
        ir.AffineDimExpr.get(x.position - outer)
        for x in map_.results
        if isinstance(x, ir.AffineDimExpr) and x.position >= outer
    ]
    return ir.AffineMap.get(rank - outer, 0, dims)


def _emit_on(
    body: ir.Operation, operands: Sequence[Value], maps: Sequence[ir.AffineMap], rank: int
) -> ir.Operation:
    """Clone a generic over other operands, with `rank` loops."""
    copy: ir.Operation = body.clone().operation
    for number, operand in enumerate(operands):
        copy.operands[number] = operand
    copy.attributes["indexing_maps"] = ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    copy.attributes["iterator_types"] = ir.ArrayAttr.get([parallel] * rank)
    return copy
