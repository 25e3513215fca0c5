// nn_rnn_steps, nn_gru_steps and nn_lstm_steps.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @memory(
// CHECK-SAME: %[[G:[a-z0-9_]+]]: tensor<?x?x32xf32, #relax.shape<["t", "b", 32]>>, %[[R:[a-z0-9_]+]]: tensor<8x32xf32>, %[[H:[a-z0-9_]+]]: tensor<?x8xf32, #relax.shape<["b", 8]>>, %[[N:[a-z0-9_]+]]: tensor<?xi32, #relax.shape<["b"]>>, %[[P:[a-z0-9_]+]]: tensor<0x8xf32>)
// CHECK: "relax.nn_lstm_steps"(%[[G]], %[[R]], %[[H]], %[[H]], %[[N]], %[[P]]) {activations = ["sigmoid", "tanh", "tanh"]
// CHECK-SAME: -> tuple<tensor<?x?x8xf32, #relax.shape<["t", "b", 8]>>, tensor<?x8xf32, #relax.shape<["b", 8]>>, tensor<?x8xf32, #relax.shape<["b", 8]>>>
func.func @memory(%g: tensor<?x?x32xf32, #relax.shape<["t", "b", 32]>>, %r: tensor<8x32xf32>, %h: tensor<?x8xf32, #relax.shape<["b", 8]>>, %n: tensor<?xi32, #relax.shape<["b"]>>, %p: tensor<0x8xf32>) {
  %0 = "relax.nn_lstm_steps"(%g, %r, %h, %h, %n, %p) {activations = ["sigmoid", "tanh", "tanh"], alphas = [0.0, 0.0, 0.0], betas = [0.0, 0.0, 0.0], clip, reverse = true, input_forget = false} : (tensor<?x?x32xf32, #relax.shape<["t", "b", 32]>>, tensor<8x32xf32>, tensor<?x8xf32, #relax.shape<["b", 8]>>, tensor<?x8xf32, #relax.shape<["b", 8]>>, tensor<?xi32, #relax.shape<["b"]>>, tensor<0x8xf32>) -> tuple<tensor<?x?x8xf32, #relax.shape<["t", "b", 8]>>, tensor<?x8xf32, #relax.shape<["b", 8]>>, tensor<?x8xf32, #relax.shape<["b", 8]>>>
  return
}
// -----
func.func @functions(%g: tensor<2x1x8xf32>, %r: tensor<8x8xf32>, %h: tensor<1x8xf32>, %n: tensor<0xi32>) {
  // expected-error @below {{nn_rnn_steps: activations is ['cos'], expected 1 of sigmoid, tanh, relu}}
  %0 = "relax.nn_rnn_steps"(%g, %r, %h, %n) {activations = ["cos"], alphas = [0.0], betas = [0.0], clip, reverse = false} : (tensor<2x1x8xf32>, tensor<8x8xf32>, tensor<1x8xf32>, tensor<0xi32>) -> tuple<tensor<2x1x8xf32>, tensor<1x8xf32>>
  return
}
// -----
func.func @gates(%g: tensor<2x1x16xf32>, %r: tensor<8x24xf32>, %b: tensor<24xf32>, %h: tensor<1x8xf32>, %n: tensor<0xi32>) {
  // expected-error @below {{nn_gru_steps: dimension 2 of operand 'gates' is 16, expected 24}}
  %0 = "relax.nn_gru_steps"(%g, %r, %b, %h, %n) {activations = ["sigmoid", "tanh"], alphas = [0.0, 0.0], betas = [0.0, 0.0], clip, reverse = false, reset_after = true} : (tensor<2x1x16xf32>, tensor<8x24xf32>, tensor<24xf32>, tensor<1x8xf32>, tensor<0xi32>) -> tuple<tensor<2x1x8xf32>, tensor<1x8xf32>>
  return
}
