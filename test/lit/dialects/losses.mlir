// nn_cross_entropy_with_logits and nn_nll_loss.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @losses(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x5x?xf32, #relax.shape<["n", 5, "h"]>>, %[[T:[a-z0-9_]+]]: tensor<?x?xi64, #relax.shape<["n", "h"]>>, %[[W:[a-z0-9_]+]]: tensor<5xf32>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.nn_nll_loss"(%[[X]], %[[T]], %[[W]]) {ignore_index = -100 : i64, reduction = "none"}
// CHECK-SAME: -> tensor<?x?xf32, #relax.shape<["n", "h"]>>
// CHECK: "relax.nn_nll_loss"(%[[X]], %[[T]], %[[W]]) {ignore_index = 0 : i64, reduction = "mean"}
// CHECK-SAME: -> tensor<f32>
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_cross_entropy_with_logits"(%[[A]], %[[A]])
// CHECK-NEXT: return %[[R]] :
func.func @losses(%x: tensor<?x5x?xf32, #relax.shape<["n", 5, "h"]>>, %t: tensor<?x?xi64, #relax.shape<["n", "h"]>>, %w: tensor<5xf32>) -> tensor<f32> {
  %0 = "relax.nn_nll_loss"(%x, %t, %w) {reduction = "none", ignore_index = -100 : i64} : (tensor<?x5x?xf32, #relax.shape<["n", 5, "h"]>>, tensor<?x?xi64, #relax.shape<["n", "h"]>>, tensor<5xf32>) -> tensor<?x?xf32, #relax.shape<["n", "h"]>>
  %1 = "relax.nn_nll_loss"(%x, %t, %w) {reduction = "mean", ignore_index = 0 : i64} : (tensor<?x5x?xf32, #relax.shape<["n", 5, "h"]>>, tensor<?x?xi64, #relax.shape<["n", "h"]>>, tensor<5xf32>) -> tensor<f32>
  %2 = "relax.nn_cross_entropy_with_logits"(%0, %0) : (tensor<?x?xf32, #relax.shape<["n", "h"]>>, tensor<?x?xf32, #relax.shape<["n", "h"]>>) -> tensor<f32>
  return %2 : tensor<f32>
}
// -----
func.func @targets(%x: tensor<2x5xf32>, %t: tensor<3xi64>, %w: tensor<5xf32>) -> tensor<f32> {
  // expected-error @below {{nn_nll_loss: operand 'targets' has shape (3,), expected (2,), that of 'predictions' without the classes}}
  %0 = "relax.nn_nll_loss"(%x, %t, %w) {reduction = "sum", ignore_index = -100 : i64} : (tensor<2x5xf32>, tensor<3xi64>, tensor<5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// -----
func.func @reduction(%x: tensor<2x5xf32>, %t: tensor<2xi64>, %w: tensor<5xf32>) -> tensor<f32> {
  // expected-error @below {{nn_nll_loss: reduction is 'max', expected one of none, sum, mean}}
  %0 = "relax.nn_nll_loss"(%x, %t, %w) {reduction = "max", ignore_index = -100 : i64} : (tensor<2x5xf32>, tensor<2xi64>, tensor<5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
