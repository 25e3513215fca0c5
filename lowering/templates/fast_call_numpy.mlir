// The part of `fast_call` that converts results to NumPy arrays if an argument was one.

// Convert a tensor to a NumPy array; takes its reference; returns null with an exception set on failure. The array
// views the memory of the tensor, and its base is the FFI tensor's Python object. Dtypes without a plain NumPy type,
// other devices and higher ranks go to the function `numpy_results`.
llvm.func internal @numpy_result(%handle: !llvm.ptr) -> !llvm.ptr attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %seven = arith.constant 7 : i64
  %three = arith.constant 3 : i64
  %strides_bytes = arith.constant ${STRIDES_BYTES} : i64
  %steps = llvm.alloca %strides_bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %tensor = llvm.call @tensor_result(%handle) : (!llvm.ptr) -> !llvm.ptr
  %is_made = llvm.icmp "ne" %tensor, %null : !llvm.ptr
  %result = scf.if %is_made -> !llvm.ptr {
    %view = llvm.getelementptr %handle[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %at_device = llvm.getelementptr %view[${DL_DEVICE}] : (!llvm.ptr) -> !llvm.ptr, i8
    %device = llvm.load %at_device : !llvm.ptr -> i64
    %at_ndim = llvm.getelementptr %view[${DL_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
    %ndim = llvm.load %at_ndim : !llvm.ptr -> i32
    %at_dtype = llvm.getelementptr %view[${DL_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
    %dtype = llvm.load %at_dtype : !llvm.ptr -> i32
    %number = llvm.call @type_number(%dtype) : (i32) -> i32
    %is_cpu = arith.cmpi eq, %device, %one : i64
    %most = arith.constant ${MAX_RANK} : i32
    %is_flat = arith.cmpi ule, %ndim, %most : i32
    %unknown = arith.constant ${DTYPES} : i32
    %is_known = arith.cmpi ult, %number, %unknown : i32
    %here = arith.andi %is_cpu, %is_flat : i1
    %plain = arith.andi %here, %is_known : i1
    %of_tensor = scf.if %plain -> !llvm.ptr {
      %at_data = llvm.getelementptr %view[${DL_DATA}] : (!llvm.ptr) -> !llvm.ptr, i8
      %data = llvm.load %at_data : !llvm.ptr -> !llvm.ptr
      %at_shape = llvm.getelementptr %view[${DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %shape = llvm.load %at_shape : !llvm.ptr -> !llvm.ptr
      %at_strides = llvm.getelementptr %view[${DL_STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
      %strides = llvm.load %at_strides : !llvm.ptr -> !llvm.ptr
      %at_byte_offset = llvm.getelementptr %view[${DL_BYTE_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
      %byte_offset = llvm.load %at_byte_offset : !llvm.ptr -> i64
      %at_bits = llvm.getelementptr %view[${DL_BITS}] : (!llvm.ptr) -> !llvm.ptr, i8
      %bits = llvm.load %at_bits : !llvm.ptr -> i8
      %bits_64 = arith.extui %bits : i8 to i64
      %rounded = arith.addi %bits_64, %seven : i64
      %size = arith.shrui %rounded, %three : i64
      %has_data = llvm.icmp "ne" %data, %null : !llvm.ptr
      %has_strides = llvm.icmp "ne" %strides, %null : !llvm.ptr
      %with_strides = arith.andi %has_data, %has_strides : i1
      %rank = arith.extui %ndim : i32 to i64
      %end = arith.select %with_strides, %rank, %zero : i64
      scf.for %i = %zero to %end step %one : i64 {
        %p_stride = llvm.getelementptr %strides[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        %stride = llvm.load %p_stride : !llvm.ptr -> i64
        %step = arith.muli %stride, %size : i64
        %p_step = llvm.getelementptr %steps[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        llvm.store %step, %p_step : i64, !llvm.ptr
      }
      %given_steps = llvm.select %with_strides, %steps, %null : i1, !llvm.ptr
      // A null pointer means no elements: NumPy allocates memory for them.
      %first = llvm.getelementptr %data[%byte_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %elements = llvm.select %has_data, %first, %null : i1, !llvm.ptr
      %array = llvm.call @array_over(%elements, %ndim, %shape, %number, %given_steps, %tensor)
        : (!llvm.ptr, i32, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
      scf.yield %array : !llvm.ptr
    } else {
      %array = llvm.call @numpy_of(%tensor) : (!llvm.ptr) -> !llvm.ptr
      scf.yield %array : !llvm.ptr
    }
    scf.yield %of_tensor : !llvm.ptr
  } else {
    scf.yield %null : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// The NumPy type number of a dtype (code, bits and lanes of DLPack); DTYPES if it has none.
llvm.func internal @type_number(%dtype: i32) -> i32 attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = arith.constant ${DTYPES} : i64
  %dtypes = llvm.getelementptr %state[${FIRST_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i64
  %found = scf.while (%i = %zero) : (i64) -> i64 {
    %within = arith.cmpi ult, %i, %count : i64
    %goes_on = scf.if %within -> i1 {
      %p_dtype = llvm.getelementptr %dtypes[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %known = llvm.load %p_dtype : !llvm.ptr -> i32
      %differs = arith.cmpi ne, %known, %dtype : i32
      scf.yield %differs : i1
    } else {
      scf.yield %within : i1
    }
    scf.condition(%goes_on) %i : i64
  } do {
  ^bb0(%i: i64):
    %next = arith.addi %i, %one : i64
    scf.yield %next : i64
  }
  %number = arith.trunci %found : i64 to i32
  llvm.return %number : i32
}

// Create an array over `data` whose base is `tensor`; takes its reference; returns null with an exception set on
// failure.
llvm.func internal @array_over(%data: !llvm.ptr, %ndim: i32, %shape: !llvm.ptr, %number: i32, %strides: !llvm.ptr,
                               %tensor: !llvm.ptr) -> !llvm.ptr attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %none = arith.constant 0 : i32
  %flags = arith.constant ${PLAIN_FLAGS} : i32
  %p_type = llvm.getelementptr %state[${at_array_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %p_type : !llvm.ptr -> !llvm.ptr
  %p_new = llvm.getelementptr %state[${at_array_new}] : (!llvm.ptr) -> !llvm.ptr, i8
  %new = llvm.load %p_new : !llvm.ptr -> !llvm.ptr
  %p_set_base = llvm.getelementptr %state[${at_array_set_base}] : (!llvm.ptr) -> !llvm.ptr, i8
  %set_base = llvm.load %p_set_base : !llvm.ptr -> !llvm.ptr
  %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
  %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
  %array = llvm.call %new(%type, %ndim, %shape, %number, %strides, %data, %none, %flags, %null)
    : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i32, i32, !llvm.ptr) -> !llvm.ptr
  %is_made = llvm.icmp "ne" %array, %null : !llvm.ptr
  %result = scf.if %is_made -> !llvm.ptr {
    %rc = llvm.call %set_base(%array, %tensor) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i32
    %is_set = arith.cmpi sge, %rc, %none : i32
    %kept = scf.if %is_set -> !llvm.ptr {
      scf.yield %array : !llvm.ptr
    } else {
      llvm.call %decrement(%array) : !llvm.ptr, (!llvm.ptr) -> ()
      scf.yield %null : !llvm.ptr
    }
    scf.yield %kept : !llvm.ptr
  } else {
    llvm.call %decrement(%tensor) : !llvm.ptr, (!llvm.ptr) -> ()
    scf.yield %null : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// Call the function `numpy_results` on a Python object; takes its reference.
llvm.func internal @numpy_of(%object: !llvm.ptr) -> !llvm.ptr attributes {passthrough = ["noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %p_object = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_function = llvm.getelementptr %state[${at_numpy_results}] : (!llvm.ptr) -> !llvm.ptr, i8
  %function = llvm.load %p_function : !llvm.ptr -> !llvm.ptr
  %p_vectorcall = llvm.getelementptr %state[${at_vectorcall}] : (!llvm.ptr) -> !llvm.ptr, i8
  %vectorcall = llvm.load %p_vectorcall : !llvm.ptr -> !llvm.ptr
  %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
  %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
  llvm.store %object, %p_object : !llvm.ptr, !llvm.ptr
  %value = llvm.call %vectorcall(%function, %p_object, %one, %null)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  llvm.call %decrement(%object) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.return %value : !llvm.ptr
}

// Convert a result that is not a single tensor, or comes from the FFI; takes its reference. If `arrays` is true, FFI
// tensors in it become NumPy arrays.
llvm.func internal @numpy_made(%value: !llvm.ptr, %arrays: i1) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %no = arith.constant false
  %is_made = llvm.icmp "ne" %value, %null : !llvm.ptr
  %both = arith.andi %is_made, %arrays : i1
  %holds = scf.if %both -> i1 {
    %at_type = llvm.getelementptr %value[${OBJECT_TYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
    %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
    %p_tensor_type = llvm.getelementptr %state[${at_tensor_type}] : (!llvm.ptr) -> !llvm.ptr, i8
    %tensor_type = llvm.load %p_tensor_type : !llvm.ptr -> !llvm.ptr
    %p_sequence_type = llvm.getelementptr %state[${at_sequence_type}] : (!llvm.ptr) -> !llvm.ptr, i8
    %sequence_type = llvm.load %p_sequence_type : !llvm.ptr -> !llvm.ptr
    %is_tensor = llvm.icmp "eq" %type, %tensor_type : !llvm.ptr
    %is_sequence = llvm.icmp "eq" %type, %sequence_type : !llvm.ptr
    %either = arith.ori %is_tensor, %is_sequence : i1
    scf.yield %either : i1
  } else {
    scf.yield %no : i1
  }
  %result = scf.if %holds -> !llvm.ptr {
    %converted = llvm.call @numpy_of(%value) : (!llvm.ptr) -> !llvm.ptr
    scf.yield %converted : !llvm.ptr
  } else {
    scf.yield %value : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// True if an argument is or contains a NumPy array; tuples and lists are searched to a depth of `depth`.
llvm.func internal @holds_array(%object: !llvm.ptr, %depth: i64) -> i1 {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %yes = arith.constant true
  %no = arith.constant false
  %p_array_type = llvm.getelementptr %state[${at_array_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %array_type = llvm.load %p_array_type : !llvm.ptr -> !llvm.ptr
  %p_tuple_type = llvm.getelementptr %state[${at_tuple_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %tuple_type = llvm.load %p_tuple_type : !llvm.ptr -> !llvm.ptr
  %p_list_type = llvm.getelementptr %state[${at_list_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %list_type = llvm.load %p_list_type : !llvm.ptr -> !llvm.ptr
  %at_type = llvm.getelementptr %object[${OBJECT_TYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
  %is_array = llvm.icmp "eq" %type, %array_type : !llvm.ptr
  %is_tuple = llvm.icmp "eq" %type, %tuple_type : !llvm.ptr
  %is_list = llvm.icmp "eq" %type, %list_type : !llvm.ptr
  %is_sequence = arith.ori %is_tuple, %is_list : i1
  %may = arith.cmpi sgt, %depth, %zero : i64
  %looks = arith.andi %is_sequence, %may : i1
  %result = scf.if %looks -> i1 {
    %at_size = llvm.getelementptr %object[${SEQUENCE_SIZE}] : (!llvm.ptr) -> !llvm.ptr, i8
    %size = llvm.load %at_size : !llvm.ptr -> i64
    %inside = llvm.getelementptr %object[${SEQUENCE_ITEMS}] : (!llvm.ptr) -> !llvm.ptr, i8
    %items = scf.if %is_tuple -> !llvm.ptr {
      scf.yield %inside : !llvm.ptr
    } else {
      %outside = llvm.load %inside : !llvm.ptr -> !llvm.ptr
      scf.yield %outside : !llvm.ptr
    }
    %deeper = arith.subi %depth, %one : i64
    %of_items = scf.for %i = %zero to %size step %one iter_args(%found = %no) -> (i1) : i64 {
      %either = scf.if %found -> i1 {
        scf.yield %yes : i1
      } else {
        %p_item = llvm.getelementptr %items[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
        %item = llvm.load %p_item : !llvm.ptr -> !llvm.ptr
        %holds = llvm.call @holds_array(%item, %deeper) : (!llvm.ptr, i64) -> i1
        scf.yield %holds : i1
      }
      scf.yield %either : i1
    }
    scf.yield %of_items : i1
  } else {
    scf.yield %is_array : i1
  }
  llvm.return %result : i1
}
