"""The register tiles of small-N GEMMs, which read both operands in place.

A tile reads some rows of A, element by element, with any strides, and row-contiguous B.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.addresses import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class NarrowTile:
    """A register tile: its rows, the vectors in each of them, and whether the last one may be masked.

    `ends_half`: the last vector has half as many lanes as the others; a CPU may process twice as many of these at a
    time. Prefetch distances (0: none): `tiles_ahead`, in tiles, for columns of B; `left_ahead` and `right_ahead`, in
    steps of the depth, for A and B. Hardware prefetchers do not find the next cache lines if steps read rows that are
    far apart.
    """

    name: str
    group: str
    rows: int
    vectors: int
    is_masked: bool = True
    ends_half: bool = False
    tiles_ahead: int = 0
    left_ahead: int = 0
    right_ahead: int = 0

    def lanes(self, tiling: Tiling) -> list[int]:
        """The lanes of each vector."""
        last = tiling.lanes // (1 + self.ends_half)
        return [tiling.lanes] * (self.vectors - 1) + [last]

    def columns(self, tiling: Tiling) -> int:
        """The maximum number of columns."""
        return sum(self.lanes(tiling))


def has_wide_tile(tiling: Tiling) -> bool:
    """True if the registers hold a tile of three vectors, whose lanes may be masked."""
    return tiling.registers >= 32 and not tiling.half_lines


def are_of_a_wide_tile(tiling: Tiling, columns: e.Index, beyond: e.Index) -> e.Value:
    """True if remainder columns after whole vectors, of `columns` in all, fit into a tile that other columns need, too.

    They do if the others do not fill tiles of three vectors. An idle part of a vector costs little there, for elements
    of 64 bits (measured with AVX-512).
    """
    return fit_beside_others(tiling, columns, beyond) if tiling.lanes <= 8 else e.flag(False)


def fit_beside_others(tiling: Tiling, columns: e.Index, beyond: e.Index) -> e.Value:
    """`are_of_a_wide_tile` for elements of any width."""
    if not has_wide_tile(tiling):
        return e.flag(False)
    return e.compare("ne", e.sub(columns, beyond), e.round_down(columns, 3 * tiling.lanes))


def emit_narrow_tile(block: e.Block, finish: str, tile: NarrowTile, tiling: Tiling, element: e.Type) -> None:
    """Emit the function of a tile.

    Arguments: the address of the first element of A, row stride and element stride of A, the number of rows (a tile
    that lacks rows computes and writes the last one several times); the address of the first element of B, its row
    stride, the depth; the address of the first element of C, its leading dimension, the number of columns from there, a
    flag to add to C.
    """
    size, flag = ir.IndexType.get(), ir.IntegerType.get_signless(1)
    lanes, rows, vectors = tiling.lanes, tile.rows, tile.vectors
    wide, places = tile.lanes(tiling), [v * lanes for v in range(vectors)]
    # `finish` stores masked vectors where masked instructions are slow.
    direct = vectors - (tile.is_masked and tiling.half_lines)
    with e.function(block, tile.name, [*[size] * 10, flag], group=tile.group) as values:
        a_at, a_stride, a_step, total_rows, b_at, b_stride, depth, c_at, c_stride, left, accumulate = values
        a, b, c = (memref_at(at, element, [1], unit_inner=True) for at in (a_at, b_at, c_at))
        own = e.stack(element, rows * lanes) if direct < vectors else None
        where = simd.mask(e.sub(left, places[-1]), wide[-1]) if tile.is_masked else None
        masks = [*[None] * (vectors - 1), where]
        zeros = [e.constant(e.vector_type(count, element), 0) for count in wide] * rows
        offsets = [[e.mul(r, stride) for r in range(rows)] for stride in (a_stride, c_stride)]
        with e.loop(0, total_rows, rows) as row:
            count = e.sub(total_rows, row)
            is_there = [e.compare("lt", r, count) for r in range(rows)]

            def starts_of(stride: e.Value, known: list[e.Index]) -> list[e.Index]:
                first, last = e.mul(row, stride), e.mul(e.sub(total_rows, 1), stride)
                return [
                    e.select(there, e.add(first, offset), last)
                    for there, offset in zip(is_there, known, strict=True)
                ]

            starts, c_starts = starts_of(a_stride, offsets[0]), starts_of(c_stride, offsets[1])

            def old() -> list[e.Value]:
                found = []
                for start in c_starts:
                    found += [
                        simd.load(wide[v], c, e.add(start, places[v]), where=masks[v]) for v in range(direct)
                    ]
                    found += zeros[direct:vectors]
                return found

            types = [value.type for value in zeros]
            initial = e.choose(accumulate, types, old, lambda: zeros) if direct else zeros

            def multiply(asks_left: bool) -> list[e.Value]:
                """The accumulators at the end of the depth."""
                with e.carrying_loop(0, depth, 1, [*initial, e.index(0), e.index(0)], unroll=False) as k:
                    *sums, at, line_at = k.values
                    line = [
                        simd.load(wide[v], b, e.add(line_at, places[v]), where=masks[v])
                        for v in range(vectors)
                    ]
                    if tile.tiles_ahead:
                        beyond = tile.tiles_ahead * tile.columns(tiling)
                        for column in places:
                            e.prefetch_ahead(b, e.add(line_at, beyond + column))
                    if asks_left:  # in one step, adjacent rows of A share a cache line or two
                        later = e.add(at, e.mul(a_step, tile.left_ahead))
                        for start in (starts[0], starts[-1]):
                            e.prefetch(a, e.add(start, later))
                    if tile.right_ahead:
                        later = e.add(line_at, e.mul(b_stride, tile.right_ahead))
                        for column in (*places, tile.columns(tiling) - 1):
                            e.prefetch(b, e.add(later, column))
                    new = []
                    for r, start in enumerate(starts):
                        factor = simd.splat(e.load(a, e.add(start, at)), lanes)
                        factors = [
                            factor if count == lanes else simd.lanes_of(factor, 0, count) for count in wide
                        ]
                        before = sums[r * vectors : (r + 1) * vectors]
                        new += [
                            simd.fma(factor, x, y, tiling.fused)
                            for factor, x, y in zip(factors, line, before, strict=True)
                        ]
                    k.give([*new, e.add(at, a_step), e.add(line_at, b_stride)])
                return k.results[: rows * vectors]

            if tile.left_ahead:
                are_apart = e.all_of(e.compare("ne", a_step, 1), e.compare("gt", depth, 2 * tile.left_ahead))
                sums = e.choose(are_apart, types, lambda: multiply(True), lambda: multiply(False))
            else:
                sums = multiply(False)
            totals = [sums[r * vectors : (r + 1) * vectors] for r in range(rows)]
            for start, total in zip(c_starts, totals, strict=True):
                for v in range(direct):
                    simd.store(total[v], c, e.add(start, places[v]), where=masks[v])
            if own is not None:
                for r, total in enumerate(totals):
                    simd.store(total[direct], own, r * lanes)
                first = e.add(e.mul(row, c_stride), direct * lanes)
                place = e.add(c_at, e.mul(first, item_bytes(element)))
                beside = [place, c_stride, e.sub(left, direct * lanes), accumulate]
                e.call(finish, [address(e.metadata(own), 0), e.minimum(count, rows), *beside])


def place_in(parts: e.Strided, row: e.Index, column: e.Index) -> e.Value:
    """The address of an element of a matrix."""
    (down, right) = parts.strides
    return address(parts, e.add(e.mul(row, down), e.mul(column, right)))
