// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// support_memory.py, support_tensors.py, support_names.py, support_objects.py: functions that entry points and others call are added to
// the module.

// Memory comes from the first function of the table, and goes by the second; a size that is negative, or beyond all memory,
// takes none, and is shown as 0. What a call takes is chained on its frame.
// CHECK-LABEL: func.func private @relax.rt.allocate(
// CHECK-SAME: %[[WANTED:[a-z0-9]+]]: i64
// CHECK: %[[REFUSED:[0-9]+]] = arith.cmpi ugt, %[[WANTED]], %c140737488355327_i64
// CHECK: %[[SHOWN:[0-9]+]] = arith.select %[[REFUSED]], %c0_i64, %[[WANTED]]
// CHECK: %[[TABLE:[0-9]+]] = llvm.mlir.addressof @__relax_memory
// CHECK: %[[TAKE:[0-9]+]] = llvm.load %[[TABLE]]
// CHECK: %[[TAKEN:[0-9]+]] = scf.if %[[REFUSED]]
// CHECK: } else {
// CHECK-NEXT: llvm.call %[[TAKE]](%[[WANTED]])
// CHECK: %[[THERE:[0-9]+]] = llvm.icmp "ne" %[[TAKEN]],
// CHECK: %[[SHOWN_INDEX:[0-9]+]] = arith.index_cast %[[SHOWN]]
// CHECK: call @relax.check.memory(%[[THERE]], %[[SHOWN_INDEX]])
// CHECK-LABEL: func.func private @relax.rt.deleter(
// CHECK: %[[TABLE:[0-9]+]] = llvm.mlir.addressof @__relax_memory
// CHECK: %[[SECOND:[0-9]+]] = llvm.getelementptr %[[TABLE]][8]
// CHECK: llvm.load %[[SECOND]]
// CHECK-LABEL: func.func private @relax.rt.link(
// CHECK-SAME: %[[FRAME:[a-z0-9]+]]: !llvm.ptr, %[[BLOCK:[a-z0-9]+]]: !llvm.ptr, %[[OBJECT:[a-z0-9]+]]: !llvm.ptr
// CHECK: %[[FIRST:[0-9]+]] = llvm.load %[[FRAME]]
// CHECK: llvm.store %[[FIRST]], %[[BLOCK]]
// CHECK: %[[PLACE:[0-9]+]] = llvm.getelementptr %[[BLOCK]][16]
// CHECK: llvm.store %[[OBJECT]], %[[PLACE]]
// CHECK: llvm.store %[[BLOCK]], %[[FRAME]]

// A new tensor: negative dimensions and sizes beyond 64 bits are asked of the pool as -1 bytes, which it refuses; data
// from 256 KiB begins with a page.
// CHECK-LABEL: func.func private @relax.rt.tensor(
// CHECK: %[[SIZE:[0-9]+]]:2 = scf.for {{.*}} iter_args(%[[BYTES:[a-z0-9]+]] = %{{[a-z0-9]+}}, %{{[a-z0-9]+}} = %true)
// CHECK: %[[LOW:low[_0-9]*]], %[[HIGH:high[_0-9]*]] = arith.mului_extended %[[BYTES]], %[[DIM:[0-9]+]]
// CHECK-DAG: arith.cmpi eq, %[[HIGH]]
// CHECK-DAG: arith.cmpi sge, %[[LOW]]
// CHECK-DAG: arith.cmpi sge, %[[DIM]]
// CHECK: %[[IS_LARGE:[0-9]+]] = arith.cmpi uge, %[[SIZE]]#0, %c262144_i64
// CHECK: %[[HEAD:[0-9]+]] = arith.select %[[IS_LARGE]], %c4096_i64, %{{[0-9]+}}
// CHECK: %[[ALL:[0-9]+]] = arith.addi %[[HEAD]], %[[SIZE]]#0
// CHECK: %[[ASKED:[0-9]+]] = arith.select %[[SIZE]]#1, %[[ALL]], %c-1_i64
// CHECK: %[[BLOCK:[0-9]+]] = call @relax.rt.allocate(%[[ASKED]])
// CHECK: %[[DATA:[0-9]+]] = llvm.getelementptr %[[BLOCK]][%[[HEAD]]]
// CHECK: call @relax.rt.managed(%[[BLOCK]], %[[DATA]],

// Names of types, dtypes and devices for messages.
// CHECK-LABEL: func.func private @relax.rt.type_name(
// CHECK: llvm.call @TVMFFIGetTypeInfo(
// CHECK: @relax.rt.{{.*}}("int\00\00\00\00\00uint\00\00\00\00float\00\00\00handle\00\00bfloat\00\00complex\00bool\00\00\00\00code7+\00\00")
// CHECK-LABEL: func.func private @relax.rt.dtype_name(
// CHECK: llvm.call @snprintf(
// CHECK: @relax.rt.device_cpu("cpu\00")
// CHECK-LABEL: func.func private @relax.rt.device_name(

// CHECK-LABEL: func.func @__tvm_ffi_f(

// The function registered under a name is looked up once: the first thread that finds it keeps its handle, others drop
// theirs.
// CHECK-LABEL: func.func private @relax.rt.global(
// CHECK-SAME: %[[CACHE:[a-z0-9]+]]: !llvm.ptr,
// CHECK: %[[NULL:[0-9]+]] = llvm.mlir.zero
// CHECK: %[[KNOWN:[0-9]+]] = llvm.load %[[CACHE]] atomic acquire
// CHECK: scf.if
// CHECK: llvm.call @TVMFFIFunctionGetGlobal(
// CHECK-NEXT: func.call @relax.propagate(
// CHECK: %[[FOUND:[0-9]+]] = llvm.load
// CHECK: %[[PAIR:[0-9]+]] = llvm.cmpxchg %[[CACHE]], %[[NULL]], %[[FOUND]] acq_rel acquire
// CHECK: %[[WON:[0-9]+]] = llvm.extractvalue %[[PAIR]][1]
// CHECK: %[[EXTRA:[0-9]+]] = llvm.select %[[WON]], %[[NULL]], %[[FOUND]]
// CHECK: call @relax.rt.drop(%[[EXTRA]])
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[KNOWN]]

func.func private @relax.rt.global(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
func.func private @f.shapes(%n: index) -> index { return %n : index }
func.func @f(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.signature = {
    name = "f", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
