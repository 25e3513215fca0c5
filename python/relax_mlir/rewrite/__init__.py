"""Reading and rewriting programs: visitors, mutators and rules, for authors of passes.

A visitor is called for every binding. A mutator may also replace it by nothing, by a value, or by several ops, which
the builders of `relax_mlir.op` emit with deduced shapes. ``docs/writing-passes.md`` is the introduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.expr.bindings import Binding
from relax_mlir.lazy import lazy_names, modules_of

if TYPE_CHECKING:
    from relax_mlir.rewrite.constructs import PyExprMutator, PyExprVisitor
    from relax_mlir.rewrite.mutator import DataflowMutator, ExprMutator, ExprVisitor

__all__ = ["Binding", "DataflowMutator", "ExprMutator", "ExprVisitor", "PyExprMutator", "PyExprVisitor"]

__getattr__ = lazy_names(
    __name__,
    modules_of(
        {
            "relax_mlir.rewrite.mutator": ("DataflowMutator", "ExprMutator", "ExprVisitor"),
            "relax_mlir.rewrite.constructs": ("PyExprMutator", "PyExprVisitor"),
        }
    ),
)
