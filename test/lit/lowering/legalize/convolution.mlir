// Sums over windows of the data with zeros around it; with groups cut apart; with copies around it where channels stand
// behind. With windows of one element: kernels times channels, as they lie. bf16, which is multiplied by pairs: windows and
// kernels as matrices.
// RUN: relax-opt %s --legalize-ops | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK: callee = @conv2d, tir_vars = []
// CHECK: callee = @conv2d_data, tir_vars = []
// CHECK: callee = @conv2d_1, tir_vars = []
// CHECK: callee = @conv2d_out, tir_vars = []
// CHECK: "relax.reshape"({{.*}} -> tensor<2x3x16xf32>
// CHECK: "relax.reshape"({{.*}} -> tensor<8x3xf32>
// CHECK: callee = @matmul, tir_vars = []} : (tuple<tensor<8x3xf32>, tensor<2x3x16xf32>>) -> tensor<2x8x16xf32>
// CHECK-LABEL: func.func @pairs(
// CHECK: callee = @pad, tir_vars = []
// CHECK: %[[P:[A-Za-z0-9_]+]] = "relax.call_tir"(%{{[A-Za-z0-9_]+}}) {callee = @conv2d_patches, tir_vars = []} : (tuple<tensor<2x3x6x6xbf16>>) -> tensor<2x4x4x3x3x3xf32>
// CHECK: callee = @conv2d_kernels, tir_vars = []
// CHECK: "relax.reshape"(%[[P]], %{{[A-Za-z0-9_]+}}) {{.*}} -> tensor<32x27xf32>
// CHECK: callee = @matmul_1
// CHECK-LABEL: func.func private @conv2d(
// CHECK: %[[ZEROS:[A-Za-z0-9_]+]] = linalg.fill
// CHECK: %[[DATA:[A-Za-z0-9_]+]] = tensor.insert_slice %{{[A-Za-z0-9_]+}} into %[[ZEROS]][0, 0, 1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[DATA]],
// CHECK-LABEL: func.func private @conv2d_1(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<1x4x5x5xf32>
// CHECK: %[[GROUPS:[A-Za-z0-9_]+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<1x2x2x5x5xf32>
// CHECK: linalg.generic {{.*}} ins(%[[GROUPS]],
// CHECK: tensor.collapse_shape

func.func @main(%x: tensor<2x3x4x4xf32>, %w: tensor<8x3x3x3xf32>, %y: tensor<1x5x5x4xf32>, %v: tensor<4x2x3x3xf32>, %u: tensor<8x3x1x1xf32>) -> (tensor<2x8x4x4xf32>, tensor<1x3x3x4xf32>, tensor<2x8x4x4xf32>) {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<2x3x4x4xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x4x4xf32>
  %1 = "relax.nn_conv2d"(%y, %v) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 2 : i64, data_layout = "NHWC", kernel_layout = "OIHW", out_layout = "NHWC", out_dtype = unit} : (tensor<1x5x5x4xf32>, tensor<4x2x3x3xf32>) -> tensor<1x3x3x4xf32>
  %2 = "relax.nn_conv2d"(%x, %u) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<2x3x4x4xf32>, tensor<8x3x1x1xf32>) -> tensor<2x8x4x4xf32>
  return %0, %1, %2 : tensor<2x8x4x4xf32>, tensor<1x3x3x4xf32>, tensor<2x8x4x4xf32>
}

func.func @pairs(%x: tensor<2x3x4x4xbf16>, %w: tensor<8x3x3x3xbf16>) -> tensor<2x8x4x4xbf16> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<2x3x4x4xbf16>, tensor<8x3x3x3xbf16>) -> tensor<2x8x4x4xbf16>
  return %0 : tensor<2x8x4x4xbf16>
}
