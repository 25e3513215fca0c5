"""Fresh symbols of a function, for sizes known only at run time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from relax_mlir.dialects.types import struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ancestors, enclosing_function
from relax_mlir.mlir import ir

PREFIX = "_s"
"""Prefix of fresh symbols, unlikely in user code; names that are taken are skipped."""

_FUNCTION: ContextVar[ir.Operation | None] = ContextVar("the function being built", default=None)


@contextmanager
def building(function: ir.Operation) -> Iterator[None]:
    """A context in which fresh symbols differ from those of `function`, even while its dataflow blocks are detached."""
    outer = _FUNCTION.get()
    _FUNCTION.set(function)
    try:
        yield
    finally:
        _FUNCTION.set(outer)


def fresh_symbols(count: int) -> list[str]:
    """`count` symbol names that the function at the insertion point does not use."""
    root = ir.InsertionPoint.current.block.owner.operation
    root = enclosing_function(root) or list(ancestors(root))[-1]
    taken = set(_symbols_in(root))
    around = _FUNCTION.get()
    if around is not None and around != root:
        taken.update(_symbols_in(around))
    names: list[str] = []
    number = 0
    while len(names) < count:
        name = f"{PREFIX}{number}"
        number += 1
        if name not in taken:
            names.append(name)
    return names


def _symbols_in(op: ir.Operation) -> Iterator[str]:
    for region in op.regions:
        for block in region.blocks:
            for argument in block.arguments:
                yield from _symbols_of(argument.type)
            for view in block.operations:
                for result in view.operation.results:
                    yield from _symbols_of(result.type)
                yield from _symbols_in(view.operation)


def _symbols_of(type_: ir.Type) -> Iterator[str]:
    try:
        yield from struct_info(type_).symbols()
    except RelaxError:
        return  # the type of an upstream op's value
