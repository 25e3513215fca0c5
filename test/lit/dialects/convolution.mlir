// nn_conv1d, nn_conv2d and nn_conv3d.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @images(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, %[[W:[a-z0-9_]+]]: tensor<8x3x3x3xf32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[X]], %[[W]]) {data_layout = "NCHW", dilation = [1, 1], groups = 1 : i64, kernel_layout = "OIHW", out_dtype, out_layout = "NHWC", padding = [1, 1, 1, 1], strides = [1, 2]}
// CHECK-SAME: -> tensor<?x?x?x8xf32, #relax.shape<["n", "h", "(w + 1) // 2", 8]>>
// CHECK-NEXT: return %[[R]] :
func.func @images(%x: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, %w: tensor<8x3x3x3xf32>) -> tensor<?x?x?x8xf32, #relax.shape<["n", "h", "(w + 1) // 2", 8]>> {
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 2], padding = [1, 1, 1, 1], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NHWC", out_dtype = unit} : (tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>, tensor<8x3x3x3xf32>) -> tensor<?x?x?x8xf32, #relax.shape<["n", "h", "(w + 1) // 2", 8]>>
  return %0 : tensor<?x?x?x8xf32, #relax.shape<["n", "h", "(w + 1) // 2", 8]>>
}

// CHECK-LABEL: func.func @lines(
// CHECK: "relax.nn_conv1d"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {data_layout = "NWC", dilation = [2], groups = 2 : i64, kernel_layout = "WIO", out_dtype = f32, out_layout = "NWC", padding = [0, 1], strides = [1]}
func.func @lines(%x: tensor<2x9x4xf16>, %w: tensor<3x2x6xf16>) -> tensor<2x6x6xf32> {
  %0 = "relax.nn_conv1d"(%x, %w) {strides = [1], padding = [0, 1], dilation = [2], groups = 2 : i64, data_layout = "NWC", kernel_layout = "WIO", out_layout = "NWC", out_dtype = f32} : (tensor<2x9x4xf16>, tensor<3x2x6xf16>) -> tensor<2x6x6xf32>
  return %0 : tensor<2x6x6xf32>
}

// CHECK-LABEL: func.func @volumes(
// CHECK: "relax.nn_conv3d"(%{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}) {data_layout = "NCDHW"
func.func @volumes(%x: tensor<1x2x3x4x5xi8>, %w: tensor<2x2x3x4x5xi8>) -> tensor<1x2x1x1x1xi32> {
  %0 = "relax.nn_conv3d"(%x, %w) {strides = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0], dilation = [1, 1, 1], groups = 1 : i64, data_layout = "NCDHW", kernel_layout = "OIDHW", out_layout = "NCDHW", out_dtype = i32} : (tensor<1x2x3x4x5xi8>, tensor<2x2x3x4x5xi8>) -> tensor<1x2x1x1x1xi32>
  return %0 : tensor<1x2x1x1x1xi32>
}
// -----
func.func @channels(%x: tensor<1x3x5x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  // expected-error @below {{nn_conv2d: operand 'data' has 3 channels, but 'weight' takes 2 in each of 1 groups}}
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<1x3x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  return %0 : tensor<1x4x3x3xf32>
}
// -----
func.func @layout(%x: tensor<1x2x5x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32> {
  // expected-error @below {{nn_conv2d: data_layout is 'NCWX', expected an order of the letters NCHW}}
  %0 = "relax.nn_conv2d"(%x, %w) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCWX", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<1x2x5x5xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  return %0 : tensor<1x4x3x3xf32>
}
