"""When programs were changed: views of one are refused after a pass, which may have freed what they are of."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from relax_mlir.mlir import ir

_counts: WeakKeyDictionary[ir.Context, int] = WeakKeyDictionary()


def changes(context: ir.Context) -> int:
    """How often programs of a context have been changed so far."""
    return _counts.get(context, 0)


def changed(context: ir.Context) -> None:
    """Programs of a context have been changed: views that were made before cannot be used any more."""
    _counts[context] = changes(context) + 1
