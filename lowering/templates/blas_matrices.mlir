// Matrices for functions of BLAS (level V with checks); see blas_products.py for the values of its placeholders.

// The functions for f32 and f64, that of the thread pool which runs jobs, and the number of threads.
llvm.mlir.global internal @${TABLE}() {alignment = 64 : i64} : !llvm.array<4 x i64> {
  %0 = llvm.mlir.zero : !llvm.array<4 x i64>
  llvm.return %0 : !llvm.array<4 x i64>
}

func.func @${ADDRESS}() -> !llvm.ptr {
  %0 = llvm.mlir.addressof @${TABLE} : !llvm.ptr
  return %0 : !llvm.ptr
}

// Fill in the layout of the matrices of a DLTensor of rank 2 or 3: {data, rows, columns, leading dimension, 1 if
// columns are contiguous, number of matrices, elements from one to the next}. Returns 0 if neither rows nor columns are
// contiguous.
func.func private @relax.blas.matrices(%tensor: !llvm.ptr, %to: !llvm.ptr) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %true = arith.constant true
  %null = llvm.mlir.zero : !llvm.ptr
  %start = llvm.load %tensor : !llvm.ptr -> !llvm.ptr
  %rank_at = llvm.getelementptr %tensor[${NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
  %rank32 = llvm.load %rank_at : !llvm.ptr -> i32
  %rank = arith.extsi %rank32 : i32 to i64
  %shape_at = llvm.getelementptr %tensor[${SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %shape_at : !llvm.ptr -> !llvm.ptr
  %strides_at = llvm.getelementptr %tensor[${STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.load %strides_at : !llvm.ptr -> !llvm.ptr
  %offset_at = llvm.getelementptr %tensor[${BYTE_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %offset_at : !llvm.ptr -> i64
  %data = llvm.getelementptr %start[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %last0 = arith.subi %rank, %two : i64
  %last1 = arith.subi %rank, %one : i64
  %rows_at = llvm.getelementptr %shape[%last0] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %rows = llvm.load %rows_at : !llvm.ptr -> i64
  %columns_at = llvm.getelementptr %shape[%last1] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %columns = llvm.load %columns_at : !llvm.ptr -> i64
  %several = arith.cmpi eq, %rank, %three : i64
  %first = llvm.load %shape : !llvm.ptr -> i64
  %count = arith.select %several, %first, %one : i64
  %dense = llvm.icmp "eq" %strides, %null : !llvm.ptr
  %size = arith.muli %rows, %columns : i64
  %s0, %s1, %sb = scf.if %dense -> (i64, i64, i64) {
    scf.yield %columns, %one, %size : i64, i64, i64
  } else {
    %s0_at = llvm.getelementptr %strides[%last0] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %a = llvm.load %s0_at : !llvm.ptr -> i64
    %s1_at = llvm.getelementptr %strides[%last1] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %b = llvm.load %s1_at : !llvm.ptr -> i64
    %c = llvm.load %strides : !llvm.ptr -> i64
    scf.yield %a, %b, %c : i64, i64, i64
  }
  %some_rows = arith.maxsi %rows, %one : i64
  %some_columns = arith.maxsi %columns, %one : i64
  %one_row = arith.cmpi sle, %rows, %one : i64
  %one_column = arith.cmpi sle, %columns, %one : i64
  %unit1 = arith.cmpi eq, %s1, %one : i64
  %together1 = arith.ori %unit1, %one_column : i1
  %ld_rows = arith.select %one_row, %some_columns, %s0 : i64
  %apart1 = arith.cmpi sge, %ld_rows, %some_columns : i64
  %by_rows = arith.andi %together1, %apart1 : i1
  %unit0 = arith.cmpi eq, %s0, %one : i64
  %together0 = arith.ori %unit0, %one_row : i1
  %ld_columns = arith.select %one_column, %some_rows, %s1 : i64
  %apart0 = arith.cmpi sge, %ld_columns, %some_rows : i64
  %by_columns = arith.andi %together0, %apart0 : i1
  %ld = arith.select %by_rows, %ld_rows, %ld_columns : i64
  %flipped1 = arith.xori %by_rows, %true : i1
  %flipped = arith.extui %flipped1 : i1 to i64
  %fine1 = arith.ori %by_rows, %by_columns : i1
  // Empty matrices fit any order.
  %none = arith.cmpi eq, %size, %zero : i64
  %fine2 = arith.ori %fine1, %none : i1
  %fine = arith.extui %fine2 : i1 to i64
  %alone = arith.cmpi sle, %count, %one : i64
  %step = arith.select %alone, %zero, %sb : i64
  llvm.store %data, %to : !llvm.ptr, !llvm.ptr
  %p1 = llvm.getelementptr %to[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %rows, %p1 : i64, !llvm.ptr
  %p2 = llvm.getelementptr %to[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %columns, %p2 : i64, !llvm.ptr
  %p3 = llvm.getelementptr %to[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %ld, %p3 : i64, !llvm.ptr
  %p4 = llvm.getelementptr %to[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %flipped, %p4 : i64, !llvm.ptr
  %p5 = llvm.getelementptr %to[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %count, %p5 : i64, !llvm.ptr
  %p6 = llvm.getelementptr %to[48] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %step, %p6 : i64, !llvm.ptr
  return %fine : i64
}
