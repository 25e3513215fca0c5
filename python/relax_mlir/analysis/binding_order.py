"""The order in which `match_shape` ops can bind the symbols of several struct infos."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from relax_mlir.analysis.symbols import defined_symbols, free_symbols
from relax_mlir.analysis.well_formed import defining_symbols
from relax_mlir.dialects.types import StructInfo


def binding_order(infos: Sequence[StructInfo], known: Collection[str]) -> list[int] | None:
    """The indices of `infos` in an order in which each symbol is bound before an expression uses it.

    A `match_shape` binds a symbol where a dimension is the symbol alone. `known`: the symbols that are already bound.
    None if there is no such order: a symbol only occurs in larger expressions.
    """
    bound = set(known)
    left = list(range(len(infos)))
    order: list[int] = []
    while left:
        for place in left:
            own = set(defining_symbols(infos[place]))
            if {*free_symbols(infos[place]), *defined_symbols(infos[place])} <= bound | own:
                bound |= own
                order.append(place)
                left.remove(place)
                break
        else:
            return None
    return order
