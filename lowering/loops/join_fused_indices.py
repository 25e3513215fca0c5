"""Pass `join-fused-indices`: replace delinearised indices of a fused loop by its induction variable (level V)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.ir_queries import defining_op, entry_block, ops_of
from relax_mlir.lowering.analysis.dependence import Access, digit_of, joined
from relax_mlir.lowering.analysis.index_ranges import Ranges, quotient_of
from relax_mlir.lowering.analysis.loop_annotations import annotated_functions
from relax_mlir.mlir import ir, memref
from relax_mlir.symbolic import prove_equal
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import run_native


@dataclass(frozen=True)
class JoinFusedIndices(ModulePass):
    """Access `A[f // n, f % n]`, where the last dimension of A has length n, as element f of a flattened A.

    This applies to any number of adjacent dimensions. Loops that have been fused and split then access contiguous
    elements, as other loops do. Only prim funcs with annotated loops are rewritten.
    """

    name: ClassVar[str] = "join-fused-indices"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in annotated_functions(module):
            if not any(quotient_of(op.results[0]) for op in ops_of(function.operation, "arith.floordivsi")):
                continue
            run_native("func.func(cse)", function.operation)
            joiner = _Joiner(Ranges(function))
            for op in ops_of(function.operation, "memref.load", "memref.store"):
                joiner.join(op)


@dataclass
class _Joiner:
    ranges: Ranges
    views: dict[tuple[ir.Value, int, int], ir.Value] = field(default_factory=dict)

    def join(self, op: ir.Operation) -> None:
        """Merge the indices of an access that are delinearised from one value."""
        access = Access.of(op)
        assert access is not None
        buffer, indices = access.buffer, list(access.indices)
        found = self._stretch(buffer, indices)
        if found is None:
            return
        first, last, value = found
        view = self._view(buffer, first, last)
        operands = [*indices[:first], value, *indices[last + 1 :]]
        given = [op.operands[0], view] if access.stores else [view]
        with ir.InsertionPoint(op), op.location:
            types = [result.type for result in op.results]
            made = ir.Operation.create(op.name, results=types, operands=[*given, *operands])
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()

    def _stretch(self, buffer: ir.Value, indices: Sequence[ir.Value]) -> tuple[int, int, ir.Value] | None:
        """The first and the last of the dimensions to merge, and their common index; None if there are none."""
        type_ = ir.MemRefType(buffer.type)
        owner = defining_op(buffer)
        if type_.affine_map != ir.AffineMap.get_identity(type_.rank):
            return None
        if owner is not None and owner.name != "memref.alloc":
            return None
        digits = [digit_of(index, self.ranges) for index in indices]
        for last in reversed(range(1, len(digits))):
            total, extent = digits[last], self.ranges.size(buffer, last)
            for first in reversed(range(last)):
                if (
                    total is None
                    or total.below is None
                    or extent is None
                    or not prove_equal(total.below, extent)
                ):
                    break
                total = joined(digits[first], total)
                if total is None:
                    break
                if total.by == 1 and total.below is None:
                    return first, last, total.value
                size = self.ranges.size(buffer, first)
                extent = None if size is None else extent * size
        return None

    def _view(self, buffer: ir.Value, first: int, last: int) -> ir.Value:
        """A buffer with some of its dimensions collapsed; the view is created where the buffer is defined."""
        key = buffer, first, last
        if key in self.views:
            return self.views[key]
        type_ = ir.MemRefType(buffer.type)
        groups = [[axis] for axis in range(first)]
        groups += [list(range(first, last + 1))]
        groups += [[axis] for axis in range(last + 1, type_.rank)]
        shape = [_product([type_.shape[axis] for axis in group]) for group in groups]
        owner = buffer.owner
        place = (
            ir.InsertionPoint.at_block_begin(entry_block(self.ranges.function))
            if isinstance(owner, ir.Block)
            else ir.InsertionPoint.after(owner.operation)
        )
        with place, self.ranges.function.location:
            result = ir.MemRefType.get(shape, type_.element_type)
            self.views[key] = memref.collapse_shape(result, buffer, groups)
        return self.views[key]


def _product(sizes: Sequence[int]) -> int:
    dynamic = int(ir.ShapedType.get_dynamic_size())
    total = 1
    for size in sizes:
        if size == dynamic:
            return dynamic
        total *= size
    return total
