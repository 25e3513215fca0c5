"""Op strategies: the implementations of an op, when each one holds, and which one is taken.

An implementation is a tensor expression, perhaps with a schedule; the lowering adds its own, generated kernels and
linalg. `register_strategy` adds a user's. Of those that hold for a call, the one of the highest priority is taken;
conditions that depend on sizes become branches in the prim func, so that one artefact serves all sizes. The names are
those of TVM.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from relax_mlir.strategy.implementation import OpImplementation
from relax_mlir.strategy.op_strategy import OpSpecialization, OpStrategy, SpecializedCondition
from relax_mlir.strategy.registry import register_strategy, temporary_strategy, unregister_strategy
from relax_mlir.strategy.report import StrategyDecision, StrategyReport, explain_strategy
from relax_mlir.strategy.selection import Candidate, Selection

if TYPE_CHECKING:
    from relax_mlir.strategy.call_lowering import (
        LoweredOutput,
        get_valid_implementations,
        lower_call,
        select_implementation,
    )
    from relax_mlir.strategy.compile_engine import CachedFunc, CompileEngine

_HOMES = {
    "CachedFunc": "relax_mlir.strategy.compile_engine",
    "CompileEngine": "relax_mlir.strategy.compile_engine",
    "LoweredOutput": "relax_mlir.strategy.call_lowering",
    "get_valid_implementations": "relax_mlir.strategy.call_lowering",
    "lower_call": "relax_mlir.strategy.call_lowering",
    "select_implementation": "relax_mlir.strategy.call_lowering",
}
"""Names that need the lowering, which asks this package for strategies, and their modules."""

__all__ = [
    "CachedFunc",
    "Candidate",
    "CompileEngine",
    "LoweredOutput",
    "OpImplementation",
    "OpSpecialization",
    "OpStrategy",
    "Selection",
    "SpecializedCondition",
    "StrategyDecision",
    "StrategyReport",
    "explain_strategy",
    "get_valid_implementations",
    "lower_call",
    "register_strategy",
    "select_implementation",
    "temporary_strategy",
    "unregister_strategy",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - what the module has
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
