// RUN: %roundtrip
// RUN: %roundtrip-generic

// CHECK-LABEL: @rows
// CHECK: "relax.nn_relu"(%{{.*}}) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
// CHECK: "relax.nn_gelu"
// CHECK: "relax.nn_gelu_tanh"
// CHECK: "relax.nn_silu"
// CHECK: "relax.nn_softmax"(%{{.*}}) {{.*}}axis = -1
// CHECK: "relax.nn_log_softmax"(%{{.*}}) {{.*}}axis = 0
// CHECK: "relax.nn_layer_norm"(%{{.*}}, %[[G:.*]], %[[G]]) {{.*}}axes = [-1]
// CHECK: "relax.nn_rms_norm"(%{{.*}}, %[[G]]) {{.*}}axes = [1]
func.func @rows(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %g: tensor<4xf32>) {
  %0 = "relax.nn_relu"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.nn_gelu"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %2 = "relax.nn_gelu_tanh"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %3 = "relax.nn_silu"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %4 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %5 = "relax.nn_log_softmax"(%x) {axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %6 = "relax.nn_layer_norm"(%x, %g, %g) {axes = [-1], center = true, epsilon = 1.0e-05 : f64, scale = true} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %7 = "relax.nn_rms_norm"(%x, %g) {axes = [1], epsilon = 1.0e-05 : f64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return
}

// CHECK-LABEL: @attention
// CHECK: "relax.nn_attention"(%[[Q:.*]], %[[K:.*]], %[[K]]) {{.*}}scale = 5.000000e-01 : f64{{.*}} -> tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>
// CHECK: "relax.nn_attention_bias"(%[[Q]], %[[K]], %[[K]], %{{.*}}) {{.*}}causal_mask = "TopLeft"
func.func @attention(%q: tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>,
                     %k: tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>,
                     %bias: tensor<?x1x1x?xf32, #relax.shape<["b", 1, 1, "t"]>>) {
  %0 = "relax.nn_attention"(%q, %k, %k) {causal_mask, scale = 0.5 : f64} : (tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>, tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>, tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>) -> tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>
  %1 = "relax.nn_attention_bias"(%q, %k, %k, %bias) {causal_mask = "TopLeft", scale} : (tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>, tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>, tensor<?x?x2x8xf32, #relax.shape<["b", "t", 2, 8]>>, tensor<?x1x1x?xf32, #relax.shape<["b", 1, 1, "t"]>>) -> tensor<?x?x2x8xf32, #relax.shape<["b", "s", 2, 8]>>
  return
}
