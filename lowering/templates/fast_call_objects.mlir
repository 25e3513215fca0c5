// The part of `fast_call` that creates FFI objects from arguments: shapes, and tensors for functions that may keep
// them. A tensor object holds a reference to the array whose memory it views. The caller has one reference to each
// object, and drops it after the call, with the GIL; other owners may drop theirs at any time.

llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @TVMFFIObjectDecRef(!llvm.ptr) -> i32

// The deleter of shapes: `flags` has bit 0 set for the last strong reference, bit 1 for the last weak one.
llvm.func internal @delete_object(%object: !llvm.ptr, %flags: i32) {
  %two = arith.constant 2 : i32
  %zero = arith.constant 0 : i32
  %bit = arith.andi %flags, %two : i32
  %last = arith.cmpi ne, %bit, %zero : i32
  scf.if %last {
    llvm.call @free(%object) : (!llvm.ptr) -> ()
  }
  llvm.return
}

// The deleter of tensors: releases the array with the last strong reference, unless the interpreter has ended.
llvm.func internal @delete_tensor(%object: !llvm.ptr, %flags: i32) {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %p_is_initialized = llvm.getelementptr %state[${at_is_initialized}] : (!llvm.ptr) -> !llvm.ptr, i8
  %is_initialized = llvm.load %p_is_initialized : !llvm.ptr -> !llvm.ptr
  %p_ensure = llvm.getelementptr %state[${at_ensure_gil}] : (!llvm.ptr) -> !llvm.ptr, i8
  %ensure = llvm.load %p_ensure : !llvm.ptr -> !llvm.ptr
  %p_release = llvm.getelementptr %state[${at_release_gil}] : (!llvm.ptr) -> !llvm.ptr, i8
  %release = llvm.load %p_release : !llvm.ptr -> !llvm.ptr
  %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
  %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
  %bit = arith.andi %flags, %one : i32
  %strong = arith.cmpi ne, %bit, %zero : i32
  scf.if %strong {
    %running = llvm.call %is_initialized() : !llvm.ptr, () -> i32
    %has_python = arith.cmpi ne, %running, %zero : i32
    scf.if %has_python {
      %at_source = llvm.getelementptr %object[${SOURCE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %source = llvm.load %at_source : !llvm.ptr -> !llvm.ptr
      %gil = llvm.call %ensure() : !llvm.ptr, () -> i32
      llvm.call %decrement(%source) : !llvm.ptr, (!llvm.ptr) -> ()
      llvm.call %release(%gil) : !llvm.ptr, (i32) -> ()
    }
  }
  llvm.call @delete_object(%object, %flags) : (!llvm.ptr, i32) -> ()
  llvm.return
}

// Fill in the header of an object with one reference.
llvm.func internal @object_head(%object: !llvm.ptr, %kind: i64, %deleter: !llvm.ptr) {
  %references = arith.constant ${ONE_REFERENCE} : i64
  llvm.store %references, %object : i64, !llvm.ptr
  %to_kind = llvm.getelementptr %object[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %to_kind : i64, !llvm.ptr
  %to_deleter = llvm.getelementptr %object[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %deleter, %to_deleter : !llvm.ptr, !llvm.ptr
  llvm.return
}

// A tensor over the memory of the array or torch tensor `source`, described by `view`; null if out of memory.
llvm.func internal @tensor_object(%source: !llvm.ptr, %view: !llvm.ptr) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %sixteen = arith.constant 16 : i64
  %head = arith.constant ${TENSOR_TABLES} : i64
  %p_increment = llvm.getelementptr %state[${at_increment}] : (!llvm.ptr) -> !llvm.ptr, i8
  %increment = llvm.load %p_increment : !llvm.ptr -> !llvm.ptr
  %at_ndim = llvm.getelementptr %view[${DL_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
  %ndim = llvm.load %at_ndim : !llvm.ptr -> i32
  %rank = arith.extsi %ndim : i32 to i64
  %tables_bytes = arith.muli %rank, %sixteen : i64
  %bytes = arith.addi %tables_bytes, %head : i64
  %object = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
  %is_there = llvm.icmp "ne" %object, %null : !llvm.ptr
  scf.if %is_there {
    %kind = arith.constant ${TENSOR} : i64
    %deleter = llvm.mlir.addressof @delete_tensor : !llvm.ptr
    llvm.call @object_head(%object, %kind, %deleter) : (!llvm.ptr, i64, !llvm.ptr) -> ()
    %tensor = llvm.getelementptr %object[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %dl_bytes = arith.constant ${DL_BYTES} : i64
    "llvm.intr.memcpy"(%tensor, %view, %dl_bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %sizes = llvm.getelementptr %object[%head] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %steps = llvm.getelementptr %sizes[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %at_shape = llvm.getelementptr %tensor[${DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
    %at_strides = llvm.getelementptr %tensor[${DL_STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %shape = llvm.load %at_shape : !llvm.ptr -> !llvm.ptr
    %strides = llvm.load %at_strides : !llvm.ptr -> !llvm.ptr
    %row_major = llvm.icmp "eq" %strides, %null : !llvm.ptr
    %given_steps = llvm.select %row_major, %sizes, %strides : i1, !llvm.ptr
    %total = scf.for %i = %zero to %rank step %one iter_args(%step = %one) -> (i64) : i64 {
      %next = arith.addi %i, %one : i64
      %k = arith.subi %rank, %next : i64
      %from = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %size = llvm.load %from : !llvm.ptr -> i64
      %to = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %size, %to : i64, !llvm.ptr
      %from_step = llvm.getelementptr %given_steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %given = llvm.load %from_step : !llvm.ptr -> i64
      %its = arith.select %row_major, %step, %given : i64
      %to_step = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      llvm.store %its, %to_step : i64, !llvm.ptr
      %product = arith.muli %step, %size : i64
      scf.yield %product : i64
    }
    llvm.store %sizes, %at_shape : !llvm.ptr, !llvm.ptr
    llvm.store %steps, %at_strides : !llvm.ptr, !llvm.ptr
    %at_source = llvm.getelementptr %object[${SOURCE}] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %source, %at_source : !llvm.ptr, !llvm.ptr
    llvm.call %increment(%source) : !llvm.ptr, (!llvm.ptr) -> ()
  }
  llvm.return %object : !llvm.ptr
}

// A shape object from the Python tuple `tuple`; null for integers beyond 64 bits, or if out of memory.
llvm.func internal @shape_object(%tuple: !llvm.ptr) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %head = arith.constant ${SHAPE_NUMBERS} : i64
  %no_overflow = arith.constant 0 : i32
  %good = arith.constant true
  %bad = arith.constant false
  %p_int_type = llvm.getelementptr %state[${at_int_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %int_type = llvm.load %p_int_type : !llvm.ptr -> !llvm.ptr
  %p_int_value = llvm.getelementptr %state[${at_int_value}] : (!llvm.ptr) -> !llvm.ptr, i8
  %int_value = llvm.load %p_int_value : !llvm.ptr -> !llvm.ptr
  %overflow = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
  %at_size = llvm.getelementptr %tuple[${SEQUENCE_SIZE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %size = llvm.load %at_size : !llvm.ptr -> i64
  %items = llvm.getelementptr %tuple[${SEQUENCE_ITEMS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %numbers_bytes = arith.muli %size, %eight : i64
  %bytes = arith.addi %numbers_bytes, %head : i64
  %object = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
  %is_there = llvm.icmp "ne" %object, %null : !llvm.ptr
  %made = scf.if %is_there -> !llvm.ptr {
    %kind = arith.constant ${SHAPE} : i64
    %deleter = llvm.mlir.addressof @delete_object : !llvm.ptr
    llvm.call @object_head(%object, %kind, %deleter) : (!llvm.ptr, i64, !llvm.ptr) -> ()
    %numbers = llvm.getelementptr %object[%head] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %to_data = llvm.getelementptr %object[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %numbers, %to_data : !llvm.ptr, !llvm.ptr
    %to_size = llvm.getelementptr %to_data[8] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %size, %to_size : i64, !llvm.ptr
    %all = scf.for %i = %zero to %size step %one iter_args(%so_far = %good) -> (i1) : i64 {
      %p_item = llvm.getelementptr %items[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %item = llvm.load %p_item : !llvm.ptr -> !llvm.ptr
      %at_type = llvm.getelementptr %item[${OBJECT_TYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
      %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
      %is_int = llvm.icmp "eq" %type, %int_type : !llvm.ptr
      %fits = scf.if %is_int -> i1 {
        %number = llvm.call %int_value(%item, %overflow) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i64
        %to = llvm.getelementptr %numbers[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        llvm.store %number, %to : i64, !llvm.ptr
        %beyond = llvm.load %overflow : !llvm.ptr -> i32
        %is_small = arith.cmpi eq, %beyond, %no_overflow : i32
        scf.yield %is_small : i1
      } else {
        scf.yield %bad : i1
      }
      %both = arith.andi %so_far, %fits : i1
      scf.yield %both : i1
    }
    %result = scf.if %all -> !llvm.ptr {
      scf.yield %object : !llvm.ptr
    } else {
      llvm.call @free(%object) : (!llvm.ptr) -> ()
      scf.yield %null : !llvm.ptr
    }
    scf.yield %result : !llvm.ptr
  } else {
    scf.yield %null : !llvm.ptr
  }
  llvm.return %made : !llvm.ptr
}

// Convert a tensor to a Python FFI tensor; takes its reference; returns null with an exception set on failure.
llvm.func internal @tensor_result(%handle: !llvm.ptr) -> !llvm.ptr attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %p_new = llvm.getelementptr %state[${at_tensor_new}] : (!llvm.ptr) -> !llvm.ptr, i8
  %new = llvm.load %p_new : !llvm.ptr -> !llvm.ptr
  %p_type = llvm.getelementptr %state[${at_tensor_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %p_type : !llvm.ptr -> !llvm.ptr
  %p_no_arguments = llvm.getelementptr %state[${at_no_arguments}] : (!llvm.ptr) -> !llvm.ptr, i8
  %no_arguments = llvm.load %p_no_arguments : !llvm.ptr -> !llvm.ptr
  %tensor = llvm.call %new(%type, %no_arguments, %null) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %is_made = llvm.icmp "ne" %tensor, %null : !llvm.ptr
  scf.if %is_made {
    %p_handle_offset = llvm.getelementptr %state[${at_tensor_handle}] : (!llvm.ptr) -> !llvm.ptr, i8
    %handle_offset = llvm.load %p_handle_offset : !llvm.ptr -> i64
    %p_view_offset = llvm.getelementptr %state[${at_tensor_view}] : (!llvm.ptr) -> !llvm.ptr, i8
    %view_offset = llvm.load %p_view_offset : !llvm.ptr -> i64
    %to_handle = llvm.getelementptr %tensor[%handle_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %handle, %to_handle : !llvm.ptr, !llvm.ptr
    %view = llvm.getelementptr %handle[${OBJECT_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
    %to_view = llvm.getelementptr %tensor[%view_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %view, %to_view : !llvm.ptr, !llvm.ptr
  } else {
    %rc = llvm.call @TVMFFIObjectDecRef(%handle) : (!llvm.ptr) -> i32
  }
  llvm.return %tensor : !llvm.ptr
}

// Create objects for the arguments that are views, DLTensors on the stack, in `objects`; false if out of memory.
llvm.func internal @own_views(%anys: !llvm.ptr, %args: !llvm.ptr, %count: i64, %objects: !llvm.ptr) -> i1 {
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %view_kind = arith.constant ${DLTENSOR} : i64
  %kind = arith.constant ${TENSOR} : i64
  %good = arith.constant true
  %all = scf.for %i = %zero to %count step %one iter_args(%so_far = %good) -> (i1) : i64 {
    %any = llvm.getelementptr %anys[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<${ANY_BYTES} x i8>
    %its_kind = llvm.load %any : !llvm.ptr -> i64
    %is_view = arith.cmpi eq, %its_kind, %view_kind : i64
    %made = scf.if %is_view -> i1 {
      %p_source = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %source = llvm.load %p_source : !llvm.ptr -> !llvm.ptr
      %at_value = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
      %view = llvm.load %at_value : !llvm.ptr -> !llvm.ptr
      %object = llvm.call @tensor_object(%source, %view) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
      %to_object = llvm.getelementptr %objects[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      llvm.store %object, %to_object : !llvm.ptr, !llvm.ptr
      llvm.store %kind, %any : i64, !llvm.ptr
      llvm.store %object, %at_value : !llvm.ptr, !llvm.ptr
      %is_there = llvm.icmp "ne" %object, %null : !llvm.ptr
      scf.yield %is_there : i1
    } else {
      scf.yield %good : i1
    }
    %both = arith.andi %so_far, %made : i1
    scf.yield %both : i1
  }
  llvm.return %all : i1
}

// Drop the objects that were created for a call; the GIL is held.
llvm.func internal @drop_objects(%objects: !llvm.ptr, %count: i64) {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %alone = arith.constant ${ONE_REFERENCE} : i64
  %tensor_kind = arith.constant ${TENSOR} : i64
  %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
  %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
  scf.for %i = %zero to %count step %one : i64 {
    %p_object = llvm.getelementptr %objects[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
    %is_there = llvm.icmp "ne" %object, %null : !llvm.ptr
    scf.if %is_there {
      %references = llvm.load %object atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
      %is_ours = arith.cmpi eq, %references, %alone : i64
      scf.if %is_ours {
        %at_kind = llvm.getelementptr %object[8] : (!llvm.ptr) -> !llvm.ptr, i8
        %kind = llvm.load %at_kind : !llvm.ptr -> i64
        %is_tensor = arith.cmpi eq, %kind, %tensor_kind : i64
        scf.if %is_tensor {
          %at_source = llvm.getelementptr %object[${SOURCE}] : (!llvm.ptr) -> !llvm.ptr, i8
          %source = llvm.load %at_source : !llvm.ptr -> !llvm.ptr
          llvm.call %decrement(%source) : !llvm.ptr, (!llvm.ptr) -> ()
        }
        llvm.call @free(%object) : (!llvm.ptr) -> ()
      } else {
        %rc = llvm.call @TVMFFIObjectDecRef(%object) : (!llvm.ptr) -> i32
      }
    }
  }
  llvm.return
}

// A call with arguments that are FFI values, for a function that takes tensors as objects.
llvm.func internal @enter_objects(%tagged: !llvm.ptr, %anys: !llvm.ptr, %args: !llvm.ptr, %count: i64, %torch: !llvm.ptr,
                                  %objects: !llvm.ptr, %arrays: i1) -> !llvm.ptr attributes {passthrough = ["noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %owned = llvm.call @own_views(%anys, %args, %count, %objects) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i1
  %result = scf.if %owned -> !llvm.ptr {
    %value = llvm.call @enter_either(%tagged, %anys, %count, %torch, %arrays)
      : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i1) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  } else {
    %p_no_memory = llvm.getelementptr %state[${at_no_memory}] : (!llvm.ptr) -> !llvm.ptr, i8
    %no_memory = llvm.load %p_no_memory : !llvm.ptr -> !llvm.ptr
    %none = llvm.call %no_memory() : !llvm.ptr, () -> !llvm.ptr
    scf.yield %null : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// The same for any function; `torch`: a torch tensor argument, or null; `arrays`: NumPy arrays are among the arguments.
llvm.func internal @enter_either(%tagged: !llvm.ptr, %anys: !llvm.ptr, %count: i64, %torch: !llvm.ptr, %arrays: i1)
    -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  %with_torch = llvm.icmp "ne" %torch, %null : !llvm.ptr
  %result = scf.if %with_torch -> !llvm.ptr {
    %value = llvm.call @enter_torch(%tagged, %anys, %count, %torch) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  } else {
    %value = llvm.call @enter(%tagged, %anys, %count, %arrays) : (!llvm.ptr, !llvm.ptr, i64, i1) -> !llvm.ptr
    scf.yield %value : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// A call of a virtual machine's function with arrays and FFI tensors.
llvm.func internal @enter_machine(%tagged: !llvm.ptr, %anys: !llvm.ptr, %args: !llvm.ptr, %count: i64, %arrays: i1)
    -> !llvm.ptr attributes {passthrough = ["noinline"]} {
  %null = llvm.mlir.zero : !llvm.ptr
  %null8 = arith.constant 0 : i8
  %bytes = arith.constant ${POINTERS_BYTES} : i64
  %objects = llvm.alloca %bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  "llvm.intr.memset"(%objects, %null8, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %value = llvm.call @enter_objects(%tagged, %anys, %args, %count, %null, %objects, %arrays)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, i1) -> !llvm.ptr
  llvm.call @drop_objects(%objects, %count) : (!llvm.ptr, i64) -> ()
  llvm.return %value : !llvm.ptr
}
