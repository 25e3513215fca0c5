// RUN: relax-opt --emit-ffi-wrappers=separate=true %s | filecheck %s
// support.py, emit_ffi_wrappers.py, signature.py, errors.py: what is compiled apart is declared, with marks; the rest is defined.

// What an entry point of its own unit calls returns a status, and is visible; a short call goes by another function.
// CHECK: func.func @slow.shapes(%{{[a-z]+}}: index) -> index attributes {relax.may_fail, relax.says_place} {
// CHECK: func.func @slow({{.*}} attributes {relax.may_fail, relax.says_place, relax.signature
// CHECK: func.func @quick.shapes({{.*}} attributes {relax.may_fail, relax.says_place} {
// CHECK: func.func @quick({{.*}} attributes {relax.latency_critical, relax.signature
// CHECK: func.func private @any.shapes() {
// CHECK: func.func @pair({{.*}} attributes {relax.may_fail, relax.prim_func,
// CHECK: func.func private @deep.shapes(%{{[a-z]+}}: index) -> index {

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
// CHECK: func.func @__tvm_ffi_any({{.*}} attributes {relax.inputs = 1 : i64, relax.latency_critical, relax.takes_handles}
// CHECK: llvm.func @__tvm_ffi_pair(
// A number is one argument of the flat function.
// CHECK: func.func @relax.flat.number(%[[X:[a-z0-9_]+]]: !llvm.ptr, %[[N:[a-z0-9_]+]]: i64, %[[K:[a-z0-9_]+]]: index, %{{[a-z0-9_]+}}: !llvm.ptr, %{{[a-z0-9_]+}}: i64)
// CHECK: call @number(%{{[0-9]+}}, %[[K]], %{{[0-9]+}})
// CHECK: llvm.func @__tvm_ffi_number(
// So does a recursive function, one without tensors, one that takes objects, and one that gives its results itself.
// CHECK: func.func @__tvm_ffi_deep(
// CHECK: func.func @__tvm_ffi_ints(
// CHECK: func.func @__tvm_ffi_given(
// CHECK: func.func @__tvm_ffi_nothing(
// CHECK: func.func @__tvm_ffi_mixed(
// CHECK: func.func @__tvm_ffi_count(
// What writes into a parameter reads its arguments by a table, even if its calls are short.
// CHECK-NOT: @relax.flat.writes
// CHECK: llvm.func @__tvm_ffi_writes(

// The code says nothing of the function but the number and the ranks of its tensors.
// CHECK: module @relax.entry.slow attributes
// CHECK-SAME: __tvm_ffi_relax.entry = "__tvm_ffi_slow"
// CHECK-SAME: relax.entry.callee = "slow", relax.entry.callee.shapes = "slow.shapes", relax.entry.table = "[[TABLE]]"
// CHECK-SAME: = "[[COUNT]]"
// CHECK-NOT: @relax.rt.construct
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

// A unit that makes an array holds the support functions for that.
// CHECK: module @relax.entry.pair attributes
// CHECK: func.func private @relax.rt.deleter()
// CHECK: llvm.func @strlen(
// CHECK: func.func private @relax.rt.global({{.*}} {
// CHECK: func.func private @relax.rt.construct({{.*}} {
// CHECK: func.func private @relax.entry.callee(memref<?xi8>, memref<?xi8>, memref<?xi8>) attributes {relax.may_fail}
// CHECK: module @relax.entry.number attributes
// CHECK: func.func private @relax.entry.callee(!llvm.ptr, i64, index, !llvm.ptr, i64)

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
func.func @any(%kind: i64, %payload: i64) attributes {relax.latency_critical, relax.signature = {
    name = "any", tuple = true, params = [{name = "x", kind = "object", type = "Object"}], results = []}} {
  return
}

func.func private @pair.shapes(%n: index) -> (index, index) { return %n, %n : index, index }
func.func @pair(%x: memref<?xf32>, %a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func, relax.signature = {
    name = "pair", tuple = true,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}, {kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
func.func private @number.shapes(%n: index, %k: index) -> index { return %n : index }
func.func @number(%x: memref<?xf32>, %k: index, %out: memref<?xf32>) attributes {relax.latency_critical, relax.signature = {
    name = "number", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}, {name = "k", kind = "int"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
func.func private @deep.shapes(%n: index) -> index { return %n : index }
func.func @deep(%x: memref<?xf32>, %out: memref<?xf32>, %base: i64) attributes {relax.signature = {
    name = "deep", tuple = false, recursive = true,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
func.func private @ints.shapes(%k: index) { return }
func.func @ints(%k: index) -> index attributes {relax.signature = {
    name = "ints", tuple = false, params = [{name = "k", kind = "int"}], results = [{kind = "int"}]}} {
  return %k : index
}
func.func private @given.shapes(%n: index) { return }
func.func @given(%x: memref<?xf32>) -> (i64, i64) attributes {relax.signature = {
    name = "given", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1, returned = true}]}} {
  %0 = arith.constant 0 : i64
  return %0, %0 : i64, i64
}
func.func private @nothing.shapes(%k: index) { return }
func.func @nothing(%k: index) attributes {relax.signature = {
    name = "nothing", tuple = true, params = [{name = "k", kind = "int"}], results = []}} {
  return
}
func.func private @mixed.shapes(%n: index) -> index { return %n : index }
func.func @mixed(%x: memref<?xf32>, %kind: i64, %payload: i64, %out: memref<?xf32>) attributes {relax.signature = {
    name = "mixed", tuple = false,
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}, {name = "o", kind = "object", type = "Object"}],
    results = [{kind = "tensor", dtype = "float32", ndim = 1}]}} {
  return
}
func.func private @count.shapes(%n: index) { return }
func.func @count(%x: memref<?xf32>) -> index attributes {relax.signature = {
    name = "count", tuple = false, params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}], results = [{kind = "int"}]}} {
  %0 = arith.constant 0 : index
  return %0 : index
}
func.func private @writes.shapes(%n: index) { return }
func.func @writes(%x: memref<?xf32>) attributes {relax.latency_critical, relax.signature = {
    name = "writes", tuple = true, written = [0],
    params = [{name = "x", kind = "tensor", dtype = "float32", ndim = 1, type = "Tensor((n,), \"float32\")"}], results = []}} {
  return
}
