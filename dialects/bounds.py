"""User-given bounds of a function's symbols: the attribute `SYMBOL_BOUNDS` and its parser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relax_mlir.dialects.attributes import SYMBOL_BOUNDS
from relax_mlir.error import ArgumentError, expect
from relax_mlir.ir_queries import enclosing_function
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Bounds


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

    return ir.DictAttr.get(
        {name: ir.ArrayAttr.get([entry(low), entry(high)]) for name, (low, high) in bounds.items()}
    )


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
        None
        if isinstance(item, ir.UnitAttr)
        else int(item.value)
        if isinstance(item, ir.IntegerAttr)
        else item
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
