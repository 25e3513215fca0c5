// RUN: relax-opt --emit-ffi-wrappers %s | filecheck %s
// emit_ffi_wrappers.py, signature.py: tuples, shapes and ints are index values; the function itself gives such results, so they
// cannot be given by the caller.

func.func private @f.shapes(%k: index, %a: index, %b: index) {
  return
}

// CHECK: @relax.check.ffi.f.0({{.*}} message = "f: takes 2 arguments (k, t); got {0}"
// CHECK-LABEL: func.func @__tvm_ffi_f(
// CHECK-SAME: %[[RET:[a-z0-9_]+]]: !llvm.ptr) attributes {relax.inputs = 2 : i64}
// CHECK: call @f.shapes(%[[K:[A-Za-z0-9_]+]], %[[A:[A-Za-z0-9_]+]], %[[B:[A-Za-z0-9_]+]]) : (index, index, index) -> ()
// CHECK: %[[R:[A-Za-z0-9_]+]]:3 = call @f(%[[K]], %[[A]], %[[B]]) : (index, index, index) -> (index, index, index)
// CHECK: arith.index_cast %[[R]]#0 : index to i64
// CHECK: arith.index_cast %[[R]]#1 : index to i64
// CHECK: %[[SHAPE:[A-Za-z0-9_]+]] = call @relax.rt.construct(
// CHECK-NEXT: call @relax.rt.drop(%[[SHAPE]]) {relax.defer = "error"}
// CHECK: %[[INT:[A-Za-z0-9_]+]] = arith.index_cast %[[R]]#2 : index to i64
// CHECK: llvm.store %[[SHAPE]],
// CHECK: llvm.store %[[INT]],
// CHECK: %[[ARRAY:[A-Za-z0-9_]+]] = call @relax.rt.construct(
// CHECK: call @relax.rt.drop(%[[SHAPE]]) : (!llvm.ptr) -> ()
// CHECK: llvm.store %[[ARRAY]],
func.func @f(%k: index, %a: index, %b: index) -> (index, index, index) attributes {relax.signature = {
    name = "f", tuple = true,
    params = [{name = "k", kind = "int"}, {name = "t", kind = "tuple", fields = [{kind = "shape", ndim = 2}]}],
    results = [{kind = "shape", ndim = 2}, {kind = "int"}]}} {
  return %a, %b, %k : index, index, index
}
