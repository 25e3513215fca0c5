// Symbols become index values; parameters are checked in f.shapes; results are destinations.
// RUN: relax-opt %s --lower-symbolic-shapes | filecheck %s
// lower_symbolic_shapes.py, and functions.py: what functions take and return.

// CHECK: @relax.check.0(i1, index, index, index) attributes {relax.check = {kind = "ShapeError", message = "main: parameter 'y' dimension 0 is {0}, but n = {1}, taken from parameter 'x' dimension 0 (expected y: Tensor((n,), \22float32\22), got ({2},))"}}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32>, %[[Y:[a-z0-9_]+]]: tensor<?xf32>, %[[OUT:[a-z0-9_]+]]: tensor<?xf32>) -> tensor<?xf32>
// CHECK: %[[R:[A-Za-z0-9_]+]] = bufferization.materialize_in_destination %[[Y]] in %[[OUT]] :
// CHECK-NEXT: return %[[R]] :
// CHECK-LABEL: func.func private @fills(
// CHECK-SAME: attributes {relax.destinations = array<i64: 1>, relax.prim_func}
// CHECK-LABEL: func.func private @fills.memory(
// CHECK-LABEL: func.func private @kept(
// CHECK-NOT: relax.destinations
// CHECK-LABEL: func.func @names(
// CHECK-SAME: %user: tensor<2xf32>, %there: tensor<2xf32>, %result: tensor<2xf32>)
// CHECK-LABEL: func.func @located(
// CHECK-SAME: %here: tensor<2xf32>, %result: tensor<2xf32>)
// CHECK-NOT: @main.relax
// CHECK-NOT: @names.relax
// CHECK-LABEL: func.func private @main.shapes(
// CHECK-SAME: %[[N:[a-z0-9_]+]]: index, %[[M:[a-z0-9_]+]]: index) -> index
// CHECK: %[[OK:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[M]], %[[N]] : index
// CHECK: call @relax.check.0(%[[OK]], %[[M]], %[[N]], %[[M]])
// CHECK: return %[[N]] : index
// CHECK-NOT: @main.relax
// CHECK-NOT: @names.relax
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}, %y: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "y"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %y : tensor<?xf32, #relax.shape<["n"]>>
}

// What the entry of a prim func writes is noted on the prim func. Nothing is left of the Relax functions.
func.func private @fills(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func private @fills.memory(%x: memref<?xf32>, %out: memref<?xf32>)
    attributes {relax.prim_func, relax.exposes = {callee = @fills, written = array<i64: 1>}} {
  return
}
func.func private @kept(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> attributes {relax.prim_func} {
  return %out : tensor<?xf32>
}
func.func @names(%here: tensor<2xf32> {relax.name = "user"}, %0: tensor<2xf32> {relax.name = "there"}) -> tensor<2xf32> {
  return %here : tensor<2xf32>
}
func.func @located(%here: tensor<2xf32>) -> tensor<2xf32> {
  return %here : tensor<2xf32>
}
memref.global "private" @table : memref<4xf32>
