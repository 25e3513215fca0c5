// RUN: relax-opt %s --fuse-attention | filecheck %s
// What is no attention, or whose scores are needed, stays as it is.

!x = tensor<?x?x4x16xf32, #relax.shape<["b", "s", 4, 16]>>
!h = tensor<?x4x?x16xf32, #relax.shape<["b", 4, "s", 16]>>
!t = tensor<?x4x16x?xf32, #relax.shape<["b", 4, 16, "s"]>>
!s = tensor<?x4x?x?xf32, #relax.shape<["b", 4, "s", "s"]>>
!m = tensor<?x1x1x?xf32, #relax.shape<["b", 1, 1, "s"]>>

// Softmax over the queries.
// CHECK-LABEL: func.func @over_queries
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
// CHECK: relax.matmul
func.func @over_queries(%q: !x, %k: !x, %v: !x) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %weights = "relax.nn_softmax"(%product) {axis = 2 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// The scores have a second user.
// CHECK-LABEL: func.func @scores_used
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
// CHECK: relax.matmul
func.func @scores_used(%q: !x, %k: !x, %v: !x) -> (!x, !s) {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %weights = "relax.nn_softmax"(%product) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  %e = "relax.exp"(%product) {} : (!s) -> !s
  return %r, %e : !x, !s
}

// The weights are returned.
// CHECK-LABEL: func.func @weights_returned
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
// CHECK: relax.matmul
func.func @weights_returned(%q: !x, %k: !x, %v: !x) -> (!x, !s) {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %weights = "relax.nn_softmax"(%product) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r, %weights : !x, !s
}

// The scale is no constant.
// CHECK-LABEL: func.func @scale_unknown
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
// CHECK: relax.matmul
func.func @scale_unknown(%q: !x, %k: !x, %v: !x, %c: tensor<f32>) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %scaled = "relax.divide"(%product, %c) {} : (!s, tensor<f32>) -> !s
  %weights = "relax.nn_softmax"(%scaled) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// What is scaled is the sum with the mask.
// CHECK-LABEL: func.func @mask_scaled
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
// CHECK: relax.matmul
func.func @mask_scaled(%q: !x, %k: !x, %v: !x, %m: !m) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %c = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %masked = "relax.add"(%product, %m) {} : (!s, !m) -> !s
  %scaled = "relax.divide"(%masked, %c) {} : (!s, tensor<f32>) -> !s
  %weights = "relax.nn_softmax"(%scaled) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// The constant is divided.
// CHECK-LABEL: func.func @inverse
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
// CHECK: relax.matmul
func.func @inverse(%q: !x, %k: !x, %v: !x) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %c = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %scaled = "relax.divide"(%c, %product) {} : (tensor<f32>, !s) -> !s
  %weights = "relax.nn_softmax"(%scaled) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// The mask makes the scores larger: it gives them batches.
// CHECK-LABEL: func.func @mask_with_batches
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @mask_with_batches(%q: tensor<1x5x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<3x7x8xf32>, %m: tensor<3x5x7xf32>) -> tensor<3x5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [0, 2, 1]} : (tensor<1x7x8xf32>) -> tensor<1x8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<1x5x8xf32>, tensor<1x8x7xf32>) -> tensor<1x5x7xf32>
  %masked = "relax.add"(%product, %m) {} : (tensor<1x5x7xf32>, tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<3x5x7xf32>, tensor<3x7x8xf32>) -> tensor<3x5x8xf32>
  return %sums : tensor<3x5x8xf32>
}

// Keys that all batches share.
// CHECK-LABEL: func.func @shared_keys
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @shared_keys(%q: tensor<3x5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<3x7x8xf32>) -> tensor<3x5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<3x5x8xf32>, tensor<8x7xf32>) -> tensor<3x5x7xf32>
  %weights = "relax.nn_softmax"(%product) {axis = -1 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<3x5x7xf32>, tensor<3x7x8xf32>) -> tensor<3x5x8xf32>
  return %sums : tensor<3x5x8xf32>
}
