"""Contexts that nobody uses any more are used again: to make one takes four times as long as a small module in it.

With them stay the pass managers that `relax_mlir.transform.native_pipeline` keeps per context.
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
"""How many contexts are kept, in use or not: some MB each."""

MOST_USES = 64
"""How often one is used: types and names of modules that are gone stay in it."""


@dataclass(eq=False)
class _Kept:
    """A context, how many dialects it had at first, the classes of `Relax` that it knows, and how often it was used."""

    context: ir.Context
    dialects: int
    classes: tuple[object, ...]
    uses: int = 1

    def is_free(self) -> bool:
        """Whether nothing else holds the context: modules, ops, types, locations of the bindings all do."""
        return sys.getrefcount(self.context) == _references()

    def is_clean(self) -> bool:
        """Whether a new one would be no different but for what modules leave in its tables."""
        return (
            self.uses < MOST_USES
            and self.classes == dialect.classes()
            and self.dialects == _dialects(self.context)
            and not holds_arrays(self.context)
        )


_kept: list[_Kept] = []
_lock = process_lock(Order.CONTEXTS)


def pooled_context() -> ir.Context:
    """A context as `dialect.context` makes it, for modules that are built op by op, or from text without resources.

    It may have been that of modules that are gone. One that holds arrays of constants, or has got other dialects, is
    not used again: arrays would stay in memory, and text without its data would find those of another module.
    """
    require("a module", STEP)
    if (context := _used_again()) is not None:
        return context
    if len(_kept) == KEPT and gc.isenabled():
        # Errors hold what they were raised from in cycles. To look for young garbage takes a twentieth of what a new
        # context does.
        gc.collect(1)
        if (context := _used_again()) is not None:
            return context
    with _lock:
        _kept.append(_Kept(context := dialect.context(), _dialects(context), dialect.classes()))
        del _kept[:-KEPT]
        return context


def _used_again() -> ir.Context | None:
    """A context that nobody uses, if there is one."""
    with _lock:
        found = _free()
        if found is None:
            return None
        found.uses += 1
        found.context.allow_unregistered_dialects = False
        found.context.enable_multithreading(False)
        return found.context


def _free() -> _Kept | None:
    """One that can be used again; those that cannot are dropped."""
    for kept in [kept for kept in _kept if kept.is_free()]:
        if kept.is_clean():
            return kept
        _kept.remove(kept)
    return None


def _forget_threads() -> None:
    """In the child of a fork: what other threads have used stays in use for ever."""
    _kept[:] = [kept for kept in _kept if kept.is_free()]


after_fork_in_child(_forget_threads)


@functools.cache
def _references() -> int:
    """What Python counts for a context that only one of `_Kept` holds."""
    kept = _Kept(ir.Context(load_on_create_dialects=[]), 0, ())
    return sys.getrefcount(kept.context)


def _dialects(context: ir.Context) -> int:
    return int(capi.quick_library().mlirContextGetNumLoadedDialects(capi.pointer(context)))
