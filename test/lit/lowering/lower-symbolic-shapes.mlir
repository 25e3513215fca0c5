// Symbols become index values; parameters are checked in f.shapes; results are destinations.
// RUN: relax-opt %s --lower-symbolic-shapes | filecheck %s
// lower_symbolic_shapes.py, and headers.py: what functions take and return.

// CHECK: @relax.check.0(i1, index, index, index) attributes {relax.check = {kind = "ShapeError", message = "main: parameter 'y' dimension 0 is {0}, but n = {1}, taken from parameter 'x' dimension 0 (expected y: Tensor((n,), \22float32\22), got ({2},))"}}
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?xf32>, %[[Y:[a-z0-9_]+]]: tensor<?xf32>, %[[OUT:[a-z0-9_]+]]: tensor<?xf32>) -> tensor<?xf32>
// CHECK: %[[R:[A-Za-z0-9_]+]] = bufferization.materialize_in_destination %[[Y]] in %[[OUT]]
// CHECK-NEXT: return %[[R]]
// CHECK-LABEL: func.func private @main.shapes(
// CHECK-SAME: %[[N:[a-z0-9_]+]]: index, %[[M:[a-z0-9_]+]]: index) -> index
// CHECK: %[[OK:[A-Za-z0-9_]+]] = arith.cmpi eq, %[[M]], %[[N]] : index
// CHECK: call @relax.check.0(%[[OK]], %[[M]], %[[N]], %[[M]])
// CHECK: return %[[N]] : index
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "x"}, %y: tensor<?xf32, #relax.shape<["n"]>> {relax.name = "y"}) -> tensor<?xf32, #relax.shape<["n"]>> {
  return %y : tensor<?xf32, #relax.shape<["n"]>>
}
