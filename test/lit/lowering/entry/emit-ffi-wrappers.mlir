// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// emit_ffi_wrappers.py (ffi_wrapper.py, signature.py, unpack.py, support.py, errors.py): the entry point checks,
// sizes, allocates and calls; that of a function whose calls are short reads its arguments itself.

func.func private @add.shapes(%n: index) -> index { return %n : index }

// CHECK: @relax.check.ffi.add.0({{.*}} message = "add: takes 1 argument (x), or 2 with the results to write to; got {0}"
// CHECK: llvm.mlir.global internal constant @[[TABLE:relax.table.[0-9a-f]+]]({{.*}}add: parameter 'x'\00x: Tensor((n,), \22float32\22)\00add: the given result 0\00

// CHECK: func.func @__tvm_ffi_add(%{{[a-z0-9_]+}}: !llvm.ptr, %[[ARGS:[a-z0-9_]+]]: !llvm.ptr, %[[N:[a-z0-9_]+]]: i32, %[[RET:[a-z0-9_]+]]: !llvm.ptr) attributes {relax.inputs = 1 : i64, relax.latency_critical}
// CHECK: %[[PLAIN:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[N]], %c1_i32 : i32
// CHECK-NEXT: %[[GIVEN:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[N]], %c2_i32 : i32
// CHECK-NEXT: %[[COUNT:[A-Za-z0-9_]+]] = arith.ori %[[PLAIN]], %[[GIVEN]] :
// CHECK: call @relax.check.ffi.add.0(%[[COUNT]],
// CHECK-NEXT: %[[ROW:[A-Za-z0-9_]+]] = llvm.mlir.addressof @[[TABLE]] :
// Type, device, rank and dtype (side by side: one number) are compared, then the pointer and the sizes: what is wrong is
// found out apart. A null pointer is fine where there are no elements.
// CHECK: %[[WRONG:[A-Za-z0-9_]+]]:4 = scf.if %{{[A-Za-z0-9_]+}} -> (i1, !llvm.ptr, !llvm.ptr, i64) {
// CHECK: %[[WANTED:[A-Za-z0-9_]+]] = llvm.load %[[ROW]] : !llvm.ptr -> i64
// CHECK: %[[HEAD:[A-Za-z0-9_]+]] = llvm.load %{{[A-Za-z0-9_]+}} {alignment = 4 : i64} : !llvm.ptr -> i64
// CHECK-NEXT: arith.cmpi eq, %[[HEAD]], %[[WANTED]] : i64
// CHECK: %[[STRANGE:[A-Za-z0-9_]+]]:4 = scf.if %{{[A-Za-z0-9_]+}} -> (i1, !llvm.ptr, !llvm.ptr, i64) {
// CHECK: %[[ABSENT:[A-Za-z0-9_]+]] = llvm.icmp "eq" %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : !llvm.ptr
// CHECK: %[[DOUBT:[A-Za-z0-9_]+]] = arith.ori %[[ABSENT]],
// CHECK-NEXT: scf.yield %[[DOUBT]],
// CHECK: scf.yield %true,
// CHECK: scf.yield %[[STRANGE]]#0,
// CHECK: scf.yield %true,
// CHECK: scf.if %[[WRONG]]#0 {
// CHECK-NEXT: call @relax.rt.flaw_of(%[[ARGS]], %[[ROW]])
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = call @add.shapes(%{{[A-Za-z0-9_]+}}) : (index) -> index
// Results that the caller gave are checked; others are allocated, and dropped if an error follows.
// CHECK: %[[WANTED:[A-Za-z0-9_]+]] = arith.index_cast %[[SIZE]] : index to i64
// CHECK-NEXT: llvm.store %[[WANTED]],
// CHECK: %[[OUT:[A-Za-z0-9_]+]]:2 = scf.if %[[GIVEN]] ->
// CHECK: arith.cmpi eq, %{{[A-Za-z0-9_#]+}}, %[[WANTED]] : i64
// CHECK: call @relax.rt.given_flaw(
// CHECK: else
// CHECK: call @relax.rt.tensor(
// CHECK: call @relax.rt.drop(%[[OUT]]#1) {relax.defer = "error"}
// An input with gaps is copied, and so is one that a given result overlaps.
// CHECK: %[[APART:[0-9]+]] = scf.if %[[GIVEN]] ->
// CHECK: %[[FINE:[0-9]+]] = arith.andi %{{[0-9]+}}, %[[APART]] : i1
// CHECK: scf.if %[[FINE]] ->
// CHECK: else
// CHECK: call @relax.rt.compact(
// CHECK: %[[X:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// CHECK: %[[Y:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// CHECK-NEXT: call @add(%[[X]], %[[Y]])
// CHECK: llvm.store %{{[a-z0-9_]+}}, %[[RET]] :
func.func @add(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.latency_critical, relax.signature = {
    name = "add", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}

// CHECK-NOT: @__tvm_ffi_helper
func.func private @helper(%x: memref<?xf32>) { return }
