// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// emit_ffi_wrappers.py: handles as parameters and results, and the hidden argument of a recursive function.

func.func private @f.shapes(%n: index) {
  return
}

// What is known of a parameter is checked: here its rank and its type, the dimensions by @f.shapes. An error behind the
// call drops what the function gave back.
// CHECK-LABEL: func.func @__tvm_ffi_f(
// CHECK-SAME: %[[ARGS:[a-z0-9_]+]]: !llvm.ptr, %{{[a-z0-9_]+}}: i32, %[[RET:[a-z0-9_]+]]: !llvm.ptr)
// CHECK: call @relax.check.ffi.f.0(
// CHECK: call @relax.rt.tensor_flaw(%[[ARGS]], %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %c-1_i64, %c1_i64)
// CHECK-NOT: call @relax.check.ffi
// CHECK: %[[X:[A-Za-z0-9_]+]]:2 = call @relax.object.take(%{{[A-Za-z0-9_]+}}, %[[ARGS]]) : (!llvm.ptr, !llvm.ptr) -> (i64, i64)
// CHECK: %[[O:[A-Za-z0-9_]+]]:2 = call @relax.object.take(
// CHECK: call @f.shapes(%{{.*}}) : (index) -> ()
// CHECK: %[[R:[A-Za-z0-9_]+]]:2 = call @f(%[[X]]#0, %[[X]]#1, %[[O]]#0, %[[O]]#1, %{{.*}}) : (i64, i64, i64, i64, i64) -> (i64, i64)
// CHECK-NEXT: call @relax.object.drop(%[[R]]#0, %[[R]]#1) {relax.defer = "error"}
// CHECK: llvm.store %[[R]]#0, %[[RET]] :
// CHECK: llvm.store %[[R]]#1,
func.func @f(%k: i64, %x: i64, %l: i64, %o: i64, %base: i64) -> (i64, i64) attributes {relax.signature = {
    name = "f", tuple = false, recursive = true,
    params = [{name = "x", kind = "tensor", ndim = 1, type = "Tensor((n,), ?)"}, {name = "o", kind = "object"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1, returned = true}]}} {
  return %k, %x : i64, i64
}
