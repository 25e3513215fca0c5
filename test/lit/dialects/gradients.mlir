// Gradients have the shape of what they are gradients of; marks give their operand.
// RUN: relax-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @taken(
// CHECK-SAME: %[[G:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["n", 4]>>, %[[X:[a-z0-9_]+]]: tensor<?x4xf32, #relax.shape<["v", 4]>>, %[[I:[a-z0-9_]+]]: tensor<?xi32, #relax.shape<["n"]>>)
// CHECK: %[[A:[A-Za-z0-9_]+]] = "relax.grad_no_grad"(%[[G]])
// CHECK: %[[R:[A-Za-z0-9_]+]] = "relax.grad_take_backward"(%[[A]], %[[X]], %[[I]]) {axis = 0 : i64}
// CHECK-SAME: -> tensor<?x4xf32, #relax.shape<["v", 4]>>
// CHECK-NEXT: return %[[R]] :
func.func @taken(%g: tensor<?x4xf32, #relax.shape<["n", 4]>>, %x: tensor<?x4xf32, #relax.shape<["v", 4]>>, %i: tensor<?xi32, #relax.shape<["n"]>>) -> tensor<?x4xf32, #relax.shape<["v", 4]>> {
  %0 = "relax.grad_no_grad"(%g) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.grad_take_backward"(%0, %x, %i) {axis = 0 : i64} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["v", 4]>>, tensor<?xi32, #relax.shape<["n"]>>) -> tensor<?x4xf32, #relax.shape<["v", 4]>>
  return %1 : tensor<?x4xf32, #relax.shape<["v", 4]>>
}
// -----
func.func @pooled(%g: tensor<1x1x3x3xf32>, %x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  // expected-error @below {{grad_max_pool2d_backward: operand 'output_grad' has shape (1, 1, 3, 3), expected (1, 1, 2, 2), that of the pooling of 'data'}}
  %0 = "relax.grad_max_pool2d_backward"(%g, %x) {pool_size = [2, 2], strides = [2, 2], padding = [0, 0, 0, 0], dilation = [1, 1], ceil_mode = false, count_include_pad = false, layout = "NCHW", out_layout = "NCHW"} : (tensor<1x1x3x3xf32>, tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  return %0 : tensor<1x1x4x4xf32>
}
