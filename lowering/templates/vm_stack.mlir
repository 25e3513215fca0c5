// The free space of a thread's C stack, for code that calls back into a virtual machine (level V).

llvm.func @pthread_self() -> i64
llvm.func @pthread_getattr_np(i64, !llvm.ptr) -> i32
llvm.func @pthread_attr_getstack(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_attr_destroy(!llvm.ptr) -> i32
llvm.func @pthread_key_create(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @pthread_getspecific(i32) -> !llvm.ptr
llvm.func @pthread_setspecific(i32, !llvm.ptr) -> i32

llvm.mlir.global internal @relax.vm.stack_key(0 : i32) : i32

// Must be called once, before anything else here.
llvm.func internal @relax.vm.watch_stacks() {
  %key = llvm.mlir.addressof @relax.vm.stack_key : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %rc = llvm.call @pthread_key_create(%key, %null) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return
}

// Bytes of the C stack that are left, minus a reserve for callees: ${STACK_RESERVE} bytes, or a quarter of a smaller
// stack. If the system does not report the size of the stack, assume half a megabyte from here on.
llvm.func internal @relax.vm.stack_left() -> i64 attributes {passthrough = ["noinline"]} {
  %one = llvm.mlir.constant(1 : i64) : i64
  %key_at = llvm.mlir.addressof @relax.vm.stack_key : !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %place = llvm.alloca %one x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %here = llvm.ptrtoint %place : !llvm.ptr to i64
  %key = llvm.load %key_at : !llvm.ptr -> i32
  %known = llvm.call @pthread_getspecific(%key) : (i32) -> !llvm.ptr
  %is_known = llvm.icmp "ne" %known, %null : !llvm.ptr
  llvm.cond_br %is_known, ^end(%known : !llvm.ptr), ^find
^find:
  %found = llvm.call @relax.vm.stack_limit(%here) : (i64) -> !llvm.ptr
  %rc = llvm.call @pthread_setspecific(%key, %found) : (i32, !llvm.ptr) -> i32
  llvm.br ^end(%found : !llvm.ptr)
^end(%limit: !llvm.ptr):
  %limit_word = llvm.ptrtoint %limit : !llvm.ptr to i64
  %left = llvm.sub %here, %limit_word : i64
  llvm.return %left : i64
}

llvm.func internal @relax.vm.stack_limit(%here: i64) -> !llvm.ptr attributes {passthrough = ["cold", "noinline"]} {
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %room = llvm.mlir.constant(16 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %believed = llvm.mlir.constant(524288 : i64) : i64
  %reserve = llvm.mlir.constant(${STACK_RESERVE} : i64) : i64
  %attributes = llvm.alloca %room x i64 {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %base_at = llvm.alloca %one x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %size_at = llvm.alloca %one x i64 {alignment = 8 : i64} : (i64) -> !llvm.ptr
  %thread = llvm.call @pthread_self() : () -> i64
  %got = llvm.call @pthread_getattr_np(%thread, %attributes) : (i64, !llvm.ptr) -> i32
  %fine = llvm.icmp "eq" %got, %ok : i32
  llvm.cond_br %fine, ^ask, ^guess
^ask:
  %told = llvm.call @pthread_attr_getstack(%attributes, %base_at, %size_at) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %rc = llvm.call @pthread_attr_destroy(%attributes) : (!llvm.ptr) -> i32
  %base = llvm.load %base_at : !llvm.ptr -> i64
  %size = llvm.load %size_at : !llvm.ptr -> i64
  %quarter = llvm.lshr %size, %two : i64
  %kept = llvm.intr.umin(%quarter, %reserve) : (i64, i64) -> i64
  %limit = llvm.add %base, %kept : i64
  %limit_p = llvm.inttoptr %limit : i64 to !llvm.ptr
  %is_told = llvm.icmp "eq" %told, %ok : i32
  llvm.cond_br %is_told, ^end(%limit_p : !llvm.ptr), ^guess
^guess:
  %guessed = llvm.sub %here, %believed : i64
  %guessed_p = llvm.inttoptr %guessed : i64 to !llvm.ptr
  llvm.br ^end(%guessed_p : !llvm.ptr)
^end(%result: !llvm.ptr):
  llvm.return %result : !llvm.ptr
}
