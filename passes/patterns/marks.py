"""The attributes that mark composite functions and functions for code generators."""

from __future__ import annotations

from relax_mlir.dialects.attributes import CODEGEN, COMPOSITE
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.function_editing import functions_by_name, is_relax_function


def composites(module: ir.Module) -> dict[str, str]:
    """Name of the pattern by name of the composite function."""
    return _marked(module, COMPOSITE, 'a pattern\'s name, such as "openblas.matmul"')


def codegens(module: ir.Module) -> dict[str, str]:
    """Name of the code generator by name of the function."""
    return _marked(module, CODEGEN, 'a code generator\'s name, such as "openblas"')


def library_of(pattern: str) -> str:
    """The library of a pattern: the part of its name before the first dot."""
    return pattern.partition(".")[0]


def is_marked(function: func.FuncOp) -> bool:
    """True if a function is composite, or for a code generator."""
    return COMPOSITE in function.attributes or CODEGEN in function.attributes


def _marked(module: ir.Module, attribute: str, what: str) -> dict[str, str]:
    found = {}
    for name, function in functions_by_name(module).items():
        if attribute not in function.attributes:
            continue
        value = function.attributes[attribute]
        if not isinstance(value, ir.StringAttr) or not value.value:
            raise ArgumentError(f"function '{name}': the attribute {attribute} is {value}, expected {what}")
        if not is_relax_function(function):
            raise ArgumentError(f"function '{name}' has {attribute}, but is no Relax function with a body")
        found[name] = value.value
    return found
