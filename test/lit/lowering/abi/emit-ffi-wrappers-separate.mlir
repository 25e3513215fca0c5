// RUN: relax-opt --emit-ffi-wrappers=separate-support=true %s | filecheck %s
// support.py: what all modules need is declared, with marks, where it is compiled apart; the rest is defined.

// A declaration that another pass has made gets its mark.
// CHECK: llvm.func @TVMFFIObjectDecRef(
// CHECK: llvm.mlir.global external @__relax_memory()
// CHECK: llvm.mlir.addressof @relax.rt.system_take
// CHECK: llvm.func @relax.rt.system_take(i64) -> !llvm.ptr attributes {relax.compiled_separately}
// CHECK: func.func private @relax.rt.allocate(i64) -> !llvm.ptr attributes {relax.compiled_separately, relax.may_fail}
// CHECK: func.func private @relax.rt.release(!llvm.ptr) attributes {relax.compiled_separately}{{$}}
// CHECK: func.func private @relax.rt.drop(!llvm.ptr) attributes {relax.compiled_separately}{{$}}
// CHECK: func.func private @relax.rt.tensor(!llvm.ptr, i32, i32, i64) -> !llvm.ptr attributes {relax.compiled_separately, relax.may_fail}
// CHECK: func.func private @relax.rt.dtype_name(i64, !llvm.ptr) -> !llvm.ptr attributes {relax.compiled_separately}{{$}}
func.func private @relax.rt.release(!llvm.ptr)

// CHECK-LABEL: func.func @__tvm_ffi_f(
// CHECK: func.call @relax.rt.tensor(

// CHECK-LABEL: func.func private @relax.rt.global(
// CHECK-SAME: {
// CHECK: call @relax.rt.drop(
func.func private @relax.rt.global(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr

// CHECK-NOT: func.func private @relax.rt.{{(release|drop|tensor)}}({{.*}} {{{$}}
func.func private @f.shapes(%n: index) -> index { return %n : index }
func.func @f(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.signature = {
    name = "f", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
