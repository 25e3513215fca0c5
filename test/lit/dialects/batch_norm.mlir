// nn_batch_norm.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @norm(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[P:[a-z0-9_]+]]: tensor<4xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_batch_norm"(%[[X]], %[[P]], %[[P]], %[[P]], %[[P]]) {axis = 1 : i64, center = true, epsilon = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64, scale = true, training = false}
// CHECK-NEXT: return %[[R]] :
func.func @norm(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %p: tensor<4xf32>) -> tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>> {
  %0 = "relax.nn_batch_norm"(%x, %p, %p, %p, %p) {axis = 1 : i64, epsilon = 1.0e-05 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>>
  return %0 : tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>>
}
// -----
func.func @channels(%x: tensor<2x4xf32>, %p: tensor<3xf32>) -> tuple<tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>> {
  // expected-error @below {{nn_batch_norm: operand 'gamma' has shape (3,), expected (4,), dimensions [1] of 'data', (2, 4)}}
  %0 = "relax.nn_batch_norm"(%x, %p, %p, %p, %p) {axis = 1 : i64, epsilon = 1.0e-05 : f64, center = true, scale = true, momentum = 0.1 : f64, training = false} : (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>>
  return %0 : tuple<tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>>
}
