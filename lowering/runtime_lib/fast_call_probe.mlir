// The part of `fast_call` by which its self-test sees what calls are given: an entry point, which gives None without
// arguments, else the number that all of them make (see `PROBE_FACTOR`).

llvm.func internal @probe(%slots: !llvm.ptr) {
  %at_p_anys = llvm.getelementptr %slots[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_anys = llvm.load %at_p_anys : !llvm.ptr -> !llvm.ptr
  %at_p_count = llvm.getelementptr %slots[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_count = llvm.load %at_p_count : !llvm.ptr -> !llvm.ptr
  %at_p_result = llvm.getelementptr %slots[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_result = llvm.load %at_p_result : !llvm.ptr -> !llvm.ptr
  %at_anys = llvm.getelementptr %p_anys[0] : (!llvm.ptr) -> !llvm.ptr, i8
  %anys = llvm.load %at_anys : !llvm.ptr -> !llvm.ptr
  %at_narrow = llvm.getelementptr %p_count[0] : (!llvm.ptr) -> !llvm.ptr, i8
  %narrow = llvm.load %at_narrow : !llvm.ptr -> i32
  %at_result = llvm.getelementptr %p_result[0] : (!llvm.ptr) -> !llvm.ptr, i8
  %result = llvm.load %at_result : !llvm.ptr -> !llvm.ptr
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
    %is_object = arith.cmpi eq, %kind, %object : i64
    %inside = llvm.getelementptr %value[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
    %grown_kind = arith.muli %total, %factor : i64
    %with_kind = arith.addi %grown_kind, %kind : i64
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
    %with_shape = scf.for %axis = %zero to %wide_ndim step %one iter_args(%sum = %with_dtype) -> (i64) : i64 {
      %at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %dim = llvm.load %at : !llvm.ptr -> i64
      %grown = arith.muli %sum, %factor : i64
      %more = arith.addi %grown, %dim : i64
      scf.yield %more : i64
    }
    scf.yield %with_shape : i64
  }
  %is_nothing = arith.cmpi eq, %count, %zero : i64
  %none = arith.constant ${NONE} : i64
  %int = arith.constant ${INT} : i64
  %what = arith.select %is_nothing, %none, %int : i64
  llvm.store %what, %result : i64, !llvm.ptr
  %to_all = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %all, %to_all : i64, !llvm.ptr
  llvm.return
}
