// A check of tensor arguments of FFI functions (level V).

// The error of a DLTensor: 0 none, 1 a negative dimension, 2 elements without memory.
func.func private @relax.vm.flaw(%tensor: !llvm.ptr) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %zero32 = arith.constant 0 : i32
  %two = arith.constant 2 : i64
  %true = arith.constant true
  %false = arith.constant false
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %null = llvm.mlir.zero : !llvm.ptr
  %data = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %rank_at = llvm.getelementptr %tensor[${NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %rank_at : !llvm.ptr -> i32
  %rank = arith.index_cast %rank32 : i32 to index
  %shape_at = llvm.getelementptr %tensor[${SHAPE_AT}] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %below = arith.cmpi slt, %rank32, %zero32 : i32
  %found:2 = scf.for %i = %i0 to %rank step %i1 iter_args(%negative = %below, %empty = %false) -> (i1, i1) {
    %k = arith.index_cast %i : index to i64
    %at = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %size = llvm.load %at : !llvm.ptr -> i64
    %is_negative = arith.cmpi slt, %size, %zero : i64
    %is_empty = arith.cmpi eq, %size, %zero : i64
    %negative1 = arith.ori %negative, %is_negative : i1
    %empty1 = arith.ori %empty, %is_empty : i1
    scf.yield %negative1, %empty1 : i1, i1
  }
  %is_null = llvm.icmp "eq" %data, %null : !llvm.ptr
  %has_elements = arith.xori %found#1, %true : i1
  %is_hollow = arith.andi %is_null, %has_elements : i1
  %hollow = arith.select %is_hollow, %two, %zero : i64
  %flaw = arith.select %found#0, %one, %hollow : i64
  return %flaw : i64
}
