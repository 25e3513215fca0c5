"""The pass infrastructure: contexts, passes, sequences, MLIR's own passes, the registry of names."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from relax_mlir.lazy import modules_of

if TYPE_CHECKING:
    from relax_mlir.dpl.fusion import FusionPattern, PatternCheckContext, register_patterns
    from relax_mlir.ir_module import relax_functions
    from relax_mlir.transform.codegen_region import CodegenRegion, CompositeCall
    from relax_mlir.transform.codegens import register_codegen
    from relax_mlir.transform.constructors import *  # noqa: F403 - all passes, whose names are generated
    from relax_mlir.transform.context import (
        ConfigOption,
        DiagnosticContext,
        LoopDecision,
        LoopReport,
        PassContext,
        explain_loops,
        register_config_option,
    )
    from relax_mlir.transform.fusion_report import FusionDecision, FusionReport, explain_fusion
    from relax_mlir.transform.passes import (
        DataflowBlockPass,
        FunctionPass,
        ModulePass,
        Pass,
        PrimFuncPass,
        dataflowblock_pass,
        function_pass,
        module_pass,
        prim_func_pass,
    )
    from relax_mlir.transform.pipeline import (
        MLIRPass,
        PipelinePass,
        Sequential,
        create_pass,
        get_pass,
        parse_pipeline,
    )
    from relax_mlir.transform.registry import PassInfo, register_pass

_HOMES = modules_of(
    {
        "dpl.fusion": ("FusionPattern", "PatternCheckContext", "register_patterns"),
        "ir_module": ("relax_functions",),
        "transform.codegen_region": ("CodegenRegion", "CompositeCall"),
        "transform.codegens": ("register_codegen",),
        "transform.context": (
            *(
                "ConfigOption",
                "DiagnosticContext",
                "LoopDecision",
                "LoopReport",
                "PassContext",
                "explain_loops",
            ),
            "register_config_option",
        ),
        "transform.fusion_report": ("FusionDecision", "FusionReport", "explain_fusion"),
        "transform.passes": (
            *("DataflowBlockPass", "FunctionPass", "ModulePass", "Pass", "PrimFuncPass"),
            *("dataflowblock_pass", "function_pass", "module_pass", "prim_func_pass"),
        ),
        "transform.pipeline": (
            *("MLIRPass", "PipelinePass", "Sequential", "create_pass", "get_pass", "parse_pipeline"),
        ),
        "transform.registry": ("PassInfo", "register_pass"),
    }
)
"""Names are imported on first use, so tools that list names of passes start faster."""

__all__ = [
    "CodegenRegion", "CompositeCall", "ConfigOption", "DataflowBlockPass", "DiagnosticContext",
    "FunctionPass", "FusionDecision", "FusionPattern", "FusionReport", "LoopDecision", "LoopReport",
    "MLIRPass", "ModulePass", "Pass", "PassContext", "PassInfo", "PatternCheckContext", "PipelinePass",
    "PrimFuncPass", "Sequential", "create_pass", "dataflowblock_pass", "explain_fusion", "explain_loops",
    "function_pass", "get_pass", "module_pass", "parse_pipeline", "prim_func_pass", "register_codegen",
    "register_config_option", "register_pass", "register_patterns", "relax_functions",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any object of the package
    if name in _HOMES:
        globals()[name] = getattr(importlib.import_module(f"relax_mlir.{_HOMES[name]}"), name)
        return globals()[name]
    if not name[:1].isupper():  # a module of this package, not yet imported
        raise AttributeError(f"module 'relax_mlir.transform' has no attribute '{name}'")
    from relax_mlir.transform.registry import constructor

    return constructor(name)


def __dir__() -> list[str]:
    from relax_mlir.transform.registry import class_names

    return sorted({*__all__, *class_names()})
