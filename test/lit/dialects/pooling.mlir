// nn_max_pool and nn_avg_pool in one to three dimensions.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @images(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_max_pool2d"(%[[X]]) {ceil_mode = false, count_include_pad = false, dilation = [1, 1], layout = "NCHW", out_layout = "NHWC", padding = [0, 0, 0, 0], pool_size = [2, 2], strides = [2, 2]}
// CHECK-SAME: -> tensor<?x?x?x3xf32, #relax.shape<["n", "h // 2", "w // 2", 3]>>
// CHECK-NEXT: return %[[R]] :
func.func @images(%x: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>) -> tensor<?x?x?x3xf32, #relax.shape<["n", "h // 2", "w // 2", 3]>> {
  %0 = "relax.nn_max_pool2d"(%x) {pool_size = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilation = [1, 1], ceil_mode = false, count_include_pad = false, layout = "NCHW", out_layout = "NHWC"} : (tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>) -> tensor<?x?x?x3xf32, #relax.shape<["n", "h // 2", "w // 2", 3]>>
  return %0 : tensor<?x?x?x3xf32, #relax.shape<["n", "h // 2", "w // 2", 3]>>
}

// CHECK-LABEL: func.func @others(
// CHECK: "relax.nn_avg_pool1d"(%{{[a-z0-9_]+}}) {ceil_mode = true, count_include_pad = true
// CHECK: "relax.nn_max_pool3d"(
// CHECK: "relax.nn_avg_pool3d"(
// CHECK: "relax.nn_max_pool1d"(
// CHECK: "relax.nn_avg_pool2d"(
func.func @others(%x: tensor<1x2x6xf16>, %y: tensor<1x2x3x4x5xf32>, %z: tensor<1x2x3x4xf32>) -> tensor<1x2x3xf16> {
  %0 = "relax.nn_avg_pool1d"(%x) {pool_size = [3], strides = [2], padding = [0, 0], dilation = [1], ceil_mode = true, count_include_pad = true, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf16>) -> tensor<1x2x3xf16>
  %1 = "relax.nn_max_pool3d"(%y) {pool_size = [1, 1, 1], strides = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0], dilation = [1, 1, 1], ceil_mode = false, count_include_pad = false, layout = "NCDHW", out_layout = "NCDHW"} : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  %2 = "relax.nn_avg_pool3d"(%1) {pool_size = [1, 1, 1], strides = [1, 1, 1], padding = [0, 0, 0, 0, 0, 0], dilation = [1, 1, 1], ceil_mode = false, count_include_pad = false, layout = "NCDHW", out_layout = "NCDHW"} : (tensor<1x2x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  %3 = "relax.nn_max_pool1d"(%x) {pool_size = [1], strides = [1], padding = [0, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x6xf16>) -> tensor<1x2x6xf16>
  %4 = "relax.nn_avg_pool2d"(%z) {pool_size = [1, 1], strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], ceil_mode = false, count_include_pad = false, layout = "NCHW", out_layout = "NCHW"} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return %0 : tensor<1x2x3xf16>
}
// -----
func.func @window(%x: tensor<1x2x5xf32>) -> tensor<1x2x1xf32> {
  // expected-error @below {{nn_max_pool1d: in dimension W the window reaches over 6, but the padded data has size 5}}
  %0 = "relax.nn_max_pool1d"(%x) {pool_size = [6], strides = [1], padding = [0, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x5xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}
// -----
func.func @integers(%x: tensor<1x2x5xi32>) -> tensor<1x2x5xi32> {
  // expected-error @below {{nn_avg_pool1d: operand 'data' has dtype int32, expected a float}}
  %0 = "relax.nn_avg_pool1d"(%x) {pool_size = [1], strides = [1], padding = [0, 0], dilation = [1], ceil_mode = false, count_include_pad = false, layout = "NCW", out_layout = "NCW"} : (tensor<1x2x5xi32>) -> tensor<1x2x5xi32>
  return %0 : tensor<1x2x5xi32>
}
