"""Checks of lowering attributes in user modules: invariants 8 and 15 of `analysis.well_formed`."""

from __future__ import annotations

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import BY_SIZE, DTYPE, LOOP_KIND, LOOP_KINDS
from relax_mlir.mlir import ir

ALLOCATIONS = ("memref.alloc", "memref.alloca", "tensor.empty")


def against_attributes(op: ir.Operation) -> str:
    """The reason why an attribute of an op is invalid; "" if all are valid."""
    if op.name == "scf.if" and BY_SIZE in op.attributes:
        name = op.attributes[BY_SIZE]
        if not isinstance(name, ir.StringAttr) or not name.value:
            return f"{op.name}: {BY_SIZE} is {name}, expected the name of an op"
    if op.name == "scf.for" and LOOP_KIND in op.attributes:
        kind = op.attributes[LOOP_KIND]
        if not isinstance(kind, ir.StringAttr) or kind.value not in LOOP_KINDS:
            known = ", ".join(f'"{each}"' for each in LOOP_KINDS)
            return f"{op.name}: {LOOP_KIND} is {kind}, expected one of {known}"
    if op.name in ALLOCATIONS and DTYPE in op.attributes:
        given, element = op.attributes[DTYPE], ir.ShapedType(op.results[0].type).element_type
        dtype = dtypes.DTYPES.get(given.value) if isinstance(given, ir.StringAttr) else None
        if dtype is None or dtype.storage_type() != element:
            return f"{op.name}: {DTYPE} is {given}, expected the name of a dtype with elements of {element}"
    return ""
