"""Contractions on memrefs, reduced to GEMMs.

A contraction multiplies two operands, each read through a projection of the iteration space, and sums the products. A
dimension of that space belongs to one of four classes, by the buffers that it occurs in: *batch* (A, B and C), *m* (A
and C), *n* (B and C) and *k* (A and B). One group each of m, n and k becomes the GEMM; loops run over the others. A
group has several dimensions only if they are contiguous in memory. `lower_contractions` recognises contractions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.emit import address
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.epilogue import scalars_of
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, finished, row_entry
from relax_mlir.lowering.kernels.gemm.gemm_micro import Rounding, is_done_by_tiles, result_of_sums
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.lowering.kernels.windows.window_params import Windows, reserve_words
from relax_mlir.mlir import ir

Dims = tuple[int, ...]
"""Dimensions of the iteration space."""

Axes = tuple[int | None, ...]
"""The dimension that each axis of a buffer follows; None for an axis that is read at 0 only (broadcast)."""

FLOPS_PER_CYCLE = 16
"""Approximate multiplications per cycle, for the cost of the loops around GEMM calls."""


@dataclass(frozen=True)
class Operand:
    """A buffer and the dimension that each of its axes follows."""

    buffer: e.Value
    axes: Axes

    @property
    def dims(self) -> Dims:
        """The dimensions, in the order of the axes."""
        return tuple(d for d in self.axes if d is not None)

    @property
    def contiguous(self) -> bool:
        """True if the type has the identity layout: row-major without gaps."""
        return bool(self.buffer.type.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(self.axes))))

    @property
    def unit_inner(self) -> bool:
        """True if the type has unit stride along the last axis."""
        strides, _ = self.buffer.type.get_strides_and_offset()
        return not strides or strides[-1] == 1

    def joins(self, left: int, right: int) -> bool:
        """True if two dimensions are contiguous in memory, `left` the outer one, or if neither moves the operand."""
        if right not in self.axes or left not in self.axes:
            return right not in self.axes and left not in self.axes
        at = self.axes.index(right)
        return self.contiguous and at > 0 and self.axes[at - 1] == left


@dataclass(frozen=True)
class Finish:
    """The elementwise operation after a contraction that is its epilogue, and its buffers in order.

    `consumes`: nothing else reads the accumulators, and the operation writes another buffer.
    """

    operation: ir.Operation
    operands: tuple[Operand, ...]
    consumes: bool = False

    def rounds_to(self, element: str) -> bool:
        """True if the epilogue only rounds the accumulators to an element type, and nothing else reads them."""
        first, *others = (op.operation for op in entry_block(self.operation).operations)
        out = self.operands[-1]
        return (
            self.consumes
            and len(self.operands) == 2
            and first.name == "arith.truncf"
            and [list(op.operands) for op in others] == [list(first.results)]
            and str(out.buffer.type.element_type) == element
            and out.unit_inner
        )


@dataclass(frozen=True)
class Contraction:
    """C += A B, with the groups of dimensions that form the rows, columns and depth of the GEMM.

    `finish`: the epilogue of each block of C, run as soon as the block is complete.
    """

    a: Operand
    b: Operand
    c: Operand
    kernel: GemmKernel
    rows: Dims
    columns: Dims
    depth: Dims
    finish: Finish | None = None
    windows: Windows | None = None
    """The convolution windows that form the columns of B, if any (see `window_params`)."""

    @property
    def end(self) -> ir.Operation | None:
        """The epilogue operation that the kernel also replaces, if any."""
        if self.finish is not None:
            return self.finish.operation
        at_registers = None if self.windows is None else self.windows.finish
        return None if at_registers is None else at_registers.operation

    @property
    def is_row(self) -> bool:
        """True if the GEMM has one row for all sizes, and an entry for that (`emit_gemm_row`)."""
        return not self.rows and self.kernel.result == self.kernel.accumulator

    @property
    def neutral(self) -> float:
        """The fill value of the result that the contraction can overwrite."""
        return 0.0 if self.windows is None else self.windows.kind.neutral

    @property
    def entry(self) -> str:
        """The name of the function that computes the GEMM."""
        if self.windows is not None:
            return self.windows.kind.entry(self.kernel.name)
        return row_entry(self.kernel) if self.is_row else self.kernel.name

    @property
    def loops(self) -> Dims:
        """The dimensions outside of the GEMM; reduction dimensions come last."""
        inside = {*self.rows, *self.columns, *self.depth}
        every = dict.fromkeys((*self.c.dims, *self.a.dims))
        return tuple(d for d in every if d not in inside)

    @property
    def sums_outside(self) -> bool:
        """True if a loop accumulates several GEMMs into one result."""
        return any(d not in self.c.dims for d in self.loops)

    @property
    def is_batch(self) -> bool:
        """True if the innermost loop runs over independent GEMMs whose results are final."""
        inner = [d for d in self.loops[-1:] if d in self.c.dims]
        return bool(inner) and self.finish is None and not self.is_row and self.windows is None

    def emit_call(
        self,
        block: e.Block,
        accumulate: bool,
        tiling: Tiling,
        rounding: Rounding | None,
        panels: tuple[str, e.Value] | None = None,
        batch: str | None = None,
    ) -> None:
        """Emit the loops around the kernel call at the current insertion point.

        `block`: the module's body, where the epilogue's function is defined; `rounding`: the rounding that tiles can
        apply to accumulators; `panels`: the kernel for a prepacked B, and the packed buffer. Accumulators that only the
        epilogue reads are buffered for some rows at a time. They stay in registers if the epilogue only rounds them and
        one block of the depth completes them. `batch`: the kernel that also replaces the innermost loop (`is_batch`).
        """
        call = _Call(self, block, accumulate, tiling, panels, batch)
        finish = self.finish
        if finish is None or not finish.consumes or accumulate:
            call.nest(self.loops, {}, call.product)
        elif self.is_row or rounding is None or not finish.rounds_to(str(rounding.element)):
            call.through_memory()
        else:
            rounds = ep.nothing(block, rounds=True)
            most_depth = tiling.depth if panels else tiling.depth_to_pack(call.high)
            by_tiles = is_done_by_tiles(call.high, call.wide, call.deep, most_depth)
            rounded = partial(call.rounded, rounds)
            e.branch(by_tiles, lambda: call.nest(self.loops, {}, rounded), call.through_memory)


class _Call:
    """The loops around a kernel call (see `Contraction.emit_call`); methods emit at the insertion point.

    `at` maps the dimensions of the enclosing loops to their induction variables.
    """

    def __init__(
        self,
        contraction: Contraction,
        block: e.Block,
        accumulate: bool,
        tiling: Tiling,
        panels: tuple[str, e.Value] | None,
        batch: str | None,
    ) -> None:
        self.contraction, self.accumulate, self.tiling = contraction, accumulate, tiling
        self.panels, self.batch = panels, batch
        a, b, c = contraction.a, contraction.b, contraction.c
        self.parts = {x: e.metadata(x.buffer) for x in ((a, c) if panels else (a, b, c))}
        self.extent = {d: size for x, part in self.parts.items() for d, size in zip(x.axes, part.sizes, strict=True)}
        self.name = panels[0] if panels else contraction.entry
        self.words = None if contraction.windows is None else reserve_words()
        self.high = self._size(contraction.rows)
        self.wide = self._size(contraction.columns)
        self.deep = self._size(contraction.depth)
        finish = contraction.finish
        self.finish = None if finish is None else _FinishCall.prepare(contraction, finish, block, tiling.vectors)

    def _size(self, group: Dims) -> e.Index:
        total: e.Index = 1
        for d in group:
            total = e.mul(total, self.extent[d])
        return total

    def _matrix(
        self,
        x: Operand,
        groups: tuple[Dims, Dims],
        sizes: tuple[e.Index, e.Index],
        at: Mapping[int, e.Value],
        unit_inner: bool = False,
        first: e.Index = 0,
    ) -> e.Value:
        """The matrix of an operand at a loop position, starting at its row `first`."""
        part = self.parts[x]
        stride = dict(zip(x.axes, part.strides, strict=True))
        offset = _offset(stride, at)
        # A missing axis has size 1, so its stride is never used; 0 cannot be mistaken for a unit stride.
        # Poolings have no A, and so no rows of A.
        strides = [stride.get(group[-1], 0) if group else 0 for group in groups]
        start = e.add(offset, e.mul(first, strides[0]))
        return e.view(part, sizes, strides, start, unit_inner=unit_inner)

    def _left(self, at: Mapping[int, e.Value], first: e.Index = 0, rows: e.Index | None = None) -> e.Value:
        whole = self.contraction
        sizes = (self.high if rows is None else rows, self.deep)
        return self._matrix(whole.a, (whole.rows, whole.depth), sizes, at, first=first)

    def _right(self, at: Mapping[int, e.Value], first: e.Index = 0) -> e.Value:
        """B at a loop position; `first`: the first row of A that it is multiplied with."""
        whole = self.contraction
        if self.panels:
            return self.panels[1]
        if whole.windows is not None and self.words is not None:
            part = self.parts[whole.b]
            offset = _offset(dict(zip(whole.b.axes, part.strides, strict=True)), at)
            if whole.windows.kind.by_channel:
                offset = e.add(offset, e.mul(first, part.strides[whole.windows.channel]))
            return whole.windows.write(self.words, part, offset, self.extent, whole.kernel.accumulator)
        return self._matrix(whole.b, (whole.depth, whole.columns), (self.deep, self.wide), at)

    def _result(self, at: Mapping[int, e.Value]) -> e.Value:
        whole = self.contraction
        return self._matrix(whole.c, (whole.rows, whole.columns), (self.high, self.wide), at, True)

    def product(self, at: Mapping[int, e.Value]) -> None:
        """Emit one GEMM call, with the epilogue if there is one."""
        left, right = self._left(at), self._right(at)
        arguments = [left, right, self._result(at), e.flag(self.accumulate)]
        if self.finish is None:
            e.call(self.name, arguments)
        else:
            e.call(finished(self.name), [*arguments, *self.finish.arguments(at)])

    def _by_rows(self, at: Mapping[int, e.Value], sums: e.Strided, step: e.Index) -> None:
        assert self.finish is not None
        with e.loop(0, self.high, step) as first:
            part = e.minimum(e.sub(self.high, first), step)
            left = self._left(at, first, part)
            strides = (self.tiling.sums_stride(self.wide), 1)
            result = e.view(sums, (part, self.wide), strides, unit_inner=True)
            rest = self.finish.arguments(at, first, result)
            e.call(finished(self.name), [left, self._right(at, first), result, e.flag(False), *rest])

    def rounded(self, rounds: ep.Epilogue, at: Mapping[int, e.Value]) -> None:
        """Emit one GEMM call whose tiles round the accumulators into the result."""
        assert self.finish is not None
        left, right = self._left(at), self._right(at)
        *_, (start, leading, _) = self.finish.matrices(at)
        element = e.element_of(self.contraction.c.buffer.type)
        result = result_of_sums(start, leading, (self.high, self.wide), element)
        e.call(finished(self.name), [left, right, result, e.flag(False), *rounds.arguments])

    def _products(self, at: dict[int, e.Value], dimension: int, count: e.Index) -> None:
        """Emit one call for `count` GEMMs of the batch, starting at a loop position."""
        left, right = self._left(at), self._right(at)
        result = self._result(at)
        strides = [dict(zip(x.axes, part.strides, strict=True)) for x, part in self.parts.items()]
        steps = [e.index(stride.get(dimension, 0)) for stride in strides]
        assert self.batch is not None
        e.call(self.batch, [left, right, result, e.flag(self.accumulate), e.index(count), *steps])

    def _cycles(self) -> e.Index:
        whole = self.contraction
        return e.div(self._size((*whole.loops, *whole.rows, *whole.columns, *whole.depth)), FLOPS_PER_CYCLE)

    def nest(self, left: Sequence[int], at: dict[int, e.Value], do: Callable[[dict[int, e.Value]], None]) -> None:
        """Emit loops over the dimensions `left` around `do`; the first may run in parallel."""
        if not left:
            do(at)
            return
        # The parameter block of an epilogue or of windows is rewritten for each GEMM, so threads must not share it.
        alone = self.finish is None and self.words is None
        on_threads = alone and not at and left[0] in self.contraction.c.dims
        cost, total, step = self._cycles() if on_threads else 0, self.extent[left[0]], e.index(1)
        at_once = self.batch is not None and len(left) == 1
        if at_once:
            step = e.index(part_size(total, 1, self.tiling.threads if on_threads else 1, cost))
        around = parallel_loop(0, total, step, cost) if on_threads else e.loop(0, total, step)
        with around as position:
            here = {**at, left[0]: position}
            if at_once:
                self._products(here, left[0], e.minimum(e.sub(total, position), step))
            else:
                self.nest(left[1:], here, do)

    def through_memory(self) -> None:
        """Emit GEMMs whose accumulators are buffered for some rows at a time, for the epilogue to read."""
        step = self.tiling.sum_rows(self.high, self.wide, kept=self.panels is None)
        element = e.element_of(self.contraction.c.buffer.type)
        with e.scratch(element, e.mul(step, self.tiling.sums_stride(self.wide))) as memory:
            sums = e.metadata(memory)
            self.nest(self.contraction.loops, {}, lambda at: self._by_rows(at, sums, step))


def _offset(stride: Mapping[int | None, e.Index], at: Mapping[int, e.Value]) -> e.Index:
    """The offset in elements of a loop position from the start of an operand."""
    offset: e.Index = 0
    for d, position in at.items():
        if d in stride:
            offset = e.add(offset, e.mul(position, stride[d]))
    return offset


@dataclass(frozen=True)
class _FinishCall:
    """The kernel arguments that carry an epilogue."""

    contraction: Contraction
    finish: Finish
    function: e.Value
    words: e.Value
    parts: Mapping[Operand, e.Strided]

    @classmethod
    def prepare(cls, contraction: Contraction, finish: Finish, block: e.Block, vectors: int) -> _FinishCall:
        """Emit the epilogue's function and the loop-invariant part of its arguments."""
        matrices = [_matrix(contraction, operand, finish) for operand in finish.operands]
        name = _fresh(block, f"{contraction.kernel.name}.epilogue")
        ep.emit_epilogue(block, name, finish.operation, matrices, vectors)
        name = _shared(block, name)
        words = ep.reserve_words(len(matrices), len(scalars_of(finish.operation)))
        parts = {operand: e.metadata(operand.buffer) for operand in finish.operands}
        return cls(contraction, finish, ep.reference(name), words, parts)

    def arguments(self, at: Mapping[int, e.Value], first: e.Index = 0, sums: e.Value | None = None) -> list[e.Value]:
        """The epilogue's arguments at a loop position, for rows from `first`.

        `sums`: the matrix that replaces C.
        """
        matrices = self.matrices(at, first, sums)
        words = ep.write_words(self.words, matrices, scalars_of(self.finish.operation))
        return [self.function, words, e.flag(False)]

    def matrices(
        self, at: Mapping[int, e.Value], first: e.Index = 0, sums: e.Value | None = None
    ) -> list[list[e.Index]]:
        """Address and strides of each matrix of the epilogue, the output last; parameters as for `arguments`."""
        matrices: list[list[e.Index]] = []
        groups = (self.contraction.rows, self.contraction.columns)
        for operand in self.finish.operands:
            if sums is not None and operand.buffer == self.contraction.c.buffer:
                parts = e.metadata(sums)
                matrices.append([address(parts, 0), *parts.strides])
                continue
            parts = self.parts[operand]
            stride = dict(zip(operand.axes, parts.strides, strict=True))
            strides = [stride.get(group[-1], 0) if group else 0 for group in groups]
            offset = e.add(_offset(stride, at), e.mul(first, strides[0]))
            matrices.append([address(parts, offset), *strides])
        return matrices


def _matrix(contraction: Contraction, operand: Operand, finish: Finish) -> ep.Matrix:
    """Describe an operand to the epilogue; C and the output always have rows and columns."""
    rows, columns = contraction.rows, contraction.columns
    full = operand.buffer in (contraction.c.buffer, finish.operands[-1].buffer)
    by_row = full or any(d in operand.axes for d in rows)
    by_column = full or any(d in operand.axes for d in columns)
    last = bool(columns) and bool(operand.axes) and operand.axes[-1] == columns[-1]
    unit = by_column and ((last and operand.unit_inner) or (full and not columns))
    return ep.Matrix(operand.buffer.type.element_type, by_row, by_column, unit)


def _fresh(block: e.Block, prefix: str) -> str:
    names = {op.attributes["sym_name"].value for op in block.operations if "sym_name" in op.attributes}
    number = 0
    while f"{prefix}_{number}" in names:
        number += 1
    return f"{prefix}_{number}"


def _shared(block: e.Block, name: str) -> str:
    """Replace an epilogue's function by an identical existing one, if there is one; return the name to call."""
    named = [op for op in block.operations if "sym_name" in op.attributes]
    functions: dict[str, ir.OpView] = {op.attributes["sym_name"].value: op for op in named}
    prefix = name[: name.rindex("_") + 1]
    text = _text(functions[name], name)
    for other, function in functions.items():
        if other != name and other.startswith(prefix) and _text(function, other) == text:
            functions[name].operation.erase()
            return other
    return name


def _text(function: ir.OpView, name: str) -> str:
    text = function.operation.get_asm(use_local_scope=True, assume_verified=True)
    assert isinstance(text, str)
    return text.replace(f"@{name}(", "(", 1)
