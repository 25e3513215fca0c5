// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// emit_ffi_wrappers.py (signature.py, unpack.py, support.py, value_formatters.py): the entry point checks, sizes, allocates and calls.

func.func private @add.shapes(%n: index) -> index { return %n : index }

// CHECK: @relax.check.ffi.add.0({{.*}} message = "add: takes 1 argument (x), or 2 with the results to write to; got {0}"
// CHECK: @relax.check.ffi.add.1({{.*}} message = "add: parameter 'x' is of type {0:type}, expected x: Tensor((n,), \22float32\22)"
// CHECK: @relax.check.ffi.add.2({{.*}} on {0:device}, expected cpu
// CHECK: @relax.check.ffi.add.3({{.*}} has dtype {0:dtype}, expected float32
// CHECK: @relax.check.ffi.add.4({{.*}} has rank {0}, expected rank 1
// CHECK: @relax.check.ffi.add.5({{.*}} has dimension 0 of {0}, expected zero or more
// CHECK: @relax.check.ffi.add.6({{.*}} has elements, but no memory: its data pointer is null
// CHECK: @relax.check.ffi.add.13({{.*}} message = "add: the given result 0 has dimension 0 of {0}, but the call gives {1}"
// CHECK: @relax.check.ffi.add.14({{.*}} is not contiguous, so it cannot be written to
// CHECK: @relax.check.ffi.add.15({{.*}} is not aligned to its elements, so it cannot be written to

// CHECK: func.func @__tvm_ffi_add(%{{[a-z0-9_]+}}: !llvm.ptr, %[[ARGS:[a-z0-9_]+]]: !llvm.ptr, %[[N:[a-z0-9_]+]]: i32, %[[RET:[a-z0-9_]+]]: !llvm.ptr) attributes {relax.inputs = 1 : i64, relax.latency_critical}
// CHECK: %[[PLAIN:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[N]], %c1_i32 : i32
// CHECK-NEXT: %[[GIVEN:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[N]], %c2_i32 : i32
// CHECK-NEXT: %[[COUNT:[A-Za-z0-9_]+]] = arith.ori %[[PLAIN]], %[[GIVEN]]
// CHECK: call @relax.check.ffi.add.0(%[[COUNT]],
// CHECK: call @relax.check.ffi.add.4(
// A null pointer is fine where there are no elements.
// CHECK: %[[ABSENT:[A-Za-z0-9_]+]] = llvm.icmp "eq" %{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}} : !llvm.ptr
// CHECK: %[[STRANGE:[A-Za-z0-9_]+]] = arith.ori %[[ABSENT]],
// CHECK-NEXT: scf.if %[[STRANGE]] {
// CHECK: call @relax.check.ffi.add.6(
// CHECK: %[[SIZE:[A-Za-z0-9_]+]] = call @add.shapes(%{{[A-Za-z0-9_]+}}) : (index) -> index
// Results that the caller gave are checked; others are allocated, and dropped if an error follows.
// CHECK: %[[OUT:[A-Za-z0-9_]+]]:2 = scf.if %[[GIVEN]]
// CHECK: call @relax.check.ffi.add.13(%{{[A-Za-z0-9_]+}}, %{{[A-Za-z0-9_]+}}, %[[SIZE]])
// CHECK: else
// CHECK: call @relax.rt.tensor(
// CHECK: call @relax.rt.drop(%[[OUT]]#1) {relax.defer = "error"}
// An input with gaps is copied, and so is one that a given result overlaps.
// CHECK: %[[WRITTEN:[0-9]+]] = scf.if %[[GIVEN]]
// CHECK: %[[KEPT:[0-9]+]] = arith.cmpi eq, %[[WRITTEN]], %false : i1
// CHECK: %[[FINE:[0-9]+]] = arith.andi %{{[0-9]+}}, %[[KEPT]] : i1
// CHECK: scf.if %[[FINE]]
// CHECK: else
// CHECK-NEXT: call @relax.rt.compact(
// CHECK: %[[X:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// CHECK: %[[Y:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xf32>
// CHECK-NEXT: call @add(%[[X]], %[[Y]])
// CHECK: llvm.store %{{[a-z0-9_]+}}, %[[RET]]
func.func @add(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.latency_critical, relax.signature = {
    name = "add", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}

// CHECK-NOT: @__tvm_ffi_helper
func.func private @helper(%x: memref<?xf32>) { return }
