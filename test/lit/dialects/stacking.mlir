// stack, meshgrid, outer and roll.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @all(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]: tensor<?xf32, #relax.shape<["n"]>>)
// CHECK: "relax.stack"(%{{[A-Za-z0-9_]+}}) {axis = 1 : i64} : {{.*}} -> tensor<?x2xf32, #relax.shape<["n", 2]>>
// CHECK: "relax.outer"(%[[X]], %[[X]]) : {{.*}} -> tensor<?x?xf32, #relax.shape<["n", "n"]>>
// CHECK: "relax.roll"(%[[X]]) {axis, shift = [1]} : {{.*}} -> tensor<?xf32, #relax.shape<["n"]>>
func.func @all(%x: tensor<?xf32, #relax.shape<["n"]>>) {
  %t = builtin.unrealized_conversion_cast %x, %x : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>> to tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>
  %0 = "relax.stack"(%t) {axis = 1 : i64} : (tuple<tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>>) -> tensor<?x2xf32, #relax.shape<["n", 2]>>
  %1 = "relax.outer"(%x, %x) : (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?x?xf32, #relax.shape<["n", "n"]>>
  %2 = "relax.roll"(%x) {shift = [1], axis = unit} : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return
}
// -----
func.func @shapes(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  %t = builtin.unrealized_conversion_cast %x, %y : tensor<3xf32>, tensor<4xf32> to tuple<tensor<3xf32>, tensor<4xf32>>
  // expected-error @below {{stack: dimension 0 of the first tensor and of 'tensors[1]' are 3 and 4}}
  %0 = "relax.stack"(%t) {axis = 0 : i64} : (tuple<tensor<3xf32>, tensor<4xf32>>) -> tensor<2x3xf32>
  return
}
