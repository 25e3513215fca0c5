"""Pass infrastructure: contexts, passes, sequences, MLIR's own passes, the registry of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relax_mlir.passes.fusion.report import FusionDecision, FusionReport, explain_fusion
from relax_mlir.transform import constructors
from relax_mlir.transform.config import ConfigOption, register_config_option
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.diagnostic_context import DiagnosticContext
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.pass_base import Pass
from relax_mlir.transform.pass_decorators import (
    dataflowblock_pass,
    function_pass,
    module_pass,
    prim_func_pass,
)
from relax_mlir.transform.pass_pipeline import create_pass, get_pass, parse_pipeline
from relax_mlir.transform.passes import (
    DataflowBlockPass,
    FunctionPass,
    ModulePass,
    PrimFuncPass,
    relax_functions,
)
from relax_mlir.transform.registry import register_pass
from relax_mlir.transform.sequential import PipelinePass, Sequential
from relax_mlir.transform.upstream import MLIRPass

if TYPE_CHECKING:
    from relax_mlir.transform.constructors import *  # noqa: F403 - all passes, whose names are generated

__all__ = [
    "ConfigOption",
    "DataflowBlockPass",
    "DiagnosticContext",
    "FunctionPass",
    "FusionDecision",
    "FusionReport",
    "MLIRPass",
    "ModulePass",
    "Pass",
    "PassContext",
    "PassInfo",
    "PipelinePass",
    "PrimFuncPass",
    "Sequential",
    "create_pass",
    "dataflowblock_pass",
    "explain_fusion",
    "function_pass",
    "get_pass",
    "module_pass",
    "parse_pipeline",
    "prim_func_pass",
    "register_config_option",
    "register_pass",
    "relax_functions",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the class of a pass
    return constructors.constructor(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *constructors.class_names()})
