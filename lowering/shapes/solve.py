"""Symbols of parameters at run time: their values, solved from dimension expressions, and their bounds."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.types import Prim, Shape, Tensor
from relax_mlir.lowering.abi.checks import verbatim
from relax_mlir.lowering.shapes.leaves import Leaf
from relax_mlir.lowering.shapes.symbols import SymbolTable, index_constant
from relax_mlir.mlir import arith, ir
from relax_mlir.symbolic import Bounds, Definition, Dim


def leaf_dims(leaf: Leaf) -> Sequence[Dim | None]:
    """The dimensions of a tensor, the values of a shape, or the value of an integer."""
    if isinstance(leaf.info, Tensor):
        return leaf.info.shape or ()
    if isinstance(leaf.info, Shape):
        return leaf.info.values or ()
    return (None,) if isinstance(leaf.info, Prim) else ()


def describe(leaf: Leaf, axis: int) -> str:
    """The name of entry `axis` of a leaf in messages."""
    what = "dimension" if isinstance(leaf.info, Tensor) else "value"
    return f"parameter '{verbatim(leaf.name)}' {what} {axis}"


def define_symbols(table: SymbolTable, params: Sequence[Leaf], dims: Sequence[Sequence[ir.Value]]) -> None:
    """Define every symbol of the parameters by the dimension that `symbolic.definitions` chooses.

    The symbol of ``2*n`` is half the dimension; a check ensures that it is an integer and non-negative.
    """
    places = [(leaf, axis, dim) for leaf in params for axis, dim in enumerate(leaf_dims(leaf))]
    values = [value for sizes in dims for value in sizes]
    for definition in symbolic.definitions([dim for _, _, dim in places]):
        leaf, axis, _ = places[definition.index]
        value = values[definition.index]
        if not definition.is_bare:
            value = _solved(table, leaf, axis, definition, value)
        table.define(definition.symbol, value, describe(leaf, axis))


def _solved(table: SymbolTable, leaf: Leaf, axis: int, definition: Definition, size: ir.Value) -> ir.Value:
    """``(size - offset) / scale``, checked to be a non-negative integer."""
    what = f"{table.function}: {describe(leaf, axis)}"
    known = [name for name in symbolic.symbols(definition.dim) if name != definition.symbol]
    given = "".join(
        f", {name} = {{{1 + i}}} taken from {table.origins[name]}" for i, name in enumerate(known)
    )
    explained = [table.values[name] for name in known]
    expected = f"(expected {verbatim(leaf.name)}: {leaf.info})"
    rest = arith.subi(size, table.value(definition.offset))
    scale = table.value(definition.scale)
    zero = index_constant(0)
    if not isinstance(definition.scale, int):
        message = (
            f"{what} is {{0}}, {definition.dim}, which tells nothing of symbol '{definition.symbol}' where "
            f"{definition.scale} is 0{given} {expected}"
        )
        nonzero = arith.cmpi(arith.CmpIPredicate.ne, scale, zero)
        table.declarations.check(nonzero, "ShapeError", message, [size, *explained])
    quotient = rest if definition.scale == 1 else arith.floordivsi(rest, scale)
    exact = arith.cmpi(arith.CmpIPredicate.eq, arith.muli(quotient, scale), rest)
    counts = arith.cmpi(arith.CmpIPredicate.sge, quotient, zero)
    message = f"{what} is {{0}}, which is {definition.dim} for no {definition.symbol} = 0, 1, 2, …{given} {expected}"
    table.declarations.check(arith.andi(exact, counts), "ShapeError", message, [size, *explained])
    return quotient


def check_bounds(table: SymbolTable, bounds: Bounds) -> None:
    """Check at run time that the symbols are within the bounds that the user gave."""
    for name, (low, high) in bounds.items():
        value = table.values[name]
        source = f"{table.function}: symbol '{name}' is {{0}}, taken from {table.origins[name]},"
        limits = [("below its lower", low, arith.CmpIPredicate.sge)] if low > 0 else []
        if high is not None:
            limits.append(("above its upper", high, arith.CmpIPredicate.sle))
        for text, limit, predicate in limits:
            inside = arith.cmpi(predicate, value, index_constant(limit))
            table.declarations.check(inside, "ShapeError", f"{source} {text} bound {limit}", [value])
    table.assume(bounds)
