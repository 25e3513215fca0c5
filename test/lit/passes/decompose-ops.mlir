// RUN: relax-opt %s --decompose-ops | filecheck %s
// RUN: relax-opt %s --decompose-ops=ops=nn_silu,std | filecheck %s --check-prefix=SOME
// RUN: not relax-opt %s --decompose-ops=ops=nn_softmx 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: unknown op that decompose-ops can replace 'nn_softmx'; did you mean 'nn_softmax'

!m = tensor<?x4xf32, #relax.shape<["n", 4]>>

// CHECK-LABEL: func.func @softmax
// CHECK: relax.max
// CHECK-NEXT: relax.subtract
// CHECK-NEXT: relax.exp
// CHECK-NEXT: relax.sum
// CHECK-NEXT: relax.divide
// CHECK-NEXT: return
// SOME-LABEL: func.func @softmax
// SOME: relax.nn_softmax
func.func @softmax(%x: !m) -> !m {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (!m) -> !m
  return %0 : !m
}

// What an op is made of is composite itself.
// CHECK-LABEL: func.func @std
// CHECK-NOT: relax.std
// CHECK-NOT: relax.variance
// CHECK: relax.sqrt
// SOME-LABEL: func.func @std
// SOME: relax.variance
// SOME-NEXT: relax.sqrt
func.func @std(%x: !m) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.std"(%x) {axis = [1], keepdims = false} : (!m) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0 : tensor<?xf32, #relax.shape<["n"]>>
}

// 16-bit floats: computed in float32, rounded once.
// CHECK-LABEL: func.func @half
// CHECK-SAME: (%[[X:[a-z0-9_]+]]:
// CHECK-NEXT: "relax.astype"(%[[X]]) {dtype = f32}
// CHECK-COUNT-1: dtype = f16
// CHECK-NEXT: return
func.func @half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "relax.nn_silu"(%x) : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// What stays: unknown ranks, a head size that is only known at run time, primitive ops.
// CHECK-LABEL: func.func @kept
// CHECK: relax.nn_gelu
// CHECK-NEXT: relax.nn_attention
// CHECK-NEXT: relax.exp
func.func @kept(%x: tensor<*xf32>, %q: tensor<1x2x1x?xf32, #relax.shape<[1, 2, 1, "d"]>>) -> tensor<*xf32> {
  %0 = "relax.nn_gelu"(%x) : (tensor<*xf32>) -> tensor<*xf32>
  %1 = "relax.nn_attention"(%q, %q, %q) {scale = unit, causal_mask = unit} : (tensor<1x2x1x?xf32, #relax.shape<[1, 2, 1, "d"]>>, tensor<1x2x1x?xf32, #relax.shape<[1, 2, 1, "d"]>>, tensor<1x2x1x?xf32, #relax.shape<[1, 2, 1, "d"]>>) -> tensor<1x2x1x?xf32, #relax.shape<[1, 2, 1, "d"]>>
  %2 = "relax.exp"(%0) : (tensor<*xf32>) -> tensor<*xf32>
  return %2 : tensor<*xf32>
}

// The formulas of the activations.
// CHECK-LABEL: @gelu(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<0.707106769> : tensor<f32>}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[V2]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.erf"(%[[V3]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.add"(%[[V4]], %[[V5]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V1]], %[[V6]])
// CHECK-NEXT: return %[[V7]] :
func.func @gelu(%x: !m) -> !m {
  %0 = "relax.nn_gelu"(%x) : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: @gelu_tanh(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[X]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V0]], %[[X]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<4.471500e-02> : tensor<f32>}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V2]], %[[V1]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.add"(%[[X]], %[[V3]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<0.797884583> : tensor<f32>}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V5]], %[[V4]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[V7]])
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.tanh"(%[[V6]])
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.add"(%[[V9]], %[[V10]])
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V8]], %[[V11]])
// CHECK-NEXT: return %[[V12]] :
func.func @gelu_tanh(%x: !m) -> !m {
  %0 = "relax.nn_gelu_tanh"(%x) : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: @silu(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.negative"(%[[X]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.exp"(%[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.add"(%[[V1]], %[[V2]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.divide"(%[[X]], %[[V3]])
// CHECK-NEXT: return %[[V4]] :
func.func @silu(%x: !m) -> !m {
  %0 = "relax.nn_silu"(%x) : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: @sigmoid(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.negative"(%[[X]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.exp"(%[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.add"(%[[V1]], %[[V2]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.divide"(%[[V4]], %[[V3]])
// CHECK-NEXT: return %[[V5]] :
func.func @sigmoid(%x: !m) -> !m {
  %0 = "relax.sigmoid"(%x) : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: @simple(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<0.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.maximum"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V1]], %[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[V2]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.divide"(%[[V4]], %[[V3]])
// CHECK-NEXT: return %[[V5]] :
func.func @simple(%x: !m) -> !m {
  %0 = "relax.nn_relu"(%x) : (!m) -> !m
  %1 = "relax.square"(%0) : (!m) -> !m
  %2 = "relax.rsqrt"(%1) : (!m) -> !m
  return %2 : !m
}

// Floats of 64 bits are computed as they are.
// CHECK-LABEL: @double(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[X]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.divide"(%[[V1]], %[[V0]])
// CHECK-NEXT: return %[[V2]] :
func.func @double(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "relax.rsqrt"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: @log_softmax(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.max"(%[[X]]) {axis = [0], keepdims = true}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.subtract"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.exp"(%[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.sum"(%[[V2]]) {axis = [0], keepdims = true}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.log"(%[[V3]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.subtract"(%[[V1]], %[[V4]])
// CHECK-NEXT: return %[[V5]] :
func.func @log_softmax(%x: !m) -> !m {
  %0 = "relax.nn_log_softmax"(%x) {axis = 0 : i64} : (!m) -> !m
  return %0 : !m
}

// There is no maximum of no elements.
// CHECK-LABEL: func.func @no_elements
// CHECK-NEXT: relax.nn_softmax
// CHECK-NEXT: relax.nn_log_softmax
// CHECK-NEXT: relax.max
// CHECK: relax.nn_softmax
func.func @no_elements(%x: tensor<2x0xf32>, %h: tensor<2x0xf16>) -> tensor<2x0xf32> {
  %0 = "relax.nn_softmax"(%x) {axis = 1 : i64} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  %1 = "relax.nn_log_softmax"(%0) {axis = 1 : i64} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  %2 = "relax.nn_softmax"(%1) {axis = 0 : i64} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  %3 = "relax.nn_softmax"(%h) {axis = 1 : i64} : (tensor<2x0xf16>) -> tensor<2x0xf16>
  return %2 : tensor<2x0xf32>
}

// CHECK-LABEL: @variance(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.mean"(%[[X]]) {axis = [1], keepdims = true}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.subtract"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V1]], %[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.mean"(%[[V2]]) {axis = [1], keepdims = true}
// CHECK-NEXT: return %[[V3]] :
func.func @variance(%x: !m) -> tensor<?x1xf32, #relax.shape<["n", 1]>> {
  %0 = "relax.variance"(%x) {axis = [1], keepdims = true} : (!m) -> tensor<?x1xf32, #relax.shape<["n", 1]>>
  return %0 : tensor<?x1xf32, #relax.shape<["n", 1]>>
}

// Parameters of a norm get the order of the dimensions of its axes, and ones for those between them.
// CHECK-LABEL: @layer_norm(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[G:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.mean"(%[[X]]) {axis = [0, 2], keepdims = true}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.subtract"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V1]], %[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.mean"(%[[V2]]) {axis = [0, 2], keepdims = true}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.add"(%[[V3]], %[[V4]])
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[V5]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.divide"(%[[V1]], %[[V6]])
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[G]]) {axes = [1, 0]}
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[V8]]) {axes = [1]}
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V7]], %[[V9]])
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[B]]) {axes = [1, 0]}
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[V11]]) {axes = [1]}
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.add"(%[[V10]], %[[V12]])
// CHECK-NEXT: return %[[V13]] :
func.func @layer_norm(%x: tensor<2x3x4xf32>, %g: tensor<4x2xf32>, %b: tensor<4x2xf32>) -> tensor<2x3x4xf32> {
  %0 = "relax.nn_layer_norm"(%x, %g, %b) {axes = [-1, 0], center = true, epsilon = 0.5 : f64, scale = true} : (tensor<2x3x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @layer_norm_alone(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.mean"(%[[X]]) {axis = [1], keepdims = true}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.subtract"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V1]], %[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.mean"(%[[V2]]) {axis = [1], keepdims = true}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.add"(%[[V3]], %[[V4]])
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[V5]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.divide"(%[[V1]], %[[V6]])
// CHECK-NEXT: return %[[V7]] :
func.func @layer_norm_alone(%x: tensor<2x3x4xf32>, %g: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = "relax.nn_layer_norm"(%x, %g, %g) {axes = [1], center = false, epsilon = 0.5 : f64, scale = false} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @rms_norm(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[W:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.multiply"(%[[X]], %[[X]])
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.mean"(%[[V0]]) {axis = [1], keepdims = true}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.add"(%[[V1]], %[[V2]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[V3]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.divide"(%[[X]], %[[V4]])
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[W]]) {axes = [1]}
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V5]], %[[V6]])
// CHECK-NEXT: return %[[V7]] :
func.func @rms_norm(%x: tensor<2x3x4xf32>, %w: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = "relax.nn_rms_norm"(%x, %w) {axes = [1], epsilon = 0.5 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// The channels of a group are a dimension of their own, after which axes count one more.
// CHECK-LABEL: @group_norm(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:{{.*}}%[[G:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [2, 3, 4, 2, 5]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.reshape"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.mean"(%[[V1]]) {axis = [1, 3, 4], keepdims = true}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.subtract"(%[[V1]], %[[V2]])
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V3]], %[[V3]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.mean"(%[[V4]]) {axis = [1, 3, 4], keepdims = true}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.add"(%[[V5]], %[[V6]])
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[V7]])
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.divide"(%[[V3]], %[[V8]])
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [2, 3, 8, 5]}
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.reshape"(%[[V9]], %[[V10]])
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[G]]) {axes = [1]}
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V11]], %[[V12]])
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[B]]) {axes = [1]}
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = "relax.add"(%[[V13]], %[[V14]])
// CHECK-NEXT: return %[[V15]] :
func.func @group_norm(%x: tensor<2x3x8x5xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x3x8x5xf32> {
  %0 = "relax.nn_group_norm"(%x, %g, %b) {num_groups = 4 : i64, channel_axis = -2 : i64, axes = [1, -1], epsilon = 0.5 : f64, center = true, scale = true} : (tensor<2x3x8x5xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x3x8x5xf32>
  return %0 : tensor<2x3x8x5xf32>
}

// CHECK-LABEL: @instance_norm(
// CHECK-SAME: %[[X:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.mean"(%[[X]]) {axis = [1], keepdims = true}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.subtract"(%[[X]], %[[V0]])
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V1]], %[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.mean"(%[[V2]]) {axis = [1], keepdims = true}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.add"(%[[V3]], %[[V4]])
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.sqrt"(%[[V5]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.divide"(%[[V1]], %[[V6]])
// CHECK-NEXT: return %[[V7]] :
func.func @instance_norm(%x: tensor<2x3x4xf32>, %g: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = "relax.nn_instance_norm"(%x, %g, %g) {channel_axis = -1 : i64, axes = [1], epsilon = 0.5 : f64, center = false, scale = false} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Heads are the second dimension of products; the default scale is 1 / sqrt(16).
// CHECK-LABEL: @attention(
// CHECK-SAME: %[[Q:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:{{.*}}%[[V:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Q]]) {axes = [0, 2, 1, 3]} : (tensor<1x2x3x16xf32>) -> tensor<1x3x2x16xf32>
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [0, 2, 1, 3]} : (tensor<1x5x3x16xf32>) -> tensor<1x3x5x16xf32>
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V]]) {axes = [0, 2, 1, 3]} : (tensor<1x5x3x7xf32>) -> tensor<1x3x5x7xf32>
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V1]]) {axes = [0, 1, 3, 2]} : (tensor<1x3x5x16xf32>) -> tensor<1x3x16x5xf32>
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.matmul"(%[[V0]], %[[V3]]) {out_dtype} : (tensor<1x3x2x16xf32>, tensor<1x3x16x5xf32>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<2.500000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V4]], %[[V5]]) : (tensor<1x3x2x5xf32>, tensor<f32>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.max"(%[[V6]]) {axis = [3], keepdims = true} : (tensor<1x3x2x5xf32>) -> tensor<1x3x2x1xf32>
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.subtract"(%[[V6]], %[[V7]]) : (tensor<1x3x2x5xf32>, tensor<1x3x2x1xf32>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.exp"(%[[V8]]) : (tensor<1x3x2x5xf32>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.sum"(%[[V9]]) {axis = [3], keepdims = true} : (tensor<1x3x2x5xf32>) -> tensor<1x3x2x1xf32>
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.divide"(%[[V9]], %[[V10]]) : (tensor<1x3x2x5xf32>, tensor<1x3x2x1xf32>) -> tensor<1x3x2x5xf32>
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.matmul"(%[[V11]], %[[V2]]) {out_dtype} : (tensor<1x3x2x5xf32>, tensor<1x3x5x7xf32>) -> tensor<1x3x2x7xf32>
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V12]]) {axes = [0, 2, 1, 3]} : (tensor<1x3x2x7xf32>) -> tensor<1x2x3x7xf32>
// CHECK-NEXT: return %[[V13]] : tensor<1x2x3x7xf32>
func.func @attention(%q: tensor<1x2x3x16xf32>, %k: tensor<1x5x3x16xf32>, %v: tensor<1x5x3x7xf32>) -> tensor<1x2x3x7xf32> {
  %0 = "relax.nn_attention"(%q, %k, %v) {scale = unit, causal_mask = unit} : (tensor<1x2x3x16xf32>, tensor<1x5x3x16xf32>, tensor<1x5x3x7xf32>) -> tensor<1x2x3x7xf32>
  return %0 : tensor<1x2x3x7xf32>
}

// Four heads of queries read two of keys and values; a bias is added to the scaled scores; a query sees keys up to it.
// CHECK-LABEL: @grouped(
// CHECK-SAME: %[[Q:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:{{.*}}%[[V:[A-Za-z0-9_]+]]:{{.*}}%[[B:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[K]]) {axes = [3]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 5, 2, 2, 16]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.broadcast_to"(%[[V0]], %[[V1]])
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 5, 4, 16]}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.reshape"(%[[V2]], %[[V3]])
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[V]]) {axes = [3]}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 5, 2, 2, 7]}
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.broadcast_to"(%[[V5]], %[[V6]])
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = [1, 5, 4, 7]}
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.reshape"(%[[V7]], %[[V8]])
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Q]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V4]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V9]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V11]]) {axes = [0, 1, 3, 2]}
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = "relax.matmul"(%[[V10]], %[[V13]]) {out_dtype}
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<5.000000e-01> : tensor<f32>}
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V14]], %[[V15]])
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = "relax.add"(%[[V16]], %[[B]])
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = "relax.arange"() {dtype = i64, end = 2 : i64, start = 0 : i64, step = 1 : i64}
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = "relax.arange"() {dtype = i64, end = 5 : i64, start = 0 : i64, step = 1 : i64}
// CHECK-NEXT: %[[V20:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[V18]]) {axes = [1]}
// CHECK-NEXT: %[[V21:[A-Za-z0-9_]+]] = "relax.less_equal"(%[[V19]], %[[V20]])
// CHECK-NEXT: %[[V22:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<0xFF800000> : tensor<f32>}
// CHECK-NEXT: %[[V23:[A-Za-z0-9_]+]] = "relax.where"(%[[V21]], %[[V17]], %[[V22]])
// CHECK-NEXT: %[[V24:[A-Za-z0-9_]+]] = "relax.max"(%[[V23]]) {axis = [3], keepdims = true}
// CHECK-NEXT: %[[V25:[A-Za-z0-9_]+]] = "relax.subtract"(%[[V23]], %[[V24]])
// CHECK-NEXT: %[[V26:[A-Za-z0-9_]+]] = "relax.exp"(%[[V25]])
// CHECK-NEXT: %[[V27:[A-Za-z0-9_]+]] = "relax.sum"(%[[V26]]) {axis = [3], keepdims = true}
// CHECK-NEXT: %[[V28:[A-Za-z0-9_]+]] = "relax.divide"(%[[V26]], %[[V27]])
// CHECK-NEXT: %[[V29:[A-Za-z0-9_]+]] = "relax.matmul"(%[[V28]], %[[V12]]) {out_dtype}
// CHECK-NEXT: %[[V30:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V29]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: return %[[V30]] :
func.func @grouped(%q: tensor<1x2x4x16xf32>, %k: tensor<1x5x2x16xf32>, %v: tensor<1x5x2x7xf32>, %b: tensor<1x1x2x5xf32>) -> tensor<1x2x4x7xf32> {
  %0 = "relax.nn_attention_bias"(%q, %k, %v, %b) {scale = 0.5 : f64, causal_mask = "TopLeft"} : (tensor<1x2x4x16xf32>, tensor<1x5x2x16xf32>, tensor<1x5x2x7xf32>, tensor<1x1x2x5xf32>) -> tensor<1x2x4x7xf32>
  return %0 : tensor<1x2x4x7xf32>
}

// The last query sees the last key.
// CHECK-LABEL: @bottom_right(
// CHECK-SAME: %[[Q:[A-Za-z0-9_]+]]:{{.*}}%[[K:[A-Za-z0-9_]+]]:
// CHECK-NEXT: %[[V0:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[Q]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V1:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V2:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[K]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: %[[V3:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V1]]) {axes = [0, 1, 3, 2]}
// CHECK-NEXT: %[[V4:[A-Za-z0-9_]+]] = "relax.matmul"(%[[V0]], %[[V3]]) {out_dtype}
// CHECK-NEXT: %[[V5:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V6:[A-Za-z0-9_]+]] = "relax.multiply"(%[[V4]], %[[V5]])
// CHECK-NEXT: %[[V7:[A-Za-z0-9_]+]] = "relax.arange"() {dtype = i64, end = 7 : i64, start = 5 : i64, step = 1 : i64}
// CHECK-NEXT: %[[V8:[A-Za-z0-9_]+]] = "relax.arange"() {dtype = i64, end = 7 : i64, start = 2 : i64, step = 1 : i64}
// CHECK-NEXT: %[[V9:[A-Za-z0-9_]+]] = "relax.expand_dims"(%[[V7]]) {axes = [1]}
// CHECK-NEXT: %[[V10:[A-Za-z0-9_]+]] = "relax.less_equal"(%[[V8]], %[[V9]])
// CHECK-NEXT: %[[V11:[A-Za-z0-9_]+]] = "relax.constant"() {value = dense<0xFF800000> : tensor<f32>}
// CHECK-NEXT: %[[V12:[A-Za-z0-9_]+]] = "relax.where"(%[[V10]], %[[V6]], %[[V11]])
// CHECK-NEXT: %[[V13:[A-Za-z0-9_]+]] = "relax.max"(%[[V12]]) {axis = [3], keepdims = true}
// CHECK-NEXT: %[[V14:[A-Za-z0-9_]+]] = "relax.subtract"(%[[V12]], %[[V13]])
// CHECK-NEXT: %[[V15:[A-Za-z0-9_]+]] = "relax.exp"(%[[V14]])
// CHECK-NEXT: %[[V16:[A-Za-z0-9_]+]] = "relax.sum"(%[[V15]]) {axis = [3], keepdims = true}
// CHECK-NEXT: %[[V17:[A-Za-z0-9_]+]] = "relax.divide"(%[[V15]], %[[V16]])
// CHECK-NEXT: %[[V18:[A-Za-z0-9_]+]] = "relax.matmul"(%[[V17]], %[[V2]]) {out_dtype}
// CHECK-NEXT: %[[V19:[A-Za-z0-9_]+]] = "relax.permute_dims"(%[[V18]]) {axes = [0, 2, 1, 3]}
// CHECK-NEXT: return %[[V19]] :
func.func @bottom_right(%q: tensor<1x2x1x4xf32>, %k: tensor<1x5x1x4xf32>) -> tensor<1x2x1x4xf32> {
  %0 = "relax.nn_attention"(%q, %k, %k) {scale = 1.0 : f64, causal_mask = "BottomRight"} : (tensor<1x2x1x4xf32>, tensor<1x5x1x4xf32>, tensor<1x5x1x4xf32>) -> tensor<1x2x1x4xf32>
  return %0 : tensor<1x2x1x4xf32>
}

// Attention without keys, with heads of no elements, or of unknown shapes, stays; values that heads share need a shape, too.
// CHECK-LABEL: func.func @attention_kept
// CHECK-COUNT-5: relax.nn_attention
// CHECK-NEXT: return
func.func @attention_kept(%q: tensor<1x2x1x4xf32>, %k: tensor<1x0x1x4xf32>, %e: tensor<1x2x1x0xf32>, %w: tensor<?x?x?x?xf32>, %g: tensor<1x2x4x4xf32>) -> (tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>) {
  %0 = "relax.nn_attention"(%q, %k, %k) {scale = 1.0 : f64, causal_mask = unit} : (tensor<1x2x1x4xf32>, tensor<1x0x1x4xf32>, tensor<1x0x1x4xf32>) -> tensor<1x2x1x4xf32>
  %1 = "relax.nn_attention"(%e, %e, %q) {scale = 1.0 : f64, causal_mask = unit} : (tensor<1x2x1x0xf32>, tensor<1x2x1x0xf32>, tensor<1x2x1x4xf32>) -> tensor<1x2x1x4xf32>
  %2 = "relax.nn_attention"(%g, %q, %w) {scale = 1.0 : f64, causal_mask = unit} : (tensor<1x2x4x4xf32>, tensor<1x2x1x4xf32>, tensor<?x?x?x?xf32>) -> tensor<1x2x4x?xf32>
  %3 = "relax.nn_attention"(%w, %q, %q) {scale = 1.0 : f64, causal_mask = unit} : (tensor<?x?x?x?xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>) -> tensor<?x?x?x?xf32>
  %4 = "relax.nn_attention"(%q, %w, %w) {scale = 1.0 : f64, causal_mask = unit} : (tensor<1x2x1x4xf32>, tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>) -> tensor<1x2x1x?xf32>
  return %0, %1 : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>
}

// Unknown dtypes and shapes: a maximum with zero and the groups of channels need them.
// CHECK-LABEL: func.func @unknown
// CHECK-NEXT: relax.nn_relu
// CHECK-NEXT: relax.nn_silu
// CHECK-NEXT: relax.nn_group_norm
// CHECK-NEXT: return
func.func @unknown(%x: tensor<2x!relax.any>, %y: tensor<?x?x?xf32>, %g: tensor<8xf32>) -> (tensor<2x!relax.any>, tensor<?x?x?xf32>) {
  %0 = "relax.nn_relu"(%x) : (tensor<2x!relax.any>) -> tensor<2x!relax.any>
  %2 = "relax.nn_silu"(%x) : (tensor<2x!relax.any>) -> tensor<2x!relax.any>
  %1 = "relax.nn_group_norm"(%y, %g, %g) {num_groups = 4 : i64, channel_axis = 1 : i64, axes = [2], epsilon = 0.5 : f64, center = true, scale = true} : (tensor<?x?x?xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x?xf32>
  return %0, %1 : tensor<2x!relax.any>, tensor<?x?x?xf32>
}

// The last dimensions need no ones.
// CHECK-LABEL: @last_axis(
// CHECK-SAME: %[[W:[A-Za-z0-9_]+]]: tensor<4xf32>
// CHECK: "relax.multiply"(%{{.*}}, %[[W]])
func.func @last_axis(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = "relax.nn_rms_norm"(%x, %w) {axes = [2], epsilon = 0.5 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
