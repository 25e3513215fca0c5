"""Functions that format values of the user's program for messages: floats, bools and strings.

Each takes the value's bits and a buffer of `relax_mlir.lowering.abi.checks.NAME_ROOM` bytes, and returns the text.
"""

from __future__ import annotations

from relax_mlir.dialects.attributes import SHARED_GROUP
from relax_mlir.lowering.parts.shared_code import SUPPORT_GROUP
from relax_mlir.mlir_text import Fragment

FLOAT = "relax.rt.float_name"
BOOL = "relax.rt.bool_name"
TEXT = "relax.rt.text_name"

_SHARED = f'{SHARED_GROUP} = "{SUPPORT_GROUP}"'

_FLOAT = f"""
llvm.mlir.global internal constant @relax.rt.float_format("%.9g\\00")
func.func private @{FLOAT}(%bits: i64, %buffer: !llvm.ptr) -> !llvm.ptr attributes {{{_SHARED}}} {{
  %room = arith.constant 64 : i64
  %format = llvm.mlir.addressof @relax.rt.float_format : !llvm.ptr
  %value = arith.bitcast %bits : i64 to f64
  %n = llvm.call @snprintf(%buffer, %room, %format, %value) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, f64) -> i32
  return %buffer : !llvm.ptr
}}
"""
_BOOL = f"""
llvm.mlir.global internal constant @relax.rt.bool_true("True\\00")
llvm.mlir.global internal constant @relax.rt.bool_false("False\\00")
func.func private @{BOOL}(%bits: i64, %buffer: !llvm.ptr) -> !llvm.ptr attributes {{{_SHARED}}} {{
  %zero = arith.constant 0 : i64
  %yes = llvm.mlir.addressof @relax.rt.bool_true : !llvm.ptr
  %no = llvm.mlir.addressof @relax.rt.bool_false : !llvm.ptr
  %is = arith.cmpi ne, %bits, %zero : i64
  %name = llvm.select %is, %yes, %no : i1, !llvm.ptr
  return %name : !llvm.ptr
}}
"""
_TEXT = f"""
func.func private @{TEXT}(%address: i64, %buffer: !llvm.ptr) -> !llvm.ptr attributes {{{_SHARED}}} {{
  %text = llvm.inttoptr %address : i64 to !llvm.ptr
  return %text : !llvm.ptr
}}
"""


def define_formatters(fragment: Fragment, names: set[str]) -> None:
    """Define the functions that are in `names`."""
    for name, text in ((FLOAT, _FLOAT), (BOOL, _BOOL), (TEXT, _TEXT)):
        if name in names:
            fragment.external("@snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32")
            fragment.define(text)
