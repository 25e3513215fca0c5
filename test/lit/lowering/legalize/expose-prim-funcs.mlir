// RUN: relax-opt %s --split-input-file --expose-prim-funcs | filecheck %s

// A module of prim funcs alone: each has an entry of its name; those that declare no parameters have none.
// CHECK-LABEL: module
// CHECK: func.func private @copy.prim(%{{[A-Za-z0-9_]+}}: memref<?xf32>, %{{[A-Za-z0-9_]+}}: memref<?xf32>)
// CHECK: func.func private @undeclared(
// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %[[A:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "A"}
// CHECK-SAME: %[[B:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "B"}
// CHECK-SAME: relax.exposes = {callee = @copy.prim, written = array<i64: 1>}
// CHECK-NOT: func.func @undeclared
func.func private @copy(%a: memref<?xf32>, %b: memref<?xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = ["n"], dtype = "float32"}, {name = "B", shape = ["n"], dtype = "float32"}]} {
  memref.copy %a, %b : memref<?xf32> to memref<?xf32>
  return
}
func.func private @undeclared(%a: memref<?xf32>) attributes {relax.prim_func} { return }

// -----

// Beside a Relax function: those with a global symbol, whose callers call them by their new name.
// CHECK-LABEL: module
// CHECK: func.func private @hidden(
// CHECK: func.func private @seen.prim(
// CHECK-LABEL: func.func @main
// CHECK: "relax.call_tir"({{.*}}) {callee = @seen.prim
// CHECK-LABEL: func.func @seen(
// CHECK-SAME: relax.exposes = {callee = @seen.prim, written = array<i64: 0>}
func.func private @hidden(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func private @seen(%a: tensor<2xf32>) -> tensor<2xf32> attributes {relax.prim_func, relax.prim_attrs = {global_symbol = "seen"}, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} {
  return %a : tensor<2xf32>
}
func.func @main() -> tensor<2xf32> {
  %0 = builtin.unrealized_conversion_cast to tuple<>
  %1 = "relax.call_tir"(%0) {callee = @seen, tir_vars = []} : (tuple<>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
