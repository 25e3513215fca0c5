// The part of `support` for values other than tensor parameters: views, copies of objects that contain tensors.

// An FFI tensor that views memory of the call: the callee must not keep it.
func.func private @relax.rt.view(%data: !llvm.ptr, %shape: !llvm.ptr, %rank: i32, %dtype: i32) -> !llvm.ptr
    attributes {relax.support} {
  %c16 = arith.constant 16 : i64
  %c80 = arith.constant 80 : i64
  %rank64 = arith.extsi %rank : i32 to i64
  %tables = arith.muli %rank64, %c16 : i64
  %total = arith.addi %tables, %c80 : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %tensor = func.call @relax.rt.managed(%block, %data, %shape, %rank, %dtype)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32) -> !llvm.ptr
  return %tensor : !llvm.ptr
}

// The size of a DLTensor's elements in row-major order; `bytes` is the size of one.
func.func private @relax.rt.tensor_bytes(%tensor: !llvm.ptr, %bytes: i64) -> i64
    attributes {relax.support} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %p16 = llvm.getelementptr %tensor[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %p16 : !llvm.ptr -> i32
  %rank = arith.index_cast %rank32 : i32 to index
  %p24 = llvm.getelementptr %tensor[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %sizes = llvm.load %p24 : !llvm.ptr -> !llvm.ptr
  %total = scf.for %i = %i0 to %rank step %i1 iter_args(%n = %bytes) -> (i64) {
    %k = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %p : !llvm.ptr -> i64
    %product = arith.muli %n, %d : i64
    scf.yield %product : i64
  }
  return %total : i64
}

// The elements of a DLTensor in row-major order: its own, or, if they are in another order or unaligned, a copy in
// memory of the frame.
func.func private @relax.rt.dense(%frame: !llvm.ptr, %tensor: !llvm.ptr, %bytes: i64) -> !llvm.ptr
    attributes {relax.support} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %contiguous = func.call @relax.rt.contiguous(%tensor) : (!llvm.ptr) -> i1
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %p40 = llvm.getelementptr %tensor[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %p40 : !llvm.ptr -> i64
  %from = llvm.getelementptr %data[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %there = llvm.icmp "ne" %data, %null : !llvm.ptr
  scf.if %there {
  } else {
    %needed = func.call @relax.rt.tensor_bytes(%tensor, %bytes) : (!llvm.ptr, i64) -> i64
    %none = arith.cmpi eq, %needed, %zero : i64
    %shown = arith.index_cast %needed : i64 to index
    func.call @relax.check.null(%none, %shown) : (i1, index) -> ()
  }
  %address = llvm.ptrtoint %from : !llvm.ptr to i64
  %mask = arith.subi %bytes, %one : i64
  %beyond = arith.andi %address, %mask : i64
  %aligned = arith.cmpi eq, %beyond, %zero : i64
  %plain = arith.andi %contiguous, %aligned : i1
  %result = scf.if %plain -> !llvm.ptr {
    scf.yield %from : !llvm.ptr
  } else {
    %copy = func.call @relax.rt.compact(%frame, %tensor, %bytes) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    scf.yield %copy : !llvm.ptr
  }
  return %result : !llvm.ptr
}
