"""A pool of unused contexts: creating a context takes four times as long as building a small module in it.

The pass managers that `relax_mlir.transform.pipeline` caches per context are reused with them.
"""

from __future__ import annotations

import functools
import gc
import sys
from dataclasses import dataclass

from relax_mlir import capi
from relax_mlir.dialects import dialect
from relax_mlir.dialects.constants import holds_arrays
from relax_mlir.fork_safety import Order, after_fork_in_child, process_lock
from relax_mlir.memory_left import STEP, require
from relax_mlir.mlir import ir

KEPT = 8
"""Maximum number of contexts in the pool, in use or not; each takes some MB."""

MOST_USES = 64
"""Maximum number of uses of a context, since types and names of dead modules remain in it."""


@dataclass(eq=False)
class _Kept:
    """A context with its initial number of dialects, the classes of `Relax` that it knows, and its number of uses."""

    context: ir.Context
    dialects: int
    classes: tuple[object, ...]
    uses: int = 1

    def is_free(self) -> bool:
        """True if nothing else references the context: modules, ops, types and locations of the bindings do."""
        return sys.getrefcount(self.context) == _references()

    def is_clean(self) -> bool:
        """True if the context differs from a new one only by types and names of earlier modules."""
        return (
            self.uses < MOST_USES
            and self.classes == dialect.classes()
            and self.dialects == _dialects(self.context)
            and not holds_arrays(self.context)
        )


_kept: list[_Kept] = []
_lock = process_lock(Order.CONTEXTS)


def pooled_context() -> ir.Context:
    """A context as from `dialect.context`, for modules that are built op by op, or parsed from text without resources.

    It may be reused from dead modules. A context that holds constant arrays or has loaded other dialects is not reused:
    the arrays would stay in memory, and text without its data would find those of another module.
    """
    require("a module", STEP)
    if (context := _used_again()) is not None:
        return context
    if len(_kept) == KEPT and gc.isenabled():
        # Exceptions keep contexts alive in reference cycles. Collecting young garbage takes a twentieth of the time of
        # creating a context.
        gc.collect(1)
        if (context := _used_again()) is not None:
            return context
    with _lock:
        _kept.append(_Kept(context := dialect.context(), _dialects(context), dialect.classes()))
        del _kept[:-KEPT]
        return context


def _used_again() -> ir.Context | None:
    """An unused context of the pool, prepared for its next use, or None."""
    with _lock:
        found = _free()
        if found is None:
            return None
        found.uses += 1
        found.context.allow_unregistered_dialects = False
        found.context.enable_multithreading(False)
        return found.context


def _free() -> _Kept | None:
    """An unused, clean entry, or None; unused entries that are not clean are dropped."""
    for kept in [kept for kept in _kept if kept.is_free()]:
        if kept.is_clean():
            return kept
        _kept.remove(kept)
    return None


def _forget_threads() -> None:
    """Drop contexts in use after a fork: in the child, those of other threads would stay in use forever."""
    _kept[:] = [kept for kept in _kept if kept.is_free()]


after_fork_in_child(_forget_threads)


@functools.cache
def _references() -> int:
    """The reference count of a context that only a `_Kept` holds."""
    kept = _Kept(ir.Context(load_on_create_dialects=[]), 0, ())
    return sys.getrefcount(kept.context)


def _dialects(context: ir.Context) -> int:
    return int(capi.quick_library().mlirContextGetNumLoadedDialects(capi.pointer(context)))
