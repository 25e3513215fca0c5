"""A function of compiled code that raises an FFI error, as MLIR text.

The FFI's own ``TVMFFIErrorSetRaisedFromCStr`` resolves the names of all frames on the C stack. For the first error of a
process it reads the debug information of every library, which takes seconds, and finds nothing, because compiled code
has none.
"""

from __future__ import annotations

SET_ERROR_CALLS = (
    "@strlen(!llvm.ptr) -> i64",
    "@TVMFFIErrorCreate(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32",
    "@TVMFFIErrorSetRaised(!llvm.ptr)",
    "@TVMFFIObjectDecRef(!llvm.ptr) -> i32",
)
"""The functions that it calls."""


def set_error_text(head: str, return_op: str, mark: str = "") -> str:
    """A function ``(kind, message) -> ()`` of two zero-terminated strings; it calls `SET_ERROR_CALLS`.

    Args:
        head: the text before its parameters: ``llvm.func internal @set_error``.
        return_op: the return op of functions of this kind.
        mark: a unit attribute for it.
    """
    more = f", {mark}" if mark else ""
    return f"""
{head}(%kind: !llvm.ptr, %message: !llvm.ptr) attributes {{passthrough = ["cold", "noinline"]{more}}} {{
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %kind_text = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %message_text = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %no_frames = llvm.alloca %one x !llvm.struct<(ptr, i64)> : (i64) -> !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %kind_size = llvm.call @strlen(%kind) : (!llvm.ptr) -> i64
  %message_size = llvm.call @strlen(%message) : (!llvm.ptr) -> i64
  %kind_size_at = llvm.getelementptr %kind_text[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %message_size_at = llvm.getelementptr %message_text[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %no_size_at = llvm.getelementptr %no_frames[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %kind_text : !llvm.ptr, !llvm.ptr
  llvm.store %kind_size, %kind_size_at : i64, !llvm.ptr
  llvm.store %message, %message_text : !llvm.ptr, !llvm.ptr
  llvm.store %message_size, %message_size_at : i64, !llvm.ptr
  llvm.store %message, %no_frames : !llvm.ptr, !llvm.ptr
  llvm.store %zero, %no_size_at : i64, !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %status = llvm.call @TVMFFIErrorCreate(%kind_text, %message_text, %no_frames, %out)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %error = llvm.load %out : !llvm.ptr -> !llvm.ptr
  llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
  %dropped = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  {return_op}
}}
"""
