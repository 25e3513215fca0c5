"""Where an error of native code was raised: what messages say that do not know it themselves.

A prim func is shared by the ops that compute the same, and support functions by all modules. So the error exit of a
call of one adds the place of the call to the message: ``(at file:line:column)`` for those of ops and for support
functions, ``(called at …)`` for prim funcs of users, ``(in f)`` for what the entry point of ``f`` calls.
"""

from __future__ import annotations

from relax_mlir.diagnostics import all_places
from relax_mlir.dialects.attributes import MAY_FAIL, PATTERN, PRIM_FUNC, SAYS_PLACE
from relax_mlir.lowering.parts.shared_code import is_support
from relax_mlir.mlir import func, ir


def added_place(caller: func.FuncOp, call: ir.OpView, callee: func.FuncOp | None, entry_prefix: str) -> str:
    """What the error exit of a call of a function that may fail adds to the message; "" where it knows the place."""
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
