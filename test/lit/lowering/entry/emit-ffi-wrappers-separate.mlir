// RUN: relax-opt --emit-ffi-wrappers=separate=true %s | filecheck %s
// support.py, emit_ffi_wrappers.py, signature.py, errors.py: what is compiled apart is declared, with marks; the rest is defined.

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

// The texts are data that the parts use; the entry points are declared.
// CHECK: llvm.mlir.global external constant @[[COUNT:relax.entry.text.[0-9a-f]+]]("slow: takes 1 argument (x), or 2 with the results to write to; got %lld\00")
// CHECK: llvm.mlir.global external constant @[[TABLE:relax.entry.table.[0-9a-f]+]]({{.*}}slow: parameter 'x'\00
// CHECK: llvm.mlir.global external constant @{{relax.entry.text.[0-9a-f]+}}(" (in slow)\00")
// CHECK: llvm.func @__tvm_ffi_slow(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32 attributes {relax.compiled_separately, relax.inputs = 1 : i64}
// A short call goes by a function of few arguments, which the other one is inlined into.
// CHECK: func.func @relax.flat.quick(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: !llvm.ptr, %[[N:[a-z0-9_]+]]: i64, %[[OUT:[a-z0-9_]+]]: !llvm.ptr, %{{[a-z0-9_]+}}: i64) attributes {relax.latency_critical, relax.may_fail, relax.says_place}
// CHECK: llvm.insertvalue %[[X]],
// CHECK: llvm.insertvalue %[[N]],
// CHECK: llvm.insertvalue %[[OUT]],
// CHECK: call @quick(
// CHECK: llvm.func @__tvm_ffi_quick(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32 attributes {relax.compiled_separately, relax.inputs = 1 : i64, relax.latency_critical}

// What takes objects as they come stays.
// CHECK: func.func @__tvm_ffi_any(

// The code says nothing of the function but the number and the ranks of its tensors.
// CHECK: module @relax.entry.slow attributes
// CHECK-SAME: __tvm_ffi_relax.entry = "__tvm_ffi_slow"
// CHECK-SAME: relax.entry.callee = "slow", relax.entry.callee.shapes = "slow.shapes", relax.entry.table = "[[TABLE]]"
// CHECK-SAME: = "[[COUNT]]"
// CHECK: func.func private @relax.entry.callee(memref<?xi8>, memref<?xi8>) attributes {relax.may_fail, relax.says_place}
// CHECK: func.func private @relax.entry.callee.shapes(index) -> index attributes {relax.may_fail, relax.says_place}
// CHECK: func.func private @relax.check.ffi.relax.entry.0(i1, index) attributes {relax.check = {kind = "ArgumentError", message = "message 0 {0}"}}
// CHECK: llvm.mlir.global external constant @relax.entry.table() {{.*}} : !llvm.array<1 x i8>
// CHECK: func.func @__tvm_ffi_relax.entry({{.*}} attributes {llvm.passthrough = ["optnone", "noinline"]}
// CHECK: call @relax.rt.take(
// CHECK: call @relax.entry.callee.shapes(
// CHECK: call @relax.rt.tensor(
// CHECK: call @relax.entry.callee(

// CHECK: module @relax.entry.quick attributes
// CHECK-SAME: relax.entry.callee = "relax.flat.quick"
// CHECK: func.func private @relax.entry.callee(!llvm.ptr, i64, !llvm.ptr, i64) attributes {relax.may_fail, relax.says_place}
// CHECK: func.func @__tvm_ffi_relax.entry({{[^{]*}}) {

// CHECK: func.func private @relax.rt.global(
// CHECK-SAME: {
// CHECK: call @relax.rt.drop(
func.func private @relax.rt.global(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr

// CHECK-NOT: func.func private @relax.rt.{{(release|drop|tensor)}}({{.*}} {{{$}}
func.func private @slow.shapes(%n: index) -> index { return %n : index }
func.func @slow(%x: memref<?xf32>, %out: memref<?xf32>) attributes {relax.signature = {
    name = "slow", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
func.func private @quick.shapes(%n: index) -> index { return %n : index }
func.func @quick(%x: memref<?xf64>, %out: memref<?xf64>) attributes {relax.latency_critical, relax.signature = {
    name = "quick", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float64", ndim = 1, type = "Tensor((n,), \"float64\")"}],
    results = [{kind = "tensor", dtype = "float64", ndim = 1}]}} {
  return
}

func.func private @any.shapes() { return }
func.func @any(%kind: i64, %payload: i64) attributes {relax.signature = {
    name = "any", tuple = true, params = [{name = "x", kind = "object", type = "Object"}], results = []}} {
  return
}
