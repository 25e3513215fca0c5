"""Legalisation of ops that the runtime computes: calls of registered packed functions (level R0 to R1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.diagnostics import where
from relax_mlir.dialects.base import OpArgs
from relax_mlir.dialects.calls import CallPurePackedOp
from relax_mlir.dialects.structure import pack
from relax_mlir.mlir import ir

RUNTIME_PREFIX = "relax_mlir.run."
"""Name prefix of functions of this project's runtime, which need Python."""

UNIQUE = f"{RUNTIME_PREFIX}unique"
NONZERO = f"{RUNTIME_PREFIX}nonzero"

PackedRule = Callable[[ir.Operation, OpArgs], ir.Value]


def call_runtime(
    function: str,
    operands: Sequence[ir.Value],
    literals: Sequence[ir.Attribute],
    result: ir.Type,
    *,
    literals_first: bool = False,
) -> ir.Value:
    """Call `function` of the runtime on `operands`, then `literals`, at the current insertion point and location."""
    location = ir.Location.current
    units: list[ir.Attribute] = [ir.UnitAttr.get()] * len(operands)
    spec = [*literals, *units] if literals_first else [*units, *literals]
    return ir.Operation.create(
        CallPurePackedOp.OPERATION_NAME,
        results=[result],
        operands=[pack(list(operands), location)],
        attributes={"func": ir.StringAttr.get(function), "arg_spec": ir.ArrayAttr.get(spec)},
        loc=location,
    ).results[0]


def _unique(op: ir.Operation, args: OpArgs) -> ir.Value:
    flags = [args.attrs[name] for name in ("sorted", "return_index", "return_inverse", "return_counts")]
    axis = [] if args.is_unit("axis") else [args.attrs["axis"]]
    return call_runtime(
        UNIQUE, list(op.operands), [*flags, ir.StringAttr.get(where(op)), *axis], op.results[0].type
    )


def _nonzero(op: ir.Operation, args: OpArgs) -> ir.Value:
    return call_runtime(NONZERO, list(op.operands), [], op.results[0].type)


PACKED_RULES: dict[str, PackedRule] = {"relax.unique": _unique, "relax.nonzero": _nonzero}
"""Ops that are calls of the runtime, whatever is known about their operands."""
