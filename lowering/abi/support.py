"""The few functions that compiled code brings along: memory of one call, result tensors, contiguous copies.

They are part of every module (unused ones are dropped again), so that compiled code needs libc and libtvm_ffi
only. Like all code of this level they fail through the hooks `relax.check` and `relax.propagate`.

The *frame* of a call is the address of a list head on its stack: a chain of malloc'ed nodes
{next, kind, pointer}, kind 0 for memory of `malloc`, 1 for references to FFI objects, released together when
the function returns, with or without an error.
"""

from __future__ import annotations

from relax_mlir.lowering.abi.text import attribute, quoted

MEMORY_CHECK = attribute(
    {
        "kind": "MemoryError",
        "message": "cannot allocate {0} bytes (0 stands for a size that is negative or beyond all memory)",
    }
)

CACHED_MEMORY = "relax.cached_memory"
CACHED_OBJECT = "relax.cached_object"

_DTYPE_CODES = ["int", "uint", "float", "handle", "bfloat", "complex", "bool"]

# Eight bytes per type code of DLPack, from 0 on.
_DTYPE_TABLE = quoted("".join(code.ljust(8, chr(0)) for code in [*_DTYPE_CODES, "code7+"]))

SUPPORT = f"""
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

// An owned FFI tensor. Its memory is one block: DLManagedTensorVersioned (80 bytes), shape, strides, padding, data.
// The deleter is `free` itself, so that a tensor outlives the code that made it.
func.func private @relax.rt.tensor(%shape: !llvm.ptr, %rank: i32, %dtype: i32, %bytes: i64) -> !llvm.ptr {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %minus = arith.constant -1 : i64
  %true = arith.constant true
  %false = arith.constant false
  %last = arith.index_cast %rank : i32 to index
  %size, %fine = scf.for %i = %i0 to %last step %i1 iter_args(%n = %bytes, %good = %true) -> (i64, i1) {{
    %k = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %p : !llvm.ptr -> i64
    %low, %high = arith.mului_extended %n, %d : i64
    %single = arith.cmpi eq, %high, %zero : i64
    %signed = arith.cmpi sge, %low, %zero : i64
    %both = arith.andi %single, %signed : i1
    %natural = arith.cmpi sge, %d, %zero : i64
    %sound = arith.andi %both, %natural : i1
    %still = arith.andi %good, %sound : i1
    scf.yield %low, %still : i64, i1
  }}
  %c64 = arith.constant 64 : i64
  %c16 = arith.constant 16 : i64
  %c143 = arith.constant 143 : i64
  %mask = arith.constant -64 : i64
  %rank64 = arith.extsi %rank : i32 to i64
  %tables = arith.muli %rank64, %c16 : i64
  %plain = arith.addi %tables, %c143 : i64
  %head = arith.andi %plain, %mask : i64
  %sum = arith.addi %head, %size : i64
  %total = arith.select %fine, %sum, %minus : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %data = llvm.getelementptr %block[%head] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %tensor = func.call @relax.rt.managed(%block, %data, %shape, %rank, %dtype)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32) -> !llvm.ptr
  return %tensor : !llvm.ptr
}}

// Fill in a DLTensor on the CPU.
func.func private @relax.rt.dltensor(%to: !llvm.ptr, %data: !llvm.ptr, %rank: i32, %dtype: i32, %sizes: !llvm.ptr,
                                     %steps: !llvm.ptr) {{
  %zero = arith.constant 0 : i64
  %cpu = arith.constant 1 : i64
  llvm.store %data, %to : !llvm.ptr, !llvm.ptr
  %p8 = llvm.getelementptr %to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %cpu, %p8 : i64, !llvm.ptr
  %p16 = llvm.getelementptr %to[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %rank, %p16 : i32, !llvm.ptr
  %p20 = llvm.getelementptr %to[20] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %dtype, %p20 : i32, !llvm.ptr
  %p24 = llvm.getelementptr %to[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %sizes, %p24 : !llvm.ptr, !llvm.ptr
  %p32 = llvm.getelementptr %to[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %steps, %p32 : !llvm.ptr, !llvm.ptr
  %p40 = llvm.getelementptr %to[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %p40 : i64, !llvm.ptr
  return
}}

// An FFI tensor that looks at memory of the call: the callee must not keep it.
func.func private @relax.rt.view(%data: !llvm.ptr, %shape: !llvm.ptr, %rank: i32, %dtype: i32) -> !llvm.ptr {{
  %c16 = arith.constant 16 : i64
  %c80 = arith.constant 80 : i64
  %rank64 = arith.extsi %rank : i32 to i64
  %tables = arith.muli %rank64, %c16 : i64
  %total = arith.addi %tables, %c80 : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %tensor = func.call @relax.rt.managed(%block, %data, %shape, %rank, %dtype)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32) -> !llvm.ptr
  return %tensor : !llvm.ptr
}}

// Fill in the head of a block {{DLManagedTensorVersioned (80 bytes), shape, strides, …}}, which `free` deletes, and
// make it an FFI tensor; frees the block if that fails.
func.func private @relax.rt.managed(%block: !llvm.ptr, %data: !llvm.ptr, %shape: !llvm.ptr, %rank: i32, %dtype: i32)
    -> !llvm.ptr {{
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %none = arith.constant 0 : i32
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %last = arith.index_cast %rank : i32 to index
  %rank64 = arith.extsi %rank : i32 to i64
  %sizes = llvm.getelementptr %block[80] : (!llvm.ptr) -> !llvm.ptr, i8
  %steps = llvm.getelementptr %sizes[%rank64] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %stride = scf.for %i = %i0 to %last step %i1 iter_args(%n = %one) -> (i64) {{
    %up = arith.index_cast %i : index to i64
    %next = arith.addi %up, %one : i64
    %k = arith.subi %rank64, %next : i64
    %from = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %from : !llvm.ptr -> i64
    %to = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %d, %to : i64, !llvm.ptr
    %step = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %n, %step : i64, !llvm.ptr
    %product = arith.muli %n, %d : i64
    scf.yield %product : i64
  }}
  llvm.store %one, %block : i64, !llvm.ptr
  %p8 = llvm.getelementptr %block[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %p8 : i64, !llvm.ptr
  %free = llvm.mlir.addressof @free : !llvm.ptr
  %p16 = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %free, %p16 : !llvm.ptr, !llvm.ptr
  %p24 = llvm.getelementptr %block[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %p24 : i64, !llvm.ptr
  %p32 = llvm.getelementptr %block[32] : (!llvm.ptr) -> !llvm.ptr, i8
  func.call @relax.rt.dltensor(%p32, %data, %rank, %dtype, %sizes, %steps)
    : (!llvm.ptr, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> ()
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.store %null, %out : !llvm.ptr, !llvm.ptr
  %rc = llvm.call @TVMFFITensorFromDLPackVersioned(%block, %none, %none, %out)
    : (!llvm.ptr, i32, i32, !llvm.ptr) -> i32
  %failed = arith.cmpi ne, %rc, %none : i32
  scf.if %failed {{
    llvm.call @free(%block) : (!llvm.ptr) -> ()
  }}
  func.call @relax.propagate(%rc) : (i32) -> ()
  %tensor = llvm.load %out : !llvm.ptr -> !llvm.ptr
  return %tensor : !llvm.ptr
}}

// A contiguous copy of a DLTensor with any strides, in memory of the frame.
func.func private @relax.rt.compact(%frame: !llvm.ptr, %tensor: !llvm.ptr, %bytes: i64) -> !llvm.ptr {{
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %p16 = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %p16 : !llvm.ptr -> i32
  %rank = arith.index_cast %rank32 : i32 to index
  %rank64 = arith.extsi %rank32 : i32 to i64
  %p24 = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %sizes = llvm.load %p24 : !llvm.ptr -> !llvm.ptr
  %p32 = llvm.getelementptr %tensor[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %steps = llvm.load %p32 : !llvm.ptr -> !llvm.ptr
  %p40 = llvm.getelementptr %tensor[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %p40 : !llvm.ptr -> i64
  %from = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %outer = arith.subi %rank64, %one : i64
  %rows = scf.for %i = %i0 to %rank step %i1 iter_args(%n = %one) -> (i64) {{
    %k = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %p : !llvm.ptr -> i64
    %within = arith.cmpi slt, %k, %outer : i64
    %factor = arith.select %within, %d, %one : i64
    %product = arith.muli %n, %factor : i64
    scf.yield %product : i64
  }}
  %pw = llvm.getelementptr %sizes[%outer] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %width = llvm.load %pw : !llvm.ptr -> i64
  %ps = llvm.getelementptr %steps[%outer] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %step = llvm.load %ps : !llvm.ptr -> i64
  %count = arith.muli %rows, %width : i64
  %total = arith.muli %count, %bytes : i64
  %copy = func.call @relax.rt.frame_allocate(%frame, %total) : (!llvm.ptr, i64) -> !llvm.ptr
  %rowsI = arith.index_cast %rows : i64 to index
  %widthI = arith.index_cast %width : i64 to index
  %outerI = arith.index_cast %outer : i64 to index
  %dense = arith.cmpi eq, %step, %one : i64
  %row_bytes = arith.muli %width, %bytes : i64
  %step_bytes = arith.muli %step, %bytes : i64
  %c8 = arith.constant 8 : i64
  %c4 = arith.constant 4 : i64
  %c2 = arith.constant 2 : i64
  scf.for %r = %i0 to %rowsI step %i1 {{
    %row = arith.index_cast %r : index to i64
    %left, %at = scf.for %i = %i0 to %outerI step %i1 iter_args(%rest = %row, %where = %zero) -> (i64, i64) {{
      %up = arith.index_cast %i : index to i64
      %next = arith.addi %up, %one : i64
      %k = arith.subi %outer, %next : i64
      %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %d = llvm.load %p : !llvm.ptr -> i64
      %q = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %s = llvm.load %q : !llvm.ptr -> i64
      %quotient = arith.divsi %rest, %d : i64
      %remainder = arith.remsi %rest, %d : i64
      %move = arith.muli %remainder, %s : i64
      %there = arith.addi %where, %move : i64
      scf.yield %quotient, %there : i64, i64
    }}
    %at_bytes = arith.muli %at, %bytes : i64
    %source = llvm.getelementptr %from[%at_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %done = arith.muli %row, %row_bytes : i64
    %target = llvm.getelementptr %copy[%done] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    scf.if %dense {{
      "llvm.intr.memcpy"(%target, %source, %row_bytes) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    }} else {{
      scf.for %c = %i0 to %widthI step %i1 {{
        %k = arith.index_cast %c : index to i64
        %o = arith.muli %k, %step_bytes : i64
        %e = llvm.getelementptr %source[%o] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %u = arith.muli %k, %bytes : i64
        %t = llvm.getelementptr %target[%u] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        %by8 = arith.cmpi eq, %bytes, %c8 : i64
        scf.if %by8 {{
          %x = llvm.load %e {{alignment = 1 : i64}} : !llvm.ptr -> i64
          llvm.store %x, %t {{alignment = 1 : i64}} : i64, !llvm.ptr
        }} else {{
          %by4 = arith.cmpi eq, %bytes, %c4 : i64
          scf.if %by4 {{
            %x = llvm.load %e {{alignment = 1 : i64}} : !llvm.ptr -> i32
            llvm.store %x, %t {{alignment = 1 : i64}} : i32, !llvm.ptr
          }} else {{
            %by2 = arith.cmpi eq, %bytes, %c2 : i64
            scf.if %by2 {{
              %x = llvm.load %e {{alignment = 1 : i64}} : !llvm.ptr -> i16
              llvm.store %x, %t {{alignment = 1 : i64}} : i16, !llvm.ptr
            }} else {{
              %x = llvm.load %e : !llvm.ptr -> i8
              llvm.store %x, %t : i8, !llvm.ptr
            }}
          }}
        }}
      }}
    }}
  }}
  return %copy : !llvm.ptr
}}

// The function registered under a name, or null; looked up once and kept in `cache`.
func.func private @relax.rt.global(%cache: !llvm.ptr, %name: !llvm.ptr, %length: i64) -> !llvm.ptr {{
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %key = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %out = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %known = llvm.load %cache atomic acquire {{alignment = 8 : i64}} : !llvm.ptr -> !llvm.ptr
  %unknown = llvm.icmp "eq" %known, %null : !llvm.ptr
  %f = scf.if %unknown -> !llvm.ptr {{
    llvm.store %name, %key : !llvm.ptr, !llvm.ptr
    %at8 = llvm.getelementptr %key[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %length, %at8 : i64, !llvm.ptr
    llvm.store %null, %out : !llvm.ptr, !llvm.ptr
    %rc = llvm.call @TVMFFIFunctionGetGlobal(%key, %out) : (!llvm.ptr, !llvm.ptr) -> i32
    func.call @relax.propagate(%rc) : (i32) -> ()
    %found = llvm.load %out : !llvm.ptr -> !llvm.ptr
    %pair = llvm.cmpxchg %cache, %null, %found acq_rel acquire : !llvm.ptr, !llvm.ptr
    %won = llvm.extractvalue %pair[1] : !llvm.struct<(ptr, i1)>
    %first = llvm.extractvalue %pair[0] : !llvm.struct<(ptr, i1)>
    %use = llvm.select %won, %found, %first : i1, !llvm.ptr
    %extra = llvm.select %won, %null, %found : i1, !llvm.ptr
    func.call @relax.rt.drop(%extra) : (!llvm.ptr) -> ()
    scf.yield %use : !llvm.ptr
  }} else {{
    scf.yield %known : !llvm.ptr
  }}
  return %f : !llvm.ptr
}}

// Call a constructor such as ffi.Array; the object it gives back (type index stored by the caller of this).
func.func private @relax.rt.construct(%cache: !llvm.ptr, %name: !llvm.ptr, %length: i64, %args: !llvm.ptr, %n: i32)
    -> !llvm.ptr {{
  %two = arith.constant 2 : i64
  %zero = arith.constant 0 : i64
  %out = llvm.alloca %two x i64 : (i64) -> !llvm.ptr
  %f = func.call @relax.rt.global(%cache, %name, %length) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.store %zero, %out : i64, !llvm.ptr
  %at8 = llvm.getelementptr %out[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %at8 : i64, !llvm.ptr
  %rc = llvm.call @TVMFFIFunctionCall(%f, %args, %n, %out) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  func.call @relax.propagate(%rc) : (i32) -> ()
  %object = llvm.load %at8 : !llvm.ptr -> !llvm.ptr
  return %object : !llvm.ptr
}}

// The name of an FFI type index, for messages.
func.func private @relax.rt.type_name(%index: i64, %buffer: !llvm.ptr) -> !llvm.ptr {{
  %i = arith.trunci %index : i64 to i32
  %info = llvm.call @TVMFFIGetTypeInfo(%i) : (i32) -> !llvm.ptr
  %at8 = llvm.getelementptr %info[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %name = llvm.load %at8 : !llvm.ptr -> !llvm.ptr
  return %name : !llvm.ptr
}}

llvm.mlir.global internal constant @relax.rt.dtype_table({_DTYPE_TABLE})
llvm.mlir.global internal constant @relax.rt.dtype_plain("%s\\00")
llvm.mlir.global internal constant @relax.rt.dtype_sized("%s%lld\\00")
llvm.mlir.global internal constant @relax.rt.dtype_lanes("%s%lldx%lld\\00")

// The name of a DLDataType, written into `buffer` (64 bytes).
func.func private @relax.rt.dtype_name(%dtype: i64, %buffer: !llvm.ptr) -> !llvm.ptr {{
  %c255 = arith.constant 255 : i64
  %c8 = arith.constant 8 : i64
  %c16 = arith.constant 16 : i64
  %c6 = arith.constant 6 : i64
  %c7 = arith.constant 7 : i64
  %one = arith.constant 1 : i64
  %room = arith.constant 64 : i64
  %code = arith.andi %dtype, %c255 : i64
  %known = arith.minui %code, %c7 : i64
  %at = arith.muli %known, %c8 : i64
  %table = llvm.mlir.addressof @relax.rt.dtype_table : !llvm.ptr
  %name = llvm.getelementptr %table[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %high = arith.shrui %dtype, %c8 : i64
  %bits = arith.andi %high, %c255 : i64
  %lanes = arith.shrui %dtype, %c16 : i64
  %isbool = arith.cmpi eq, %code, %c6 : i64
  %isbyte = arith.cmpi eq, %bits, %c8 : i64
  %isone = arith.cmpi eq, %lanes, %one : i64
  %bare = arith.andi %isbool, %isbyte : i1
  %plain = llvm.mlir.addressof @relax.rt.dtype_plain : !llvm.ptr
  %sized = llvm.mlir.addressof @relax.rt.dtype_sized : !llvm.ptr
  %wide = llvm.mlir.addressof @relax.rt.dtype_lanes : !llvm.ptr
  %single = llvm.select %bare, %plain, %sized : i1, !llvm.ptr
  %format = llvm.select %isone, %single, %wide : i1, !llvm.ptr
  %n = llvm.call @snprintf(%buffer, %room, %format, %name, %bits, %lanes) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i64, i64) -> i32
  return %buffer : !llvm.ptr
}}

llvm.mlir.global internal constant @relax.rt.device_cpu("cpu\\00")
llvm.mlir.global internal constant @relax.rt.device_cuda("cuda\\00")
llvm.mlir.global internal constant @relax.rt.device_other("device type %lld\\00")

// The name of a DLDeviceType, for messages.
func.func private @relax.rt.device_name(%device: i64, %buffer: !llvm.ptr) -> !llvm.ptr {{
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %room = arith.constant 64 : i64
  %cpu = llvm.mlir.addressof @relax.rt.device_cpu : !llvm.ptr
  %cuda = llvm.mlir.addressof @relax.rt.device_cuda : !llvm.ptr
  %other = llvm.mlir.addressof @relax.rt.device_other : !llvm.ptr
  %n = llvm.call @snprintf(%buffer, %room, %other, %device) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
  %is1 = arith.cmpi eq, %device, %one : i64
  %is2 = arith.cmpi eq, %device, %two : i64
  %gpu = llvm.select %is2, %cuda, %buffer : i1, !llvm.ptr
  %name = llvm.select %is1, %cpu, %gpu : i1, !llvm.ptr
  return %name : !llvm.ptr
}}
"""
