"""Op strategies: the implementations of an op, their conditions, and the selection of one of them.

An implementation is a tensor expression, optionally with a schedule; the lowering adds generated kernels and linalg
rules. `register_strategy` adds implementations of a user. Of the implementations whose conditions hold for a call,
the one with the highest priority is selected. Conditions that depend on sizes become branches in the prim func, so
that one artefact serves all sizes. The names are those of TVM.
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
"""Names that import the lowering, which itself imports this package, and their modules; they are imported lazily."""

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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any name of the module
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
