// Transposed convolutions in one to three dimensions.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @images(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>, %[[W:[a-z0-9_]+]]: tensor<8x2x4x3xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_conv2d_transpose"(%[[X]], %[[W]]) {data_layout = "NCHW", dilation = [1, 1], groups = 4 : i64, kernel_layout = "IOHW", out_dtype, out_layout = "NHWC", output_padding = [0, 1], padding = [1, 1, 1, 1], strides = [2, 2]}
// CHECK-SAME: -> tensor<?x?x?x8xf32, #relax.shape<["n", "2*h", "2*w", 8]>>
// CHECK-NEXT: return %[[R]] :
func.func @images(%x: tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>, %w: tensor<8x2x4x3xf32>) -> tensor<?x?x?x8xf32, #relax.shape<["n", "2*h", "2*w", 8]>> {
  %0 = "relax.nn_conv2d_transpose"(%x, %w) {strides = [2, 2], padding = [1, 1, 1, 1], output_padding = [0, 1], dilation = [1, 1], groups = 4 : i64, data_layout = "NCHW", kernel_layout = "IOHW", out_layout = "NHWC", out_dtype} : (tensor<?x8x?x?xf32, #relax.shape<["n", 8, "h", "w"]>>, tensor<8x2x4x3xf32>) -> tensor<?x?x?x8xf32, #relax.shape<["n", "2*h", "2*w", 8]>>
  return %0 : tensor<?x?x?x8xf32, #relax.shape<["n", "2*h", "2*w", 8]>>
}
// -----
func.func @channels(%x: tensor<1x2x5xf32>, %w: tensor<3x2x1xf32>) -> tensor<1x2x5xf32> {
  // expected-error @below {{nn_conv1d_transpose: operand 'data' has 2 channels, but 'weight' takes 3}}
  %0 = "relax.nn_conv1d_transpose"(%x, %w) {strides = [1], padding = [0, 0], output_padding = [0], dilation = [1], groups = 1 : i64, data_layout = "NCW", kernel_layout = "IOW", out_layout = "NCW", out_dtype} : (tensor<1x2x5xf32>, tensor<3x2x1xf32>) -> tensor<1x2x5xf32>
  return %0 : tensor<1x2x5xf32>
}
// -----
func.func @groups(%x: tensor<1x3x5xf32>, %w: tensor<3x2x1xf32>) -> tensor<1x4x5xf32> {
  // expected-error @below {{nn_conv1d_transpose: operand 'data' has 3 channels, which is not provably a multiple of groups, 2}}
  %0 = "relax.nn_conv1d_transpose"(%x, %w) {strides = [1], padding = [0, 0], output_padding = [0], dilation = [1], groups = 2 : i64, data_layout = "NCW", kernel_layout = "IOW", out_layout = "NCW", out_dtype} : (tensor<1x3x5xf32>, tensor<3x2x1xf32>) -> tensor<1x4x5xf32>
  return %0 : tensor<1x4x5xf32>
}
// -----
func.func @padding(%x: tensor<1x3x5xf32>, %w: tensor<3x2x1xf32>) -> tensor<1x2x1xf32> {
  // expected-error @below {{nn_conv1d_transpose: in dimension W the kernels reach over 5, of which padding takes 6}}
  %0 = "relax.nn_conv1d_transpose"(%x, %w) {strides = [1], padding = [3, 3], output_padding = [0], dilation = [1], groups = 1 : i64, data_layout = "NCW", kernel_layout = "IOW", out_layout = "NCW", out_dtype} : (tensor<1x3x5xf32>, tensor<3x2x1xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}
