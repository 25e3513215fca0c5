// A reduction over windows of the data with what does not count around it; a mean divides by what counts, which is one
// number where all windows are inside.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: callee = @max_pool1d, tir_vars = []
// CHECK: callee = @avg_pool1d, tir_vars = []
// CHECK: callee = @avg_pool1d_mean, tir_vars = []
// CHECK: callee = @avg_pool1d_1, tir_vars = []
// CHECK: callee = @avg_pool1d_mean_1, tir_vars = []
// CHECK-LABEL: func.func private @max_pool1d(
// CHECK: %[[LOW:[A-Za-z0-9_]+]] = arith.constant 0xFF800000 : f32
// CHECK: linalg.fill ins(%[[LOW]]
// CHECK: tensor.insert_slice
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK-LABEL: func.func private @avg_pool1d(
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-LABEL: func.func private @avg_pool1d_mean(
// CHECK: %[[ALL:[A-Za-z0-9_]+]] = arith.constant 2.0
// CHECK: arith.divf %{{[A-Za-z0-9_]+}}, %[[ALL]]
// CHECK-LABEL: func.func private @avg_pool1d_mean_1(
// CHECK: %[[COUNT:[A-Za-z0-9_]+]] = arith.sitofp
// CHECK: arith.divf %{{[A-Za-z0-9_]+}}, %[[COUNT]]

func.func @main(%x: tensor<1x2x6xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>) {
  %0 = "relax.nn_max_pool1d"(%x) {pool_size = [3], strides = [2], padding = [1, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  %1 = "relax.nn_avg_pool1d"(%x) {pool_size = [2], strides = [2], padding = [0, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  %2 = "relax.nn_avg_pool1d"(%x) {pool_size = [2], strides = [2], padding = [1, 1], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  return %0, %1, %2 : tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>
}
