// RUN: python -c "from relax_mlir.lowering.base.support import pool_text; print(pool_text())" | relax-opt | filecheck %s

// The functions behind the first three words of the state, and the lock around all that they change.
// CHECK: llvm.mlir.global internal @state() {addr_space = 0 : i32} : !llvm.struct<(array<3 x ptr>, array<12 x i64>, array<168 x ptr>)>
// CHECK: llvm.mlir.addressof @take
// CHECK: llvm.mlir.addressof @give
// CHECK: llvm.mlir.addressof @release
// CHECK-LABEL: llvm.func @__relax_pool_state() -> !llvm.ptr
// CHECK-LABEL: llvm.func internal @take(%{{.*}}: i64) -> !llvm.ptr
// CHECK: %[[CLASS:.*]] = llvm.call @class_of(
// CHECK: %[[SIZE:.*]] = llvm.call @bytes_of(%[[CLASS]])
// CHECK: %[[LOCKED:.*]] = llvm.call @lock()
// CHECK: scf.if %[[LOCKED]] ->
// CHECK: llvm.call @unlock()
// CHECK: llvm.call @fresh(%[[CLASS]], %[[SIZE]])
// CHECK-LABEL: llvm.func internal @release() -> i64
// CHECK: llvm.call @free(
