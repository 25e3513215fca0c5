"""The output of ``relax-opt --memory-plan``: the memory plans of a module's functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from relax_mlir.dialects.attributes import SIGNATURE
from relax_mlir.error import ArgumentError, ParseError
from relax_mlir.lowering.base.signature import MEMORY_PLAN
from relax_mlir.mlir import ir
from relax_mlir.runtime.memory import MemoryPlan

PIPELINE = "relax-to-memrefs"
"""The pipeline that is run for the plans if no passes are given."""


def bindings(texts: Sequence[str]) -> dict[str, int]:
    """Values of symbols from texts like ``n=128``. ParseError: another text, or two values for a symbol."""
    values: dict[str, int] = {}
    for text in texts:
        found = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+)\s*", text)
        if found is None:
            raise ParseError(f"--bind takes a symbol and a number from 0, as n=128, got '{text}'")
        name, value = found[1], int(found[2])
        if values.setdefault(name, value) != value:
            raise ParseError(f"--bind gives '{name}' two values: {values[name]} and {value}")
    return values


def plans_text(module: ir.Module, values: Mapping[str, int]) -> str:
    """The plans of all functions, with the given symbols replaced by their values.

    Raises ArgumentError if no function has been planned, or no plan has a symbol of `values`.
    """
    plans = list(_plans(module))
    if not plans:
        raise ArgumentError(
            f"--memory-plan: the module has no function with a plan; run --plan-memory, --{PIPELINE} or no passes"
        )
    symbols = {name for plan in plans for name in plan.symbols}
    if unknown := sorted(set(values) - symbols):
        raise ArgumentError(
            f"--bind: no memory plan has a symbol {', '.join(unknown)}; "
            f"there are: {', '.join(sorted(symbols)) or 'none'}"
        )
    given = [{name: values[name] for name in plan.symbols if name in values} for plan in plans]
    return "\n\n".join(str(plan.bind(**known)) for plan, known in zip(plans, given, strict=True)) + "\n"


def _plans(module: ir.Module) -> Iterator[MemoryPlan]:
    for op in module.body.operations:
        if MEMORY_PLAN in op.attributes:
            yield MemoryPlan.from_json(ir.StringAttr(op.attributes[MEMORY_PLAN]).value)
        elif SIGNATURE in op.attributes:
            yield MemoryPlan(ir.StringAttr(op.attributes["sym_name"]).value, 0, (), ())
