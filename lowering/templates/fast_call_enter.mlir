// Call an FFI entry point; return the result as a Python object, or null with an exception set. There are two such
// functions. `before`, `after` and `second` are the extra code of the one for torch tensor arguments. The other one
// converts tensors to NumPy arrays if `arrays` is true, because an argument was one.
llvm.func internal @${name}(%tagged: !llvm.ptr, %anys: !llvm.ptr, %count: i64${parameter}) -> !llvm.ptr
    attributes {passthrough = ["${inlining}"]} {
  %state = llvm.mlir.addressof @state : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %outcome_bytes = arith.constant ${OUTCOME_BYTES} : i64
  %outcome = llvm.alloca %outcome_bytes x i8 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %two = arith.constant 2 : i64
  %p_number = llvm.alloca %two x !llvm.ptr : (i64) -> !llvm.ptr
  %p_none = llvm.getelementptr %state[${at_none}] : (!llvm.ptr) -> !llvm.ptr, i8
  %none = llvm.load %p_none : !llvm.ptr -> !llvm.ptr
  %p_finish = llvm.getelementptr %state[${at_finish}] : (!llvm.ptr) -> !llvm.ptr, i8
  %finish = llvm.load %p_finish : !llvm.ptr -> !llvm.ptr
  %p_save_thread = llvm.getelementptr %state[${at_save_thread}] : (!llvm.ptr) -> !llvm.ptr, i8
  %save_thread = llvm.load %p_save_thread : !llvm.ptr -> !llvm.ptr
  %p_restore_thread = llvm.getelementptr %state[${at_restore_thread}] : (!llvm.ptr) -> !llvm.ptr, i8
  %restore_thread = llvm.load %p_restore_thread : !llvm.ptr -> !llvm.ptr
  %p_vectorcall = llvm.getelementptr %state[${at_vectorcall}] : (!llvm.ptr) -> !llvm.ptr, i8
  %vectorcall = llvm.load %p_vectorcall : !llvm.ptr -> !llvm.ptr
  %p_from_pointer = llvm.getelementptr %state[${at_from_pointer}] : (!llvm.ptr) -> !llvm.ptr, i8
  %from_pointer = llvm.load %p_from_pointer : !llvm.ptr -> !llvm.ptr
  %p_increment = llvm.getelementptr %state[${at_increment}] : (!llvm.ptr) -> !llvm.ptr, i8
  %increment = llvm.load %p_increment : !llvm.ptr -> !llvm.ptr
  %p_decrement = llvm.getelementptr %state[${at_decrement}] : (!llvm.ptr) -> !llvm.ptr, i8
  %decrement = llvm.load %p_decrement : !llvm.ptr -> !llvm.ptr
  %narrow = arith.trunci %count : i64 to i32
  llvm.store %zero, %outcome : i64, !llvm.ptr
  %to_empty = llvm.getelementptr %outcome[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %to_empty : i64, !llvm.ptr
  %to_status = llvm.getelementptr %outcome[${ANY_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
  %word = llvm.ptrtoint %tagged : !llvm.ptr to i64
  %bit = arith.constant ${SHORT_BIT} : i64
  %tag = arith.andi %word, %bit : i64
  %address_bits = arith.constant ${ADDRESS_BITS} : i64
  %address = arith.andi %word, %address_bits : i64
  %place = llvm.inttoptr %address : i64 to !llvm.ptr
  %machine_bit = arith.constant ${MACHINE_BIT} : i64
  %machine_tag = arith.andi %word, %machine_bit : i64
  %is_machine = arith.cmpi ne, %machine_tag, %zero : i64
  %p_machine_entry = llvm.getelementptr %state[${at_machine_entry}] : (!llvm.ptr) -> !llvm.ptr, i8
  %machine_entry = llvm.load %p_machine_entry : !llvm.ptr -> !llvm.ptr
  %entry = llvm.select %is_machine, %machine_entry, %place : i1, !llvm.ptr
  %self = llvm.select %is_machine, %place, %null : i1, !llvm.ptr
  %is_short = arith.cmpi ne, %tag, %zero : i64
  %keeps = scf.if %is_short -> i1 {
    %elements = llvm.call @elements(%anys, %count) : (!llvm.ptr, i64) -> i64
    %limit = arith.constant ${SHORT_ELEMENTS} : i64
    %few = arith.cmpi ult, %elements, %limit : i64
    scf.yield %few : i1
  } else {
    %no = arith.constant false
    scf.yield %no : i1
  }
${before}  %status = scf.if %keeps -> i32 {
    %at_once = llvm.call %entry(%self, %anys, %narrow, %outcome)
      : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    scf.yield %at_once : i32
  } else {
    %thread = llvm.call %save_thread() : !llvm.ptr, () -> !llvm.ptr
    %after_it = llvm.call %entry(%self, %anys, %narrow, %outcome)
      : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    llvm.call %restore_thread(%thread) : !llvm.ptr, (!llvm.ptr) -> ()
    scf.yield %after_it : i32
  }
  %wide_status = arith.extsi %status : i32 to i64
  llvm.store %wide_status, %to_status : i64, !llvm.ptr
${after}  %kind = llvm.load %outcome : !llvm.ptr -> i32
  %ok = arith.constant 0 : i32
  %nothing = arith.constant ${NONE} : i32
  %good = arith.cmpi eq, %status, %ok : i32
  %void = arith.cmpi eq, %kind, %nothing : i32
  %simple = arith.andi %good, %void : i1
  %object_kind = arith.constant ${TENSOR} : i32
  %is_object = arith.cmpi eq, %kind, %object_kind : i32
  %is_tensor = arith.andi %good, %is_object : i1
  %value = scf.if %simple -> !llvm.ptr {
    llvm.call %increment(%none) : !llvm.ptr, (!llvm.ptr) -> ()
    scf.yield %none : !llvm.ptr
  } else {
    %of_value = scf.if %is_tensor -> !llvm.ptr {
      %handle = llvm.load %to_empty : !llvm.ptr -> !llvm.ptr
${tensor_result}      scf.yield %tensor : !llvm.ptr
    } else {
      %number = llvm.call %from_pointer(%outcome) : !llvm.ptr, (!llvm.ptr) -> !llvm.ptr
      llvm.store %number, %p_number : !llvm.ptr, !llvm.ptr
${second}      %made = llvm.call %vectorcall(%finish, %p_number, %given, %null)
        : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
      llvm.call %decrement(%number) : !llvm.ptr, (!llvm.ptr) -> ()
${made_result}    }
    scf.yield %of_value : !llvm.ptr
  }
  llvm.return %value : !llvm.ptr
}
