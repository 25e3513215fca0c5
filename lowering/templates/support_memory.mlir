// The part of `support` that allocates and releases memory.

llvm.func internal @relax.rt.system_take(%bytes: i64) -> !llvm.ptr attributes {relax.support, sym_visibility = "private"} {
  %alignment = llvm.mlir.constant(64 : i64) : i64
  %c63 = llvm.mlir.constant(63 : i64) : i64
  %mask = llvm.mlir.constant(-64 : i64) : i64
  %up = llvm.add %bytes, %c63 : i64
  %rounded = llvm.and %up, %mask : i64
  %p = llvm.call @aligned_alloc(%alignment, %rounded) : (i64, i64) -> !llvm.ptr
  llvm.return %p : !llvm.ptr
}

// A block, aligned to 64 bytes; a negative size means one beyond 64 bits. The 8 bytes at offset 8 belong to the pool.
func.func private @relax.rt.allocate(%bytes: i64) -> !llvm.ptr
    attributes {relax.may_fail, relax.support} {
  %zero = arith.constant 0 : i64
  %most = arith.constant 0x7FFFFFFFFFFF : i64
  %negative = arith.cmpi ugt, %bytes, %most : i64
  %shown = arith.select %negative, %zero, %bytes : i64
  %table = llvm.mlir.addressof @${MEMORY_TABLE} : !llvm.ptr
  %take = llvm.load %table : !llvm.ptr -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %p = scf.if %negative -> !llvm.ptr {
    scf.yield %null : !llvm.ptr
  } else {
    %block = llvm.call %take(%bytes) : !llvm.ptr, (i64) -> !llvm.ptr
    scf.yield %block : !llvm.ptr
  }
  %ok = llvm.icmp "ne" %p, %null : !llvm.ptr
  %show = arith.index_cast %shown : i64 to index
  func.call @relax.check.memory(%ok, %show) : (i1, index) -> ()
  return %p : !llvm.ptr
}

// Release a block; also the deleter of tensors.
func.func private @relax.rt.deleter() -> !llvm.ptr attributes {relax.support} {
  %table = llvm.mlir.addressof @${MEMORY_TABLE} : !llvm.ptr
  %at = llvm.getelementptr %table[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %give = llvm.load %at : !llvm.ptr -> !llvm.ptr
  return %give : !llvm.ptr
}

func.func private @relax.rt.free(%block: !llvm.ptr) attributes {relax.support} {
  %give = func.call @relax.rt.deleter() : () -> !llvm.ptr
  llvm.call %give(%block) : !llvm.ptr, (!llvm.ptr) -> ()
  return
}

// Add a new block to a frame; it holds `object` (or null).
func.func private @relax.rt.link(%frame: !llvm.ptr, %block: !llvm.ptr, %object: !llvm.ptr)
    attributes {relax.support} {
  %head = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  llvm.store %head, %block : !llvm.ptr, !llvm.ptr
  %at16 = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %object, %at16 : !llvm.ptr, !llvm.ptr
  llvm.store %block, %frame : !llvm.ptr, !llvm.ptr
  return
}

func.func private @relax.rt.own(%frame: !llvm.ptr, %object: !llvm.ptr)
    attributes {relax.may_fail, relax.support} {
  %size = arith.constant 24 : i64
  %block = func.call @relax.rt.allocate(%size) : (i64) -> !llvm.ptr
  func.call @relax.rt.link(%frame, %block, %object) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  return
}

func.func private @relax.rt.release(%frame: !llvm.ptr) attributes {relax.support} {
  %null = llvm.mlir.zero : !llvm.ptr
  func.call @relax.rt.release_to(%frame, %null) : (!llvm.ptr, !llvm.ptr) -> ()
  return
}

// Release what the frame has acquired since its head was `mark`.
func.func private @relax.rt.release_to(%frame: !llvm.ptr, %mark: !llvm.ptr)
    attributes {relax.support} {
  %head = llvm.load %frame : !llvm.ptr -> !llvm.ptr
  %last = scf.while (%node = %head) : (!llvm.ptr) -> !llvm.ptr {
    %more = llvm.icmp "ne" %node, %mark : !llvm.ptr
    scf.condition(%more) %node : !llvm.ptr
  } do {
  ^bb0(%node: !llvm.ptr):
    %next = llvm.load %node : !llvm.ptr -> !llvm.ptr
    %at16 = llvm.getelementptr %node[16] : (!llvm.ptr) -> !llvm.ptr, i8
    %object = llvm.load %at16 : !llvm.ptr -> !llvm.ptr
    func.call @relax.rt.drop(%object) : (!llvm.ptr) -> ()
    func.call @relax.rt.free(%node) : (!llvm.ptr) -> ()
    scf.yield %next : !llvm.ptr
  }
  llvm.store %mark, %frame : !llvm.ptr, !llvm.ptr
  return
}

func.func private @relax.rt.drop(%object: !llvm.ptr) attributes {relax.support} {
  %null = llvm.mlir.zero : !llvm.ptr
  %some = llvm.icmp "ne" %object, %null : !llvm.ptr
  scf.if %some {
    %rc = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
  }
  return
}

// The size of a block with a header of 64 bytes; negative beyond 64 bits.
func.func private @relax.rt.with_head(%bytes: i64) -> i64 attributes {relax.support} {
  %zero = arith.constant 0 : i64
  %header = arith.constant 64 : i64
  %negative = arith.cmpi slt, %bytes, %zero : i64
  %sum = arith.addi %bytes, %header : i64
  %total = arith.select %negative, %bytes, %sum : i64
  return %total : i64
}

// Memory that lives until the frame is released.
func.func private @relax.rt.frame_allocate(%frame: !llvm.ptr, %bytes: i64) -> !llvm.ptr
    attributes {relax.may_fail, relax.support} {
  %null = llvm.mlir.zero : !llvm.ptr
  %total = func.call @relax.rt.with_head(%bytes) : (i64) -> i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  func.call @relax.rt.link(%frame, %block, %null) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  %memory = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  return %memory : !llvm.ptr
}

func.func private @relax.rt.frame_buffer(%frame: !llvm.ptr, %bytes: index) -> memref<?xi8>
    attributes {relax.may_fail, relax.support} {
  %size = arith.index_cast %bytes : index to i64
  %p = func.call @relax.rt.frame_allocate(%frame, %size) : (!llvm.ptr, i64) -> !llvm.ptr
  %m = func.call @relax.rt.bytes(%p, %size) : (!llvm.ptr, i64) -> memref<?xi8>
  return %m : memref<?xi8>
}

func.func private @relax.rt.bytes(%p: !llvm.ptr, %size: i64) -> memref<?xi8>
    attributes {relax.support} {
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
}

// A block {header of 64 bytes, memory} of the pool, so that no two calls share one.
func.func private @relax.rt.workspace_take(%bytes: index) -> memref<?xi8>
    attributes {relax.may_fail, relax.support} {
  %size = arith.index_cast %bytes : index to i64
  %total = func.call @relax.rt.with_head(%size) : (i64) -> i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %memory = llvm.getelementptr %block[64] : (!llvm.ptr) -> !llvm.ptr, i8
  %m = func.call @relax.rt.bytes(%memory, %size) : (!llvm.ptr, i64) -> memref<?xi8>
  return %m : memref<?xi8>
}

func.func private @relax.rt.workspace_give(%workspace: memref<?xi8>) attributes {relax.support} {
  %header = arith.constant 64 : index
  %at = memref.extract_aligned_pointer_as_index %workspace : memref<?xi8> -> index
  %start = arith.subi %at, %header : index
  %address = arith.index_cast %start : index to i64
  %block = llvm.inttoptr %address : i64 to !llvm.ptr
  func.call @relax.rt.free(%block) : (!llvm.ptr) -> ()
  return
}
