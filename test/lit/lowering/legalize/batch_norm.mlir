// In training the statistics of the batch come first, and the moving averages after them.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: callee = @batch_mean, tir_vars = []
// CHECK: callee = @batch_variance, tir_vars = []
// CHECK: callee = @moving_average, tir_vars = []
// CHECK: callee = @batch_norm, tir_vars = []
// CHECK-LABEL: func.func private @batch_mean(
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK-LABEL: func.func private @batch_norm(
// CHECK: math.sqrt
// CHECK: arith.divf
// CHECK: arith.mulf
// CHECK: arith.addf

func.func @main(%x: tensor<2x4xf32>, %p: tensor<4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>> {
  %0 = "relax.nn_batch_norm"(%x, %p, %p, %p, %p) {axis = 1 : i64, epsilon = 1.0e-05 : f64, center = true, scale = true, momentum = 0.1 : f64, training = true} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  return %0 : tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
}
