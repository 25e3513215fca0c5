"""Versions of modules: views of a function are refused once its module has changed, which may free what they show."""

from __future__ import annotations

from weakref import WeakValueDictionary

from relax_mlir.mlir import ir


class Version:
    """The state of a module when a view of it was made; it ends with the next change."""

    __slots__ = ("__weakref__", "is_current")

    def __init__(self) -> None:
        self.is_current = True


_current: WeakValueDictionary[ir.Operation, Version] = WeakValueDictionary()
"""The versions that views refer to, by the outermost op; a module that nothing views has no entry."""


def version(op: ir.Operation | ir.OpView) -> Version:
    """The current version of the module that holds `op`."""
    return _current.setdefault(_outermost(op), Version())


def changed(op: ir.Operation | ir.OpView) -> None:
    """Note a change of the module that holds `op`: views made before are refused."""
    ended = _current.pop(_outermost(op), None)
    if ended is not None:
        ended.is_current = False


def _outermost(op: ir.Operation | ir.OpView) -> ir.Operation:
    outermost: ir.Operation = op.operation
    while (parent := outermost.parent) is not None:
        outermost = parent.operation
    return outermost
