// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// The templates support_memory, support_memory_table, support_declarations, support_tensors, support_names and
// support_objects: functions that entry points and others call are added to the module.

// Memory comes from the first function of the table, and goes by the second; a size that is negative, or beyond all memory,
// takes none, and is shown as 0. What a call takes is chained on its frame.
// CHECK-LABEL: func.func private @relax.rt.allocate(
// CHECK-SAME: %[[WANTED:[a-z0-9_]+]]: i64
// CHECK: %[[REFUSED:[A-Za-z0-9_]+]] = arith.cmpi ugt, %[[WANTED]], %c140737488355327_i64
// CHECK: %[[SHOWN:[A-Za-z0-9_]+]] = arith.select %[[REFUSED]], %c0_i64, %[[WANTED]] :
// CHECK: %[[TABLE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_memory
// CHECK: %[[TAKE:[A-Za-z0-9_]+]] = llvm.load %[[TABLE]] :
// CHECK: %[[TAKEN:[A-Za-z0-9_]+]] = scf.if %[[REFUSED]] ->
// CHECK: } else {
// CHECK-NEXT: llvm.call %[[TAKE]](%[[WANTED]])
// CHECK: %[[THERE:[A-Za-z0-9_]+]] = llvm.icmp "ne" %[[TAKEN]],
// CHECK: %[[SHOWN_INDEX:[A-Za-z0-9_]+]] = arith.index_cast %[[SHOWN]] :
// CHECK: call @relax.check.memory(%[[THERE]], %[[SHOWN_INDEX]])
// CHECK-LABEL: func.func private @relax.rt.deleter(
// CHECK: %[[TABLE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_memory
// CHECK: %[[SECOND:[A-Za-z0-9_]+]] = llvm.getelementptr %[[TABLE]][8]
// CHECK: llvm.load %[[SECOND]] :
// CHECK-LABEL: func.func private @relax.rt.link(
// CHECK-SAME: %[[FRAME:[a-z0-9_]+]]: !llvm.ptr, %[[BLOCK:[a-z0-9_]+]]: !llvm.ptr, %[[OBJECT:[a-z0-9_]+]]: !llvm.ptr
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = llvm.load %[[FRAME]] :
// CHECK: llvm.store %[[FIRST]], %[[BLOCK]] :
// CHECK: %[[PLACE:[A-Za-z0-9_]+]] = llvm.getelementptr %[[BLOCK]][16]
// CHECK: llvm.store %[[OBJECT]], %[[PLACE]] :
// CHECK: llvm.store %[[BLOCK]], %[[FRAME]] :

// A new tensor: negative dimensions and sizes beyond 64 bits are asked of the pool as -1 bytes, which it refuses; data
// from 256 KiB begins with a page.
// CHECK-LABEL: func.func private @relax.rt.tensor(
// CHECK: %[[SIZE:[A-Za-z0-9_]+]]:2 = scf.for {{.*}} iter_args(%[[BYTES:[a-z0-9_]+]] = %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} = %true)
// CHECK: %[[LOW:low[_0-9]*]], %[[HIGH:high[_0-9]*]] = arith.mului_extended %[[BYTES]], %[[DIM:[A-Za-z0-9_]+]]
// CHECK-DAG: arith.cmpi eq, %[[HIGH]],
// CHECK-DAG: arith.cmpi sge, %[[LOW]],
// CHECK-DAG: arith.cmpi sge, %[[DIM]],
// CHECK: %[[IS_LARGE:[A-Za-z0-9_]+]] = arith.cmpi uge, %[[SIZE]]#0, %c262144_i64
// CHECK: %[[HEAD:[A-Za-z0-9_]+]] = arith.select %[[IS_LARGE]], %c4096_i64, %{{[A-Za-z0-9_]+}}
// CHECK: %[[ALL:[A-Za-z0-9_]+]] = arith.addi %[[HEAD]], %[[SIZE]]#0
// CHECK: %[[ASKED:[A-Za-z0-9_]+]] = arith.select %[[SIZE]]#1, %[[ALL]], %c-1_i64
// CHECK: %[[BLOCK:[A-Za-z0-9_]+]] = call @relax.rt.allocate(%[[ASKED]])
// CHECK: %[[DATA:[A-Za-z0-9_]+]] = llvm.getelementptr %[[BLOCK]][%[[HEAD]]]
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
// CHECK-SAME: %[[CACHE:[a-z0-9_]+]]: !llvm.ptr,
// CHECK: %[[NULL:[A-Za-z0-9_]+]] = llvm.mlir.zero
// CHECK: %[[KNOWN:[A-Za-z0-9_]+]] = llvm.load %[[CACHE]] atomic acquire
// CHECK: scf.if
// CHECK: llvm.call @TVMFFIFunctionGetGlobal(
// CHECK-NEXT: func.call @relax.propagate(
// CHECK: %[[FOUND:[A-Za-z0-9_]+]] = llvm.load
// CHECK: %[[PAIR:[A-Za-z0-9_]+]] = llvm.cmpxchg %[[CACHE]], %[[NULL]], %[[FOUND]] acq_rel acquire
// CHECK: %[[WON:[A-Za-z0-9_]+]] = llvm.extractvalue %[[PAIR]][1]
// CHECK: %[[EXTRA:[A-Za-z0-9_]+]] = llvm.select %[[WON]], %[[NULL]], %[[FOUND]] :
// CHECK: call @relax.rt.drop(%[[EXTRA]])
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[KNOWN]] :

func.func private @relax.rt.global(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
func.func private @f.shapes(%n: index) -> index { return %n : index }
func.func @f(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.signature = {
    name = "f", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
