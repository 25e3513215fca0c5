"""Profiled sites of a module: the function that runs there, and formulas of its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from relax_mlir.dialects.attributes import PROFILE_SITES
from relax_mlir.mlir import ir


@dataclass(frozen=True)
class Site:
    """A profiled site in a module.

    Attributes:
        kind: ``function`` (a Relax function as a whole), ``prim`` or ``packed`` (a call of such a function).
        name: the function that runs.
        location: ``file:line:column``, or ``unknown``.
        sizes: the names of the sizes in the formulas: ``a0_1`` is size 1 of argument 0.
        flops, bytes: formulas, sums of products; None if unknown.
    """

    kind: str
    name: str
    location: str
    sizes: tuple[str, ...] = ()
    flops: str | None = None
    bytes: str | None = None


def evaluate(formula: str | None, sizes: Mapping[str, int]) -> int | None:
    """Evaluate a sum of products of integers and sizes."""
    if formula is None:
        return None
    terms = (term.split("*") for term in formula.split(" + "))
    return sum(math.prod(sizes[f] if f in sizes else int(f) for f in term) for term in terms)


def profiled_sites(module: ir.Module) -> tuple[Site, ...]:
    """Return the sites that the pass `instrument-calls` has recorded; site N is at index N - 1."""
    found = []
    for entry in ir.ArrayAttr(module.operation.attributes[PROFILE_SITES]):
        fields = {named.name: named.attr for named in ir.DictAttr(entry)}
        sizes = tuple(str(ir.StringAttr(size).value) for size in ir.ArrayAttr(fields.pop("sizes")))
        texts = {name: str(ir.StringAttr(value).value) for name, value in fields.items()}
        found.append(Site(sizes=sizes, **texts))
    return tuple(found)
