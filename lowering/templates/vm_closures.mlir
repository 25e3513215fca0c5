// Run closures. A block is {number of captured values, 0, function, captured values}, all TVMFFIAnys except the header.
// The captured values follow the arguments.

llvm.mlir.global internal constant @relax.vm.recursion_kind("RecursionLimitError\00")
llvm.mlir.global internal constant @relax.vm.memory_kind("OutOfMemoryError\00")
llvm.mlir.global internal constant @relax.vm.no_stack("call of a closure: the C stack of this thread has no room for it: is the recursion endless, or the stack small?\00")
llvm.mlir.global internal constant @relax.vm.no_memory("vm.builtin.make_closure: no memory is left for the captured values\00")

llvm.func internal @relax.vm.call_closure(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr) -> i32 {
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %frame = llvm.mlir.constant(${CALL_BYTES} : i64) : i64
  %captured = llvm.load %self : !llvm.ptr -> i64
  %given = llvm.sext %n : i32 to i64
  %total = llvm.add %captured, %given : i64
  %total_bytes = llvm.mul %total, %c16 : i64
  %needed = llvm.add %total_bytes, %frame : i64
  %left = llvm.call @relax.vm.stack_left() : () -> i64
  %fits = llvm.icmp "sge" %left, %needed : i64
  llvm.cond_br %fits, ^run, ^refuse
^refuse:
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %kind = llvm.mlir.addressof @relax.vm.recursion_kind : !llvm.ptr
  %text = llvm.mlir.addressof @relax.vm.no_stack : !llvm.ptr
  llvm.call @relax.vm.set_error(%kind, %text) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
^run:
  %buffer = llvm.alloca %total x !llvm.struct<(i64, i64)> {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %given_bytes = llvm.mul %given, %c16 : i64
  "llvm.intr.memcpy"(%buffer, %args, %given_bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %rest = llvm.getelementptr %buffer[%given_bytes] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %values = llvm.getelementptr %self[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %bytes = llvm.mul %captured, %c16 : i64
  "llvm.intr.memcpy"(%rest, %values, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %at = llvm.getelementptr %self[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %function = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %n32 = llvm.trunc %total : i64 to i32
  %status = llvm.call @TVMFFIFunctionCall(%function, %buffer, %n32, %ret)
    : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.return %status : i32
}

llvm.func internal @relax.vm.delete_closure(%self: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %word = llvm.ptrtoint %self : !llvm.ptr to i64
  %node = llvm.add %word, %one : i64
  llvm.call @relax.vm.discard(%node) : (i64) -> ()
  llvm.return
}

// A closure of a function and the values after it: `values` are `count` TVMFFIAnys, the function first.
llvm.func internal @relax.vm.new_closure(%values: !llvm.ptr, %count: i64, %ret: !llvm.ptr) -> i32 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %c16 = llvm.mlir.constant(16 : i64) : i64
  %kind = llvm.mlir.constant(68 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %null = llvm.mlir.zero : !llvm.ptr
  %bytes = llvm.mul %count, %c16 : i64
  %size = llvm.add %bytes, %c16 : i64
  %block = llvm.call @malloc(%size) : (i64) -> !llvm.ptr
  %is_there = llvm.icmp "ne" %block, %null : !llvm.ptr
  llvm.cond_br %is_there, ^fill, ^refuse
^refuse:
  %failed = llvm.mlir.constant(-1 : i32) : i32
  %error = llvm.mlir.addressof @relax.vm.memory_kind : !llvm.ptr
  %text = llvm.mlir.addressof @relax.vm.no_memory : !llvm.ptr
  llvm.call @relax.vm.set_error(%error, %text) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return %failed : i32
^fill:
  %captured = llvm.sub %count, %one : i64
  llvm.store %captured, %block : i64, !llvm.ptr
  %copies = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %null8 = llvm.mlir.constant(0 : i8) : i8
  "llvm.intr.memset"(%copies, %null8, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  %kept = llvm.call @relax.vm.keep_values(%values, %copies, %count) : (!llvm.ptr, !llvm.ptr, i64) -> i32
  %is_kept = llvm.icmp "eq" %kept, %ok : i32
  llvm.cond_br %is_kept, ^make, ^fail(%kept : i32)
^make:
  %call = llvm.mlir.addressof @relax.vm.call_closure : !llvm.ptr
  %delete = llvm.mlir.addressof @relax.vm.delete_closure : !llvm.ptr
  %at8 = llvm.getelementptr %ret[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %made = llvm.call @TVMFFIFunctionCreate(%block, %call, %delete, %at8)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %is_made = llvm.icmp "eq" %made, %ok : i32
  llvm.cond_br %is_made, ^done, ^fail(%made : i32)
^done:
  llvm.store %kind, %ret : i64, !llvm.ptr
  llvm.return %ok : i32
^fail(%status: i32):
  llvm.call @relax.vm.delete_closure(%block) : (!llvm.ptr) -> ()
  llvm.return %status : i32
}
${set_error}