"""Packing for pair dot products: bf16 operands whose neighbours along the depth are adjacent.

x86's ``vdpbf16ps`` multiplies two pairs of bf16 in each 32-bit lane and adds both products to an f32. So a packed row
of A is a copy padded to an even depth, and a packed panel of B holds, for two rows of B at a time, both elements of
each column. The instruction treats subnormal inputs as zeros and flushes subnormal results to zero (Intel, "Intel 64
and IA-32 Architectures Software Developer's Manual", volume 2, VDPBF16PS).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.simd import transpose
from relax_mlir.lowering.kernels.gemm.gemm_pack import Packing
from relax_mlir.mlir import arith, ir, llvm, vector
from relax_mlir.target import Target

PAIR = 2

_LINES = 4
"""Rows of B that are packed together, as in `gemm_pack`."""


def has_dots(operand: str, target: Target) -> bool:
    """True if the target multiplies pairs of elements of this type, in vectors of its full width."""
    needed = ["avx512_bf16", *["avx512vl"] * (target.vector_bytes < 64)]
    return operand == "bf16" and target.has(*needed) and 16 <= target.vector_bytes <= 64


def dot(left: e.Value, right: e.Value, total: e.Value) -> e.Value:
    """`total` (f32) plus, in each lane, the products of two pairs of bf16."""
    return ir.Operation.create("x86.avx512.dot", results=[total.type], operands=[total, left, right]).results[
        0
    ]


def can_round(lanes: int) -> bool:
    """True if an instruction rounds this many f32 to bf16, on targets with `dot`."""
    return lanes in (8, 16)


def rounded(sums: e.Value, element: e.Type) -> e.Value:
    """Round a vector of f32 to the `element` bf16 in one instruction.

    It treats subnormal numbers as zeros, like `dot`. (LLVM's own rounding, which selects the same instruction, does not
    state this.)
    """
    lanes = sums.type.shape[0]
    name = f"llvm.x86.avx512bf16.cvtneps2bf16.{lanes * sums.type.element_type.width}"
    return llvm.CallIntrinsicOp(e.vector_type(lanes, element), name, [sums], [], []).result


def splat_pair(memory: e.Value, at: e.Index, lanes: int) -> e.Value:
    """Broadcast the pair of elements at an offset to all 32-bit lanes."""
    element = e.element_of(memory.type)
    bits = vector.BitCastOp(_words(1), simd.load(PAIR, memory, at)).result
    wide = simd.splat(simd.lane(bits, 0), lanes)
    return vector.BitCastOp(e.vector_type(PAIR * lanes, element), wide).result


def halves(pairs: e.Value) -> list[e.Value]:
    """Split a vector of pairs of bf16 into first and second elements, in f32."""
    lanes = pairs.type.shape[0] // PAIR
    words, wide = vector.BitCastOp(_words(lanes), pairs).result, e.vector_type(lanes, ir.F32Type.get())
    first = arith.shli(words, e.constant(words.type, 16))
    second = arith.andi(words, e.constant(words.type, -1 << 16))
    return [vector.BitCastOp(wide, bits).result for bits in (first, second)]


class PairPacking(Packing):
    """Packing by squares: N lines (rows of A, columns of B) by N pairs, for vectors of N lanes."""

    @property
    def square(self) -> str:
        """Name prefix of the functions that pack a square (see `_emit_square`)."""
        return f"{self.prefix}.pack_square"

    @property
    def left_names(self) -> tuple[str, ...]:
        return (self.a,)

    def emit_a(self) -> None:
        """Emit `a`, as `Packing.emit_a` does."""
        size, flat = ir.IndexType.get(), e.flat_memref(self.element)
        arguments = [e.strided_memref(self.source, 2), size, size, size, size, flat, size]
        name = self._emit_square("a", by_pair=False)
        lanes, deep = self.tiling.lanes, PAIR * self.tiling.lanes
        with e.function(self.block, self.a, arguments, group=self.groups.pack) as values:
            a, row, rows, column, columns, packed, leading = values
            with e.loop(0, rows, lanes) as i, e.loop(0, columns, deep) as k:
                place = e.add(e.mul(i, leading), k)
                what = [e.add(row, i), e.sub(rows, i), e.add(column, k), e.sub(columns, k)]
                e.call(name, [a, *what, packed, place, leading])

    def emit_b(self) -> None:
        """Emit `b`, as `Packing.emit_b` does."""
        size, flat = ir.IndexType.get(), e.flat_memref(self.element)
        arguments = [e.strided_memref(self.source, 2), size, size, size, size, flat, size, size]
        name = self._emit_square("b", by_pair=True)
        lanes, wide = self.tiling.lanes, self.tiling.columns
        deep = PAIR * lanes
        with e.function(self.block, self.b, arguments, group=self.groups.plain_b) as (
            b,
            row,
            rows,
            column,
            columns,
            packed,
            at,
            leading,
        ):
            parts = e.metadata(b)
            lines = e.view(parts, parts.sizes[::-1], parts.strides[::-1])
            full_rows, full_columns = e.round_down(rows, _LINES), e.round_down(columns, wide)

            def pack(j: e.Index, k: e.Index) -> None:
                panel = e.add(at, e.add(e.mul(j, leading), e.mul(k, wide)))
                with e.loop(0, wide, lanes) as v:
                    first = e.add(j, v)
                    left = e.sub(e.maximum(columns, first), first)
                    what = [e.add(column, first), left, e.add(row, k), e.sub(rows, k)]
                    place = e.add(panel, e.mul(v, PAIR))
                    e.call(name, [lines, *what, packed, place, e.index(PAIR * wide)])

            def by_rows() -> None:
                consecutive = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
                with e.loop(0, full_rows, _LINES) as k, e.loop(0, full_columns, wide) as j:
                    place = e.add(at, e.add(e.mul(j, leading), e.mul(k, wide)))
                    self._pack_lines(consecutive, e.add(row, k), e.add(column, j), packed, place)
                with e.loop(full_rows, rows, deep) as k, e.loop(0, full_columns, wide) as j:
                    pack(j, k)
                with e.when(e.compare("ne", full_columns, columns)), e.loop(0, rows, deep) as k:
                    pack(full_columns, k)

            def by_squares() -> None:
                with e.loop(0, columns, wide) as j, e.loop(0, rows, deep) as k:
                    pack(j, k)

            e.branch(e.compare("eq", parts.strides[1], 1), by_rows, by_squares)

    def _pack_lines(
        self, lines: e.Value, row: e.Index, column: e.Index, packed: e.Value, place: e.Index
    ) -> None:
        """Pack several rows of a panel of B, each loaded as one vector."""
        lanes, wide = self.tiling.lanes, self.tiling.columns
        for r in range(0, _LINES, PAIR):
            pair = [simd.load(wide, lines, e.add(row, r + n), column) for n in range(PAIR)]
            for v in range(self.tiling.vectors):
                value = interleaved(*(simd.lanes_of(x, v * lanes, lanes) for x in pair))
                simd.store(value, packed, e.add(place, r * wide + v * lanes * PAIR))

    def _emit_square(self, ending: str, by_pair: bool) -> str:
        """Emit the function that packs a square, and return its name.

        Arguments: an operand, lines x depth; first line, and the number of lines from there; first depth, and the depth
        from there; destination, offset in it, and its stride. The destination gets rows of some pairs of a line, or,
        `by_pair`, rows of a pair of each line. Out-of-bounds elements are zeros.
        """
        name = f"{self.square}_{ending}"
        size, lanes = ir.IndexType.get(), self.tiling.lanes
        wide = PAIR * lanes
        type_, operand = e.vector_type(wide, self.source), e.strided_memref(self.source, 2)
        arguments = [operand, size, size, size, size, e.flat_memref(self.source), size, size]
        with e.function(self.block, name, arguments, group=self.groups.pack) as values:
            x, line, lines, depth, deep, packed, at, leading = values
            parts, buffer = e.metadata(x), e.stack(self.source, lanes * wide)

            def where(
                whole: bool, number: int, numbers: e.Value, count: e.Value, most: int
            ) -> e.Value | None:
                """The mask of the in-bounds elements of a vector: the first `count`, if `number` is below `numbers`."""
                if whole:
                    return None
                return simd.mask(e.select(e.compare("lt", number, numbers), count, 0), most)

            def along(whole: bool) -> list[e.Value]:
                view = e.view(parts, parts.sizes, parts.strides, unit_inner=True)
                masks = [where(whole, q, lines, deep, wide) for q in range(lanes)]
                rows = [simd.load(wide, view, e.add(line, q), depth, where=m) for q, m in enumerate(masks)]
                return transposed(rows) if by_pair else rows

            def across(whole: bool) -> list[e.Value]:
                view = e.view(parts, parts.sizes[::-1], parts.strides[::-1], unit_inner=True)
                masks = [where(whole, k, deep, lines, lanes) for k in range(wide)]
                single = [simd.load(lanes, view, e.add(depth, k), line, where=m) for k, m in enumerate(masks)]
                pairs = [interleaved(*single[k : k + PAIR]) for k in range(0, wide, PAIR)]
                return pairs if by_pair else transposed(pairs)

            def elements() -> list[e.Value]:
                with e.loop(0, lanes) as q, e.loop(0, wide) as k:
                    inside = e.all_of(e.compare("lt", q, lines), e.compare("lt", k, deep))
                    value = e.load_if(inside, x, e.add(line, q), e.add(depth, k))
                    e.store(value, buffer, e.add(e.mul(q, wide), k))
                rows = [simd.load(wide, buffer, q * wide) for q in range(lanes)]
                return transposed(rows) if by_pair else rows

            types = [type_] * lanes
            is_along, is_across = (e.compare("eq", parts.strides[axis], 1) for axis in (1, 0))
            is_whole = e.all_of(e.compare("ge", lines, lanes), e.compare("ge", deep, wide))

            def loaded(way: Callable[[bool], list[e.Value]]) -> list[e.Value]:
                return e.choose(is_whole, types, lambda: way(True), lambda: way(False))

            def others() -> list[e.Value]:
                return e.choose(is_across, types, lambda: loaded(across), elements)

            vectors = e.choose(is_along, types, lambda: loaded(along), others)
            count = e.ceildiv(e.minimum(deep, wide), PAIR) if by_pair else e.minimum(lines, lanes)

            def all_of_them() -> None:
                for q, value in enumerate(vectors):
                    simd.store(value, packed, e.add(at, e.mul(leading, q)))

            def some() -> None:
                for q, value in enumerate(vectors):
                    simd.store(value, buffer, q * wide)
                with e.loop(0, count) as line:
                    value = simd.load(wide, buffer, e.mul(line, wide))
                    simd.store(value, packed, e.add(at, e.mul(leading, line)))

            e.branch(e.compare("eq", count, lanes), all_of_them, some)
        return name


def _words(count: int) -> e.Type:
    return e.vector_type(count, ir.IntegerType.get_signless(32))


def transposed(rows: Sequence[e.Value]) -> list[e.Value]:
    """Transpose a square of pairs."""
    words = transpose([vector.BitCastOp(_words(len(rows)), row).result for row in rows])
    return [vector.BitCastOp(rows[0].type, row).result for row in words]


def interleaved(a: e.Value, b: e.Value) -> e.Value:
    """Interleave elements of `a` and `b`, as bits, like other moves of bf16."""
    lanes, element = a.type.shape[0], a.type.element_type
    half = e.vector_type(lanes, ir.IntegerType.get_signless(16))
    result = vector.InterleaveOp(*(vector.BitCastOp(half, x).result for x in (a, b))).result
    return vector.BitCastOp(e.vector_type(PAIR * lanes, element), result).result
