"""The source locations that error exits append to messages of native code.

Ops with equal code share a prim func, and all modules share the support functions, so these cannot name the location
of an error. The error exit of a call appends it to the message: ``(at file:line:column)`` for prim funcs of ops and for
support functions, ``(called at …)`` for prim funcs of users, ``(in f)`` for calls made by the entry point of ``f``.
"""

from __future__ import annotations

from relax_mlir.diagnostics import all_places
from relax_mlir.dialects.attributes import MAY_FAIL, PATTERN, PRIM_FUNC, SAYS_PLACE
from relax_mlir.lowering.parts.shared_code import is_support
from relax_mlir.mlir import func, ir


def added_place(caller: func.FuncOp, call: ir.OpView, callee: func.FuncOp | None, entry_prefix: str) -> str:
    """The text that the error exit of a call appends to the message; "" if the message already has its location."""
    if (
        callee is None
        or PRIM_FUNC in caller.attributes
        or is_support(caller)
        or SAYS_PLACE in callee.attributes
    ):
        return ""
    if PRIM_FUNC in callee.attributes:
        word = "at" if PATTERN in callee.attributes else "called at"
    elif MAY_FAIL in callee.attributes:
        word = "at"
    else:
        return ""
    name = str(caller.name.value)
    if name.startswith(entry_prefix):
        return f" (in {name.removeprefix(entry_prefix)})"
    known = ", ".join(all_places(call.operation.location))
    return f" ({word} {known})" if known else ""
