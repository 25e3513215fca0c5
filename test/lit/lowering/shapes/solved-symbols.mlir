// Symbols of expressions are solved for, and bounds are checked, in f.shapes and where the function is entered.
// RUN: relax-opt %s --lower-symbolic-shapes | filecheck %s

// CHECK-DAG: message = "main: parameter 'x' dimension 0 is {0}, which is 2*n for no n = 0, 1, 2
// CHECK-DAG: message = "main: symbol 'n' is {0}, taken from parameter 'x' dimension 0, below its lower bound 1"
// CHECK-DAG: message = "main: symbol 'n' is {0}, taken from parameter 'x' dimension 0, above its upper bound 64"
// CHECK-LABEL: func.func @main(
// CHECK: %[[D:[a-z0-9_]+]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK: arith.floordivsi
// CHECK: arith.cmpi sle
// CHECK-LABEL: func.func private @main.shapes(
// CHECK-SAME: %[[S:[a-z0-9_]+]]: index
// CHECK: %[[N:[A-Za-z0-9_]+]] = arith.floordivsi
// CHECK: arith.muli %[[N]],
// CHECK: arith.cmpi sge, %[[N]],
// CHECK: arith.cmpi sle, %[[N]],
// CHECK: return
func.func @main(%x: tensor<?xf32, #relax.shape<["2*n"]>> {relax.name = "x"}) -> tensor<?xf32, #relax.shape<["2*n"]>> attributes {relax.symbol_bounds = {n = [1, 64]}} {
  return %x : tensor<?xf32, #relax.shape<["2*n"]>>
}
