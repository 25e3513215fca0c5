// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @gelu(%x: tensor<3xi32>) {
  // expected-error @+1 {{nn_gelu: operand 'data' has dtype int32, expected a float}}
  %0 = "relax.nn_gelu"(%x) : (tensor<3xi32>) -> tensor<3xi32>
  return
}
// -----
func.func @softmax(%x: tensor<3xf32>) {
  // expected-error @+1 {{nn_softmax: axis 1 is out of range for a tensor of rank 1}}
  %0 = "relax.nn_softmax"(%x) {axis = 1 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return
}
// -----
func.func @layer_norm(%x: tensor<2x3xf32>, %g: tensor<2xf32>) {
  // expected-error @+1 {{nn_layer_norm: operand 'gamma' has shape (2,), expected (3,), dimensions [1] of 'data', (2, 3)}}
  %0 = "relax.nn_layer_norm"(%x, %g, %g) {axes = [-1], center = true, epsilon = 1.0e-05 : f64, scale = true} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @heads(%q: tensor<1x5x4x8xf32>, %k: tensor<1x5x3x8xf32>) {
  // expected-error @+1 {{nn_attention: the number of heads of 'query' is 4, that of 'key' 3; expected the same, or a multiple that is a known number}}
  %0 = "relax.nn_attention"(%q, %k, %k) {causal_mask, scale} : (tensor<1x5x4x8xf32>, tensor<1x5x3x8xf32>, tensor<1x5x3x8xf32>) -> tensor<1x5x4x8xf32>
  return
}
// -----
func.func @symbolic_heads(%q: tensor<1x5x?x8xf32, #relax.shape<[1, 5, "h", 8]>>, %k: tensor<1x5x?x8xf32, #relax.shape<[1, 5, "g", 8]>>) {
  // expected-error @+1 {{nn_attention: the number of heads of 'query' is h, that of 'key' g; expected the same}}
  %0 = "relax.nn_attention"(%q, %k, %k) {causal_mask, scale} : (tensor<1x5x?x8xf32, #relax.shape<[1, 5, "h", 8]>>, tensor<1x5x?x8xf32, #relax.shape<[1, 5, "g", 8]>>, tensor<1x5x?x8xf32, #relax.shape<[1, 5, "g", 8]>>) -> tensor<1x5x?x8xf32, #relax.shape<[1, 5, "h", 8]>>
  return
}
// -----
func.func @mask(%q: tensor<1x5x4x8xf32>) {
  // expected-error @+1 {{nn_attention: causal_mask is 'Left', expected one of ('TopLeft', 'BottomRight')}}
  %0 = "relax.nn_attention"(%q, %q, %q) {causal_mask = "Left", scale} : (tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>, tensor<1x5x4x8xf32>) -> tensor<1x5x4x8xf32>
  return
}
