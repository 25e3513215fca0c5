// RUN: relax-opt %s --split-input-file --expose-prim-funcs | filecheck %s
// RUN: relax-opt %s --split-input-file --expose-prim-funcs --expose-prim-funcs | filecheck %s
// Entries that are there stay, and get no others.

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
// -----
// Integers, sizes that they determine, and results, which are written; a declaration has no entry.
// CHECK-LABEL: module
// CHECK: func.func private @sized.prim(
// CHECK: func.func private @extern(
// CHECK: func.func @sized(
// CHECK-SAME: %{{[A-Za-z0-9_]+}}: tensor<?xf32, #relax.shape<["n + 1"]>> {relax.name = "A"}
// CHECK-SAME: %{{[A-Za-z0-9_]+}}: tensor<4xf32> {relax.name = "B"}
// CHECK-SAME: %[[N:[A-Za-z0-9_]+]]: i64 {relax.name = "n"}
// CHECK-SAME: relax.exposes = {callee = @sized.prim, written = array<i64: 0, 1>}
// CHECK-NOT: func.func
func.func private @sized(%a: tensor<?xf32>, %b: tensor<4xf32>, %n: index) -> (tensor<?xf32>, tensor<4xf32>) attributes {relax.prim_func, relax.prim_attrs = {tir.noalias = true}, relax.params = [{name = "A", shape = ["n + 1"], dtype = "float32"}, {name = "B", shape = [4], dtype = "float32"}, {name = "n"}]} {
  return %a, %b : tensor<?xf32>, tensor<4xf32>
}
func.func private @extern(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]}
// -----
// Another name than its own: the prim func keeps its own. What it calls declares nothing, and needs no entry.
// CHECK-LABEL: module
// CHECK: func.func private @inner(
// CHECK: func.func private @outer(
// CHECK: call @inner
// CHECK: func.func @seen(
// CHECK-SAME: relax.exposes = {callee = @outer, written = array<i64: 0>}
// CHECK-NOT: func.func @
func.func private @inner(%a: memref<2xf32>) attributes {relax.prim_func} {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  memref.store %x, %a[%c0] : memref<2xf32>
  return
}
func.func private @outer(%a: memref<2xf32>) attributes {relax.prim_func, relax.prim_attrs = {global_symbol = "seen"}, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} {
  call @inner(%a) : (memref<2xf32>) -> ()
  return
}
// -----
// A name with the suffix that is taken.
// CHECK-LABEL: module
// CHECK: func.func private @f.prim_1(
// CHECK: func.func private @g(
// CHECK: call @f.prim_1
// CHECK: func.func @f(
// CHECK-SAME: relax.exposes = {callee = @f.prim_1
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func, relax.params = [{name = "A", shape = [2], dtype = "float32"}]} { return }
func.func private @g(%a: memref<2xf32>) attributes {relax.prim_func} {
  call @f(%a) : (memref<2xf32>) -> ()
  return
}
func.func private @f.prim(%a: memref<2xf32>) attributes {relax.prim_func} { return }
// -----
// An entry of an earlier run, whose prim func another calls and which declares nothing any more.
// CHECK-LABEL: module
// CHECK: func.func private @f(
// CHECK: func.func private @g(
// CHECK: func.func @main(
// CHECK-NOT: func.func
func.func private @f(%a: memref<2xf32>) attributes {relax.prim_func} { return }
func.func private @g(%a: memref<2xf32>) attributes {relax.prim_func} {
  call @f(%a) : (memref<2xf32>) -> ()
  return
}
func.func @main(%x: tensor<2xf32> {relax.name = "A"}) attributes {relax.exposes = {callee = @f, written = array<i64>}} {
  return
}
