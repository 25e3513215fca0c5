"""A clock function for compiled code, as MLIR text."""

from __future__ import annotations


def clock_text(head: str, return_op: str, attributes: str = "") -> str:
    """A function ``() -> i64`` that returns nanoseconds of a monotonic clock; it calls `clock_gettime`.

    Args:
        head: the text before its type: ``func.func private @now``.
        return_op: the return op of functions of this kind.
        attributes: the text after its type: `` attributes {…}``.
    """
    return f"""
{head}() -> i64{attributes} {{
  %two = arith.constant 2 : i64
  %monotonic = arith.constant 1 : i32
  %billion = arith.constant 1000000000 : i64
  %time = llvm.alloca %two x i64 {{alignment = 8 : i64}} : (i64) -> !llvm.ptr
  %rc = llvm.call @clock_gettime(%monotonic, %time) : (i32, !llvm.ptr) -> i32
  %seconds = llvm.load %time : !llvm.ptr -> i64
  %at8 = llvm.getelementptr %time[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %rest = llvm.load %at8 : !llvm.ptr -> i64
  %scaled = arith.muli %seconds, %billion : i64
  %now = arith.addi %scaled, %rest : i64
  {return_op} %now : i64
}}
"""
