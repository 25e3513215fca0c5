"""Which functions are the same in every module: those of kernels that depend on the target alone, and the support
functions.

Whoever makes such a function says so by the attribute `SHARED_GROUP`. What a module needs of a group is, but for few
variants, the same in all modules.
"""

from __future__ import annotations

from relax_mlir.dialects.attributes import AS_GENERATED, JOB, SHARED_GROUP, SUPPORT
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir

SUPPORT_GROUP = "relax.rt"
"""The group of support functions, but for those that raise the errors of a module."""


def shared_group(op: ir.Operation | ir.OpView) -> str | None:
    """The group of functions to which a function belongs; None if it depends on its module."""
    attributes = op.attributes
    return str(ir.StringAttr(attributes[SHARED_GROUP]).value) if SHARED_GROUP in attributes else None


def is_support(op: ir.Operation | ir.OpView) -> bool:
    """Whether a function is a support function, of its module or of all."""
    return SUPPORT in op.attributes or shared_group(op) == SUPPORT_GROUP


def inherit_marks(made: ir.OpView, source: ir.OpView) -> None:
    """Mark a function that does a part of the work of another one as that is marked."""
    for mark in (SHARED_GROUP, AS_GENERATED, JOB):
        if mark in source.attributes:
            made.attributes[mark] = source.attributes[mark]


def own_ops(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The ops called so, in order, but for those in functions that are the same in every module.

    For passes that have nothing to do in those: they hold most ops of a small module.
    """
    tops = [top.operation for top in module.body.operations if SHARED_GROUP not in top.attributes]
    return [op for top in tops for op in ops_of(top, *names)]
