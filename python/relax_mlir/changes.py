"""Versions of modules: a change of a module may free ops, so older views of its functions are refused."""

from __future__ import annotations

from weakref import WeakValueDictionary

from relax_mlir.capi import pointer
from relax_mlir.mlir import ir


class Version:
    """The state of a module when a view of it was created; it ends with the next change."""

    __slots__ = ("__weakref__", "_op", "is_current")

    def __init__(self, op: ir.Operation | None = None) -> None:
        self._op = op  # while it lives, its address is that of no other op
        self.is_current = op is not None


_current: WeakValueDictionary[int, Version] = WeakValueDictionary()
"""The versions that views refer to, by the address of the outermost op; a module without views has no entry.

The hash of an op changes with its attributes.
"""


def version(op: ir.Operation | ir.OpView) -> Version:
    """The current version of the module that contains `op`."""
    outermost = _outermost(op)
    return _current.setdefault(pointer(outermost), Version(outermost))


def changed(op: ir.Operation | ir.OpView) -> None:
    """Record a change of the module that contains `op`: older views are refused."""
    ended = _current.pop(pointer(_outermost(op)), None)
    if ended is not None:
        ended.is_current = False


def _outermost(op: ir.Operation | ir.OpView) -> ir.Operation:
    outermost: ir.Operation = op.operation
    while (parent := outermost.parent) is not None:
        outermost = parent.operation
    return outermost
