// Tracebacks of errors in bytecode: their functions and instructions (level V); a part of vm_core.mlir.

llvm.func @TVMFFIErrorMoveFromRaised(!llvm.ptr)
llvm.func @TVMFFIErrorSetRaised(!llvm.ptr)

llvm.mlir.global internal constant @place("  File \22<bytecode>\22, line %lld, in %s\0A\00")

// Add a line to the traceback of the current error, for a function and the instruction at word `at`, or that many
// instructions before it. Does nothing without an FFI error.
llvm.func internal @tell_place(%machine: !llvm.ptr, %descriptor: !llvm.ptr, %at: i64, %before: i64) attributes {passthrough = ["cold", "noinline"]} {
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %appends = llvm.mlir.constant(1 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %room = llvm.mlir.constant(${PLACE_BYTES} : i64) : i64
  %most = llvm.mlir.constant(${PLACE_LENGTH} : i64) : i64
  %p_error = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
  %text = llvm.alloca %room x i8 : (i64) -> !llvm.ptr
  %bytes = llvm.alloca %two x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  llvm.store %null, %p_error : !llvm.ptr, !llvm.ptr
  llvm.call @TVMFFIErrorMoveFromRaised(%p_error) : (!llvm.ptr) -> ()
  %error = llvm.load %p_error : !llvm.ptr -> !llvm.ptr
  %is_there = llvm.icmp "ne" %error, %null : !llvm.ptr
  llvm.cond_br %is_there, ^write, ^end
^write:
  %p_numbers = llvm.getelementptr %machine[${numbers}] : (!llvm.ptr) -> !llvm.ptr, i8
  %numbers = llvm.load %p_numbers : !llvm.ptr -> !llvm.ptr
  %at_number = llvm.getelementptr %numbers[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %number_of_all = llvm.load %at_number : !llvm.ptr -> i64
  %p_first = llvm.getelementptr %descriptor[${first}] : (!llvm.ptr) -> !llvm.ptr, i8
  %first = llvm.load %p_first : !llvm.ptr -> i64
  %number_in = llvm.sub %number_of_all, %first : i64
  %number = llvm.sub %number_in, %before : i64
  %p_name = llvm.getelementptr %descriptor[${name}] : (!llvm.ptr) -> !llvm.ptr, i8
  %name = llvm.load %p_name : !llvm.ptr -> !llvm.ptr
  %format = llvm.mlir.addressof @place : !llvm.ptr
  %length = llvm.call @snprintf(%text, %room, %format, %number, %name) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>)
    : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr) -> i32
  %wide = llvm.sext %length : i32 to i64
  %fits = llvm.intr.smin(%wide, %most) : (i64, i64) -> i64
  llvm.store %text, %bytes : !llvm.ptr, !llvm.ptr
  %to_size = llvm.getelementptr %bytes[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %fits, %to_size : i64, !llvm.ptr
  %p_update = llvm.getelementptr %error[${UPDATE_BACKTRACE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %update = llvm.load %p_update : !llvm.ptr -> !llvm.ptr
  llvm.call %update(%error, %bytes, %appends) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i32) -> ()
  llvm.call @TVMFFIErrorSetRaised(%error) : (!llvm.ptr) -> ()
  %rc = llvm.call @TVMFFIObjectDecRef(%error) : (!llvm.ptr) -> i32
  llvm.br ^end
^end:
  llvm.return
}
