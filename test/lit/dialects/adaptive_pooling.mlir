// Adaptive pooling: output_size may hold expressions; unit is as many windows as elements.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @images(
// CHECK-SAME: %[[X:[a-z0-9_]+]]: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.nn_adaptive_avg_pool2d"(%[[X]]) {layout = "NCHW", out_layout = "NHWC", output_size = [7, "n + 1"]}
// CHECK-SAME: -> tensor<?x7x?x3xf32, #relax.shape<["n", 7, "n + 1", 3]>>
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.nn_adaptive_max_pool2d"(%[[A]]) {layout = "NHWC", out_layout = "NHWC", output_size}
// CHECK-NEXT: return %[[B]] :
func.func @images(%x: tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>) -> tensor<?x7x?x3xf32, #relax.shape<["n", 7, "n + 1", 3]>> {
  %0 = "relax.nn_adaptive_avg_pool2d"(%x) {output_size = [7, "n + 1"], layout = "NCHW", out_layout = "NHWC"} : (tensor<?x3x?x?xf32, #relax.shape<["n", 3, "h", "w"]>>) -> tensor<?x7x?x3xf32, #relax.shape<["n", 7, "n + 1", 3]>>
  %1 = "relax.nn_adaptive_max_pool2d"(%0) {output_size, layout = "NHWC", out_layout = "NHWC"} : (tensor<?x7x?x3xf32, #relax.shape<["n", 7, "n + 1", 3]>>) -> tensor<?x7x?x3xf32, #relax.shape<["n", 7, "n + 1", 3]>>
  return %1 : tensor<?x7x?x3xf32, #relax.shape<["n", 7, "n + 1", 3]>>
}
// -----
func.func @sizes(%x: tensor<1x3x4xf32>) -> tensor<1x3x2xf32> {
  // expected-error @below {{nn_adaptive_avg_pool1d: output_size is (2, 2), expected 1 sizes, one for each dimension of W}}
  %0 = "relax.nn_adaptive_avg_pool1d"(%x) {output_size = [2, 2], layout = "NCW", out_layout = "NCW"} : (tensor<1x3x4xf32>) -> tensor<1x3x2xf32>
  return %0 : tensor<1x3x2xf32>
}
// -----
func.func @integers(%x: tensor<1x3x4xi32>) -> tensor<1x3x2xi32> {
  // expected-error @below {{nn_adaptive_avg_pool1d: operand 'data' has dtype int32, expected a float}}
  %0 = "relax.nn_adaptive_avg_pool1d"(%x) {output_size = [2], layout = "NCW", out_layout = "NCW"} : (tensor<1x3x4xi32>) -> tensor<1x3x2xi32>
  return %0 : tensor<1x3x2xi32>
}
