"""Functions that are the same in every module: kernels that depend only on the target, and support functions.

Their generator gives them the attribute `SHARED_GROUP`. The functions of a group that a module needs are, with few
variants, the same in all modules.
"""

from __future__ import annotations

from relax_mlir.dialects.attributes import AS_GENERATED, JOB, SHARED_GROUP, SUPPORT
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir

SUPPORT_GROUP = "relax.rt"
"""The group of support functions, except those that raise the errors of a module."""


def shared_group(op: ir.Operation | ir.OpView) -> str | None:
    """The shared group of a function; None if it depends on its module."""
    attributes = op.attributes
    return str(ir.StringAttr(attributes[SHARED_GROUP]).value) if SHARED_GROUP in attributes else None


def is_support(op: ir.Operation | ir.OpView) -> bool:
    """True for a support function, of its module or of all."""
    return SUPPORT in op.attributes or shared_group(op) == SUPPORT_GROUP


def inherit_marks(made: ir.OpView, source: ir.OpView) -> None:
    """Copy the marks of a function to another one that does part of its work."""
    for mark in (SHARED_GROUP, AS_GENERATED, JOB):
        if mark in source.attributes:
            made.attributes[mark] = source.attributes[mark]


def own_ops(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The ops of the given names, in order, except those in shared functions.

    For passes that never change shared functions, which hold most ops of a small module.
    """
    tops = [top.operation for top in module.body.operations if SHARED_GROUP not in top.attributes]
    return [op for top in tops for op in ops_of(top, *names)]
