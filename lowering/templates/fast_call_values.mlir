// The part of `fast_call` that converts other arguments: numbers, None and shapes become FFI values.

// Convert a number, None or an FFI shape to an FFI value; false for anything else. The object of a shape is also stored
// in `object_slot`; the caller drops it.
llvm.func internal @convert_value(%object: !llvm.ptr, %any: !llvm.ptr, %object_slot: !llvm.ptr) -> i1
    attributes {passthrough = ["alwaysinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %one = arith.constant 1 : i64
  %yes = arith.constant true
  %overflow = llvm.alloca %one x i32 : (i64) -> !llvm.ptr
  %at_type = llvm.getelementptr %object[${OBJECT_TYPE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %type = llvm.load %at_type : !llvm.ptr -> !llvm.ptr
  %to_value = llvm.getelementptr %any[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %p_int_type = llvm.getelementptr %state[${at_int_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %int_type = llvm.load %p_int_type : !llvm.ptr -> !llvm.ptr
  %p_float_type = llvm.getelementptr %state[${at_float_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %float_type = llvm.load %p_float_type : !llvm.ptr -> !llvm.ptr
  %p_bool_type = llvm.getelementptr %state[${at_bool_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %bool_type = llvm.load %p_bool_type : !llvm.ptr -> !llvm.ptr
  %p_shape_type = llvm.getelementptr %state[${at_shape_type}] : (!llvm.ptr) -> !llvm.ptr, i8
  %shape_type = llvm.load %p_shape_type : !llvm.ptr -> !llvm.ptr
  %p_none = llvm.getelementptr %state[${at_none}] : (!llvm.ptr) -> !llvm.ptr, i8
  %none = llvm.load %p_none : !llvm.ptr -> !llvm.ptr
  %is_int = llvm.icmp "eq" %type, %int_type : !llvm.ptr
  %is_float = llvm.icmp "eq" %type, %float_type : !llvm.ptr
  %is_bool = llvm.icmp "eq" %type, %bool_type : !llvm.ptr
  %is_shape = llvm.icmp "eq" %type, %shape_type : !llvm.ptr
  %is_none = llvm.icmp "eq" %object, %none : !llvm.ptr
  %done = scf.if %is_int -> i1 {
    %p_int_value = llvm.getelementptr %state[${at_int_value}] : (!llvm.ptr) -> !llvm.ptr, i8
    %int_value = llvm.load %p_int_value : !llvm.ptr -> !llvm.ptr
    %number = llvm.call %int_value(%object, %overflow) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i64
    %beyond = llvm.load %overflow : !llvm.ptr -> i32
    %none_32 = arith.constant 0 : i32
    %fits = arith.cmpi eq, %beyond, %none_32 : i32
    %kind = arith.constant ${INT} : i64
    llvm.store %kind, %any : i64, !llvm.ptr
    llvm.store %number, %to_value : i64, !llvm.ptr
    scf.yield %fits : i1
  } else {
    %of_float = scf.if %is_float -> i1 {
      %p_float_value = llvm.getelementptr %state[${at_float_value}] : (!llvm.ptr) -> !llvm.ptr, i8
      %float_value = llvm.load %p_float_value : !llvm.ptr -> !llvm.ptr
      %number = llvm.call %float_value(%object) : !llvm.ptr, (!llvm.ptr) -> f64
      %kind = arith.constant ${FLOAT} : i64
      llvm.store %kind, %any : i64, !llvm.ptr
      llvm.store %number, %to_value : f64, !llvm.ptr
      scf.yield %yes : i1
    } else {
      %of_shape = scf.if %is_shape -> i1 {
        %shape = llvm.call @shape_object(%object) : (!llvm.ptr) -> !llvm.ptr
        %kind = arith.constant ${SHAPE} : i64
        llvm.store %kind, %any : i64, !llvm.ptr
        llvm.store %shape, %to_value : !llvm.ptr, !llvm.ptr
        llvm.store %shape, %object_slot : !llvm.ptr, !llvm.ptr
        %is_made = llvm.icmp "ne" %shape, %null : !llvm.ptr
        scf.yield %is_made : i1
      } else {
        %p_true = llvm.getelementptr %state[${at_true}] : (!llvm.ptr) -> !llvm.ptr, i8
        %true = llvm.load %p_true : !llvm.ptr -> !llvm.ptr
        %is_true = llvm.icmp "eq" %object, %true : !llvm.ptr
        %flag = arith.extui %is_true : i1 to i64
        %bool_kind = arith.constant ${BOOL} : i64
        %none_kind = arith.constant ${NONE} : i64
        %kind = arith.select %is_bool, %bool_kind, %none_kind : i64
        llvm.store %kind, %any : i64, !llvm.ptr
        llvm.store %flag, %to_value : i64, !llvm.ptr
        %either = arith.ori %is_bool, %is_none : i1
        scf.yield %either : i1
      }
      scf.yield %of_shape : i1
    }
    scf.yield %of_float : i1
  }
  llvm.return %done : i1
}

// Call the FFI's own function of `self`.
llvm.func internal @call_ffi(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %p_ffi_offset = llvm.getelementptr %state[${at_ffi_offset}] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %p_ffi_offset : !llvm.ptr -> i64
  %p_vectorcall = llvm.getelementptr %state[${at_vectorcall}] : (!llvm.ptr) -> !llvm.ptr, i8
  %vectorcall = llvm.load %p_vectorcall : !llvm.ptr -> !llvm.ptr
  %p_ffi = llvm.getelementptr %self[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %ffi = llvm.load %p_ffi : !llvm.ptr -> !llvm.ptr
  %value = llvm.call %vectorcall(%ffi, %args, %count, %null)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  %result = llvm.call @or_refused(%value, %self, %args, %count)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.return %result : !llvm.ptr
}

// The result of a call. If it has raised, a method of `self` handles the error: the FFI may be unable to convert an
// argument, or the exception may wrap that of a packed function.
llvm.func internal @or_refused(%value: !llvm.ptr, %self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr
    attributes {passthrough = ["alwaysinline"]} {
  %null = llvm.mlir.zero : !llvm.ptr
  %is_there = llvm.icmp "ne" %value, %null : !llvm.ptr
  %result = scf.if %is_there -> !llvm.ptr {
    scf.yield %value : !llvm.ptr
  } else {
    %again = llvm.call @call_refused(%self, %args, %count) : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
    scf.yield %again : !llvm.ptr
  }
  llvm.return %result : !llvm.ptr
}

// Pass the current exception and the arguments to the method that handles FFI errors.
llvm.func internal @call_refused(%self: !llvm.ptr, %args: !llvm.ptr, %count: i64) -> !llvm.ptr
    attributes {passthrough = ["cold", "noinline"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %p_fetch = llvm.getelementptr %state[${at_fetch_error}] : (!llvm.ptr) -> !llvm.ptr, i8
  %fetch = llvm.load %p_fetch : !llvm.ptr -> !llvm.ptr
  %p_normalize = llvm.getelementptr %state[${at_normalize_error}] : (!llvm.ptr) -> !llvm.ptr, i8
  %normalize = llvm.load %p_normalize : !llvm.ptr -> !llvm.ptr
  %p_set_traceback = llvm.getelementptr %state[${at_set_traceback}] : (!llvm.ptr) -> !llvm.ptr, i8
  %set_traceback = llvm.load %p_set_traceback : !llvm.ptr -> !llvm.ptr
  %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
  %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
  %p_call_method = llvm.getelementptr %state[${at_call_method}] : (!llvm.ptr) -> !llvm.ptr, i8
  %call_method = llvm.load %p_call_method : !llvm.ptr -> !llvm.ptr
  %p_name = llvm.getelementptr %state[${at_refused_name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %name = llvm.load %p_name : !llvm.ptr -> !llvm.ptr
  %p_type = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_error = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %p_traceback = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.call %fetch(%p_type, %p_error, %p_traceback) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.call %normalize(%p_type, %p_error, %p_traceback) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  %type = llvm.load %p_type : !llvm.ptr -> !llvm.ptr
  %error = llvm.load %p_error : !llvm.ptr -> !llvm.ptr
  %traceback = llvm.load %p_traceback : !llvm.ptr -> !llvm.ptr
  %has_traceback = llvm.icmp "ne" %traceback, %null : !llvm.ptr
  scf.if %has_traceback {
    %rc = llvm.call %set_traceback(%error, %traceback) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> i32
    llvm.call %decrement(%traceback) : !llvm.ptr, (!llvm.ptr) -> ()
  }
  %room = arith.addi %count, %two : i64
  %given = llvm.alloca %room x !llvm.ptr : (i64) -> !llvm.ptr
  llvm.store %self, %given : !llvm.ptr, !llvm.ptr
  %to_error = llvm.getelementptr %given[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %error, %to_error : !llvm.ptr, !llvm.ptr
  scf.for %i = %zero to %count step %one : i64 {
    %p_object = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    %object = llvm.load %p_object : !llvm.ptr -> !llvm.ptr
    %behind = arith.addi %i, %two : i64
    %p_copy = llvm.getelementptr %given[%behind] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
    llvm.store %object, %p_copy : !llvm.ptr, !llvm.ptr
  }
  %value = llvm.call %call_method(%name, %given, %room, %null)
    : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  llvm.call %decrement(%error) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.call %decrement(%type) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.return %value : !llvm.ptr
}
