"""TVM's names of classes and functions, for programs that are written for TVM Relax.

``from relax_mlir.tvm import SeqExpr`` and ``rx.SeqExpr`` are the same; `dir` of `relax_mlir` does not list them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.lazy import lazy_names, modules_of

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

HOMES = modules_of(
    {
        "relax_mlir.analysis.structural": ("assert_structural_equal", "structural_equal", "structural_hash"),
        "relax_mlir.bytecode.exec_builder": ("ExecBuilder",),
        "relax_mlir.dialects.types": ("StructInfo",),
        "relax_mlir.expr": (
            *("Binding", "BindingBlock", "Call", "Constant", "DataflowBlock", "DataflowVar", "DynTensorType"),
            *("Expr", "ExternFunc", "Function", "GlobalVar", "If", "LocalFunction", "Loop", "MatchCast"),
            *("MatchShape", "Op", "PrimValue", "SeqExpr", "ShapeExpr", "TupleGetItem", "VarBinding"),
        ),
        "relax_mlir.expr_functor": ("PyExprMutator", "PyExprVisitor", "mutator", "visitor"),
        "relax_mlir.te.emit_te": ("te_tensor",),
        "relax_mlir.vm.machine": ("VirtualMachine",),
    }
)
"""The module of each name."""

__getattr__ = lazy_names(__name__, HOMES)

__all__ = [
    "Binding", "BindingBlock", "Call", "Constant", "DataflowBlock", "DataflowVar", "DynTensorType",
    "ExecBuilder", "Expr", "ExternFunc", "Function", "GlobalVar", "If", "LocalFunction", "Loop", "MatchCast",
    "MatchShape", "Op", "PrimValue", "PyExprMutator", "PyExprVisitor", "SeqExpr", "ShapeExpr", "StructInfo",
    "TupleGetItem", "VarBinding", "VirtualMachine", "assert_structural_equal", "mutator", "structural_equal",
    "structural_hash", "te_tensor", "visitor",
]  # fmt: skip
