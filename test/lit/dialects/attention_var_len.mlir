// nn_attention_var_len: sequences one after the other, in a batch of one.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @sequences(
// CHECK-SAME: %[[Q:[a-z0-9_]+]]: tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>, %[[K:[a-z0-9_]+]]: tensor<1x?x2x8xf32, #relax.shape<[1, "t", 2, 8]>>, %[[N:[a-z0-9_]+]]: tensor<?xi32, #relax.shape<["b"]>>, %[[M:[a-z0-9_]+]]: tensor<i32>)
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.nn_attention_var_len"(%[[Q]], %[[K]], %[[K]], %[[N]], %[[N]], %[[M]], %[[M]]) {causal_mask = "TopLeft", scale}
// CHECK-SAME: -> tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>
// CHECK-NEXT: return %[[R]] :
func.func @sequences(%q: tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>, %k: tensor<1x?x2x8xf32, #relax.shape<[1, "t", 2, 8]>>, %n: tensor<?xi32, #relax.shape<["b"]>>, %m: tensor<i32>) -> tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>> {
  %0 = "relax.nn_attention_var_len"(%q, %k, %k, %n, %n, %m, %m) {scale, causal_mask = "TopLeft"} : (tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>, tensor<1x?x2x8xf32, #relax.shape<[1, "t", 2, 8]>>, tensor<1x?x2x8xf32, #relax.shape<[1, "t", 2, 8]>>, tensor<?xi32, #relax.shape<["b"]>>, tensor<?xi32, #relax.shape<["b"]>>, tensor<i32>, tensor<i32>) -> tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>
  return %0 : tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>
}
// -----
func.func @batch(%q: tensor<2x3x4x8xf32>, %n: tensor<2xi32>, %m: tensor<i32>) -> tensor<2x3x4x8xf32> {
  // expected-error @below {{nn_attention_var_len: the batch of 'query' is 2, expected 1}}
  %0 = "relax.nn_attention_var_len"(%q, %q, %q, %n, %n, %m, %m) {scale, causal_mask} : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3x4x8xf32>
  return %0 : tensor<2x3x4x8xf32>
}
