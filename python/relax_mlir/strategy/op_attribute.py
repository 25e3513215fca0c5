"""The attribute ``FTVMStrategy`` of an op: all its strategies combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.types import StructInfo
from relax_mlir.strategy.call_lowering import all_strategies
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.strategy.registry import Strategy, register_strategy
from relax_mlir.target import Target
from relax_mlir.te import Tensor


@dataclass(frozen=True)
class StrategyAttribute:
    """The value of ``Op.get(name).get_attr("FTVMStrategy")``."""

    op: str

    def __call__(
        self,
        attrs: Mapping[str, Any],
        inputs: Sequence[Tensor],
        out_type: StructInfo | None = None,
        target: str | Target = "cpu",
    ) -> OpStrategy:
        """All implementations for a call, those of users first; for the arguments see `get_valid_implementations`."""
        strategy = OpStrategy()
        for each in all_strategies(self.op, attrs, inputs, out_type, target):
            strategy.specializations += each.specializations
        return strategy


def attribute_of(op: str) -> StrategyAttribute:
    """The strategy attribute of a Relax op."""
    return StrategyAttribute(op)


def give(op: str, strategy: Strategy) -> None:
    """Register a strategy for any CPU."""
    register_strategy(op)(strategy)
