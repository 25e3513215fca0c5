"""Code generation: lower Relax functions with a shape heap to bytecode.

The input is the output of ``vm-shape-lower``, at level "vm" (docs/explicit-memory.md). Each value has a register,
except tuples that are used only field by field. Control flow becomes `If` and `Goto`.
"""

from __future__ import annotations

import importlib

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.mlir import ir
from relax_mlir.transform import relax_functions
from relax_mlir.vm.codegen.function_code import FunctionCode
from relax_mlir.vm.exec_builder import ExecBuilder

FAMILIES = (
    "assertions",
    "branches",
    "calls",
    "constants_and_tuples",
    "explicit_memory",
    "host_ops",
    "shapes",
)
"""The modules of this package that emit the instructions of ops."""


def generate(module: ir.Module, builder: ExecBuilder) -> None:
    """Emit the Relax functions of a module into a builder.

    Raises UnsupportedError for an op that the machine cannot run; it names the op and its location.
    """
    for family in FAMILIES:
        importlib.import_module(f"relax_mlir.vm.codegen.{family}")
    functions = relax_functions(module)
    for function in functions:
        builder.declare_function(function.name.value, "vm")
    for function in functions:
        names = parameter_names(function)
        with builder.function(function.name.value, len(names), names, allow_unused=True):
            FunctionCode(function, builder).write()
