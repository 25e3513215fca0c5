// Calls of compiled functions from Python (level V); see fast_call.py for what they do and for the values of its
// placeholders.

llvm.mlir.global internal @state() {alignment = 64 : i64} : !llvm.array<${WORDS} x i64> {
  %0 = llvm.mlir.zero : !llvm.array<${WORDS} x i64>
  llvm.return %0 : !llvm.array<${WORDS} x i64>
}

llvm.func @TVMFFIEnvSetDLPackManagedTensorAllocator(!llvm.ptr, i32, !llvm.ptr) -> i32

llvm.func @${STATE}() -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %call = llvm.mlir.addressof @call : !llvm.ptr
  %finish = llvm.mlir.addressof @finish : !llvm.ptr
  llvm.store %call, %state : !llvm.ptr, !llvm.ptr
  %to_finish = llvm.getelementptr %state[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %finish, %to_finish : !llvm.ptr, !llvm.ptr
  %probe = llvm.mlir.addressof @probe : !llvm.ptr
  %to_probe = llvm.getelementptr %state[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %probe, %to_probe : !llvm.ptr, !llvm.ptr
  %give = llvm.mlir.addressof @give : !llvm.ptr
  %to_give = llvm.getelementptr %state[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %give, %to_give : !llvm.ptr, !llvm.ptr
  llvm.return %state : !llvm.ptr
}

// Pass the outcome of a call, (result, status), whose address is the argument, to the FFI.
llvm.func internal @finish(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {
  %at_outcome = llvm.getelementptr %args[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %outcome = llvm.load %at_outcome : !llvm.ptr -> !llvm.ptr
  %at_head = llvm.getelementptr %outcome[0] : (!llvm.ptr) -> !llvm.ptr, i8
  %head = llvm.load %at_head : !llvm.ptr -> i64
  %at_value = llvm.getelementptr %outcome[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = llvm.load %at_value : !llvm.ptr -> i64
  %at_status = llvm.getelementptr %outcome[${ANY_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
  %status = llvm.load %at_status : !llvm.ptr -> i32
  llvm.store %head, %result : i64, !llvm.ptr
  %to_value = llvm.getelementptr %result[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %value, %to_value : i64, !llvm.ptr
  llvm.return %status : i32
}

// Convert an array or an FFI tensor to an FFI value; false if that is not possible here.
llvm.func internal @convert(%object: !llvm.ptr, %any: !llvm.ptr, %view: !llvm.ptr) -> i1
    attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %false = arith.constant false
  %p_array_type = llvm.getelementptr %state[${at_array_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %array_type = llvm.load %p_array_type : !llvm.ptr -> !llvm.ptr
  %p_tensor_type = llvm.getelementptr %state[${at_tensor_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %tensor_type = llvm.load %p_tensor_type : !llvm.ptr -> !llvm.ptr
  %p_tensor_handle = llvm.getelementptr %state[${at_tensor_handle}] : (!llvm.ptr) -> !llvm.ptr, i8
  %tensor_handle = llvm.load %p_tensor_handle : !llvm.ptr -> !llvm.ptr
  %at_type = llvm.getelementptr %object[${OBJECT_TYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
  %is_array = llvm.icmp "eq" %type, %array_type : !llvm.ptr
  %done = scf.if %is_array -> i1 {
    %at_flags = llvm.getelementptr %object[${ARRAY_FLAGS}] : (!llvm.ptr) -> !llvm.ptr, i8
    %flags = llvm.load %at_flags : !llvm.ptr -> i32
    %at_descr = llvm.getelementptr %object[${ARRAY_DESCR}] : (!llvm.ptr) -> !llvm.ptr, i8
    %descr = llvm.load %at_descr : !llvm.ptr -> !llvm.ptr
    %at_order = llvm.getelementptr %descr[${ARRAY_BYTE_ORDER}] : (!llvm.ptr) -> !llvm.ptr, i8
    %order = llvm.load %at_order : !llvm.ptr -> i8
    %at_number = llvm.getelementptr %descr[${ARRAY_TYPE_NUMBER}] : (!llvm.ptr) -> !llvm.ptr, i8
    %number = llvm.load %at_number : !llvm.ptr -> i32
    %plain = arith.constant ${PLAIN_FLAGS} : i32
    %set = arith.andi %flags, %plain : i32
    %is_plain = arith.cmpi eq, %set, %plain : i32
    %big = arith.constant ${BIG_ENDIAN} : i8
    %is_native = arith.cmpi ne, %order, %big : i8
    %most = arith.constant ${DTYPES} : i32
    %is_known = arith.cmpi ult, %number, %most : i32
    %both = arith.andi %is_plain, %is_native : i1
    %fine = arith.andi %both, %is_known : i1
    %ready = scf.if %fine -> i1 {
      %wide = arith.extui %number : i32 to i64
      %first = arith.constant ${FIRST_DTYPE} : i64
      %place = arith.addi %first, %wide : i64
      %p_dtype = llvm.getelementptr %state[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %dtype = llvm.load %p_dtype : !llvm.ptr -> i32
      %none = arith.constant 0 : i32
      %exists = arith.cmpi ne, %dtype, %none : i32
      %at_data = llvm.getelementptr %object[${ARRAY_DATA}] : (!llvm.ptr) -> !llvm.ptr, i8
      %data = llvm.load %at_data : !llvm.ptr -> !llvm.ptr
      %at_ndim = llvm.getelementptr %object[${ARRAY_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
      %ndim = llvm.load %at_ndim : !llvm.ptr -> i32
      %at_shape = llvm.getelementptr %object[${ARRAY_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %shape = llvm.load %at_shape : !llvm.ptr -> !llvm.ptr
      %cpu = arith.constant 1 : i64
      %kind = arith.constant ${DLTENSOR} : i64
      %to_data = llvm.getelementptr %view[${DL_DATA}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %data, %to_data : !llvm.ptr, !llvm.ptr
      %to_device = llvm.getelementptr %view[${DL_DEVICE}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %cpu, %to_device : i64, !llvm.ptr
      %to_ndim = llvm.getelementptr %view[${DL_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %ndim, %to_ndim : i32, !llvm.ptr
      %to_dtype = llvm.getelementptr %view[${DL_DTYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %dtype, %to_dtype : i32, !llvm.ptr
      %to_shape = llvm.getelementptr %view[${DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %shape, %to_shape : !llvm.ptr, !llvm.ptr
      %to_strides = llvm.getelementptr %view[${DL_STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %zero, %to_strides : i64, !llvm.ptr
      %to_offset = llvm.getelementptr %view[${DL_BYTE_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %zero, %to_offset : i64, !llvm.ptr
      llvm.store %kind, %any : i64, !llvm.ptr
      %to_view = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %view, %to_view : !llvm.ptr, !llvm.ptr
      scf.yield %exists : i1
    } else {
      scf.yield %false : i1
    }
    scf.yield %ready : i1
  } else {
    %is_tensor = llvm.icmp "eq" %type, %tensor_type : !llvm.ptr
    scf.if %is_tensor {
      %offset = llvm.ptrtoint %tensor_handle : !llvm.ptr to i64
      %p_handle = llvm.getelementptr %object[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %handle = llvm.load %p_handle : !llvm.ptr -> !llvm.ptr
      %kind = arith.constant ${TENSOR} : i64
      llvm.store %kind, %any : i64, !llvm.ptr
      %to_handle = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
      llvm.store %handle, %to_handle : !llvm.ptr, !llvm.ptr
    }
    scf.yield %is_tensor : i1
  }
  llvm.return %done : i1
}

// Classify an argument (`fast_call_torch`) and store its FFI value, if it can be built here. `object_slot` receives the
// object that is created for it, if any.
llvm.func internal @examine(%object: !llvm.ptr, %any: !llvm.ptr, %view: !llvm.ptr, %object_slot: !llvm.ptr) -> i32 {
  %care = arith.constant ${CARE} : i32
  %no_care = arith.constant ${NO_CARE} : i32
  %direct = arith.constant ${DIRECT} : i32
  %direct_torch = arith.constant ${DIRECT_TORCH} : i32
  %at_type = llvm.getelementptr %object[${OBJECT_TYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
  %is_torch = llvm.call @is_torch(%type) : (!llvm.ptr) -> i1
  %found = scf.if %is_torch -> i32 {
    %good = llvm.call @torch_view(%object, %view) : (!llvm.ptr, !llvm.ptr) -> i1
    %kind = arith.constant ${DLTENSOR} : i64
    llvm.store %kind, %any : i64, !llvm.ptr
    %to_torch = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %view, %to_torch : !llvm.ptr, !llvm.ptr
    %of_torch = arith.select %good, %direct_torch, %care : i32
    scf.yield %of_torch : i32
  } else {
    %converted = llvm.call @convert(%object, %any, %view) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
    %of_others = scf.if %converted -> i32 {
      scf.yield %direct : i32
    } else {
      %is_value = llvm.call @convert_value(%object, %any, %object_slot) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
      %of_value = scf.if %is_value -> i32 {
        scf.yield %direct : i32
      } else {
        %deep = arith.constant ${DEPTH} : i64
        %fine = llvm.call @needs_no_care(%object, %deep) : (!llvm.ptr, i64) -> i1
        %of_rest = arith.select %fine, %no_care, %care : i32
        scf.yield %of_rest : i32
      }
      scf.yield %of_value : i32
    }
    scf.yield %of_others : i32
  }
  llvm.return %found : i32
}

llvm.func internal @call(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %no = arith.constant false
  %most = arith.constant ${MAX_ARGUMENTS} : i64
  %any_bytes = arith.constant ${ANYS_BYTES} : i64
  %view_bytes = arith.constant ${VIEWS_BYTES} : i64
  %anys = llvm.alloca %any_bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %views = llvm.alloca %view_bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %p_entry_offset = llvm.getelementptr %state[${at_entry_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %entry_offset = llvm.load %p_entry_offset : !llvm.ptr -> !llvm.ptr
  %p_as_pointer = llvm.getelementptr %state[${at_as_pointer}] : (!llvm.ptr) -> !llvm.ptr, i8
  %as_pointer = llvm.load %p_as_pointer : !llvm.ptr -> !llvm.ptr
  %few = arith.cmpi sle, %count, %most : i64
  %end = arith.select %few, %count, %zero : i64
  %view_kind = arith.constant ${DLTENSOR} : i64
  %converted, %arrays = scf.for %i = %zero to %end step %one iter_args(%so_far = %few, %seen = %no) -> (i1, i1) : i64 {
    %next, %any_array = scf.if %so_far -> (i1, i1) {
      %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
      %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ANY_BYTES} x i8>
      %view = llvm.getelementptr %views[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${DL_BYTES} x i8>
      %fine = llvm.call @convert(%object, %any, %view) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i1
      %kind = llvm.load %any : !llvm.ptr -> i64
      %is_array = arith.cmpi eq, %kind, %view_kind : i64
      %either = arith.ori %seen, %is_array : i1
      scf.yield %fine, %either : i1, i1
    } else {
      scf.yield %no, %seen : i1, i1
    }
    scf.yield %next, %any_array : i1, i1
  }
  %offset = llvm.ptrtoint %entry_offset : !llvm.ptr to i64
  %p_entry = llvm.getelementptr %self[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %number = llvm.load %p_entry : !llvm.ptr -> !llvm.ptr
  %is_set = llvm.icmp "ne" %number, %null : !llvm.ptr
  %directly = arith.andi %converted, %is_set : i1
  %result = scf.if %directly -> !llvm.ptr {
    %tagged = llvm.call %as_pointer(%number) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
    %word = llvm.ptrtoint %tagged : !llvm.ptr to i64
    %machine_bit = arith.constant ${MACHINE_BIT} : i64
    %tag = arith.andi %word, %machine_bit : i64
    %is_native = arith.cmpi eq, %tag, %zero : i64
    %value = scf.if %is_native -> !llvm.ptr {
      %of_native = llvm.call @enter(%tagged, %anys, %count, %arrays) : (!llvm.ptr, !llvm.ptr, i64, i1) -> !llvm.ptr
      scf.yield %of_native : !llvm.ptr
    } else {
      %of_machine = llvm.call @enter_machine(%tagged, %anys, %args, %count, %arrays)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i1) -> !llvm.ptr
      scf.yield %of_machine : !llvm.ptr
    }
    %outcome = llvm.call @or_refused(%value, %self, %args, %count)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    scf.yield %outcome : !llvm.ptr
  } else {
    %value = llvm.call @call_others(%self, %args, %count, %number, %anys, %views)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// A call with arguments that are not all arrays and FFI tensors; `number` contains the address of the entry point, or
// is null.
llvm.func internal @call_others(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64, %number: !llvm.ptr,
                                %anys: !llvm.ptr, %views: !llvm.ptr) -> !llvm.ptr
    attributes {passthrough = ["noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %null8 = arith.constant 0 : i8
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %most = arith.constant ${MAX_ARGUMENTS} : i64
  %care = arith.constant ${CARE} : i32
  %direct = arith.constant ${DIRECT} : i32
  %direct_torch = arith.constant ${DIRECT_TORCH} : i32
  %p_as_pointer = llvm.getelementptr %state[${at_as_pointer}] : (!llvm.ptr) -> !llvm.ptr, i8
  %as_pointer = llvm.load %p_as_pointer : !llvm.ptr -> !llvm.ptr
  %few = arith.cmpi sle, %count, %most : i64
  %end = arith.select %few, %count, %zero : i64
  %objects_bytes = arith.constant ${POINTERS_BYTES} : i64
  %objects = llvm.alloca %objects_bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  "llvm.intr.memset"(%objects, %null8, %objects_bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %start = arith.select %few, %direct, %care : i32
  %no = arith.constant false
  %deep = arith.constant ${DEPTH} : i64
  %seen, %torch, %arrays = scf.for %i = %zero to %end step %one
    iter_args(%so_far = %start, %last = %null, %before = %no) -> (i32, !llvm.ptr, i1) : i64 {
    %goes_on = arith.cmpi ne, %so_far, %care : i32
    %next, %latest, %any_array = scf.if %goes_on -> (i32, !llvm.ptr, i1) {
      %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
      %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ANY_BYTES} x i8>
      %view = llvm.getelementptr %views[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${DL_BYTES} x i8>
      %slot = llvm.getelementptr %objects[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %found = llvm.call @examine(%object, %any, %view, %slot) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
      %worst = arith.minui %found, %so_far : i32
      %is_torch = arith.cmpi eq, %found, %direct_torch : i32
      %tensor = llvm.select %is_torch, %object, %last : i1, !llvm.ptr
      %holds = llvm.call @holds_array(%object, %deep) : (!llvm.ptr, i64) -> i1
      %either = arith.ori %before, %holds : i1
      scf.yield %worst, %tensor, %either : i32, !llvm.ptr, i1
    } else {
      scf.yield %so_far, %last, %before : i32, !llvm.ptr, i1
    }
    scf.yield %next, %latest, %any_array : i32, !llvm.ptr, i1
  }
  %is_set = llvm.icmp "ne" %number, %null : !llvm.ptr
  %all_direct = arith.cmpi eq, %seen, %direct : i32
  %directly = arith.andi %all_direct, %is_set : i1
  %result = scf.if %directly -> !llvm.ptr {
    %entry = llvm.call %as_pointer(%number) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
    %word = llvm.ptrtoint %entry : !llvm.ptr to i64
    %object_bits = arith.constant ${OBJECT_BITS} : i64
    %tag = arith.andi %word, %object_bits : i64
    %takes_views = arith.cmpi eq, %tag, %zero : i64
    %value = scf.if %takes_views -> !llvm.ptr {
      %of_views = llvm.call @enter_either(%entry, %anys, %count, %torch, %arrays)
        : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i1) -> !llvm.ptr
      scf.yield %of_views : !llvm.ptr
    } else {
      %of_objects = llvm.call @enter_objects(%entry, %anys, %args, %count, %torch, %objects, %arrays)
        : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i1) -> !llvm.ptr
      scf.yield %of_objects : !llvm.ptr
    }
    %outcome = llvm.call @or_refused(%value, %self, %args, %count)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    scf.yield %outcome : !llvm.ptr
  } else {
    %with_care = arith.cmpi eq, %seen, %care : i32
    %value = scf.if %with_care -> !llvm.ptr {
      %of_any = llvm.call @call_slow(%self, %args, %count) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
      scf.yield %of_any : !llvm.ptr
    } else {
      %of_ffi = llvm.call @call_ffi(%self, %args, %count) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
      %held = llvm.call @numpy_made(%of_ffi, %arrays) : (!llvm.ptr, i1) -> !llvm.ptr
      scf.yield %held : !llvm.ptr
    }
    scf.yield %value : !llvm.ptr
  }
  llvm.call @drop_objects(%objects, %end) : (!llvm.ptr, i64) -> ()
  llvm.return %result : !llvm.ptr
}

// Call the method of `self` for any arguments.
llvm.func internal @call_slow(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p_name = llvm.getelementptr %state[${at_slow_name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %name = llvm.load %p_name : !llvm.ptr -> !llvm.ptr
  %p_call_method = llvm.getelementptr %state[${at_call_method}] : (!llvm.ptr) -> !llvm.ptr, i8
  %call_method = llvm.load %p_call_method : !llvm.ptr -> !llvm.ptr
  %room = arith.addi %count, %one : i64
  %with_self = llvm.alloca %room x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %self, %with_self : !llvm.ptr, !llvm.ptr
  scf.for %i = %zero to %count step %one : i64 {
    %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
    %behind = arith.addi %i, %one : i64
    %p_copy = llvm.getelementptr %with_self[%behind] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    llvm.store %object, %p_copy : !llvm.ptr, !llvm.ptr
  }
  %value = llvm.call %call_method(%name, %with_self, %room, %null)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  llvm.return %value : !llvm.ptr
}

// The total number of elements of the tensors among the arguments, which are FFI values.
llvm.func internal @elements(%anys: !llvm.ptr, %count: i64) -> i64 attributes {passthrough = ["alwaysinline"]} {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %total = scf.for %i = %zero to %count step %one iter_args(%sum = %zero) -> (i64) : i64 {
    %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ANY_BYTES} x i8>
    %kind = llvm.load %any : !llvm.ptr -> i32
    %at_value = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %value = llvm.load %at_value : !llvm.ptr -> !llvm.ptr
    %object = arith.constant ${TENSOR} : i32
    %view = arith.constant ${DLTENSOR} : i32
    %is_object = arith.cmpi eq, %kind, %object : i32
    %is_view = arith.cmpi eq, %kind, %view : i32
    %is_tensor = arith.ori %is_object, %is_view : i1
    %size = scf.if %is_tensor -> i64 {
      %inside = llvm.getelementptr %value[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
      %tensor = llvm.select %is_object, %inside, %value : i1, !llvm.ptr
      %at_ndim = llvm.getelementptr %tensor[${DL_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
      %ndim = llvm.load %at_ndim : !llvm.ptr -> i32
      %at_shape = llvm.getelementptr %tensor[${DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %shape = llvm.load %at_shape : !llvm.ptr -> !llvm.ptr
      %rank = arith.extsi %ndim : i32 to i64
      %all = scf.for %axis = %zero to %rank step %one iter_args(%product = %one) -> (i64) : i64 {
        %at = llvm.getelementptr %shape[%axis] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        %dim = llvm.load %at : !llvm.ptr -> i64
        %next = arith.muli %product, %dim : i64
        scf.yield %next : i64
      }
      scf.yield %all : i64
    } else {
      scf.yield %zero : i64
    }
    %so_far = arith.addi %sum, %size : i64
    scf.yield %so_far : i64
  }
  llvm.return %total : i64
}
