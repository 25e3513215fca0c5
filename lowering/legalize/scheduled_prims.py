"""Prim funcs that are schedules of others: they stay within their buffers where these do.

A schedule reads and writes the elements that the computation without a schedule does, at other times, and buffers of
its own by construction (see `relax_mlir.te.schedule`). So what is to be proved is proved of the plain loops, and of the
prim funcs that take the place of some of them.
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
    """The text of what a prim func is a schedule of, which it loses; None for others, and for broken seals."""
    given = prim.attributes.get(SCHEDULED_FROM)
    if given is None:
        return None
    text = given.value if isinstance(given, ir.StringAttr) and is_sealed(prim) else None
    del prim.attributes[SCHEDULED_FROM]
    if not claims(prim) and KERNEL_SEAL in prim.attributes:
        del prim.attributes[KERNEL_SEAL]
    return text


def unproved_kinds(text: str, sites: CallSites, name: str) -> set[str]:
    """The kinds of errors that what a prim func of this name is a schedule of may raise, called as that is.

    That is the first function of `text`; the others take the place of loops, on parts of buffers that these read and
    write wholly.
    """
    module = ir.Module.parse(text)
    kinds: set[str] = set()
    for number, function in enumerate(op for op in module.body.operations if isinstance(op, func.FuncOp)):
        define_arithmetic(function)
        ranges = Ranges(function, sites.params(name)) if number == 0 else Ranges(function)
        kinds |= {requirement.kind for requirement in unproved(function, ranges)}
    return kinds
