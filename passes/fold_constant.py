"""Pass ``fold-constant``: evaluate pure ops on constants at compile time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.analysis.evaluate import EVALUATORS, Array, evaluate
from relax_mlir.dialects import constants
from relax_mlir.dialects.base import op_class
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.ir_queries import is_used
from relax_mlir.mlir import ir
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.passes import optimized_functions


@dataclass(frozen=True)
class FoldConstant(ModulePass):
    """Evaluate ops whose operands are all constants.

    An op is folded if `relax_mlir.analysis.evaluate` supports it, its shape and dtype are static, and its result has at
    most `max_elements` elements. Constants that become unused are removed.
    """

    name: ClassVar[str] = "fold-constant"
    opt_level: ClassVar[int] = 1
    max_elements: int = 16384

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Fold in program order, so that chains fold in one run."""
        make_all_effects_explicit(module)
        for function in optimized_functions(module):
            for op in list(_ops(function.operation)):
                if op.name.removeprefix("relax.") in EVALUATORS:
                    self._fold(op)

    def _fold(self, op: ir.Operation) -> None:
        defining_ops = [defining for defining in map(_constant, op.operands) if defining is not None]
        if len(defining_ops) != len(op.operands):
            return
        value = self._value(op, defining_ops)
        if value is None:
            return
        with ir.InsertionPoint(op), op.location:
            attribute = constants.to_attribute(value)
            folded = ir.Operation.create(
                ConstantOp.OPERATION_NAME, results=[op.results[0].type], attributes={"value": attribute}
            )
        op.results[0].replace_all_uses_with(folded.results[0])
        op.erase()
        for defining in [
            defining for index, defining in enumerate(defining_ops) if defining not in defining_ops[:index]
        ]:
            if not is_used(defining.results[0]):
                defining.erase()

    def _value(self, op: ir.Operation, defining_ops: list[ir.Operation]) -> Array | None:
        info, cls = struct_info(op.results[0].type), op_class(op)
        if cls is None or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:
            return None
        sizes = [dim for dim in info.known_shape if isinstance(dim, int)]
        if len(sizes) != len(info.known_shape) or math.prod(sizes) > self.max_elements:
            return None
        operands = [constants.to_numpy(defining.attributes["value"]) for defining in defining_ops]
        return evaluate(cls.args_of(op), operands, info.dtype)


def _constant(value: ir.Value) -> ir.Operation | None:
    """The `relax.constant` that defines `value`, or None."""
    if isinstance(value.owner, ir.Block):
        return None
    defining = value.owner.operation
    return defining if defining.name == ConstantOp.OPERATION_NAME else None


def _ops(parent: ir.Operation) -> Iterator[ir.Operation]:
    """All ops inside `parent`, in program order."""
    for region in parent.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _ops(view.operation)
