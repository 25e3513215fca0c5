// RUN: relax-opt %s --convert-layout --dead-code-elimination | filecheck %s
// RUN: relax-opt %s --convert-layout="layouts=nn_conv2d:NHWC:OHWI" | filecheck %s --check-prefix=LAST
// RUN: not relax-opt %s --convert-layout="layouts=nn_conv2d:NHCC" 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not relax-opt %s --convert-layout="layouts=nn_conv:NHWC" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --convert-layout="layouts=nn_conv2d:NHWC:OHWI:NHWC" 2>&1 | filecheck %s --check-prefix=COUNT
// RUN: relax-opt %s --convert-layout="layouts=relax.nn.conv2d:NCHW" | filecheck %s --check-prefix=DATA
// Convolutions get the layouts that are lowered without copies; transpositions between them cancel.

// WRONG: convert-layout: 'nn_conv2d:NHCC': expected an order of the letters NCHW, got 'NHCC'
// UNKNOWN: unknown convolution that convert-layout can change 'nn_conv'; did you mean
// COUNT: 'nn_conv2d:NHWC:OHWI:NHWC': expected the op and one or two layouts, as in
// DATA: data_layout = "NCHW", {{.*}}kernel_layout = "HWIO", {{.*}}out_layout = "NCHW"

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
// CHECK-NEXT: return %[[L]] :
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
// CHECK-NEXT: return %[[S]], %[[F]] :
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

!image = tensor<1x5x5x2xf32>
!first = tensor<1x2x5x5xf32>
!kernel = tensor<1x1x2x2xf32>

// A transposition of a result cancels the one that the pass adds, or becomes one with it.
// CHECK-LABEL: @merged(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [3, 2, 0, 1]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[V0]], %[[V1]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V2]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: return %[[V2]], %[[R]] :
func.func @merged(%x: !image, %k: !kernel) -> (!first, tensor<1x5x2x5xf32>) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %t = "relax.permute_dims"(%a) {axes = [0, 3, 1, 2]} : (!image) -> !first
  %r = "relax.permute_dims"(%a) {axes = [0, 2, 3, 1]} : (!image) -> tensor<1x5x2x5xf32>
  return %t, %r : !first, tensor<1x5x2x5xf32>
}

// A transposition moves over a split and a concatenation, whose axes become 1.
// CHECK-LABEL: @pieces(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [3, 2, 0, 1]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[V0]], %[[V1]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.split"(%[[V2]]) {axis = 1 : i64, sections = 2 : i64}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V3]]) {index = 0 : i64}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V3]]) {index = 1 : i64}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.nn_relu"(%[[V5]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V6]], %[[V4]] :
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.concat"(%[[V7]]) {axis = 1 : i64}
// CHECK-NEXT: %[[C:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V8]]) {axes = [0, 2, 3, 1]}
// CHECK-NEXT: return %[[C]] :
func.func @pieces(%x: !image, %k: !kernel) -> !image {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %s = "relax.split"(%a) {axis = 3 : i64, sections = 2 : i64} : (!image) -> tuple<tensor<1x5x5x1xf32>, tensor<1x5x5x1xf32>>
  %0 = "relax.tuple_get_item"(%s) {index = 0 : i64} : (tuple<tensor<1x5x5x1xf32>, tensor<1x5x5x1xf32>>) -> tensor<1x5x5x1xf32>
  %1 = "relax.tuple_get_item"(%s) {index = 1 : i64} : (tuple<tensor<1x5x5x1xf32>, tensor<1x5x5x1xf32>>) -> tensor<1x5x5x1xf32>
  %r = "relax.nn_relu"(%1) : (tensor<1x5x5x1xf32>) -> tensor<1x5x5x1xf32>
  %t = builtin.unrealized_conversion_cast %r, %0 : tensor<1x5x5x1xf32>, tensor<1x5x5x1xf32> to tuple<tensor<1x5x5x1xf32>, tensor<1x5x5x1xf32>>
  %c = "relax.concat"(%t) {axis = 3 : i64} : (tuple<tensor<1x5x5x1xf32>, tensor<1x5x5x1xf32>>) -> !image
  return %c : !image
}

// The averages of a batch norm have one dimension, which keeps its place.
// CHECK-LABEL: @averages(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:{{.*}}%[[G:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [3, 2, 0, 1]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[V0]], %[[V1]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.nn_batch_norm"(%[[V2]], %[[G]], %[[G]], %[[G]], %[[G]]) {axis = 1 : i64, center = true, epsilon = 1.000000e-05 : f64, momentum = 1.000000e-01 : f64, scale = true, training = true}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V3]]) {index = 0 : i64}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V4]]) {axes = [0, 2, 3, 1]}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V3]]) {index = 1 : i64}
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[V3]]) {index = 2 : i64}
// CHECK-NEXT: %[[N:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[V5]], %[[V6]], %[[V7]] :
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[N]]) {index = 1 : i64}
// CHECK-NEXT: return %[[V5]], %[[V8]] :
func.func @averages(%x: !image, %k: !kernel, %g: tensor<2xf32>) -> (!image, tensor<2xf32>) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %n = "relax.nn_batch_norm"(%a, %g, %g, %g, %g) {axis = 3 : i64, epsilon = 1.0e-05 : f64, center = true, scale = true, momentum = 0.1 : f64, training = true} : (!image, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<!image, tensor<2xf32>, tensor<2xf32>>
  %0 = "relax.tuple_get_item"(%n) {index = 0 : i64} : (tuple<!image, tensor<2xf32>, tensor<2xf32>>) -> !image
  %1 = "relax.tuple_get_item"(%n) {index = 1 : i64} : (tuple<!image, tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %0, %1 : !image, tensor<2xf32>
}

// Operands with one long dimension are reshaped, constants are transposed.
// CHECK-LABEL: @biases(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:{{.*}}%[[P:[A-Za-z0-9_]+]]:{{.*}}%[[R:[A-Za-z0-9_]+]]:{{.*}}%[[TWO:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]} : (tensor<1x5x5x2xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [3, 2, 0, 1]} : (tensor<1x1x2x2xf32>) -> tensor<2x2x1x1xf32>
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[V0]], %[[V1]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 2, 1, 1]} : () -> !relax.shape_value<[1, 2, 1, 1]>
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.reshape"(%[[P]], %[[V3]]) : (tensor<2xf32>, !relax.shape_value<[1, 2, 1, 1]>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.add"(%[[V2]], %[[V4]]) : (tensor<1x2x5x5xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 1, 1, 5]} : () -> !relax.shape_value<[1, 1, 1, 5]>
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.reshape"(%[[R]], %[[V6]]) : (tensor<1x1x5x1xf32>, !relax.shape_value<[1, 1, 1, 5]>) -> tensor<1x1x1x5xf32>
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.add"(%[[V5]], %[[V7]]) : (tensor<1x2x5x5xf32>, tensor<1x1x1x5xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<{{\[\[}}{{\[\[}}1.000000e+00], [3.000000e+00], [5.000000e+00], [7.000000e+00], [9.000000e+00{{\]\]}}, {{\[\[}}2.000000e+00], [4.000000e+00], [6.000000e+00], [8.000000e+00], [0.000000e+00{{\]\]}}{{\]\]}}> : tensor<1x2x5x1xf32>} : () -> tensor<1x2x5x1xf32>
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.add"(%[[V8]], %[[V9]]) : (tensor<1x2x5x5xf32>, tensor<1x2x5x1xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT: %[[Q:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[TWO]]) {axes = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 2, 1, 1]} : () -> !relax.shape_value<[1, 2, 1, 1]>
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.reshape"(%[[Q]], %[[V11]]) : (tensor<1x2xf32>, !relax.shape_value<[1, 2, 1, 1]>) -> tensor<1x2x1x1xf32>
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.add"(%[[V10]], %[[V12]]) : (tensor<1x2x5x5xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x5x5xf32>
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V13]]) {axes = [0, 2, 3, 1]} : (tensor<1x2x5x5xf32>) -> tensor<1x5x5x2xf32>
// CHECK-NEXT: return %[[V14]] : tensor<1x5x5x2xf32>
func.func @biases(%x: !image, %k: !kernel, %p: tensor<2xf32>, %r: tensor<1x1x5x1xf32>, %two: tensor<2x1xf32>) -> !image {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %0 = "relax.add"(%a, %p) : (!image, tensor<2xf32>) -> !image
  %1 = "relax.add"(%0, %r) : (!image, tensor<1x1x5x1xf32>) -> !image
  %c = "relax.constant"() {value = dense<[[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]], [[7.0, 8.0]], [[9.0, 0.0]]]> : tensor<5x1x2xf32>} : () -> tensor<5x1x2xf32>
  %2 = "relax.add"(%1, %c) : (!image, tensor<5x1x2xf32>) -> !image
  %q = "relax.permute_dims"(%two) {axes = [1, 0]} : (tensor<2x1xf32>) -> tensor<1x2xf32>
  %3 = "relax.add"(%2, %q) : (!image, tensor<1x2xf32>) -> !image
  return %3 : !image
}

// A value that the pass has transposed already is used again.
// CHECK-LABEL: @residual(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[X]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [3, 2, 0, 1]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[V0]], %[[V1]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[V2]], %[[V1]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.add"(%[[V3]], %[[V0]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V2]], %[[V4]])
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V5]]) {axes = [0, 2, 3, 1]}
// CHECK-NEXT: return %[[V6]] :
func.func @residual(%x: !image, %k: !kernel) -> !image {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %b = "relax.nn_conv2d"(%a, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %0 = "relax.add"(%b, %x) : (!image, !image) -> !image
  %1 = "relax.multiply"(%a, %0) : (!image, !image) -> !image
  return %1 : !image
}

// Operands of more dimensions, of two long ones, of unknown shape, or transposed in another order keep the transposition before the op.
// CHECK-LABEL: func.func @operands_kept
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.nn_conv2d"
// CHECK-NEXT: %[[L:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[A]]) {axes = [0, 2, 3, 1]}
// CHECK-NEXT: "relax.add"(%[[L]],
// CHECK-NEXT: "relax.add"(%[[L]],
// CHECK-NEXT: "relax.add"(%[[L]],
// CHECK-NEXT: "relax.nn_relu"
// CHECK-NEXT: "relax.add"(%[[L]],
// CHECK-NEXT: "relax.permute_dims"{{.*}} {axes = [0, 2, 1, 3]}
// CHECK-NEXT: "relax.add"(%[[L]],
// CHECK-NEXT: "relax.permute_dims"{{.*}} {axes = [1, 0]}
// CHECK-NEXT: "relax.add"(%[[L]],
// CHECK-NEXT: return
func.func @operands_kept(%x: !image, %k: !kernel, %more: tensor<1x1x1x1x2xf32>, %two: tensor<5x2xf32>, %any: tensor<?x?xf32>, %flat: tensor<2x5xf32>) -> (tensor<1x1x5x5x2xf32>, !image, tensor<1x5x?x?xf32>, !image, !image, !image) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %0 = "relax.add"(%a, %more) : (!image, tensor<1x1x1x1x2xf32>) -> tensor<1x1x5x5x2xf32>
  %1 = "relax.add"(%a, %two) : (!image, tensor<5x2xf32>) -> !image
  %2 = "relax.add"(%a, %any) : (!image, tensor<?x?xf32>) -> tensor<1x5x?x?xf32>
  %r = "relax.nn_relu"(%x) : (!image) -> !image
  %3 = "relax.add"(%a, %r) : (!image, !image) -> !image
  %s = "relax.permute_dims"(%x) {axes = [0, 2, 1, 3]} : (!image) -> !image
  %4 = "relax.add"(%a, %s) : (!image, !image) -> !image
  %t = "relax.permute_dims"(%flat) {axes = [1, 0]} : (tensor<2x5xf32>) -> tensor<5x2xf32>
  %5 = "relax.add"(%a, %t) : (!image, tensor<5x2xf32>) -> !image
  return %0, %1, %2, %3, %4, %5 : tensor<1x1x5x5x2xf32>, !image, tensor<1x5x?x?xf32>, !image, !image, !image
}

// After a convolution that has the layouts, transpositions become one, over ops that take any order; a view ends that.
// CHECK-LABEL: @after(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[X]], %[[K]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.nn_relu"(%[[A]])
// CHECK-NEXT: %[[Z:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Y]]) {axes = [0, 3, 1, 2]}
// CHECK-NEXT: %[[B:[A-Za-z0-9_]+]] = "relax.add"(%[[R]], %[[Z]])
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [10, 5]}
// CHECK-NEXT: %[[F:[A-Za-z0-9_]+]] = "relax.reshape"(%[[A]], %[[S]])
// CHECK-NEXT: %[[G:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[F]]) {axes = [1, 0]}
// CHECK-NEXT: %[[H:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[G]]) {axes = [1, 0]}
// CHECK-NEXT: %[[I:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[H]]) {axes = [1, 0]}
// CHECK-NEXT: return %[[B]], %[[I]] :
func.func @after(%x: !first, %k: tensor<2x2x1x1xf32>, %y: !image) -> (!first, tensor<5x10xf32>) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (!first, tensor<2x2x1x1xf32>) -> !first
  %r = "relax.nn_relu"(%a) : (!first) -> !first
  %z = "relax.permute_dims"(%y) {axes = [0, 3, 1, 2]} : (!image) -> !first
  %b = "relax.add"(%r, %z) : (!first, !first) -> !first
  %t = "relax.permute_dims"(%b) {axes = [0, 2, 3, 1]} : (!first) -> !image
  %u = "relax.permute_dims"(%t) {axes = [0, 3, 1, 2]} : (!image) -> !first
  %s = "relax.shape_expr"() {values = [10, 5]} : () -> !relax.shape_value<[10, 5]>
  %f = "relax.reshape"(%a, %s) : (!first, !relax.shape_value<[10, 5]>) -> tensor<10x5xf32>
  %g = "relax.permute_dims"(%f) {axes = [1, 0]} : (tensor<10x5xf32>) -> tensor<5x10xf32>
  %h = "relax.permute_dims"(%g) {axes = [1, 0]} : (tensor<5x10xf32>) -> tensor<10x5xf32>
  %i = "relax.permute_dims"(%h) {axes = [1, 0]} : (tensor<10x5xf32>) -> tensor<5x10xf32>
  return %u, %i : !first, tensor<5x10xf32>
}

// Transpositions and tuples of other values are not changed.
// CHECK-LABEL: @others(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:{{.*}}%[[Y:[A-Za-z0-9_]+]]:{{.*}}%[[T:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[A:[A-Za-z0-9_]+]] = "relax.nn_conv2d"(%[[X]], %[[K]]) {data_layout = "NCHW", {{.*}}kernel_layout = "OIHW", {{.*}}out_layout = "NCHW"
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Y]]) {axes = [1, 0]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V0]]) {axes = [1, 0]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[T]]) {index = 0 : i64}
// CHECK-NEXT: %[[S:[A-Za-z0-9_]+]] = "relax.split"(%[[Y]]) {axis = 0 : i64, sections = 2 : i64}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[S]]) {index = 1 : i64}
// CHECK-NEXT: %[[U:[A-Za-z0-9_]+]] = builtin.unrealized_conversion_cast %[[Y]] :
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.tuple_get_item"(%[[U]]) {index = 0 : i64}
// CHECK-NEXT: return %[[A]], %[[V1]], %[[V2]], %[[V3]], %[[V4]] :
func.func @others(%x: !first, %k: tensor<2x2x1x1xf32>, %y: tensor<4x3xf32>, %t: tuple<tensor<4x3xf32>>) -> (!first, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "OIHW", out_layout = "NCHW", out_dtype = unit} : (!first, tensor<2x2x1x1xf32>) -> !first
  %0 = "relax.permute_dims"(%y) {axes = [1, 0]} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = "relax.permute_dims"(%0) {axes = [1, 0]} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %2 = "relax.tuple_get_item"(%t) {index = 0 : i64} : (tuple<tensor<4x3xf32>>) -> tensor<4x3xf32>
  %s = "relax.split"(%y) {axis = 0 : i64, sections = 2 : i64} : (tensor<4x3xf32>) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  %3 = "relax.tuple_get_item"(%s) {index = 1 : i64} : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>
  %u = builtin.unrealized_conversion_cast %y : tensor<4x3xf32> to tuple<tensor<4x3xf32>>
  %4 = "relax.tuple_get_item"(%u) {index = 0 : i64} : (tuple<tensor<4x3xf32>>) -> tensor<4x3xf32>
  return %a, %1, %2, %3, %4 : !first, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>, tensor<4x3xf32>
}

// Operands without a rank, shapes, and a slope whose transposition is none of the data.
// CHECK-LABEL: func.func @other_operands
// CHECK: "relax.nn_conv2d"({{.*}}data_layout = "NCHW"
// CHECK-NOT: axes = [0, 2, 3, 1]
// CHECK: "relax.nn_prelu"(%{{.*}}, %{{.*}}) {axis = 3 : i64}
// CHECK: "relax.add"
// CHECK: "relax.call_pure_packed"
// CHECK: return
func.func @other_operands(%x: !image, %f: !first, %k: !kernel, %y: tensor<*xf32>) -> (!image, tensor<*xf32>, !first) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (!image, !kernel) -> !image
  %m = "relax.mean"(%a) {axis = [0, 1, 2], keepdims = false} : (!image) -> tensor<2xf32>
  %p = "relax.permute_dims"(%m) {axes = [0]} : (tensor<2xf32>) -> tensor<2xf32>
  %r = "relax.nn_prelu"(%x, %p) {axis = 3 : i64} : (!image, tensor<2xf32>) -> !image
  %b = "relax.nn_conv2d"(%f, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NCHW", kernel_layout = "HWIO", out_layout = "NCHW", out_dtype = unit} : (!first, !kernel) -> !first
  %0 = "relax.add"(%y, %b) : (tensor<*xf32>, !first) -> tensor<*xf32>
  %s = "relax.shape_expr"() {values = [2]} : () -> !relax.shape_value<[2]>
  %t = builtin.unrealized_conversion_cast %s, %b : !relax.shape_value<[2]>, !first to tuple<!relax.shape_value<[2]>, !first>
  %c = "relax.call_pure_packed"(%t) {func = "f", arg_spec = [unit, unit]} : (tuple<!relax.shape_value<[2]>, !first>) -> !first
  return %r, %0, %c : !image, tensor<*xf32>, !first
}

// Images of unknown sizes are transposed; without a rank they keep their layout.
// CHECK-LABEL: func.func @unknown_sizes
// CHECK-NEXT: %[[T:[A-Za-z0-9_]+]] = "relax.permute_dims"(%{{.*}}) {axes = [0, 3, 1, 2]}
// CHECK: "relax.nn_conv2d"(%[[T]], {{.*}}data_layout = "NCHW"
func.func @unknown_sizes(%x: tensor<?x?x?x2xf32>, %k: !kernel) -> tensor<?x?x?x2xf32> {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (tensor<?x?x?x2xf32>, !kernel) -> tensor<?x?x?x2xf32>
  return %a : tensor<?x?x?x2xf32>
}

// CHECK-LABEL: func.func @unknown_rank
// CHECK-NEXT: "relax.nn_conv2d"({{.*}}data_layout = "NHWC"
// CHECK-NEXT: "relax.permute_dims"
// CHECK-NEXT: return
func.func @unknown_rank(%x: tensor<*xf32>, %k: !kernel) -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) {
  %a = "relax.nn_conv2d"(%x, %k) {strides = [1, 1], padding = [0, 0, 0, 0], dilation = [1, 1], groups = 1 : i64, data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NHWC", out_dtype = unit} : (tensor<*xf32>, !kernel) -> tensor<?x?x?x?xf32>
  %t = "relax.permute_dims"(%x) {axes = [0, 3, 1, 2]} : (tensor<*xf32>) -> tensor<?x?x?x?xf32>
  return %a, %t : tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>
}
