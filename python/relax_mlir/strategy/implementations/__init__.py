"""Built-in implementations: tensor expressions with schedules, one file per family of ops.

They complement the rules of the lowering. The first values of the knobs of their schedules suit most sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.strategy.op_strategy import PLAIN, Compute, OpStrategy, Strategy
from relax_mlir.target import Target
from relax_mlir.te import Tensor

# Ops that are one tensor expression without a dedicated schedule.


def by_expression(compute: Compute) -> Strategy:
    """The strategy of an op with a single implementation, `compute`."""

    def strategy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
        found = OpStrategy()
        found.add_implementation(compute, name=PLAIN)
        return found

    return strategy
