// RUN: relax-opt %s --convert-layout --dead-code-elimination | filecheck %s
// RUN: relax-opt %s --convert-layout="layouts=nn_conv2d:NHWC:OHWI" | filecheck %s --check-prefix=LAST
// RUN: not relax-opt %s --convert-layout="layouts=nn_conv2d:NHCC" 2>&1 | filecheck %s --check-prefix=WRONG
// Convolutions get the layouts that are lowered without copies; transpositions between them cancel.

// WRONG: convert-layout: 'nn_conv2d:NHCC': expected an order of the letters NCHW, got 'NHCC'

// One transposition in front, one behind; the bias is another constant.
// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK: %[[T:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]}
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[T]], %{{.*}}) {{{.*}}data_layout = "NCHW"{{.*}}kernel_layout = "OIHW"{{.*}}out_layout = "NCHW"
// CHECK-NOT: permute_dims
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_relu"(%[[A]])
// CHECK-NOT: permute_dims
// CHECK: %[[B:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[R]], %{{.*}}) {{{.*}}data_layout = "NCHW"{{.*}}kernel_layout = "OIHW"
// CHECK: %[[L:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[B]]) {axes = [0, 2, 3, 1]}
// CHECK-NEXT: return %[[L]]
// LAST-LABEL: func.func @two
// LAST-NOT: permute_dims
// LAST: data_layout = "NHWC"{{.*}}kernel_layout = "OHWI"
// LAST-NOT: permute_dims
// LAST: return
func.func @two(%x: tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>) -> tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>> {
  %k = "relax.constant"() {value = dense<[[[[1.0, 2.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>} : () -> tensor<1x1x2x2xf32>
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>, tensor<1x1x2x2xf32>) -> tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>
  %r = "relax.nn_relu"(%a) : (tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>) -> tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>
  %b = "relax.nn_conv2d"(%r, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>, tensor<1x1x2x2xf32>) -> tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>
  return %b : tensor<?x?x?x2xf32, #relax.shape<["n", "h", "w", 2]>>
}

// A transposition of a parameter stays, and so does one in front of an op for which the order matters; `y` would have to
// be transposed for the sum to move.
// CHECK-LABEL: func.func @kept
// CHECK-SAME: (%[[X:[a-z0-9_]+]]: {{.*}}, %[[Y:[a-z0-9_]+]]: {{.*}}, %[[K:[a-z0-9_]+]]:
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[T]], %[[K]])
// CHECK-NEXT: %[[L:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[C]]) {axes = [0, 2, 3, 1]}
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.add"(%[[L]], %[[Y]])
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.flatten"(%[[L]])
// CHECK-NEXT: return %[[S]], %[[F]]
// LAST-LABEL: func.func @kept
func.func @kept(%x: tensor<1x5x5x2xf32>, %y: tensor<1x5x5x2xf32>, %k: tensor<2x2x1x1xf32>) -> (tensor<1x5x5x2xf32>, tensor<50xf32>) {
  %t = "relax.permute_dims"(%x) {axes = [0, 3, 1, 2]} : (tensor<1x5x5x2xf32>) -> tensor<1x2x5x5xf32>
  %a = "relax.nn_conv2d"(%t, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (tensor<1x2x5x5xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x5x5xf32>
  %l = "relax.permute_dims"(%a) {axes = [0, 2, 3, 1]} : (tensor<1x2x5x5xf32>) -> tensor<1x5x5x2xf32>
  %s = "relax.add"(%l, %y) : (tensor<1x5x5x2xf32>, tensor<1x5x5x2xf32>) -> tensor<1x5x5x2xf32>
  %f = "relax.flatten"(%l) : (tensor<1x5x5x2xf32>) -> tensor<50xf32>
  return %s, %f : tensor<1x5x5x2xf32>, tensor<50xf32>
}

// Without convolutions nothing moves.
// CHECK-LABEL: func.func @no_convolution
// CHECK: "relax.permute_dims"
// CHECK-NEXT: "relax.nn_relu"
// LAST-LABEL: func.func @no_convolution
func.func @no_convolution(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %t = "relax.permute_dims"(%x) {axes = [1, 0]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = "relax.nn_relu"(%t) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
