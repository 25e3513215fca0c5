"""TVM's names of classes and functions, for programs that are written for TVM Relax.

``from relax_mlir.tvm import SeqExpr`` and ``rx.SeqExpr`` are the same; `dir` of `relax_mlir` does not list them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.lazy import lazy_names

if TYPE_CHECKING:
    from relax_mlir.analysis.structural import assert_structural_equal, structural_equal, structural_hash
    from relax_mlir.bytecode.exec_builder import ExecBuilder
    from relax_mlir.dialects.types import StructInfo
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
        GlobalVar,
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
    from relax_mlir.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
    from relax_mlir.te.emit_te import te_tensor
    from relax_mlir.vm.machine import VirtualMachine

_EXPR = "relax_mlir.expr"
_FUNCTOR = "relax_mlir.expr_functor"
_STRUCTURAL = "relax_mlir.analysis.structural"

HOMES = {
    "Binding": _EXPR,
    "BindingBlock": _EXPR,
    "Call": _EXPR,
    "Constant": _EXPR,
    "DataflowBlock": _EXPR,
    "DataflowVar": _EXPR,
    "DynTensorType": _EXPR,
    "ExecBuilder": "relax_mlir.bytecode.exec_builder",
    "Expr": _EXPR,
    "ExternFunc": _EXPR,
    "Function": _EXPR,
    "GlobalVar": _EXPR,
    "If": _EXPR,
    "LocalFunction": _EXPR,
    "Loop": _EXPR,
    "MatchCast": _EXPR,
    "MatchShape": _EXPR,
    "Op": _EXPR,
    "PrimValue": _EXPR,
    "PyExprMutator": _FUNCTOR,
    "PyExprVisitor": _FUNCTOR,
    "SeqExpr": _EXPR,
    "ShapeExpr": _EXPR,
    "StructInfo": "relax_mlir.dialects.types",
    "TupleGetItem": _EXPR,
    "VarBinding": _EXPR,
    "VirtualMachine": "relax_mlir.vm.machine",
    "assert_structural_equal": _STRUCTURAL,
    "mutator": _FUNCTOR,
    "structural_equal": _STRUCTURAL,
    "structural_hash": _STRUCTURAL,
    "te_tensor": "relax_mlir.te.emit_te",
    "visitor": _FUNCTOR,
}
"""The module of each name."""

__getattr__ = lazy_names(__name__, HOMES)

__all__ = [
    "Binding",
    "BindingBlock",
    "Call",
    "Constant",
    "DataflowBlock",
    "DataflowVar",
    "DynTensorType",
    "ExecBuilder",
    "Expr",
    "ExternFunc",
    "Function",
    "GlobalVar",
    "If",
    "LocalFunction",
    "Loop",
    "MatchCast",
    "MatchShape",
    "Op",
    "PrimValue",
    "PyExprMutator",
    "PyExprVisitor",
    "SeqExpr",
    "ShapeExpr",
    "StructInfo",
    "TupleGetItem",
    "VarBinding",
    "VirtualMachine",
    "assert_structural_equal",
    "mutator",
    "structural_equal",
    "structural_hash",
    "te_tensor",
    "visitor",
]
