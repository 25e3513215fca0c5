"""Op strategies: the implementations of an op, their conditions, and the selection of one of them.

An implementation is a tensor expression, optionally with a schedule; the lowering adds generated kernels and linalg
rules. `register_strategy` adds implementations of a user. Of the implementations whose conditions hold for a call,
the one with the highest priority is selected. Conditions that depend on sizes become branches in the prim func, so
that one artefact serves all sizes. The names are those of TVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.lazy import lazy_names, modules_of

if TYPE_CHECKING:
    from relax_mlir.lowering.strategy.op_strategy import (
        Candidate,
        OpImplementation,
        OpSpecialization,
        OpStrategy,
        Selection,
        SpecializedCondition,
        StrategyDecision,
        StrategyReport,
        explain_strategy,
        register_strategy,
        temporary_strategy,
        unregister_strategy,
    )
    from relax_mlir.strategy.compile_engine import (
        CachedFunc,
        CompileEngine,
        LoweredOutput,
        get_valid_implementations,
        lower_call,
        select_implementation,
    )

__all__ = [
    "CachedFunc", "Candidate", "CompileEngine", "LoweredOutput", "OpImplementation", "OpSpecialization",
    "OpStrategy", "Selection", "SpecializedCondition", "StrategyDecision", "StrategyReport",
    "explain_strategy", "get_valid_implementations", "lower_call", "register_strategy",
    "select_implementation", "temporary_strategy", "unregister_strategy",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    modules_of(
        {
            "relax_mlir.lowering.strategy.op_strategy": (
                *("Candidate", "OpImplementation", "OpSpecialization", "OpStrategy", "Selection"),
                *("SpecializedCondition", "StrategyDecision", "StrategyReport", "explain_strategy"),
                *("register_strategy", "temporary_strategy", "unregister_strategy"),
            ),
            "relax_mlir.strategy.compile_engine": (
                *("CachedFunc", "CompileEngine", "LoweredOutput", "get_valid_implementations", "lower_call"),
                "select_implementation",
            ),
        }
    ),
)
