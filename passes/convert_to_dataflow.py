"""Pass ``convert-to-dataflow``: runs of pure bindings become dataflow blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.analysis.effects import has_effects
from relax_mlir.dialects.structure import TUPLE, TupleGetItemOp, is_pure, pack
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import func, ir
from relax_mlir.transform import FunctionPass, PassContext


@dataclass(frozen=True)
class ConvertToDataflow(FunctionPass):
    """Group each maximal run of at least `min_size` pure bindings outside of dataflow blocks into one.

    Branches of conditionals are looked into. Calls of functions with effects, control flow, dataflow blocks and ops
    of other dialects end a run. Tuples that are used behind a run are made behind it.
    """

    name: ClassVar[str] = "convert-to-dataflow"
    min_size: int = 2

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        if self.min_size < 1:
            raise ArgumentError(f"{self.name}: min_size is {self.min_size}, expected at least 1")
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        for run in list(_runs(function.regions[0].blocks[0], functions)):
            if sum(op.name != TUPLE for op in run) >= self.min_size:
                _group(run)


def _runs(block: ir.Block, functions: dict[str, func.FuncOp]) -> Iterator[list[ir.Operation]]:
    run: list[ir.Operation] = []
    for view in list(block.operations):
        op = view.operation
        if _may_join(op, functions):
            run.append(op)
            continue
        yield run
        run = []
        if op.name != "relax.dataflow":
            for region in op.regions:
                for nested in region.blocks:
                    yield from _runs(nested, functions)
    yield run


def _may_join(op: ir.Operation, functions: dict[str, func.FuncOp]) -> bool:
    if op.name == "relax.call":
        return not has_effects(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, functions)
    return op.name == TUPLE or (op.name.startswith("relax.") and is_pure(op))


def _group(run: Sequence[ir.Operation]) -> None:
    """Move the ops of `run`, which follow each other, into a dataflow block in their place."""
    inside = [op for op in run if op.name != TUPLE or _used_in(op, run)]
    first, last = run[0], run[-1]
    outputs = [op.results[0] for op in inside if op.name != TUPLE and not _used_only_in(op, inside)]
    holder = func.FuncOp("dataflow", ir.FunctionType.get([], []), visibility="private", ip=False)
    block = holder.add_entry_block()
    whole_type = outputs[0].type if len(outputs) == 1 else ir.TupleType.get_tuple([v.type for v in outputs])
