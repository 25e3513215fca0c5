"""Symbols that nothing else in the function is called by, for sizes that only run time knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from relax_mlir.dialects.types import struct_info
from relax_mlir.error import RelaxError
from relax_mlir.ir_queries import ancestors, enclosing_function
from relax_mlir.mlir import ir

PREFIX = "_s"
"""Users hardly begin a symbol's name with this; a name that is taken is not used."""

_FUNCTION: ContextVar[ir.Operation | None] = ContextVar("the function being built", default=None)


@contextmanager
def building(function: ir.Operation) -> Iterator[None]:
    """Inside, fresh symbols differ from those of `function`, even where its dataflow blocks are still detached."""
    outer = _FUNCTION.get()
    _FUNCTION.set(function)
    try:
        yield
    finally:
        _FUNCTION.set(outer)


def fresh_symbols(count: int) -> list[str]:
    """`count` names of symbols that the function at the insertion point does not use."""
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
