// The part of `fast_call` that reads torch tensors.
//
// DLPack describes the memory of a tensor. It lacks torch's negative and conjugate bits, which change the values in
// memory, the size of the storage, which may have been resized under the tensor, and the autograd state. This code
// reads all of them from torch's own data structures. runtime/object_layouts.py finds their offsets in this process and
// tests the values that this code reads. Without it, and for tensors that are not plain, runtime/native_function.py asks
// torch.

llvm.func @TVMFFITensorToDLPackVersioned(!llvm.ptr, !llvm.ptr) -> i32

llvm.func internal @is_torch(%type: !llvm.ptr) -> i1 attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %p_torch_type = llvm.getelementptr %state[${at_torch_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %torch_type = llvm.load %p_torch_type : !llvm.ptr -> !llvm.ptr
  %p_parameter_type = llvm.getelementptr %state[${at_parameter_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %parameter_type = llvm.load %p_parameter_type : !llvm.ptr -> !llvm.ptr
  %is_tensor = llvm.icmp "eq" %type, %torch_type : !llvm.ptr
  %is_parameter = llvm.icmp "eq" %type, %parameter_type : !llvm.ptr
  %result = arith.ori %is_tensor, %is_parameter : i1
  llvm.return %result : i1
}

// Fill in the DLTensor `view` of a torch tensor; false if its values differ from memory or exceed its storage.
llvm.func internal @torch_view(%object: !llvm.ptr, %view: !llvm.ptr) -> i1 {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %false = arith.constant false
  %p_torch_to_dltensor = llvm.getelementptr %state[${at_torch_to_dltensor}] : (!llvm.ptr) -> !llvm.ptr, i8
  %torch_to_dltensor = llvm.load %p_torch_to_dltensor : !llvm.ptr -> !llvm.ptr
  %p_clear_error = llvm.getelementptr %state[${at_clear_error}] : (!llvm.ptr) -> !llvm.ptr, i8
  %clear_error = llvm.load %p_clear_error : !llvm.ptr -> !llvm.ptr
  %p_impl_offset = llvm.getelementptr %state[${at_impl_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %impl_offset = llvm.load %p_impl_offset : !llvm.ptr -> !llvm.ptr
  %p_keys_offset = llvm.getelementptr %state[${at_keys_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %keys_offset = llvm.load %p_keys_offset : !llvm.ptr -> !llvm.ptr
  %p_storage_offset = llvm.getelementptr %state[${at_storage_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %storage_offset = llvm.load %p_storage_offset : !llvm.ptr -> !llvm.ptr
  %p_start_offset = llvm.getelementptr %state[${at_start_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %start_offset = llvm.load %p_start_offset : !llvm.ptr -> !llvm.ptr
  %p_bytes_offset = llvm.getelementptr %state[${at_bytes_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %bytes_offset = llvm.load %p_bytes_offset : !llvm.ptr -> !llvm.ptr
  %p_plain_keys = llvm.getelementptr %state[${at_plain_keys}] : (!llvm.ptr) -> !llvm.ptr, i8
  %plain_keys = llvm.load %p_plain_keys : !llvm.ptr -> !llvm.ptr
  %p_inference_keys = llvm.getelementptr %state[${at_inference_keys}] : (!llvm.ptr) -> !llvm.ptr, i8
  %inference_keys = llvm.load %p_inference_keys : !llvm.ptr -> !llvm.ptr
  %to_impl = llvm.ptrtoint %impl_offset : !llvm.ptr to i64
  %p_impl = llvm.getelementptr %object[%to_impl] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %impl = llvm.load %p_impl : !llvm.ptr -> !llvm.ptr
  %to_keys = llvm.ptrtoint %keys_offset : !llvm.ptr to i64
  %p_keys = llvm.getelementptr %impl[%to_keys] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %keys = llvm.load %p_keys : !llvm.ptr -> !llvm.ptr
  %is_plain = llvm.icmp "eq" %keys, %plain_keys : !llvm.ptr
  %is_inference = llvm.icmp "eq" %keys, %inference_keys : !llvm.ptr
  %is_known = arith.ori %is_plain, %is_inference : i1
  %known = scf.if %is_known -> i1 {
    %tracked = llvm.call @is_tracked(%impl) : (!llvm.ptr) -> i1
    %yes = arith.constant true
    %untracked = arith.xori %tracked, %yes : i1
    scf.yield %untracked : i1
  } else {
    scf.yield %false : i1
  }
  %result = scf.if %known -> i1 {
    %status = llvm.call %torch_to_dltensor(%object, %view) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i32
    %ok = arith.constant 0 : i32
    %converted = arith.cmpi eq, %status, %ok : i32
    %fits = scf.if %converted -> i1 {
      %to_storage = llvm.ptrtoint %storage_offset : !llvm.ptr to i64
      %p_storage = llvm.getelementptr %impl[%to_storage] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %storage = llvm.load %p_storage : !llvm.ptr -> !llvm.ptr
      %inside = llvm.call @fits(%view, %storage) : (!llvm.ptr, !llvm.ptr) -> i1
      scf.yield %inside : i1
    } else {
      llvm.call %clear_error() : !llvm.ptr, () -> ()
      scf.yield %false : i1
    }
    scf.yield %fits : i1
  } else {
    scf.yield %false : i1
  }
  llvm.return %result : i1
}

// True if torch would record operations on a tensor for a gradient: it requires one, directly or through its history,
// and recording is enabled. Tensors without any recorded operation have no autograd metadata.
llvm.func internal @is_tracked(%impl: !llvm.ptr) -> i1 {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %no = arith.constant false
  %p_facts_offset = llvm.getelementptr %state[${at_gradient_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %facts_offset = llvm.load %p_facts_offset : !llvm.ptr -> i64
  %p_facts = llvm.getelementptr %impl[%facts_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %facts = llvm.load %p_facts : !llvm.ptr -> !llvm.ptr
  %has_facts = llvm.icmp "ne" %facts, %null : !llvm.ptr
  %result = scf.if %has_facts -> i1 {
    %p_flag_offset = llvm.getelementptr %state[${at_required_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
    %flag_offset = llvm.load %p_flag_offset : !llvm.ptr -> i64
    %p_flag = llvm.getelementptr %facts[%flag_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %flag = llvm.load %p_flag : !llvm.ptr -> i8
    %p_node_offset = llvm.getelementptr %state[${at_node_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
    %node_offset = llvm.load %p_node_offset : !llvm.ptr -> i64
    %p_node = llvm.getelementptr %facts[%node_offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %node = llvm.load %p_node : !llvm.ptr -> !llvm.ptr
    %unset = arith.constant 0 : i8
    %is_required = arith.cmpi ne, %flag, %unset : i8
    %is_computed = llvm.icmp "ne" %node, %null : !llvm.ptr
    %either = arith.ori %is_required, %is_computed : i1
    %recorded = scf.if %either -> i1 {
      %p_recording = llvm.getelementptr %state[${at_is_recording}] : (!llvm.ptr) -> !llvm.ptr, i8
      %recording = llvm.load %p_recording : !llvm.ptr -> !llvm.ptr
      %p_vectorcall = llvm.getelementptr %state[${at_vectorcall}] : (!llvm.ptr) -> !llvm.ptr, i8
      %vectorcall = llvm.load %p_vectorcall : !llvm.ptr -> !llvm.ptr
      %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
      %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
      %p_clear_error = llvm.getelementptr %state[${at_clear_error}] : (!llvm.ptr) -> !llvm.ptr, i8
      %clear_error = llvm.load %p_clear_error : !llvm.ptr -> !llvm.ptr
      %p_true = llvm.getelementptr %state[${at_true}] : (!llvm.ptr) -> !llvm.ptr, i8
      %true = llvm.load %p_true : !llvm.ptr -> !llvm.ptr
      %answer = llvm.call %vectorcall(%recording, %null, %zero, %null)
        : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
      %is_there = llvm.icmp "ne" %answer, %null : !llvm.ptr
      %records = scf.if %is_there -> i1 {
        %is_true = llvm.icmp "eq" %answer, %true : !llvm.ptr
        llvm.call %decrement(%answer) : !llvm.ptr, (!llvm.ptr) -> ()
        scf.yield %is_true : i1
      } else {
        llvm.call %clear_error() : !llvm.ptr, () -> ()
        %care = arith.constant true
        scf.yield %care : i1
      }
      scf.yield %records : i1
    } else {
      scf.yield %no : i1
    }
    scf.yield %recorded : i1
  } else {
    scf.yield %no : i1
  }
  llvm.return %result : i1
}

// True if all elements of a DLTensor are inside a torch storage.
llvm.func internal @fits(%view: !llvm.ptr, %storage: !llvm.ptr) -> i1 {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %no = arith.constant false
  %p_start_offset = llvm.getelementptr %state[${at_start_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %start_offset = llvm.load %p_start_offset : !llvm.ptr -> !llvm.ptr
  %p_bytes_offset = llvm.getelementptr %state[${at_bytes_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %bytes_offset = llvm.load %p_bytes_offset : !llvm.ptr -> !llvm.ptr
  %to_start = llvm.ptrtoint %start_offset : !llvm.ptr to i64
  %p_start = llvm.getelementptr %storage[%to_start] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %start = llvm.load %p_start : !llvm.ptr -> i64
  %to_bytes = llvm.ptrtoint %bytes_offset : !llvm.ptr to i64
  %p_bytes = llvm.getelementptr %storage[%to_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %bytes = llvm.load %p_bytes : !llvm.ptr -> i64
  %at_data = llvm.getelementptr %view[${DL_DATA}] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.load %at_data : !llvm.ptr -> i64
  %at_byte_offset = llvm.getelementptr %view[${DL_BYTE_OFFSET}] : (!llvm.ptr) -> !llvm.ptr, i8
  %byte_offset = llvm.load %at_byte_offset : !llvm.ptr -> i64
  %at_ndim = llvm.getelementptr %view[${DL_NDIM}] : (!llvm.ptr) -> !llvm.ptr, i8
  %ndim = llvm.load %at_ndim : !llvm.ptr -> i32
  %at_shape = llvm.getelementptr %view[${DL_SHAPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape = llvm.load %at_shape : !llvm.ptr -> !llvm.ptr
  %at_strides = llvm.getelementptr %view[${DL_STRIDES}] : (!llvm.ptr) -> !llvm.ptr, i8
  %strides = llvm.load %at_strides : !llvm.ptr -> !llvm.ptr
  %at_bits = llvm.getelementptr %view[${DL_BITS}] : (!llvm.ptr) -> !llvm.ptr, i8
  %bits = llvm.load %at_bits : !llvm.ptr -> i8
  %at_lanes = llvm.getelementptr %view[${DL_LANES}] : (!llvm.ptr) -> !llvm.ptr, i8
  %lanes = llvm.load %at_lanes : !llvm.ptr -> i16
  %rank = arith.extsi %ndim : i32 to i64
  %last, %empty = scf.for %i = %zero to %rank step %one iter_args(%sum = %zero, %none = %no) -> (i64, i1) : i64 {
    %p_dim = llvm.getelementptr %shape[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %dim = llvm.load %p_dim : !llvm.ptr -> i64
    %p_stride = llvm.getelementptr %strides[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %stride = llvm.load %p_stride : !llvm.ptr -> i64
    %steps = arith.subi %dim, %one : i64
    %way = arith.muli %steps, %stride : i64
    %total = arith.addi %sum, %way : i64
    %is_empty = arith.cmpi eq, %dim, %zero : i64
    %any = arith.ori %none, %is_empty : i1
    scf.yield %total, %any : i64, i1
  }
  %seven = arith.constant 7 : i64
  %three = arith.constant 3 : i64
  %bits_64 = arith.extui %bits : i8 to i64
  %lanes_64 = arith.extui %lanes : i16 to i64
  %all_bits = arith.muli %bits_64, %lanes_64 : i64
  %rounded = arith.addi %all_bits, %seven : i64
  %size = arith.shrui %rounded, %three : i64
  %count = arith.addi %last, %one : i64
  %reach = arith.muli %count, %size : i64
  %first = arith.addi %data, %byte_offset : i64
  %before = arith.subi %first, %start : i64
  %needed = arith.addi %before, %reach : i64
  %within = arith.cmpi sle, %needed, %bytes : i64
  %behind = arith.cmpi sge, %before, %zero : i64
  %there = arith.andi %within, %behind : i1
  %result = arith.ori %there, %empty : i1
  llvm.return %result : i1
}

// Convert a tensor to a Python torch tensor; takes its reference. Returns an FFI tensor if torch cannot take it, or
// null with an exception set.
llvm.func internal @torch_result(%handle: !llvm.ptr) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %one = arith.constant 1 : i64
  %ok = arith.constant 0 : i32
  %p_from_managed = llvm.getelementptr %state[${at_torch_from_managed}] : (!llvm.ptr) -> !llvm.ptr, i8
  %from_managed = llvm.load %p_from_managed : !llvm.ptr -> !llvm.ptr
  %p_clear_error = llvm.getelementptr %state[${at_clear_error}] : (!llvm.ptr) -> !llvm.ptr, i8
  %clear_error = llvm.load %p_clear_error : !llvm.ptr -> !llvm.ptr
  %p_managed = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_tensor = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %exported = llvm.call @TVMFFITensorToDLPackVersioned(%handle, %p_managed) : (!llvm.ptr, !llvm.ptr) -> i32
  %is_exported = arith.cmpi eq, %exported, %ok : i32
  %result = scf.if %is_exported -> !llvm.ptr {
    %managed = llvm.load %p_managed : !llvm.ptr -> !llvm.ptr
    %status = llvm.call %from_managed(%managed, %p_tensor) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i32
    %is_taken = arith.cmpi eq, %status, %ok : i32
    %made = scf.if %is_taken -> !llvm.ptr {
      %rc = llvm.call @TVMFFIObjectDecRef(%handle) : (!llvm.ptr) -> i32
      %tensor = llvm.load %p_tensor : !llvm.ptr -> !llvm.ptr
      scf.yield %tensor : !llvm.ptr
    } else {
      llvm.call %clear_error() : !llvm.ptr, () -> ()
      %at_deleter = llvm.getelementptr %managed[${MANAGED_DELETER}] : (!llvm.ptr) -> !llvm.ptr, i8
      %deleter = llvm.load %at_deleter : !llvm.ptr -> !llvm.ptr
      llvm.call %deleter(%managed) : !llvm.ptr, (!llvm.ptr) -> ()
      %of_ffi = llvm.call @tensor_result(%handle) : (!llvm.ptr) -> !llvm.ptr
      scf.yield %of_ffi : !llvm.ptr
    }
    scf.yield %made : !llvm.ptr
  } else {
    %of_ffi = llvm.call @tensor_result(%handle) : (!llvm.ptr) -> !llvm.ptr
    scf.yield %of_ffi : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// True if an argument neither is nor contains a torch tensor that needs care; tuples and lists are searched to `depth`.
llvm.func internal @needs_no_care(%object: !llvm.ptr, %depth: i64) -> i1 {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %yes = arith.constant true
  %no = arith.constant false
  %p_tuple_type = llvm.getelementptr %state[${at_tuple_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %tuple_type = llvm.load %p_tuple_type : !llvm.ptr -> !llvm.ptr
  %p_list_type = llvm.getelementptr %state[${at_list_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %list_type = llvm.load %p_list_type : !llvm.ptr -> !llvm.ptr
  %view_bytes = arith.constant ${DL_BYTES} : i64
  %view = llvm.alloca %view_bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %at_type = llvm.getelementptr %object[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
  %kinds = arith.constant ${KINDS} : i64
  %first_kind = llvm.getelementptr %state[${FIRST_KIND}] : (!llvm.ptr) -> !llvm.ptr, i8
  %known = scf.for %i = %zero to %kinds step %one iter_args(%found = %no) -> (i1) : i64 {
    %p_kind = llvm.getelementptr %first_kind[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %kind = llvm.load %p_kind : !llvm.ptr -> !llvm.ptr
    %same = llvm.icmp "eq" %kind, %type : !llvm.ptr
    %either = arith.ori %found, %same : i1
    scf.yield %either : i1
  }
  %result = scf.if %known -> i1 {
    scf.yield %yes : i1
  } else {
    %is_tuple = llvm.icmp "eq" %type, %tuple_type : !llvm.ptr
    %is_list = llvm.icmp "eq" %type, %list_type : !llvm.ptr
    %is_sequence = arith.ori %is_tuple, %is_list : i1
    %of_others = scf.if %is_sequence -> i1 {
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
      %may = arith.cmpi sge, %deeper, %zero : i64
      %of_items = scf.for %i = %zero to %size step %one iter_args(%good = %may) -> (i1) : i64 {
        %both = scf.if %good -> i1 {
          %p_item = llvm.getelementptr %items[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
          %item = llvm.load %p_item : !llvm.ptr -> !llvm.ptr
          %fine = llvm.call @needs_no_care(%item, %deeper) : (!llvm.ptr, i64) -> i1
          scf.yield %fine : i1
        } else {
          scf.yield %no : i1
        }
        scf.yield %both : i1
      }
      scf.yield %of_items : i1
    } else {
      %is_torch = llvm.call @is_torch(%type) : (!llvm.ptr) -> i1
      %of_torch = scf.if %is_torch -> i1 {
        %good = llvm.call @torch_view(%object, %view) : (!llvm.ptr, !llvm.ptr) -> i1
        scf.yield %good : i1
      } else {
        scf.yield %no : i1
      }
      scf.yield %of_torch : i1
    }
    scf.yield %of_others : i1
  }
  llvm.return %result : i1
}
