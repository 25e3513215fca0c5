// Destroy tuples and closures, which hold values, without recursion: one that dies while another is destroyed is queued
// in a list of the thread. A node is a tuple's object or a closure's block, with 1 added for a closure; its link is in
// a word that is no longer needed.

llvm.mlir.global internal @relax.vm.discard_key(0 : i32) : i32

llvm.func internal @relax.vm.watch_discards() {
  %key = llvm.mlir.addressof @relax.vm.discard_key : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %rc = llvm.call @pthread_key_create(%key, %null) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return
}

// The word of a node that links it to the next one.
llvm.func internal @relax.vm.link_of(%node: i64) -> !llvm.ptr {
  %one = llvm.mlir.constant(1 : i64) : i64
  %minus = llvm.mlir.constant(-2 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %of_tuple = llvm.mlir.constant(24 : i64) : i64
  %of_closure = llvm.mlir.constant(8 : i64) : i64
  %tag = llvm.and %node, %one : i64
  %is_closure = llvm.icmp "ne" %tag, %zero : i64
  %offset = llvm.select %is_closure, %of_closure, %of_tuple : i1, i64
  %address = llvm.and %node, %minus : i64
  %word = llvm.add %address, %offset : i64
  %pointer = llvm.inttoptr %word : i64 to !llvm.ptr
  llvm.return %pointer : !llvm.ptr
}

llvm.func internal @relax.vm.discard(%node: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %key_at = llvm.mlir.addressof @relax.vm.discard_key : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %list = llvm.alloca %one x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %key = llvm.load %key_at : !llvm.ptr -> i32
  %active = llvm.call @pthread_getspecific(%key) : (i32) -> !llvm.ptr
  %is_nested = llvm.icmp "ne" %active, %null : !llvm.ptr
  llvm.cond_br %is_nested, ^wait, ^begin
^wait:
  %first = llvm.load %active : !llvm.ptr -> i64
  %link = llvm.call @relax.vm.link_of(%node) : (i64) -> !llvm.ptr
  llvm.store %first, %link : i64, !llvm.ptr
  llvm.store %node, %active : i64, !llvm.ptr
  llvm.return
^begin:
  llvm.store %zero, %list : i64, !llvm.ptr
  %rc0 = llvm.call @pthread_setspecific(%key, %list) : (i32, !llvm.ptr) -> i32
  llvm.br ^one(%node : i64)
^one(%current: i64):
  llvm.call @relax.vm.end_node(%current) : (i64) -> ()
  %next = llvm.load %list : !llvm.ptr -> i64
  %more = llvm.icmp "ne" %next, %zero : i64
  llvm.cond_br %more, ^pop, ^end
^pop:
  %next_link = llvm.call @relax.vm.link_of(%next) : (i64) -> !llvm.ptr
  %rest = llvm.load %next_link : !llvm.ptr -> i64
  llvm.store %rest, %list : i64, !llvm.ptr
  llvm.br ^one(%next : i64)
^end:
  %rc1 = llvm.call @pthread_setspecific(%key, %null) : (i32, !llvm.ptr) -> i32
  llvm.return
}

// Drop the values of a node, then its memory.
llvm.func internal @relax.vm.end_node(%node: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %minus = llvm.mlir.constant(-2 : i64) : i64
  %tag = llvm.and %node, %one : i64
  %address = llvm.and %node, %minus : i64
  %self = llvm.inttoptr %address : i64 to !llvm.ptr
  %is_closure = llvm.icmp "ne" %tag, %zero : i64
  llvm.cond_br %is_closure, ^closure, ^tuple
^closure:
  %captured = llvm.load %self : !llvm.ptr -> i64
  %count = llvm.add %captured, %one : i64
  %values = llvm.getelementptr %self[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @relax.vm.drop_values(%values, %count) : (!llvm.ptr, i64) -> ()
  llvm.call @free(%self) : (!llvm.ptr) -> ()
  llvm.return
^tuple:
  %at = llvm.getelementptr %self[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %size = llvm.load %at : !llvm.ptr -> i64
  %fields = llvm.getelementptr %self[${TUPLE_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @relax.vm.drop_values(%fields, %size) : (!llvm.ptr, i64) -> ()
  llvm.call @relax.vm.give(%self) : (!llvm.ptr) -> ()
  llvm.return
}

llvm.func internal @relax.vm.drop_values(%values: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %object = llvm.mlir.constant(64 : i32) : i32
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %next = llvm.add %i, %one : i64
  %slot = llvm.getelementptr %values[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %kind = llvm.load %slot : !llvm.ptr -> i32
  %is_object = llvm.icmp "sge" %kind, %object : i32
  llvm.cond_br %is_object, ^drop, ^head(%next : i64)
^drop:
  %at8 = llvm.getelementptr %slot[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %held = llvm.load %at8 : !llvm.ptr -> !llvm.ptr
  %rc = llvm.call @TVMFFIObjectDecRef(%held) : (!llvm.ptr) -> i32
  llvm.br ^head(%next : i64)
^end:
  llvm.return
}

// Copy values that have another owner, with a new reference to each; stops at the first that cannot be kept.
llvm.func internal @relax.vm.keep_values(%from: !llvm.ptr, %to: !llvm.ptr, %count: i64) -> i32 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %count : i64
  llvm.cond_br %more, ^body, ^end(%ok : i32)
^body:
  %source = llvm.getelementptr %from[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %target = llvm.getelementptr %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64)>
  %taken = llvm.call @TVMFFIAnyViewToOwnedAny(%source, %target) : (!llvm.ptr, !llvm.ptr) -> i32
  %next = llvm.add %i, %one : i64
  %fine = llvm.icmp "eq" %taken, %ok : i32
  llvm.cond_br %fine, ^head(%next : i64), ^end(%taken : i32)
^end(%status: i32):
  llvm.return %status : i32
}

// The deleter of tuples: `flags` as in relax.vm.delete. If a weak reference remains, only the fields are dropped now.
llvm.func internal @relax.vm.delete_tuple(%object: !llvm.ptr, %flags: i32) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  %both = llvm.icmp "eq" %flags, %three : i32
  llvm.cond_br %both, ^whole, ^part
^whole:
  %word = llvm.ptrtoint %object : !llvm.ptr to i64
  llvm.call @relax.vm.discard(%word) : (i64) -> ()
  llvm.return
^part:
  %is_strong = llvm.icmp "eq" %flags, %one : i32
  llvm.cond_br %is_strong, ^strong, ^rest
^strong:
  %at = llvm.getelementptr %object[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %size = llvm.load %at : !llvm.ptr -> i64
  %fields = llvm.getelementptr %object[${TUPLE_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @relax.vm.drop_values(%fields, %size) : (!llvm.ptr, i64) -> ()
  llvm.br ^rest
^rest:
  llvm.call @relax.vm.delete(%object, %flags) : (!llvm.ptr, i32) -> ()
  llvm.return
}

// A tuple (an Array) of `count` fields, all None; fields follow the object.
func.func private @relax.vm.tuple(%count: i64) -> !llvm.ptr {
  %c16 = arith.constant 16 : i64
  %zero = arith.constant 0 : i64
  %null8 = arith.constant 0 : i8
  %head = arith.constant ${TUPLE_HEAD} : i64
  %kind = arith.constant ${ARRAY} : i64
  %bytes = arith.muli %count, %c16 : i64
  %total = arith.addi %bytes, %head : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %object = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %deleter = llvm.mlir.addressof @relax.vm.delete_tuple : !llvm.ptr
  func.call @relax.vm.head(%object, %kind, %deleter) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  %fields = llvm.getelementptr %object[${TUPLE_BYTES}] : (!llvm.ptr) -> !llvm.ptr, i8
  %at24 = llvm.getelementptr %object[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %fields, %at24 : !llvm.ptr, !llvm.ptr
  %at32 = llvm.getelementptr %object[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %count, %at32 : i64, !llvm.ptr
  %at40 = llvm.getelementptr %object[40] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %count, %at40 : i64, !llvm.ptr
  %at48 = llvm.getelementptr %object[48] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %zero, %at48 : i64, !llvm.ptr
  "llvm.intr.memset"(%fields, %null8, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  return %object : !llvm.ptr
}
