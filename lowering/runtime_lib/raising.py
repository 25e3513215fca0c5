"""Functions of compiled code that raise errors of a given kind and format, and append a place to the message.

A few of them are in the support functions that all modules share (`SHARED_RAISERS`); a module defines the others that
it needs.
"""

from __future__ import annotations

from relax_mlir.lowering.runtime_lib.set_error import SET_ERROR_CALLS, set_error_text
from relax_mlir.mlir_text import Code

RAISER_PREFIX = "relax.rt.raise."
"""Prefix of the names of all these functions."""
ADD_PLACE = f"{RAISER_PREFIX}place"
SET_ERROR = f"{RAISER_PREFIX}text"

RAISER_CALLS = ("@snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32", *SET_ERROR_CALLS)
ADD_PLACE_CALLS = ("@TVMFFIErrorMoveFromRaised(!llvm.ptr)", *SET_ERROR_CALLS)
"""The functions that they call."""

SHARED_COUNT = 8
"""Functions for fewer values than this are shared."""

COLD = 'passthrough = ["cold", "noinline"]'

_KIND, _MESSAGE, _MESSAGE_SIZE = 24, 40, 48
"""Offsets in an FFI error of the pointers to its kind and message, and of the message's size."""


def raiser(count: int) -> str:
    """The name of the function that raises an error whose message shows `count` values."""
    return f"{RAISER_PREFIX}{count}"


def set_error(mark: str) -> str:
    """The function `SET_ERROR`, which raises an error; `mark` is an attribute for it."""
    return set_error_text(f"func.func private @{SET_ERROR}", "return", mark).lstrip()


def raiser_text(count: int, mark: str) -> str:
    """The function `@relax.rt.raise.COUNT(kind, format, count times i64)`; strings are passed by address."""
    code = Code()
    values = [f"%a{i}" for i in range(count)]
    types = ["!llvm.ptr", "i64", "!llvm.ptr", *["i64"] * count]

    def print_to(buffer: str, size: str) -> str:
        operands = ", ".join([buffer, size, "%format", *values])
        return code.let(
            f"llvm.call @snprintf({operands}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : "
            f"({', '.join(types)}) -> i32"
        )

    length = code.let(f"arith.extsi {print_to(code.null(), code.constant(0))} : i32 to i64")
    size = code.let(f"arith.addi {length}, {code.constant(1)} : i64")
    buffer = code.let(f"llvm.alloca {size} x i8 : (i64) -> !llvm.ptr")
    print_to(buffer, size)
    code.do(f"func.call @{SET_ERROR}(%kind, {buffer}) : (!llvm.ptr, !llvm.ptr) -> ()")
    code.do("func.return")
    parameters = ", ".join(["%kind: !llvm.ptr", "%format: !llvm.ptr", *(f"{v}: i64" for v in values)])
    head = f"func.func private @{raiser(count)}({parameters}) attributes {{{COLD}, {mark}}} {{"
    return "\n".join([head, *code.lines, "}"])


def add_place_text(mark: str) -> str:
    """The function `ADD_PLACE`, which appends a string to the message of the current error."""
    return f"""
func.func private @{ADD_PLACE}(%place: !llvm.ptr) attributes {{{COLD}, {mark}}} {{
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
""".lstrip()


def shared_raisers(mark: str) -> str:
    """The functions that all modules share."""
    return "\n".join(
        [set_error(mark), add_place_text(mark), *(raiser_text(count, mark) for count in range(SHARED_COUNT))]
    )
