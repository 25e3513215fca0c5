// FFI objects that the virtual machine creates itself: shapes, and tensors that own or view memory. An object starts 16
// bytes after the beginning of a pool block: {reference counts, type index, deleter, …} as in tvm/ffi/c_api.h. Its
// deleter is code that is never unloaded.

func.func private @relax.vm.head(%object: !llvm.ptr, %kind: i64, %deleter: !llvm.ptr) {
  // one strong and one weak reference
  %one = arith.constant 0x100000001 : i64
  llvm.store %one, %object : i64, !llvm.ptr
  %at8 = llvm.getelementptr %object[8] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %kind, %at8 : i64, !llvm.ptr
  %at16 = llvm.getelementptr %object[16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %deleter, %at16 : !llvm.ptr, !llvm.ptr
  return
}

llvm.func internal @relax.vm.give(%object: !llvm.ptr) {
  %table = llvm.mlir.addressof @${MEMORY_TABLE} : !llvm.ptr
  %at = llvm.getelementptr %table[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %give = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %block = llvm.getelementptr %object[-16] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.call %give(%block) : !llvm.ptr, (!llvm.ptr) -> ()
  llvm.return
}

// The deleter of objects without references: `flags` has bit 0 set for the last strong reference, bit 1 for the last
// weak.
llvm.func internal @relax.vm.delete(%object: !llvm.ptr, %flags: i32) {
  %two = llvm.mlir.constant(2 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %bit = llvm.and %flags, %two : i32
  %last = llvm.icmp "ne" %bit, %zero : i32
  llvm.cond_br %last, ^give, ^end
^give:
  llvm.call @relax.vm.give(%object) : (!llvm.ptr) -> ()
  llvm.br ^end
^end:
  llvm.return
}

// The deleter of a view, which holds the tensor that owns its memory.
llvm.func internal @relax.vm.delete_view(%object: !llvm.ptr, %flags: i32) {
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  %bit = llvm.and %flags, %one : i32
  %strong = llvm.icmp "ne" %bit, %zero : i32
  llvm.cond_br %strong, ^drop, ^rest
^drop:
  %at = llvm.getelementptr %object[${SOURCE}] : (!llvm.ptr) -> !llvm.ptr, i8
  %source = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %rc = llvm.call @TVMFFIObjectDecRef(%source) : (!llvm.ptr) -> i32
  llvm.br ^rest
^rest:
  llvm.call @relax.vm.delete(%object, %flags) : (!llvm.ptr, i32) -> ()
  llvm.return
}

// A Shape of `count` integers.
func.func private @relax.vm.shape(%count: i64, %numbers: !llvm.ptr) -> !llvm.ptr {
  %c8 = arith.constant 8 : i64
  %head = arith.constant 56 : i64
  %kind = arith.constant ${SHAPE} : i64
  %bytes = arith.muli %count, %c8 : i64
  %total = arith.addi %bytes, %head : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %object = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %deleter = llvm.mlir.addressof @relax.vm.delete : !llvm.ptr
  func.call @relax.vm.head(%object, %kind, %deleter) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  %data = llvm.getelementptr %object[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %at24 = llvm.getelementptr %object[24] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %data, %at24 : !llvm.ptr, !llvm.ptr
  %at32 = llvm.getelementptr %object[32] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %count, %at32 : i64, !llvm.ptr
  "llvm.intr.memcpy"(%data, %numbers, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  return %object : !llvm.ptr
}

// Fill in the DLTensor of an object; its shape and strides, in row-major order, start `tables` bytes after it.
func.func private @relax.vm.fill(%object: !llvm.ptr, %tables: i64, %data: !llvm.ptr, %rank: i64, %shape: !llvm.ptr, %dtype: i32) {
  %one = arith.constant 1 : i64
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %sizes = llvm.getelementptr %object[%tables] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %steps = llvm.getelementptr %sizes[%rank] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %last = arith.index_cast %rank : i64 to index
  %stride = scf.for %i = %i0 to %last step %i1 iter_args(%n = %one) -> (i64) {
    %up = arith.index_cast %i : index to i64
    %next = arith.addi %up, %one : i64
    %k = arith.subi %rank, %next : i64
    %from = llvm.getelementptr %shape[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %d = llvm.load %from : !llvm.ptr -> i64
    %to = llvm.getelementptr %sizes[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %d, %to : i64, !llvm.ptr
    %step = llvm.getelementptr %steps[%k] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %n, %step : i64, !llvm.ptr
    %product = arith.muli %n, %d : i64
    scf.yield %product : i64
  }
  %tensor = llvm.getelementptr %object[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %narrow = arith.trunci %rank : i64 to i32
  func.call @relax.rt.dltensor(%tensor, %data, %narrow, %dtype, %sizes, %steps)
    : (!llvm.ptr, !llvm.ptr, i32, i32, !llvm.ptr, !llvm.ptr) -> ()
  return
}

// A tensor over memory of the tensor object `source`, which it holds.
func.func private @relax.vm.view(%source: !llvm.ptr, %data: !llvm.ptr, %rank: i64, %shape: !llvm.ptr, %dtype: i32) -> !llvm.ptr {
  %c16 = arith.constant 16 : i64
  %head = arith.constant ${VIEW_HEAD} : i64
  %tables = arith.constant ${VIEW_TABLES} : i64
  %kind = arith.constant ${TENSOR} : i64
  %bytes = arith.muli %rank, %c16 : i64
  %total = arith.addi %bytes, %head : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %object = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %deleter = llvm.mlir.addressof @relax.vm.delete_view : !llvm.ptr
  func.call @relax.vm.head(%object, %kind, %deleter) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  %rc = llvm.call @TVMFFIObjectIncRef(%source) : (!llvm.ptr) -> i32
  %at = llvm.getelementptr %object[${SOURCE}] : (!llvm.ptr) -> !llvm.ptr, i8
  llvm.store %source, %at : !llvm.ptr, !llvm.ptr
  func.call @relax.vm.fill(%object, %tables, %data, %rank, %shape, %dtype)
    : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i32) -> ()
  return %object : !llvm.ptr
}

// A tensor that owns memory, after it in its block: `size` bytes, -1 for a size beyond 64 bits. Large data is
// page-aligned, as in `relax.rt.tensor`.
func.func private @relax.vm.tensor(%shape: !llvm.ptr, %rank: i64, %dtype: i32, %size: i64) -> !llvm.ptr {
  %zero = arith.constant 0 : i64
  %minus = arith.constant -1 : i64
  %c16 = arith.constant 16 : i64
  %slack = arith.constant ${TENSOR_SLACK} : i64
  %mask = arith.constant -64 : i64
  %paged = arith.constant ${PAGED_BYTES} : i64
  %page = arith.constant ${PAGE_BYTES} : i64
  %tables = arith.constant ${TENSOR_TABLES} : i64
  %kind = arith.constant ${TENSOR} : i64
  %table_bytes = arith.muli %rank, %c16 : i64
  %plain = arith.addi %table_bytes, %slack : i64
  %small = arith.andi %plain, %mask : i64
  %large = arith.cmpi sge, %size, %paged : i64
  %fits = arith.cmpi sle, %small, %page : i64
  %from_page = arith.andi %large, %fits : i1
  %head = arith.select %from_page, %page, %small : i64
  %natural = arith.cmpi sge, %size, %zero : i64
  %sum = arith.addi %head, %size : i64
  %total = arith.select %natural, %sum, %minus : i64
  %block = func.call @relax.rt.allocate(%total) : (i64) -> !llvm.ptr
  %object = llvm.getelementptr %block[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.getelementptr %block[%head] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %deleter = llvm.mlir.addressof @relax.vm.delete : !llvm.ptr
  func.call @relax.vm.head(%object, %kind, %deleter) : (!llvm.ptr, i64, !llvm.ptr) -> ()
  func.call @relax.vm.fill(%object, %tables, %data, %rank, %shape, %dtype)
    : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i32) -> ()
  return %object : !llvm.ptr
}
