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
// CHECK: linalg.fill ins(%[[LOW]] :
// CHECK: tensor.insert_slice
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK-LABEL: func.func private @avg_pool1d(
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-LABEL: func.func private @avg_pool1d_mean(
// CHECK: %[[ALL:[A-Za-z0-9_]+]] = arith.constant 2.0
// CHECK: arith.divf %{{[A-Za-z0-9_]+}}, %[[ALL]] :
// CHECK-LABEL: func.func private @avg_pool1d_mean_1(
// CHECK: %[[COUNT:[A-Za-z0-9_]+]] = arith.sitofp
// CHECK: arith.divf %{{[A-Za-z0-9_]+}}, %[[COUNT]] :

func.func @main(%x: tensor<1x2x6xf32>) -> (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>) {
  %0 = "relax.nn_max_pool1d"(%x) {pool_size = [3], strides = [2], padding = [1, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  %1 = "relax.nn_avg_pool1d"(%x) {pool_size = [2], strides = [2], padding = [0, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf32>) -> tensor<1x2x3xf32>
  %2 = "relax.nn_avg_pool1d"(%x) {pool_size = [2], strides = [2], padding = [1, 1], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  return %0, %1, %2 : tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x4xf32>
}

// Sizes for which there may be no window are checked, and windows that may be padding alone get a finite value.
// CHECK-LABEL: func.func private @max_pool1d_1(
// CHECK: %[[COUNT:[A-Za-z0-9_]+]] = tensor.dim %arg1
// CHECK: %[[SOME:[A-Za-z0-9_]+]] = arith.cmpi ne, %[[COUNT]],
// CHECK-NEXT: cf.assert %[[SOME]], "nn_max_pool1d: in dimension W the window is larger than the padded data"
// CHECK: linalg.generic
// CHECK-LABEL: func.func private @max_pool1d_2(
// CHECK-NOT: cf.assert
// CHECK-LABEL: func.func private @max_pool1d_finite(
// CHECK: %[[EMPTY:[A-Za-z0-9_]+]] = arith.cmpi eq
// CHECK: %[[LOWEST:[A-Za-z0-9_]+]] = arith.constant -3.40282347E+38
// CHECK: arith.select %[[EMPTY]], %[[LOWEST]],

func.func @unsure(%x: tensor<1x2x?xf32, #relax.shape<[1, 2, "n"]>>) -> tensor<1x2x?xf32, #relax.shape<[1, 2, "n // 2"]>> {
  %0 = "relax.nn_max_pool1d"(%x) {pool_size = [2], strides = [2], padding = [0, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x?xf32, #relax.shape<[1, 2, "n"]>>) -> tensor<1x2x?xf32, #relax.shape<[1, 2, "n // 2"]>>
  return %0 : tensor<1x2x?xf32, #relax.shape<[1, 2, "n // 2"]>>
}

func.func @padding_alone(%x: tensor<1x2x5xf32>) -> tensor<1x2x3xf32> {
  %0 = "relax.nn_max_pool1d"(%x) {pool_size = [1], strides = [3], padding = [1, 1], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x5xf32>) -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}
