// GEMMs of ${float} matrices, on threads if they are large (level V); see blas_products.py. A job consists of words: 0
// a, 1 b, 2 c, 3 to 5 leading dimensions, 6 to 8 elements from one matrix to the next, 9 and 10 BLAS transposition
// flags of a and b, 11 m, 12 n, 13 k, 14 number of GEMMs, 15 number of parts, 16 the dimension that is split: 0 GEMMs,
// 1 rows, 2 columns, 17 maximum number of threads, 0 for the configured number.

llvm.func internal @relax.blas.part.${float}(%job: !llvm.ptr, %begin: i64, %end: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %row_major = arith.constant 101 : i32
  %plain = arith.constant 111 : i64
  %alpha = arith.constant 1.0 : ${float}
  %beta = arith.constant 0.0 : ${float}
  %a = llvm.load %job : !llvm.ptr -> !llvm.ptr
  %p1 = llvm.getelementptr %job[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %b = llvm.load %p1 : !llvm.ptr -> !llvm.ptr
  %p2 = llvm.getelementptr %job[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %c = llvm.load %p2 : !llvm.ptr -> !llvm.ptr
  ${words}
  %ta32 = arith.trunci %ta : i64 to i32
  %tb32 = arith.trunci %tb : i64 to i32
  %by_rows = arith.cmpi eq, %by, %one : i64
  %by_columns = arith.cmpi eq, %by, %two : i64
  %by_products = arith.cmpi eq, %by, %zero : i64
  %m_begin = arith.muli %m, %begin : i64
  %m_from = arith.divui %m_begin, %parts : i64
  %m_end = arith.muli %m, %end : i64
  %m_to = arith.divui %m_end, %parts : i64
  %n_begin = arith.muli %n, %begin : i64
  %n_from = arith.divui %n_begin, %parts : i64
  %n_end = arith.muli %n, %end : i64
  %n_to = arith.divui %n_end, %parts : i64
  %row = arith.select %by_rows, %m_from, %zero : i64
  %row_end = arith.select %by_rows, %m_to, %m : i64
  %rows = arith.subi %row_end, %row : i64
  %column = arith.select %by_columns, %n_from, %zero : i64
  %column_end = arith.select %by_columns, %n_to, %n : i64
  %columns = arith.subi %column_end, %column : i64
  %first = arith.select %by_products, %begin, %zero : i64
  %last = arith.select %by_products, %end, %products : i64
  %a_plain = arith.cmpi eq, %ta, %plain : i64
  %a_row = arith.muli %row, %lda : i64
  %a_part = arith.select %a_plain, %a_row, %row : i64
  %b_plain = arith.cmpi eq, %tb, %plain : i64
  %b_column = arith.muli %column, %ldb : i64
  %b_part = arith.select %b_plain, %column, %b_column : i64
  %c_row = arith.muli %row, %ldc : i64
  %c_part = arith.addi %c_row, %column : i64
  %table = llvm.mlir.addressof @${TABLE} : !llvm.ptr
  %function_at = llvm.getelementptr %table[${slot}] : (!llvm.ptr) -> !llvm.ptr, i8
  %function = llvm.load %function_at : !llvm.ptr -> !llvm.ptr
  scf.for %i = %first to %last step %one : i64 {
    %a_step = arith.muli %i, %sa : i64
    %a_at = arith.addi %a_step, %a_part : i64
    %from_a = llvm.getelementptr %a[%a_at] : (!llvm.ptr, i64) -> !llvm.ptr, ${float}
    %b_step = arith.muli %i, %sb : i64
    %b_at = arith.addi %b_step, %b_part : i64
    %from_b = llvm.getelementptr %b[%b_at] : (!llvm.ptr, i64) -> !llvm.ptr, ${float}
    %c_step = arith.muli %i, %sc : i64
    %c_at = arith.addi %c_step, %c_part : i64
    %to_c = llvm.getelementptr %c[%c_at] : (!llvm.ptr, i64) -> !llvm.ptr, ${float}
    llvm.call %function(%row_major, %ta32, %tb32, %rows, %columns, %k, %alpha, %from_a, %lda, %from_b, %ldb, %beta,
                        %to_c, %ldc)
      : !llvm.ptr, (i32, i32, i32, i64, i64, i64, ${float}, !llvm.ptr, i64, !llvm.ptr, i64, ${float}, !llvm.ptr, i64)
      -> ()
  }
  llvm.return
}

// Run all GEMMs of a job that has not been split yet: %job has the words up to 14, and 17.
func.func private @relax.blas.products.${float}(%job: !llvm.ptr) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  ${words}
  %mn = arith.muli %m, %n : i64
  %results = arith.muli %mn, %products : i64
  %some = arith.cmpi ne, %results, %zero : i64
  scf.if %some {
    %no_sum = arith.cmpi eq, %k, %zero : i64
    scf.if %no_sum {
      func.call @relax.blas.zeros.${float}(%job) : (!llvm.ptr) -> ()
    } else {
      %table = llvm.mlir.addressof @${TABLE} : !llvm.ptr
      %parallel_at = llvm.getelementptr %table[16] : (!llvm.ptr) -> !llvm.ptr, i8
      %threads_at = llvm.getelementptr %table[24] : (!llvm.ptr) -> !llvm.ptr, i8
      %set = llvm.load %threads_at : !llvm.ptr -> i64
      %least_of_both = arith.minsi %set, %limit : i64
      %limited = arith.cmpi sgt, %limit, %zero : i64
      %threads = arith.select %limited, %least_of_both, %set : i64
      %m_float = arith.sitofp %results : i64 to f64
      %k_float = arith.sitofp %k : i64 to f64
      %work = arith.mulf %m_float, %k_float : f64
      %least = arith.constant ${MIN_WORK} : f64
      %large = arith.cmpf oge, %work, %least : f64
      %many = arith.cmpi sgt, %threads, %one : i64
      %share = arith.andi %large, %many : i1
      %rows_more = arith.cmpi sge, %m, %n : i64
      %side = arith.select %rows_more, %one, %two : i64
      %longer = arith.maxsi %m, %n : i64
      %least_part = arith.constant ${MIN_PART} : i64
      %room = arith.divsi %longer, %least_part : i64
      %cut = arith.minsi %room, %threads : i64
      %enough = arith.cmpi sge, %products, %threads : i64
      %by_count = arith.select %enough, %products, %cut : i64
      %kind = arith.select %enough, %zero, %side : i64
      %shared_parts = arith.maxsi %by_count, %one : i64
      %pieces = arith.select %share, %shared_parts, %one : i64
      %how = arith.select %share, %kind, %one : i64
      %parts_at = llvm.getelementptr %job[120] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %pieces, %parts_at : i64, !llvm.ptr
      %by_at = llvm.getelementptr %job[128] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %how, %by_at : i64, !llvm.ptr
      %jobs = arith.cmpi sgt, %pieces, %one : i64
      scf.if %jobs {
        %parallel = llvm.load %parallel_at : !llvm.ptr -> !llvm.ptr
        %part = llvm.mlir.addressof @relax.blas.part.${float} : !llvm.ptr
        llvm.call %parallel(%part, %job, %pieces, %threads) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
      } else {
        llvm.call @relax.blas.part.${float}(%job, %zero, %one) : (!llvm.ptr, i64, i64) -> ()
      }
    }
  }
  return
}

// Write zeros for empty sums, which BLAS does not write.
func.func private @relax.blas.zeros.${float}(%job: !llvm.ptr) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %element = arith.constant ${bytes} : i64
  %byte = arith.constant 0 : i8
  %c_at = llvm.getelementptr %job[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %c = llvm.load %c_at : !llvm.ptr -> !llvm.ptr
  ${words}
  %width = arith.muli %n, %element : i64
  scf.for %i = %zero to %products step %one : i64 {
    %start = arith.muli %i, %sc : i64
    scf.for %row = %zero to %m step %one : i64 {
      %down = arith.muli %row, %ldc : i64
      %at = arith.addi %start, %down : i64
      %to = llvm.getelementptr %c[%at] : (!llvm.ptr, i64) -> !llvm.ptr, ${float}
      "llvm.intr.memset"(%to, %byte, %width) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
    }
  }
  return
}
