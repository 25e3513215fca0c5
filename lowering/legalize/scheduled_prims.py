"""Prim funcs that are schedules of others: they stay in bounds if these do.

A schedule accesses the same elements as the unscheduled computation, at other times; its local buffers are in bounds by
construction (see `relax_mlir.te.schedule`). So bounds are proved for the unscheduled loops, and for the prim funcs that
replace some of them.
"""

from __future__ import annotations

from relax_mlir.dialects.attributes import KERNEL_SEAL, SCHEDULED_FROM
from relax_mlir.dialects.kernel_seals import claims, is_sealed
from relax_mlir.lowering.legalize.define_arithmetic import define_arithmetic
from relax_mlir.lowering.legalize.prim_call_sites import CallSites
from relax_mlir.lowering.shapes.check_bounds import unproved
from relax_mlir.lowering.shapes.index_ranges import Ranges
from relax_mlir.mlir import func, ir


def take_plain(prim: func.FuncOp) -> str | None:
    """Remove and return the text of a prim func's unscheduled form; None without one, or if its hash does not match."""
    given = prim.attributes.get(SCHEDULED_FROM)
    if given is None:
        return None
    text = given.value if isinstance(given, ir.StringAttr) and is_sealed(prim) else None
    del prim.attributes[SCHEDULED_FROM]
    if not claims(prim) and KERNEL_SEAL in prim.attributes:
        del prim.attributes[KERNEL_SEAL]
    return text


def unproved_kinds(text: str, sites: CallSites, name: str) -> set[str]:
    """The kinds of errors that the unscheduled form of a prim func may raise, with the calls of that prim func.

    The form is the first function of `text`; the others replace loops, on parts of buffers that these read and write
    completely.
    """
    module = ir.Module.parse(text)
    kinds: set[str] = set()
    for number, function in enumerate(op for op in module.body.operations if isinstance(op, func.FuncOp)):
        define_arithmetic(function)
        ranges = Ranges(function, sites.params(name)) if number == 0 else Ranges(function)
        kinds |= {requirement.kind for requirement in unproved(function, ranges)}
    return kinds
