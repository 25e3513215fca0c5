"""Symbols of a function: those of its struct infos, user-given bounds, and fresh ones for sizes known at run time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import SYMBOL_BOUNDS
from relax_mlir.dialects.types import Shape, StructInfo, Tensor, Tuple, info_or_none, struct_info
from relax_mlir.error import ArgumentError, RelaxError, expect
from relax_mlir.ir_queries import ancestors, enclosing_function
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Bounds, Dim


def all_dims(info: StructInfo) -> Iterator[Dim | None]:
    """The dimensions of tensors and shape values anywhere in `info`, in order; None for unknown ones."""
    if isinstance(info, Tensor):
        yield from info.shape or ()
    elif isinstance(info, Shape):
        yield from info.values or ()
    elif isinstance(info, Tuple):
        for item in info.fields:
            yield from all_dims(item)


def symbols_of_type(type_: ir.Type) -> list[str]:
    """The symbols in a type; none for a type of MLIR's own."""
    info = info_or_none(type_)
    return [] if info is None else list(info.symbols())


def parameter_symbols(params: Sequence[StructInfo]) -> list[str]:
    """The symbols that parameters with these struct infos define, in the order of `symbolic.definitions`."""
    dims = [dim for info in params for dim in all_dims(info)]
    return [definition.symbol for definition in symbolic.definitions(dims)]


def contains_unknown(info: StructInfo) -> bool:
    """True if a rank, a dimension or a dtype anywhere in `info` is unknown."""
    if isinstance(info, Tensor):
        return info.known_shape is None or info.dtype is None
    if isinstance(info, Shape):
        return info.values is None or None in info.values
    return isinstance(info, Tuple) and any(map(contains_unknown, info.fields))


def checked_bounds(what: str, given: Mapping[str, Any]) -> Bounds:
    """`given` as bounds: a pair (minimum, maximum) per symbol; the maximum may be None.

    Raises:
        ArgumentError: a bound that is not an integer or is negative, or an empty range.
    """
    expect(f"{what}: 'bounds'", given, Mapping, 'a dictionary such as {"n": (1, 4096)}')
    checked: dict[str, tuple[int, int | None]] = {}
    for name, pair in given.items():
        expect(f"{what}: a symbol of 'bounds'", name, str, "a string")
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ArgumentError(
                f"{what}: the bounds of symbol '{name}' are {pair!r}, expected a pair such as (1, 4096)"
            )
        low, high = pair
        if type(low) is not int or not (high is None or type(high) is int):
            raise ArgumentError(f"{what}: the bounds of symbol '{name}' are {pair!r}, expected integers")
        if low < 0 or (high is not None and high < low):
            raise ArgumentError(
                f"{what}: no value of symbol '{name}' lies between {low} and {high}: it needs 0 <= lower <= upper"
            )
        checked[name] = (low, high)
    return checked


def bounds_attr(bounds: Bounds) -> ir.DictAttr:
    """Bounds as an attribute; needs a current context."""
    i64 = ir.IntegerType.get_signless(64)

    def entry(value: int | None) -> ir.Attribute:
        return ir.UnitAttr.get() if value is None else ir.IntegerAttr.get(i64, value)

    return ir.DictAttr.get({name: ir.ArrayAttr.get([entry(low), entry(high)]) for name, (low, high) in bounds.items()})


def read_bounds(function: func.FuncOp) -> Bounds:
    """The bounds of a function's symbols; raises `ArgumentError` for a malformed attribute."""
    if SYMBOL_BOUNDS not in function.attributes:
        return {}
    attribute = function.attributes[SYMBOL_BOUNDS]
    what = f"function '{function.name.value}', {SYMBOL_BOUNDS}"
    if not isinstance(attribute, ir.DictAttr):
        raise ArgumentError(f"{what} is {attribute}, expected a dictionary such as {{n = [1, 4096]}}")
    given = {item.name: item.attr for item in (attribute[i] for i in range(len(attribute)))}
    return checked_bounds(what, {name: _entry(item) for name, item in given.items()})


def _entry(attribute: ir.Attribute) -> Any:  # noqa: ANN401 - checked by `checked_bounds`
    """The attribute as a pair of Python values; other attributes are returned unchanged, to be refused later."""
    if not isinstance(attribute, ir.ArrayAttr):
        return attribute
    return [
        None if isinstance(item, ir.UnitAttr) else int(item.value) if isinstance(item, ir.IntegerAttr) else item
        for item in attribute
    ]


def bounds_around(op: ir.Operation) -> Bounds:
    """The symbol bounds of the function around `op`; empty if they are malformed."""
    function = enclosing_function(op)
    if function is None or SYMBOL_BOUNDS not in function.attributes:
        return {}
    try:
        return read_bounds(function.opview)
    except ArgumentError:
        return {}  # invariant 14 reports it


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
