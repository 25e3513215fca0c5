// RUN: python -c "from relax_mlir.lowering.runtime_lib.vm_builtins import builtins_text; print(builtins_text())" | relax-opt | filecheck %s
// The templates tensor_flaw, vm_objects, vm_discard and vm_closures: what the builtins make, and how it ends.

// Tensors with negative dimensions are told from those with elements and no memory.
// CHECK-LABEL: func.func private @relax.vm.flaw(
// CHECK: scf.for
// CHECK: llvm.icmp "eq" %[[DATA:[A-Za-z0-9_]+]], %null

// An object begins with one strong and one weak reference, its type index, and its deleter.
// CHECK-LABEL: func.func private @relax.vm.head(
// CHECK-SAME: %[[OBJECT:[a-z]+]]: !llvm.ptr, %[[KIND:[a-z]+]]: i64, %[[DELETER:[a-z]+]]: !llvm.ptr
// CHECK: %[[ONES:[A-Za-z0-9_]+]] = arith.constant 4294967297 : i64
// CHECK: llvm.store %[[ONES]], %[[OBJECT]] :
// CHECK: llvm.store %[[KIND]],
// CHECK: llvm.store %[[DELETER]],

// Memory goes back to the pool, by the second function of the table, with the last weak reference.
// CHECK-LABEL: llvm.func internal @relax.vm.give(
// CHECK: %[[TABLE:[A-Za-z0-9_]+]] = llvm.mlir.addressof @__relax_memory
// CHECK: llvm.getelementptr %[[TABLE]][8]
// CHECK-LABEL: llvm.func internal @relax.vm.delete(
// CHECK: llvm.call @relax.vm.give(

// A view drops the tensor that it shows with its last strong reference.
// CHECK-LABEL: llvm.func internal @relax.vm.delete_view(
// CHECK: %[[SOURCE:[A-Za-z0-9_]+]] = llvm.load
// CHECK: llvm.call @TVMFFIObjectDecRef(%[[SOURCE]])
// CHECK: llvm.call @relax.vm.delete(

// CHECK-LABEL: func.func private @relax.vm.shape(
// CHECK: call @relax.rt.allocate(
// CHECK: "llvm.intr.memcpy"(

// Strides are those of row-major order, from the last axis on.
// CHECK-LABEL: func.func private @relax.vm.fill(
// CHECK: scf.for %[[I:[a-z0-9_]+]] = {{.*}} iter_args(%[[STRIDE:[a-z0-9_]+]] = %one)
// CHECK: llvm.store %[[STRIDE]],
// CHECK: %[[NEXT:[A-Za-z0-9_]+]] = arith.muli %[[STRIDE]],
// CHECK: scf.yield %[[NEXT]] :

// CHECK-LABEL: func.func private @relax.vm.view(
// CHECK-SAME: %[[SOURCE:[a-z]+]]: !llvm.ptr
// CHECK: llvm.call @TVMFFIObjectIncRef(%[[SOURCE]])
// CHECK: llvm.store %[[SOURCE]],

// A tensor's own memory lies in the block of the object; a size of -1 is refused by the allocation.
// CHECK-LABEL: func.func private @relax.vm.tensor(
// CHECK: %[[TOTAL:[A-Za-z0-9_]+]] = arith.select %[[NATURAL:[A-Za-z0-9_]+]], %[[SUM:[A-Za-z0-9_]+]], %minus
// CHECK: call @relax.rt.allocate(%[[TOTAL]])

// What ends while another tuple or closure ends waits in the list of the thread: no recursion.
// CHECK-LABEL: llvm.func internal @relax.vm.discard(
// CHECK: %[[ACTIVE:[A-Za-z0-9_]+]] = llvm.call @pthread_getspecific(
// CHECK: %[[NESTED:[A-Za-z0-9_]+]] = llvm.icmp "ne" %[[ACTIVE]],
// CHECK: llvm.cond_br %[[NESTED]],
// CHECK: llvm.store %{{[A-Za-z0-9_]+}}, %[[ACTIVE]] :
// CHECK: llvm.call @pthread_setspecific(
// CHECK: llvm.call @relax.vm.end_node(
// CHECK: llvm.call @pthread_setspecific(
// CHECK-LABEL: llvm.func internal @relax.vm.end_node(
// CHECK: llvm.call @relax.vm.drop_values(
// CHECK: llvm.call @free(
// CHECK: llvm.call @relax.vm.drop_values(
// CHECK: llvm.call @relax.vm.give(
// CHECK-LABEL: llvm.func internal @relax.vm.delete_tuple(
// CHECK: llvm.call @relax.vm.discard(
// CHECK-LABEL: func.func private @relax.vm.tuple(
// CHECK: "llvm.intr.memset"(

// A closure copies its arguments to the C stack, if there is room.
// CHECK-LABEL: llvm.func internal @relax.vm.call_closure(
// CHECK: %[[LEFT:[A-Za-z0-9_]+]] = llvm.call @relax.vm.stack_left()
// CHECK: %[[FITS:[A-Za-z0-9_]+]] = llvm.icmp "sge" %[[LEFT]],
// CHECK: llvm.cond_br %[[FITS]],
// CHECK: llvm.call @relax.vm.set_error(
// CHECK: llvm.alloca
// CHECK: llvm.call @TVMFFIFunctionCall(
// CHECK-LABEL: llvm.func internal @relax.vm.delete_closure(
// CHECK: llvm.call @relax.vm.discard(
// CHECK-LABEL: llvm.func internal @relax.vm.new_closure(
// CHECK: llvm.call @malloc(
// CHECK: llvm.call @relax.vm.keep_values(
// CHECK: llvm.call @TVMFFIFunctionCreate(
// CHECK: llvm.call @relax.vm.delete_closure(
