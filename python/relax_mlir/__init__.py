"""TVM Relax rebuilt on MLIR, in Python only.

>>> import relax_mlir as rx
>>> from relax_mlir import op as R
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relax_mlir import torch_bridge

if TYPE_CHECKING:
    from relax_mlir.analysis.structural import assert_structural_equal, structural_equal, structural_hash
    from relax_mlir.builder import BlockBuilder
    from relax_mlir.bytecode.exec_builder import ExecBuilder
    from relax_mlir.dialects.types import Callable, Object, Prim, Shape, StructInfo, Tensor, Tuple
    from relax_mlir.dialects.value import Value, Var, var
    from relax_mlir.expr import (
        Binding,
        BindingBlock,
        Call,
        Constant,
        DataflowBlock,
        DataflowVar,
        DynTensorType,
        Expr,
        ExternFunc,
        Function,
        If,
        LocalFunction,
        Loop,
        MatchCast,
        MatchShape,
        Op,
        PrimValue,
        SeqExpr,
        ShapeExpr,
        TupleGetItem,
        VarBinding,
    )
    from relax_mlir.expr_functor import PyExprMutator, PyExprVisitor
    from relax_mlir.frontend.load import load
    from relax_mlir.ir_module import GlobalVar, IRModule
    from relax_mlir.runtime.build import build
    from relax_mlir.runtime.build_setup import CompileReport
    from relax_mlir.runtime.executable import Executable
    from relax_mlir.target import Target
    from relax_mlir.te.emit_te import te_tensor
    from relax_mlir.vm.machine import VirtualMachine

    __version__: str

_HOMES = {
    "Binding": "relax_mlir.expr",
    "BindingBlock": "relax_mlir.expr",
    "Call": "relax_mlir.expr",
    "Constant": "relax_mlir.expr",
    "DataflowBlock": "relax_mlir.expr",
    "DataflowVar": "relax_mlir.expr",
    "DynTensorType": "relax_mlir.expr",
    "Expr": "relax_mlir.expr",
    "ExternFunc": "relax_mlir.expr",
    "Function": "relax_mlir.expr",
    "If": "relax_mlir.expr",
    "LocalFunction": "relax_mlir.expr",
    "Loop": "relax_mlir.expr",
    "MatchCast": "relax_mlir.expr",
    "MatchShape": "relax_mlir.expr",
    "Op": "relax_mlir.expr",
    "PrimValue": "relax_mlir.expr",
    "SeqExpr": "relax_mlir.expr",
    "ShapeExpr": "relax_mlir.expr",
    "TupleGetItem": "relax_mlir.expr",
    "VarBinding": "relax_mlir.expr",
    "BlockBuilder": "relax_mlir.builder",
    "Callable": "relax_mlir.dialects.types",
    "CompileReport": "relax_mlir.runtime.build_setup",
    "ExecBuilder": "relax_mlir.bytecode.exec_builder",
    "Executable": "relax_mlir.runtime.executable",
    "GlobalVar": "relax_mlir.ir_module",
    "IRModule": "relax_mlir.ir_module",
    "Object": "relax_mlir.dialects.types",
    "Prim": "relax_mlir.dialects.types",
    "Shape": "relax_mlir.dialects.types",
    "PyExprMutator": "relax_mlir.expr_functor",
    "PyExprVisitor": "relax_mlir.expr_functor",
    "StructInfo": "relax_mlir.dialects.types",
    "Target": "relax_mlir.target",
    "Tensor": "relax_mlir.dialects.types",
    "Tuple": "relax_mlir.dialects.types",
    "Value": "relax_mlir.dialects.value",
    "Var": "relax_mlir.dialects.value",
    "VirtualMachine": "relax_mlir.vm.machine",
    "assert_structural_equal": "relax_mlir.analysis.structural",
    "build": "relax_mlir.runtime.build",
    "load": "relax_mlir.frontend.load",
    "structural_equal": "relax_mlir.analysis.structural",
    "structural_hash": "relax_mlir.analysis.structural",
    "te_tensor": "relax_mlir.te.emit_te",
    "var": "relax_mlir.dialects.value",
}
"""Names are imported on first use, so tools that need few of them start faster."""

_MODULES = (
    "analysis",
    "contrib",
    "distributed",
    "dpl",
    "error",
    "export",
    "expr",
    "expr_functor",
    "frontend",
    "instrument",
    "ir",
    "op",
    "profiler",
    "rewrite",
    "runtime",
    "script",
    "te",
    "tir",
    "transform",
    "vm",
)
"""Public packages and modules, also imported on first use."""

torch_bridge.install()  # before anything imports tvm_ffi


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any object of the package
    if name == "__version__":
        from relax_mlir._version import version

        globals()[name] = version()
        return globals()[name]
    if name in _MODULES:
        return _imported(f"relax_mlir.{name}")
    if name not in _HOMES:
        message = f"module 'relax_mlir' has no attribute '{name}'"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])  # Python appends close matches
    globals()[name] = getattr(_imported(_HOMES[name]), name)
    return globals()[name]


def _imported(name: str) -> ModuleType:
    if name in sys.modules:  # another thread may be importing it: this waits
        return importlib.import_module(name)
    from relax_mlir.memory_left import IMPORTS, reported, require

    with reported(name):
        require(name, IMPORTS)
        return importlib.import_module(name)


def __dir__() -> list[str]:
    dunder = (name for name in globals() if name.startswith("__"))
    return sorted({*dunder, *__all__, *_MODULES})


__all__ = [
    "Binding",
    "BindingBlock",
    "BlockBuilder",
    "Call",
    "Callable",
    "CompileReport",
    "Constant",
    "DataflowBlock",
    "DataflowVar",
    "DynTensorType",
    "ExecBuilder",
    "Executable",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "IRModule",
    "If",
    "LocalFunction",
    "Loop",
    "MatchCast",
    "MatchShape",
    "Object",
    "Op",
    "Prim",
    "PrimValue",
    "PyExprMutator",
    "PyExprVisitor",
    "SeqExpr",
    "Shape",
    "ShapeExpr",
    "StructInfo",
    "Target",
    "Tensor",
    "Tuple",
    "TupleGetItem",
    "Value",
    "Var",
    "VarBinding",
    "VirtualMachine",
    "__version__",
    "assert_structural_equal",
    "build",
    "load",
    "structural_equal",
    "structural_hash",
    "te_tensor",
    "var",
]
