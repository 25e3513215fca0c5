"""Where an error of native code was raised: what messages say that do not know it themselves.

A prim func is shared by the ops that compute the same, and support functions by all modules. So the error exit of a
call of one adds the place of the call to the message: ``(at file:line:column)`` for those of ops and for support
functions, ``(called at …)`` for prim funcs of users, ``(in f)`` for what the entry point of ``f`` calls.
"""

from __future__ import annotations

from relax_mlir.diagnostics import all_places
from relax_mlir.dialects.attributes import MAY_FAIL, PATTERN, PRIM_FUNC, SUPPORT
from relax_mlir.lowering.parts.shared_code import is_support
from relax_mlir.lowering.runtime_lib.set_error import SET_ERROR_CALLS, set_error_text
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import Fragment

ADD_PLACE = "relax.rt.raise.place"
SET_ERROR = "relax.rt.raise.text"

_KIND, _MESSAGE, _MESSAGE_SIZE = 24, 40, 48
"""Where an FFI error has the pointers to its kind and to its message, and the size of the message."""

_ADD_PLACE = f"""
func.func private @{ADD_PLACE}(%place: !llvm.ptr) attributes {{passthrough = ["cold", "noinline"], {SUPPORT}}} {{
  %one = arith.constant 1 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%out) : (!llvm.ptr) -> ()
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  %is_error = llvm.icmp "ne" %error, %null : !llvm.ptr
  cf.cond_br %is_error, ^raised, ^done
^raised:
  %kind_at = llvm.getelementptr %error[{_KIND}] : (!llvm.ptr) -> !llvm.ptr, i8
  %kind = llvm.load %kind_at : !llvm.ptr -> !llvm.ptr
  %message_at = llvm.getelementptr %error[{_MESSAGE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %message = llvm.load %message_at : !llvm.ptr -> !llvm.ptr
  %size_at = llvm.getelementptr %error[{_MESSAGE_SIZE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %more = llvm.call @strlen(%place) : (!llvm.ptr) -> i64
  %rest = arith.addi %more, %one : i64
  %room = arith.addi %size, %rest : i64
  %buffer = llvm.alloca %room x i8 : (i64) -> !llvm.ptr
  %end = llvm.getelementptr %buffer[%size] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  "llvm.intr.memcpy"(%buffer, %message, %size) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memcpy"(%end, %place, %rest) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  func.call @{SET_ERROR}(%kind, %buffer) : (!llvm.ptr, !llvm.ptr) -> ()
  %status = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  cf.br ^done
^done:
  return
}}
"""


def added_place(caller: func.FuncOp, call: ir.OpView, callee: func.FuncOp | None, entry_prefix: str) -> str:
    """What the error exit of a call of a function that may fail adds to the message; "" where it knows the place."""
    if callee is None or PRIM_FUNC in caller.attributes or is_support(caller):
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


def define_add_place(fragment: Fragment) -> None:
    """Define the function `ADD_PLACE`, which adds a text to the message of the error that has been raised."""
    fragment.external("@TVMFFIErrorMoveFromRaised(!llvm.ptr)")
    define_set_error(fragment)
    fragment.define(_ADD_PLACE)


def define_set_error(fragment: Fragment) -> None:
    """Define the function `SET_ERROR`, which raises an error."""
    for declaration in SET_ERROR_CALLS:
        fragment.external(declaration)
    fragment.define(set_error_text(f"func.func private @{SET_ERROR}", "return", SUPPORT))
