"""`probe` of `fast_call`: an entry point by which the self-test sees what calls are given."""

from __future__ import annotations

from relax_mlir.lowering.abi.unpack import ANY_BYTES, DL, INT, NONE, OBJECT_BYTES, TENSOR
from relax_mlir.lowering.runtime_lib.fast_call_state import load, store

PROBE_FACTOR = 1_000_003
"""`probe` multiplies what it has by this, and adds the next word: of each argument the kind, and of its tensor the
address, device, rank, dtype and dimensions."""


def probe_text() -> str:
    """An entry point: None without arguments, else the number that all of them make."""
    fields = "".join(
        _mixed_in(name, before, offset, type_)
        for name, before, offset, type_ in (
            ("data", "with_kind", DL.DATA, "i64"),
            ("device", "with_data", DL.DEVICE, "i64"),
            ("ndim", "with_device", DL.NDIM, "i32"),
            ("dtype", "with_ndim", DL.DTYPE, "i32"),
        )
    )
    return f"""
llvm.func internal @probe(%slots: !llvm.ptr) {{
  {load("p_anys", "slots", 8, "!llvm.ptr")}
  {load("p_count", "slots", 16, "!llvm.ptr")}
  {load("p_result", "slots", 24, "!llvm.ptr")}
  {load("anys", "p_anys", 0, "!llvm.ptr")}
  {load("narrow", "p_count", 0, "i32")}
  {load("result", "p_result", 0, "!llvm.ptr")}
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %factor = arith.constant {PROBE_FACTOR} : i64
  %count = arith.extsi %narrow : i32 to i64
  %all = scf.for %i = %zero to %count step %one iter_args(%total = %zero) -> (i64) : i64 {{
    %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<{ANY_BYTES} x i8>
    {load("kind", "any", 0, "i64")}
    {load("value", "any", 8, "!llvm.ptr")}
    %object = arith.constant {TENSOR} : i64
    %is_object = arith.cmpi eq, %kind, %object : i64
    %inside = llvm.getelementptr %value[{OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
    %grown_kind = arith.muli %total, %factor : i64
    %with_kind = arith.addi %grown_kind, %kind : i64{fields}
    {load("shape", "tensor", DL.SHAPE, "!llvm.ptr")}
    %with_shape = scf.for %axis = %zero to %wide_ndim step %one iter_args(%sum = %with_dtype) -> (i64) : i64 {{
      %at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %dim = llvm.load %at : !llvm.ptr -> i64
      %grown = arith.muli %sum, %factor : i64
      %more = arith.addi %grown, %dim : i64
      scf.yield %more : i64
    }}
    scf.yield %with_shape : i64
  }}
  %is_nothing = arith.cmpi eq, %count, %zero : i64
  %none = arith.constant {NONE} : i64
  %int = arith.constant {INT} : i64
  %what = arith.select %is_nothing, %none, %int : i64
  llvm.store %what, %result : i64, !llvm.ptr{store("all", "result", 8, "i64", "all")}
  llvm.return
}}
"""


def _mixed_in(name: str, before: str, offset: int, type_: str) -> str:
    """A field of the tensor, as the next word of the number that `probe` gives."""
    wide = f"wide_{name}" if type_ == "i32" else name
    extended = f"%{wide} = arith.extui %{name} : i32 to i64" if type_ == "i32" else ""
    return f"""
    {load(name, "tensor", offset, type_)}
    {extended}
    %grown_{name} = arith.muli %{before}, %factor : i64
    %with_{name} = arith.addi %grown_{name}, %{wide} : i64"""
