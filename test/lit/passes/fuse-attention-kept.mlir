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

// A division by 0.
// CHECK-LABEL: func.func @by_zero
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @by_zero(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %c = "relax.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %s = "relax.divide"(%product, %c) {} : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// A factor that is not finite.
// CHECK-LABEL: func.func @infinite
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @infinite(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %c = "relax.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %s = "relax.multiply"(%product, %c) {} : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// A factor for each key.
// CHECK-LABEL: func.func @factors
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @factors(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %c = "relax.constant"() {value = dense<2.0> : tensor<7xf32>} : () -> tensor<7xf32>
  %s = "relax.multiply"(%product, %c) {} : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// The mask has an unknown dimension.
// CHECK-LABEL: func.func @mask_unknown
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @mask_unknown(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>, %m: tensor<?x7xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %s = "relax.add"(%product, %m) {} : (tensor<5x7xf32>, tensor<?x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// Nothing but a sum has a mask.
// CHECK-LABEL: func.func @subtracted
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @subtracted(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>, %m: tensor<5x7xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %s = "relax.subtract"(%product, %m) {} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// The scores have an unknown dimension.
// CHECK-LABEL: func.func @scores_unknown
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @scores_unknown(%q: tensor<1x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>, %m: tensor<?x7xf32>) -> tensor<?x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<1x8xf32>, tensor<8x7xf32>) -> tensor<1x7xf32>
  %masked = "relax.add"(%product, %m) {} : (tensor<1x7xf32>, tensor<?x7xf32>) -> tensor<?x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<?x7xf32>) -> tensor<?x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<?x7xf32>, tensor<7x8xf32>) -> tensor<?x8xf32>
  return %sums : tensor<?x8xf32>
}

// The scores are no product.
// CHECK-LABEL: func.func @no_product
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @no_product(%q: tensor<7x7xf32>, %k: tensor<7x7xf32>, %v: tensor<7x7xf32>) -> tensor<7x7xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x7xf32>) -> tensor<7x7xf32>
  %s = "relax.maximum"(%q, %kt) {} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<7x7xf32>) -> tensor<7x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<7x7xf32>, tensor<7x7xf32>) -> tensor<7x7xf32>
  return %sums : tensor<7x7xf32>
}

// The weights are no softmax.
// CHECK-LABEL: func.func @no_softmax
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_log_softmax
func.func @no_softmax(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %s = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_log_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// The constant makes the scores a batch of one.
// CHECK-LABEL: func.func @constant_with_batch
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @constant_with_batch(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<1x7x8xf32>) -> tensor<1x5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %c = "relax.constant"() {value = dense<2.0> : tensor<1x1x1xf32>} : () -> tensor<1x1x1xf32>
  %s = "relax.multiply"(%product, %c) {} : (tensor<5x7xf32>, tensor<1x1x1xf32>) -> tensor<1x5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<1x5x7xf32>) -> tensor<1x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<1x5x7xf32>, tensor<1x7x8xf32>) -> tensor<1x5x8xf32>
  return %sums : tensor<1x5x8xf32>
}

// A product is wider than its operands.
// CHECK-LABEL: func.func @wider
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @wider(%q: tensor<5x8xf16>, %k: tensor<7x8xf16>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf16>) -> tensor<8x7xf16>
  %s = "relax.matmul"(%q, %kt) {out_dtype = f32} : (tensor<5x8xf16>, tensor<8x7xf16>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// The value is a vector.
// CHECK-LABEL: func.func @vector
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @vector(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7xf32>) -> tensor<5xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %s = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7xf32>) -> tensor<5xf32>
  return %sums : tensor<5xf32>
}

// The mask is of some batches and of all heads.
// CHECK-LABEL: func.func @mask_of_batches
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @mask_of_batches(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x8xf32>, %m: tensor<2x1x5x7xf32>) -> tensor<2x3x5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [0, 1, 3, 2]} : (tensor<2x3x7x8xf32>) -> tensor<2x3x8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %masked = "relax.add"(%product, %m) {} : (tensor<2x3x5x7xf32>, tensor<2x1x5x7xf32>) -> tensor<2x3x5x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<2x3x5x7xf32>, tensor<2x3x7x8xf32>) -> tensor<2x3x5x8xf32>
  return %sums : tensor<2x3x5x8xf32>
}

// The second operand is transposed in another way, or not at all.
// CHECK-LABEL: func.func @other_transposition
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @other_transposition(%q: tensor<3x5x8xf32>, %k: tensor<8x7x3xf32>, %v: tensor<3x7x8xf32>) -> tensor<3x5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [2, 0, 1]} : (tensor<8x7x3xf32>) -> tensor<3x8x7xf32>
  %s = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<3x5x8xf32>, tensor<3x8x7xf32>) -> tensor<3x5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<3x5x7xf32>, tensor<3x7x8xf32>) -> tensor<3x5x8xf32>
  return %sums : tensor<3x5x8xf32>
}
// CHECK-LABEL: func.func @not_transposed
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @not_transposed(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %kt = "relax.exp"(%k) {} : (tensor<8x7xf32>) -> tensor<8x7xf32>
  %s = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// The mask has an unknown dimension, and is scaled as well.
// CHECK-LABEL: func.func @scaled_mask
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @scaled_mask(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>, %m: tensor<?x7xf32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %c = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %mask = "relax.divide"(%m, %c) {} : (tensor<?x7xf32>, tensor<f32>) -> tensor<?x7xf32>
  %s = "relax.add"(%mask, %product) {} : (tensor<?x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}

// The value has an unknown dimension.
// CHECK-LABEL: func.func @value_unknown
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @value_unknown(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x?xf32>) -> tensor<5x?xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %s = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x?xf32>) -> tensor<5x?xf32>
  return %sums : tensor<5x?xf32>
}

// The query is a vector.
// CHECK-LABEL: func.func @query_vector
// CHECK-NOT: relax.nn_attention
// CHECK: relax.nn_softmax
func.func @query_vector(%q: tensor<8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>) -> tensor<8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [1, 0]} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %s = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<8xf32>, tensor<8x7xf32>) -> tensor<7xf32>
  %weights = "relax.nn_softmax"(%s) {axis = -1 : i64} : (tensor<7xf32>) -> tensor<7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<7xf32>, tensor<7x8xf32>) -> tensor<8xf32>
  return %sums : tensor<8xf32>
}
