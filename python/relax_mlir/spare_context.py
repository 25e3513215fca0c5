"""A context for what belongs to no module of a user."""

from __future__ import annotations

import functools
from threading import Lock

from relax_mlir.capi import load_dialects
from relax_mlir.mlir import ir

PART_DIALECTS = frozenset(
    (
        "affine",
        "arith",
        "builtin",
        "cf",
        "func",
        "index",
        "llvm",
        "math",
        "memref",
        "scf",
        "ub",
        "vector",
        "x86",
    )
)
"""The dialects of levels V, F and L, of which the parts are that a module is compiled in."""

_FOR_PASSES = ("dlti", "tensor")
"""What the passes of these levels load besides: nothing is loaded when several threads are at work."""

_lock = Lock()


def spare_context() -> ir.Context:
    """A context that several threads may use at a time.

    It has `PART_DIALECTS` from the beginning: to load all that there are takes as long as to compile a small function.
    """
    with _lock:
        return _spare_context()


@functools.cache
def _spare_context() -> ir.Context:
    context = ir.Context(load_on_create_dialects=[])
    load_dialects(context, [*sorted(PART_DIALECTS - {"builtin"}), *_FOR_PASSES])
    return context
