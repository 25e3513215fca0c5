"""The few functions that compiled code brings along: memory of one call, result tensors, contiguous copies.

They are part of every module (unused ones are dropped again), so that compiled code needs libc and libtvm_ffi
only. Like all code of this level they fail through the hooks `relax.check` and `relax.propagate`.

The *frame* of a call is the address of a list head on its stack: a chain of malloc'ed nodes
{next, kind, pointer}, kind 0 for memory of `malloc`, 1 for references to FFI objects, released together when
the function returns, with or without an error.
"""

from __future__ import annotations

from relax_mlir.lowering.abi.support_tensors import TENSORS
from relax_mlir.lowering.abi.support_values import VALUES
from relax_mlir.lowering.abi.text import attribute

MEMORY_CHECK = attribute(
    {
        "kind": "MemoryError",
        "message": "cannot allocate {0} bytes (0 stands for a size that is negative or beyond all memory)",
    }
)

CACHED_MEMORY = "relax.cached_memory"
CACHED_OBJECT = "relax.cached_object"

_MEMORY = f"""
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32
llvm.func @TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)
llvm.func @TVMFFIGetTypeInfo(i32) -> !llvm.ptr
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32
llvm.func @TVMFFITensorFromDLPackVersioned(!llvm.ptr, i32, i32, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionGetGlobal(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @TVMFFIFunctionCall(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32

func.func private @relax.propagate(i32)
func.func private @relax.check.memory(i1, index) attributes {{relax.check = {MEMORY_CHECK}}}

// Memory aligned to 64 bytes; a negative size stands for one beyond 64 bits.
func.func private @relax.rt.allocate(%bytes: i64) -> !llvm.ptr {{
  %zero = arith.constant 0 : i64
  %c63 = arith.constant 63 : i64
  %mask = arith.constant -64 : i64
  %most = arith.constant 0x7FFFFFFFFFFF : i64
  %negative = arith.cmpi ugt, %bytes, %most : i64
  %shown = arith.select %negative, %zero, %bytes : i64
  %up = arith.addi %shown, %c63 : i64
  %rounded = arith.andi %up, %mask : i64
  %c64 = arith.constant 64 : i64
  %p = llvm.call @aligned_alloc(%c64, %rounded) : (i64, i64) -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %got = llvm.icmp "ne" %p, %null : !llvm.ptr
  %fits = arith.cmpi ule, %bytes, %most : i64
  %ok = arith.andi %got, %fits : i1
  %show = arith.index_cast %shown : i64 to index
  func.call @relax.check.memory(%ok, %show) : (i1, index) -> ()
  return %p : !llvm.ptr
}}

func.func private @relax.rt.own(%frame: !llvm.ptr, %kind: i64, %pointer: !llvm.ptr) {{
  %size = arith.constant 24 : i64
  %node = func.call @relax.rt.allocate(%size) : (i64) -> !llvm.ptr
  %head = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  llvm.store %head, %node : !llvm.ptr, !llvm.ptr
  %at8 = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %at8 : i64, !llvm.ptr
  %at16 = llvm.getelementptr %node[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %pointer, %at16 : !llvm.ptr, !llvm.ptr
  llvm.store %node, %frame : !llvm.ptr, !llvm.ptr
  return
}}

func.func private @relax.rt.release(%frame: !llvm.ptr) {{
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %head = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  %last = scf.while (%node = %head) : (!llvm.ptr) -> !llvm.ptr {{
    %more = llvm.icmp "ne" %node, %null : !llvm.ptr
    scf.condition(%more) %node : !llvm.ptr
  }} do {{
  ^bb0(%node: !llvm.ptr):
    %next = llvm.load %node : !llvm.ptr -> !llvm.ptr
    %at8 = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %kind = llvm.load %at8 : !llvm.ptr -> i64
    %at16 = llvm.getelementptr %node[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %pointer = llvm.load %at16 : !llvm.ptr -> !llvm.ptr
    %memory = arith.cmpi eq, %kind, %zero : i64
    scf.if %memory {{
      llvm.call @free(%pointer) : (!llvm.ptr) -> ()
    }} else {{
      %rc = llvm.call @TVMFFIObjectDecRef(%pointer) : (!llvm.ptr) -> i32
    }}
    llvm.call @free(%node) : (!llvm.ptr) -> ()
    scf.yield %next : !llvm.ptr
  }}
  llvm.store %null, %frame : !llvm.ptr, !llvm.ptr
  return
}}

func.func private @relax.rt.drop(%object: !llvm.ptr) {{
  %null = llvm.mlir.zero : !llvm.ptr
  %some = llvm.icmp "ne" %object, %null : !llvm.ptr
  scf.if %some {{
    %rc = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  }}
  return
}}

// Memory that lives until the frame is released.
func.func private @relax.rt.frame_allocate(%frame: !llvm.ptr, %bytes: i64) -> !llvm.ptr {{
  %p = func.call @relax.rt.allocate(%bytes) : (i64) -> !llvm.ptr
  %kind = arith.constant 0 : i64
  func.call @relax.rt.own(%frame, %kind, %p) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  return %p : !llvm.ptr
}}

func.func private @relax.rt.frame_buffer(%frame: !llvm.ptr, %bytes: index) -> memref<?xi8> {{
  %size = arith.index_cast %bytes : index to i64
  %p = func.call @relax.rt.frame_allocate(%frame, %size) : (!llvm.ptr, i64) -> !llvm.ptr
  %m = func.call @relax.rt.bytes(%p, %size) : (!llvm.ptr, i64) -> memref<?xi8>
  return %m : memref<?xi8>
}}

func.func private @relax.rt.bytes(%p: !llvm.ptr, %size: i64) -> memref<?xi8> {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %1 = llvm.insertvalue %p, %0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %2 = llvm.insertvalue %p, %1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %3 = llvm.insertvalue %zero, %2[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %4 = llvm.insertvalue %size, %3[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %5 = llvm.insertvalue %one, %4[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %m = builtin.unrealized_conversion_cast %5
    : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xi8>
  return %m : memref<?xi8>
}}

// The workspace of a function: a block {{capacity, padding to 64 bytes, memory}} taken out of its cache, so that
// two threads never share one; the memref has the size that was asked for.
func.func private @relax.rt.workspace_take(%cache: !llvm.ptr, %bytes: index) -> memref<?xi8> {{
  %null = llvm.mlir.zero : !llvm.ptr
  %false = arith.constant false
  %header = arith.constant 64 : i64
  %size = arith.index_cast %bytes : index to i64
  %cached = llvm.atomicrmw xchg %cache, %null acq_rel : !llvm.ptr, !llvm.ptr
  %some = llvm.icmp "ne" %cached, %null : !llvm.ptr
  %enough = scf.if %some -> i1 {{
    %capacity = llvm.load %cached : !llvm.ptr -> i64
    %fits = arith.cmpi ule, %size, %capacity : i64
    scf.yield %fits : i1
  }} else {{
    scf.yield %false : i1
  }}
  %block = scf.if %enough -> !llvm.ptr {{
    scf.yield %cached : !llvm.ptr
  }} else {{
    llvm.call @free(%cached) : (!llvm.ptr) -> ()
    %zero = arith.constant 0 : i64
    %negative = arith.cmpi slt, %size, %zero : i64
    %sum = arith.addi %size, %header : i64
    %total = arith.select %negative, %size, %sum : i64
    %new = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
    llvm.store %size, %new : i64, !llvm.ptr
    scf.yield %new : !llvm.ptr
  }}
  %memory = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  %m = func.call @relax.rt.bytes(%memory, %size) : (!llvm.ptr, i64) -> memref<?xi8>
  return %m : memref<?xi8>
}}

func.func private @relax.rt.workspace_give(%cache: !llvm.ptr, %workspace: memref<?xi8>) {{
  %header = arith.constant 64 : index
  %at = memref.extract_aligned_pointer_as_index %workspace : memref<?xi8> -> index
  %start = arith.subi %at, %header : index
  %address = arith.index_cast %start : index to i64
  %block = llvm.inttoptr %address : i64 to !llvm.ptr
  %old = llvm.atomicrmw xchg %cache, %block acq_rel : !llvm.ptr, !llvm.ptr
  llvm.call @free(%old) : (!llvm.ptr) -> ()
  return
}}
"""

SUPPORT = "\n".join([_MEMORY, TENSORS, VALUES])
