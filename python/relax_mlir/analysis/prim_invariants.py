"""The invariants of a single prim func (invariant 8 of `relax_mlir.analysis.well_formed`)."""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir import symbolic
from relax_mlir.dialects.attributes import PATTERN, PATTERNS
from relax_mlir.dialects.op_attributes import against_attributes
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim


def prim_violations(prim: func.FuncOp) -> Iterator[tuple[ir.Operation | ir.OpView, str]]:
    """The ops of a prim func that violate invariant 8, with messages; raises the errors of `prim_params`."""
    name = prim.name.value
    if "sym_visibility" not in prim.attributes:
        yield prim, f"prim func '{name}' is public"
    if PATTERN in prim.attributes:
        pattern = prim.attributes[PATTERN]
        if not isinstance(pattern, ir.StringAttr) or pattern.value not in PATTERNS:
            known = ", ".join(f'"{each}"' for each in PATTERNS)
            yield prim, f"prim func '{name}': {PATTERN} is {pattern}, expected one of {known}"
    for parameter, dim, symbol in _undetermined(prim):
        yield (
            prim,
            f"prim func '{name}': the dimension '{dim}' of parameter '{parameter}' uses symbol '{symbol}', which no "
            "dimension of a parameter defines, by being the symbol alone or a linear expression of it; add an integer "
            f"parameter '{symbol}'",
        )
    types = [*prim.type.inputs, *prim.type.results]
    if any(isinstance(t, ir.RankedTensorType) and t.encoding is not None for t in types):
        yield prim, f"prim func '{name}' has symbolic shapes in its type"
    for op in ops_of(prim.operation):
        if wrong := against_attributes(op):
            yield op, f"prim func '{name}': {wrong}"
        if op.name.startswith("relax."):
            yield (
                op,
                f"prim func '{name}' contains {op.name}: write linalg, or the op in a Relax function",
            )


def _undetermined(prim: func.FuncOp) -> Iterator[tuple[str, Dim, str]]:
    """The symbols that no parameter defines, once each, with the first parameter and dimension that use them."""
    params = prim_params(prim) or []
    known = {param.name for param in params if param.shape is None}
    dims = [dim for param in params for dim in param.shape or ()]
    known.update(definition.symbol for definition in symbolic.definitions(dims, known))
    for param in params:
        for dim in param.shape or ():
            for symbol in symbolic.symbols(dim):
                if symbol not in known:
                    known.add(symbol)
                    yield param.name, dim, symbol
