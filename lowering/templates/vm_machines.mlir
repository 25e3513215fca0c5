// Machines: reference-counted memory, its functions, its tables of values (level V); a part of vm_core.mlir.

// A zeroed machine of the given size with one reference; null if out of memory.
llvm.func internal @create(%bytes: i64) -> !llvm.ptr {
  %one = llvm.mlir.constant(1 : i64) : i64
  %machine = llvm.call @calloc(%one, %bytes) : (i64, i64) -> !llvm.ptr
  %null = llvm.mlir.zero : !llvm.ptr
  %failed = llvm.icmp "eq" %machine, %null : !llvm.ptr
  llvm.cond_br %failed, ^end, ^fill
^fill:
  %refs = llvm.getelementptr %machine[${references}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %one, %refs : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return %machine : !llvm.ptr
}

llvm.func internal @retain(%machine: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %refs = llvm.getelementptr %machine[${references}] : (!llvm.ptr) -> !llvm.ptr, i8
  %before = llvm.atomicrmw add %refs, %one monotonic : !llvm.ptr, i64
  llvm.return
}

// Drop a reference; the last one frees the machine, with the values in its tables.
llvm.func internal @release(%machine: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  %refs = llvm.getelementptr %machine[${references}] : (!llvm.ptr) -> !llvm.ptr, i8
  %before = llvm.atomicrmw sub %refs, %one acq_rel : !llvm.ptr, i64
  %last = llvm.icmp "eq" %before, %one : i64
  llvm.cond_br %last, ^free, ^end
^free:
  %p_values = llvm.getelementptr %machine[${values}] : (!llvm.ptr) -> !llvm.ptr, i8
  %values = llvm.load %p_values : !llvm.ptr -> !llvm.ptr
  %p_count = llvm.getelementptr %machine[${value_count}] : (!llvm.ptr) -> !llvm.ptr, i8
  %count = llvm.load %p_count : !llvm.ptr -> i64
  llvm.call @drop_all(%values, %count) : (!llvm.ptr, i64) -> ()
  %state = llvm.getelementptr %machine[${vm_state}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @drop(%state) : (!llvm.ptr) -> ()
  %instrument = llvm.getelementptr %machine[${instrument}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @drop(%instrument) : (!llvm.ptr) -> ()
  %p_stack = llvm.getelementptr %machine[${stack}] : (!llvm.ptr) -> !llvm.ptr, i8
  %stack = llvm.load %p_stack : !llvm.ptr -> !llvm.ptr
  llvm.call @free(%stack) : (!llvm.ptr) -> ()
  llvm.call @free(%machine) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
}

// The deleter of functions: `self` is the descriptor.
llvm.func internal @release_function(%self: !llvm.ptr) {
  %machine = llvm.load %self : !llvm.ptr -> !llvm.ptr
  llvm.call @release(%machine) : (!llvm.ptr) -> ()
  llvm.return
}

// A new FFI function for a descriptor, which holds a reference to the machine.
llvm.func internal @new_function(%descriptor: !llvm.ptr, %out: !llvm.ptr) -> i32 {
  %kind = llvm.mlir.constant(68 : i64) : i64
  %none = llvm.mlir.constant(0 : i64) : i64
  %ok = llvm.mlir.constant(0 : i32) : i32
  %enter = llvm.mlir.addressof @enter : !llvm.ptr
  %deleter = llvm.mlir.addressof @release_function : !llvm.ptr
  %machine = llvm.load %descriptor : !llvm.ptr -> !llvm.ptr
  llvm.call @retain(%machine) : (!llvm.ptr) -> ()
  %p8 = llvm.getelementptr %out[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %status = llvm.call @TVMFFIFunctionCreate(%descriptor, %enter, %deleter, %p8)
    : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  %failed = llvm.icmp "ne" %status, %ok : i32
  llvm.cond_br %failed, ^fail, ^done
^fail:
  llvm.store %none, %out : i64, !llvm.ptr
  llvm.call @release(%machine) : (!llvm.ptr) -> ()
  llvm.return %status : i32
^done:
  llvm.store %kind, %out : i64, !llvm.ptr
  llvm.return %status : i32
}

// make_function(address of a descriptor) -> Function, by the calling convention of the FFI
llvm.func internal @make_function(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr) -> i32 {
  %p8 = llvm.getelementptr %args[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %descriptor = llvm.load %p8 : !llvm.ptr -> !llvm.ptr
  %status = llvm.call @new_function(%descriptor, %ret) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}

// store_any(address, value): store a value in a table, by the calling convention of the FFI
llvm.func internal @store_any(%self: !llvm.ptr, %args: !llvm.ptr, %n: i32, %ret: !llvm.ptr) -> i32 {
  %none = llvm.mlir.constant(0 : i64) : i64
  %p8 = llvm.getelementptr %args[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %slot = llvm.load %p8 : !llvm.ptr -> !llvm.ptr
  %value = llvm.getelementptr %args[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call @drop(%slot) : (!llvm.ptr) -> ()
  llvm.store %none, %slot : i64, !llvm.ptr
  %status = llvm.call @TVMFFIAnyViewToOwnedAny(%value, %slot) : (!llvm.ptr, !llvm.ptr) -> i32
  llvm.store %none, %ret : i64, !llvm.ptr
  %r8 = llvm.getelementptr %ret[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %none, %r8 : i64, !llvm.ptr
  llvm.return %status : i32
}
