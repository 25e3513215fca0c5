// manipulate.py
// stack joins views with a dimension more; outer multiplies a column by a row.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>, %[[Y:[A-Za-z0-9_]+]]: tensor
// CHECK: "relax.expand_dims"(%[[X]]) {axes = [1]}
// CHECK: "relax.expand_dims"(%[[Y]]) {axes = [1]}
// CHECK: {callee = @stack,
// CHECK: "relax.expand_dims"(%[[X]]) {axes = [1]}
// CHECK: "relax.expand_dims"(%[[Y]]) {axes = [0]}
// CHECK: {callee = @outer_f32,
// CHECK-LABEL: func.func private @stack(
// CHECK: %[[FIRST:[A-Za-z0-9_]+]] = tensor.insert_slice
// CHECK: tensor.insert_slice %{{[A-Za-z0-9_]+}} into %[[FIRST]][
// CHECK-LABEL: func.func private @outer_f32(
// CHECK: arith.mulf
func.func @main(%x: tensor<?xf32, #relax.shape<["n"]>>, %y: tensor<?xf32, #relax.shape<["n"]>>) -> (tensor<?x2xf32, #relax.shape<["n", 2]>>, tensor<?x?xf32, #relax.shape<["n", "n"]>>) {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>
  %0 = "relax.stack"(%t) {axis = 1 : i64} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?x2xf32, #relax.shape<["n", 2]>>
  %1 = "relax.outer"(%x, %y) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?x?xf32, #relax.shape<["n", "n"]>>
  return %0, %1 : tensor<?x2xf32, #relax.shape<["n", 2]>>, tensor<?x?xf32, #relax.shape<["n", "n"]>>
}
