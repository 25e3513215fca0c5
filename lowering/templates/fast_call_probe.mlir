// The part of `fast_call` whose self-test observes the arguments of calls: an entry point that returns None without
// arguments, otherwise a hash of them (see `PROBE_FACTOR`).

llvm.func @TVMFFIAnyViewToOwnedAny(!llvm.ptr, !llvm.ptr) -> i32

llvm.func internal @probe(%self: !llvm.ptr, %anys: !llvm.ptr, %narrow: i32, %result: !llvm.ptr) -> i32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %factor = arith.constant ${PROBE_FACTOR} : i64
  %count = arith.extsi %narrow : i32 to i64
  %all = scf.for %i = %zero to %count step %one iter_args(%total = %zero) -> (i64) : i64 {
    %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ANY_BYTES} x i8>
    %at_kind = llvm.getelementptr %any[0] : (!llvm.ptr) -> !llvm.ptr, i8
    %kind = llvm.load %at_kind : !llvm.ptr -> i64
    %at_value = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %value = llvm.load %at_value : !llvm.ptr -> !llvm.ptr
    %object = arith.constant ${TENSOR} : i64
    %view = arith.constant ${DLTENSOR} : i64
    %is_object = arith.cmpi eq, %kind, %object : i64
    %is_view = arith.cmpi eq, %kind, %view : i64
    %is_tensor = arith.ori %is_object, %is_view : i1
    %grown_kind = arith.muli %total, %factor : i64
    %with_kind = arith.addi %grown_kind, %kind : i64
    %folded = scf.if %is_tensor -> i64 {
      %inside = llvm.getelementptr %value[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
      %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
      %at_data = llvm.getelementptr %tensor[${DL_DATA}] : (!llvm.ptr) -> !llvm.ptr, i8
      %data = llvm.load %at_data : !llvm.ptr -> i64
      %grown_data = arith.muli %with_kind, %factor : i64
      %with_data = arith.addi %grown_data, %data : i64
      %at_device = llvm.getelementptr %tensor[${DL_DEVICE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %device = llvm.load %at_device : !llvm.ptr -> i64
      %grown_device = arith.muli %with_data, %factor : i64
      %with_device = arith.addi %grown_device, %device : i64
      %at_ndim = llvm.getelementptr %tensor[${DL_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
      %ndim = llvm.load %at_ndim : !llvm.ptr -> i32
      %wide_ndim = arith.extui %ndim : i32 to i64
      %grown_ndim = arith.muli %with_device, %factor : i64
      %with_ndim = arith.addi %grown_ndim, %wide_ndim : i64
      %at_dtype = llvm.getelementptr %tensor[${DL_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %dtype = llvm.load %at_dtype : !llvm.ptr -> i32
      %wide_dtype = arith.extui %dtype : i32 to i64
      %grown_dtype = arith.muli %with_ndim, %factor : i64
      %with_dtype = arith.addi %grown_dtype, %wide_dtype : i64
      %at_shape = llvm.getelementptr %tensor[${DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %shape = llvm.load %at_shape : !llvm.ptr -> !llvm.ptr
      %with_shape = llvm.call @fold(%with_dtype, %shape, %wide_ndim) : (i64, !llvm.ptr, i64) -> i64
      scf.yield %with_shape : i64
    } else {
      %shape_kind = arith.constant ${SHAPE} : i64
      %is_shape = arith.cmpi eq, %kind, %shape_kind : i64
      %of_others = scf.if %is_shape -> i64 {
        %at_numbers = llvm.getelementptr %value[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
        %numbers = llvm.load %at_numbers : !llvm.ptr -> !llvm.ptr
        %at_size = llvm.getelementptr %at_numbers[8] : (!llvm.ptr) -> !llvm.ptr, i8
        %size = llvm.load %at_size : !llvm.ptr -> i64
        %grown_size = arith.muli %with_kind, %factor : i64
        %with_size = arith.addi %grown_size, %size : i64
        %with_numbers = llvm.call @fold(%with_size, %numbers, %size) : (i64, !llvm.ptr, i64) -> i64
        scf.yield %with_numbers : i64
      } else {
        %bits = llvm.ptrtoint %value : !llvm.ptr to i64
        %grown_bits = arith.muli %with_kind, %factor : i64
        %with_bits = arith.addi %grown_bits, %bits : i64
        scf.yield %with_bits : i64
      }
      scf.yield %of_others : i64
    }
    scf.yield %folded : i64
  }
  %is_nothing = arith.cmpi eq, %count, %zero : i64
  %none = arith.constant ${NONE} : i64
  %int = arith.constant ${INT} : i64
  %what = arith.select %is_nothing, %none, %int : i64
  llvm.store %what, %result : i64, !llvm.ptr
  %to_all = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %all, %to_all : i64, !llvm.ptr
  %good = arith.constant 0 : i32
  llvm.return %good : i32
}

// Another entry point of the self-test: it returns its only argument.
llvm.func internal @give(%self: !llvm.ptr, %anys: !llvm.ptr, %narrow: i32, %result: !llvm.ptr) -> i32 {
  %status = llvm.call @TVMFFIAnyViewToOwnedAny(%anys, %result) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}

// Add words to a hash (see `PROBE_FACTOR`).
llvm.func internal @fold(%start: i64, %words: !llvm.ptr, %count: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %factor = arith.constant ${PROBE_FACTOR} : i64
  %all = scf.for %i = %zero to %count step %one iter_args(%sum = %start) -> (i64) : i64 {
    %at = llvm.getelementptr %words[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %word = llvm.load %at : !llvm.ptr -> i64
    %grown = arith.muli %sum, %factor : i64
    %more = arith.addi %grown, %word : i64
    scf.yield %more : i64
  }
  llvm.return %all : i64
}
