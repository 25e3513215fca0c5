"""Generator of GEMM kernels: C = A B or C += A B, with dynamic sizes and operands of any strides.

The entry function selects a code path at run time by sizes and strides. With very few rows or columns, the matrix is
streamed unpacked (`gemm_small_m`); this includes somewhat larger GEMMs whose operands are both contiguous along the
depth. Small-N (`gemm_small_n`) and small-M (`gemm_small_m`) GEMMs read both operands in place. Depth 1 is an outer
product (`gemm_rank1`). All others follow Goto and van de Geijn: blocks of A and B are packed (`gemm_pack`; bf16 in
pairs, `gemm_dot_pairs`, if the target has pair dot products) and multiplied by a micro-kernel (`gemm_micro`), whose
size depends on the target (`gemm_tiling`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import address
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm import gemm_amx
from relax_mlir.lowering.kernels.gemm.gemm_amx import emit_amx
from relax_mlir.lowering.kernels.gemm.gemm_blocks import (
    Parts,
    emit_block,
    emit_packed,
    emit_shared,
    signature,
)
from relax_mlir.lowering.kernels.gemm.gemm_micro import Rounding, is_done_by_tiles, result_of_sums
from relax_mlir.lowering.kernels.gemm.gemm_pack import (
    PAIR,
    Packing,
    PairPacking,
    can_round,
    has_dots,
    rounded,
)
from relax_mlir.lowering.kernels.gemm.gemm_small_m import emit_few_rows, emit_thin, emit_thin_row, is_few_rows
from relax_mlir.lowering.kernels.gemm.gemm_small_n import (
    TallTiles,
    emit_narrow,
    emit_narrow_left,
    emit_narrow_transposed,
    has_narrow,
    has_near_rows,
    has_wide_tile,
    is_narrow,
    narrow_product,
)
from relax_mlir.lowering.kernels.gemm.gemm_tiling import MAX_ROWS, Tiling, tiling
from relax_mlir.lowering.kernels.gemm.gemv import (
    LONG_DOTS,
    MAX_NARROW_ROWS,
    clear_rows,
    emit_by_dots,
    emit_by_rows,
    emit_outer,
    max_dot_rows,
    outer_product,
)
from relax_mlir.lowering.kernels.library import define
from relax_mlir.mlir import ir
from relax_mlir.target import Target

_Change = Callable[[e.Value, e.Type], e.Value]
"""Converts floats to an element type."""

FLOATS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
"""Element types of GEMM operands, and their bits."""


@dataclass(frozen=True)
class GemmKernel:
    """The element types of a GEMM by their MLIR names: operands (equal) and result."""

    operand: str
    result: str

    @property
    def accumulator(self) -> str:
        """The accumulator type: f64 for f64, else f32."""
        return "f64" if self.operand == "f64" else "f32"

    @property
    def supported(self) -> bool:
        """True if a kernel can be generated."""
        return self.operand in FLOATS and self.result in (self.accumulator, self.operand)

    @property
    def name(self) -> str:
        """Name of the generated function."""
        suffix = "" if self.operand == self.result else f".{self.result}"
        return f"relax.gemm.{self.operand}{suffix}"


def emit_gemm(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Provide a GEMM in the module with the body `block` (see `define`); return the name of the entry.

    Entry: ``(A: memref<?x?xT, strided<[?, ?], offset: ?>>, B: the same, C: memref<?x?xU, strided<[?, 1],
    offset: ?>>, accumulate: i1)``, with A of M x K, B of K x N, C of M x N; M, N and K may be 0.
    C must not overlap A or B. `finished` names the entry that also takes an epilogue (see `epilogue`).
    """
    if kernel.result != kernel.accumulator:
        define(block, target, (kernel.name,), lambda body: _emit_rounding(body, kernel, target))
    else:
        exported = (kernel.name, finished(kernel.name))
        define(block, target, exported, lambda body: _emit_exact(body, kernel, target))
    return kernel.name


def _emit_exact(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Emit the functions of a GEMM whose result has the type of the accumulators."""
    source, element = _type(kernel.operand), _type(kernel.accumulator)
    parts = Parts(kernel.name)
    sizes = tiling_of(kernel, target)
    with e.function(block, kernel.name, signature(source, element)) as arguments:
        e.call(finished(kernel.name), [*arguments, *ep.nothing(block).arguments])
    _emit_entry(block, parts, sizes, source, element)
    emit_thin(block, parts, sizes, source, element)
    _emit_streams(block, kernel, target)
    emit_by_rows(block, parts.rows(2), sizes, source, element, 2)
    if source == element:
        emit_outer(block, parts, sizes, element)
    if has_narrow(sizes, source, element):
        emit_narrow(block, parts, sizes, element)
        emit_narrow_transposed(block, parts, packing_of(block, kernel, target))
        emit_narrow_left(block, parts, packing_of(block, kernel, target))
        if has_wide_tile(sizes):
            emit_few_rows(block, parts, sizes, element)
    if uses_amx(kernel, target):
        emit_amx(block, kernel.name, target)
        return
    packing = packing_of(block, kernel, target)
    emit_packed(block, parts, packing, element)
    if sizes.threads > 1:
        emit_shared(block, parts, packing, element)
    packing.emit_b()
    emit_left_and_tiles(block, kernel, target)


def row_entry(kernel: GemmKernel) -> str:
    """Name of the entry for GEMMs of one row."""
    return f"{kernel.name}.row"


def emit_gemm_row(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Provide a GEMM with one static row in the module with the body `block`; return the name of the entry.

    The entry is like that of `emit_gemm` with M = 1, for results that are not rounded. It needs only part of the code.
    """
    name = row_entry(kernel)
    define(block, target, (name, finished(name)), lambda body: _emit_row(body, kernel, target))
    return name


def _emit_row(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Emit the functions of a GEMM with one row."""
    name = row_entry(kernel)
    source, element = _type(kernel.operand), _type(kernel.accumulator)
    parts, sizes = Parts(kernel.name), tiling_of(kernel, target)
    types = signature(source, element)
    with e.function(block, name, types) as arguments:
        e.call(finished(name), [*arguments, *ep.nothing(block).arguments])
    with e.function(block, finished(name), [*types, *ep.types()]) as (
        a,
        b,
        c,
        accumulate,
        *rest,
    ):
        columns = e.dim(c, 1)

        def empty_sum() -> None:
            with e.when(e.negate(accumulate)):
                clear_rows(sizes.lanes, c, 0, 1, columns)

        def product() -> None:
            e.call(parts.skinny_row, [a, b, c, accumulate])

        e.branch(e.compare("eq", e.dim(a, 1), 0), empty_sum, product)
        ep.Epilogue(*rest).run(0, 1, 0, columns)
    emit_thin_row(block, parts, sizes, source, element)
    _emit_streams(block, kernel, target)


def _emit_streams(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Provide the functions of the code path for one row: dot products, and updates of the row."""
    source, element = _type(kernel.operand), _type(kernel.accumulator)
    parts, sizes = Parts(kernel.name), tiling_of(kernel, target)

    def emit(body: e.Block) -> None:
        emit_by_dots(body, parts.dots, sizes, source, element)
        emit_by_rows(body, parts.rows(1), sizes, source, element, 1)

    define(block, target, (parts.dots, parts.rows(1)), emit)


def emit_tiles(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Provide the GEMM of packed blocks in the module with the body `block`; return its name (see `emit_block`)."""
    parts = Parts(kernel.name)

    def emit(body: e.Block) -> None:
        packing, element = packing_of(body, kernel, target), _type(kernel.accumulator)
        operands = (packing.element, packing.element)
        emit_block(body, parts, packing.tiling, element, operands, rounding_of(kernel, target))

    define(block, target, (parts.block,), emit)
    return parts.block


def emit_left_and_tiles(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Provide the functions shared with the GEMM of a prepacked B: packing of A, blocks, micro-kernels."""
    exported = packing_of(block, kernel, target).left_names
    define(block, target, exported, lambda body: packing_of(body, kernel, target).emit_a())
    emit_tiles(block, kernel, target)


def packing_of(block: e.Block, kernel: GemmKernel, target: Target) -> Packing:
    """The packing of a GEMM: widened elements, or pairs."""
    source, sizes = _type(kernel.operand), tiling_of(kernel, target)
    if uses_dots(kernel, target):
        return PairPacking(block, kernel.name, sizes, source, source)
    return Packing(block, kernel.name, sizes, source, _type(kernel.accumulator))


def tiling_of(kernel: GemmKernel, target: Target) -> Tiling:
    """The tiling of a GEMM."""
    return tiling(target, FLOATS[kernel.accumulator], PAIR if uses_dots(kernel, target) else 1)


def uses_dots(kernel: GemmKernel, target: Target) -> bool:
    """True if the GEMM uses dot products of pairs."""
    return has_dots(kernel.operand, target) and not uses_amx(kernel, target)


def uses_amx(kernel: GemmKernel, target: Target) -> bool:
    """True if the GEMM uses AMX tiles."""
    return kernel.operand == "bf16" and target.has(*gemm_amx.FEATURES)


def rounding_of(kernel: GemmKernel, target: Target) -> Rounding | None:
    """The rounding that tiles can apply to accumulators; None if operands are not narrower, or for AMX tiles."""
    if uses_amx(kernel, target):
        return None
    return Rounding.of(_type(kernel.operand), _type(kernel.accumulator), uses_dots(kernel, target))


def finished(name: str) -> str:
    """Name of the entry with an epilogue, from that of the entry without."""
    return f"{name}.finished"


def _type(name: str) -> e.Type:
    return ir.Type.parse(name)


def _transposed(parts: e.Strided) -> e.Value:
    """View a matrix transposed."""
    return e.view(parts, parts.sizes[::-1], parts.strides[::-1])


def _emit_entry(block: e.Block, parts: Parts, sizes: Tiling, source: e.Type, element: e.Type) -> None:
    """Emit the entry: handle an empty depth, then select the code path for the sizes."""
    types = [*signature(source, element), *ep.types()]
    with e.function(block, finished(parts.entry), types) as (
        a,
        b,
        c,
        accumulate,
        *rest,
    ):
        epilogue = ep.Epilogue(*rest)
        a_parts, b_parts, c_parts = e.metadata(a), e.metadata(b), e.metadata(c)
        (rows, columns), depth = c_parts.sizes, a_parts.sizes[1]

        def empty_sum() -> None:
            with e.when(e.negate(accumulate)):
                clear_rows(sizes.lanes, c, 0, rows, columns)
            epilogue.run(0, rows, 0, columns)

        def one_column() -> None:
            line = e.view(c_parts, (1, rows), (rows, 1), unit_inner=True)
            e.call(parts.skinny, [_transposed(b_parts), _transposed(a_parts), line, accumulate])
            epilogue.run(0, rows, 0, columns)

        def thin() -> None:
            e.call(parts.skinny, [a, b, c, accumulate])
            epilogue.run(0, rows, 0, columns)

        arguments = [a, b, c, accumulate, *rest]

        def packed() -> None:
            e.call(parts.packed, arguments)

        def by_dots() -> e.Value:
            """True if dot products along contiguous depth are faster than packing."""
            lie = [e.compare("eq", a_parts.strides[1], 1), e.compare("eq", b_parts.strides[0], 1)]
            # In packed tiles, few columns would leave lanes idle.
            few_columns = e.compare("le", columns, sizes.columns // 2)
            few_dots = e.any_of(e.compare("le", rows, max_dot_rows(sizes)), few_columns)
            return e.all_of(*lie, few_dots, e.compare("ge", depth, LONG_DOTS * sizes.lanes))

        def product() -> None:
            # A contiguous column is the row of the transposed GEMM.
            column = e.all_of(e.compare("eq", columns, 1), e.compare("eq", c_parts.strides[0], 1))
            few = e.compare("le", rows, MAX_ROWS)
            if source == element:  # otherwise tiles may have to round GEMMs of more rows
                small = e.all_of(e.compare("le", rows, MAX_NARROW_ROWS), e.compare("le", columns, sizes.lanes))
                if has_narrow(sizes, source, element):  # the tiles of `gemm_small_n` have as many rows
                    lies = e.all_of(has_near_rows(b_parts), is_narrow(a_parts, b_parts, sizes))
                    small = e.all_of(small, e.negate(lies))
                few = e.any_of(few, small, by_dots())
            e.branch(column, one_column, lambda: e.branch(few, thin, many_rows))

        def many_rows() -> None:
            if has_narrow(sizes, source, element):
                e.branch(is_narrow(a_parts, b_parts, sizes), narrow, wide)
            else:
                packed()

        def wide() -> None:
            if not has_wide_tile(sizes):
                packed()
                return
            e.branch(is_few_rows(a_parts, b_parts), lambda: e.call(parts.few_rows, arguments), packed)

        def narrow() -> None:
            columns_lie = e.compare("eq", b_parts.strides[0], 1)
            e.branch(
                has_near_rows(b_parts),
                lambda: narrow_product(TallTiles(parts, sizes, element), a_parts, columns, arguments),
                lambda: e.branch(columns_lie, lambda: e.call(parts.narrow_transposed, arguments), packed),
            )

        def some_depth() -> None:
            if source != element:
                product()
                return
            is_row = e.compare("eq", b_parts.strides[1], 1)
            is_outer = e.all_of(e.compare("eq", depth, 1), is_row, e.negate(accumulate))
            e.branch(is_outer, lambda: outer_product(parts, a, b, c, element, epilogue), product)

        e.branch(e.compare("eq", depth, 0), empty_sum, some_depth)


def _emit_rounding(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Emit a GEMM whose result is narrower than the accumulators; each is rounded once, when it is complete."""
    inner = emit_gemm(block, GemmKernel(kernel.operand, kernel.accumulator), target)
    source, element, narrow = _type(kernel.operand), _type(kernel.accumulator), _type(kernel.result)
    sizes = tiling_of(kernel, target)
    exact = _emit_round(block, f"{kernel.name}.round", sizes.lanes, element, narrow)
    quick = exact
    if uses_dots(kernel, target) and can_round(sizes.lanes):
        name = f"{kernel.name}.round_dots"
        quick = _emit_round(block, name, sizes.lanes, element, narrow, rounded)
    with e.function(block, kernel.name, signature(source, narrow)) as (a, b, c, accumulate):
        a_parts, c_parts = e.metadata(a), e.metadata(c)
        rows, columns, depth = e.dim(c, 0), e.dim(c, 1), e.dim(a, 1)
        words, nothing = ep.reserve_words(2, 0), ep.nothing(block, rounds=True)

        def by_tiles() -> None:
            result = result_of_sums(address(c_parts, 0), c_parts.strides[0], (rows, columns), element)
            e.call(finished(inner), [a, b, result, e.flag(False), *nothing.arguments])

        def through_memory() -> None:
            step, leading = sizes.sum_rows(rows, columns, kept=True), sizes.sums_stride(columns)
            with (
                e.scratch(element, e.mul(step, leading)) as memory,
                e.loop(0, rows, step) as i,
            ):
                high = e.minimum(e.sub(rows, i), step)
                sums = e.view(e.metadata(memory), (high, columns), (leading, 1), unit_inner=True)
                with e.when(accumulate):
                    _convert(sizes.lanes, c, i, sums, 0, (high, columns))
                left = e.view(a_parts, (high, depth), a_parts.strides, e.mul(i, a_parts.strides[0]))
                places: list[Sequence[e.Index]] = [(address(e.metadata(sums), 0), leading, 1)]
                places.append((address(c_parts, e.mul(i, c_parts.strides[0])), *c_parts.strides))
                finish = ep.write_words(words, places, [])
                arguments = [left, b, sums, accumulate]

                def product(rounding: str) -> None:
                    rest = [ep.reference(rounding), finish, e.flag(False)]
                    e.call(finished(inner), [*arguments, *rest])

                if quick == exact:
                    product(exact)
                else:  # small-M code paths do not accumulate by `dot`
                    few = e.compare("le", high, MAX_ROWS)
                    e.branch(few, lambda: product(exact), lambda: product(quick))

        if rounding_of(kernel, target) is None:
            through_memory()
        else:
            done = is_done_by_tiles(rows, columns, depth, sizes.depth_to_pack(rows))
            e.branch(e.all_of(done, e.negate(accumulate)), by_tiles, through_memory)


def _emit_round(
    block: e.Block,
    name: str,
    lanes: int,
    element: e.Type,
    narrow: e.Type,
    change: _Change | None = None,
) -> str:
    """Emit the epilogue that rounds its first matrix, the accumulators, into its second; return its name."""
    with ep.function(block, name) as (words, *place):
        sums, result = (
            ep.part(ep.Matrix(type_, by_row=True, by_column=True, unit_inner=True), words, number, *place)
            for number, type_ in enumerate((element, narrow))
        )
        _, rows, _, columns = place
        _convert(lanes, sums, 0, result, 0, (rows, columns), change)
    return name


def _convert(
    lanes: int,
    source: e.Value,
    at: e.Index,
    result: e.Value,
    to: e.Index,
    shape: tuple[e.Index, e.Index],
    change_vector: _Change | None = None,
) -> None:
    """Copy rows to a matrix of another float type, from row `at` to row `to`; both have unit inner stride.

    `change_vector`: the conversion of vectors, if it differs from that of scalars.
    """
    element = e.element_of(result.type)
    change = simd.widen if element.width > e.element_of(source.type).width else simd.narrow
    rows, columns = shape
    full = e.round_down(columns, lanes)
    with e.loop(0, rows) as i:
        read, write = e.add(at, i), e.add(to, i)
        with e.loop(0, full, lanes) as j:
            vector = simd.load(lanes, source, read, j)
            simd.store((change_vector or change)(vector, element), result, write, j)
        with e.loop(full, columns) as j:
            e.store(change(e.load(source, read, j), element), result, write, j)
