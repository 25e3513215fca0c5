// RUN: relax-opt %s --fuse-attention | filecheck %s
// Attention that is spelled out becomes one op, on what was there before heads came first.

!x = tensor<?x?x4x16xf32, #relax.shape<["b", "s", 4, 16]>>
!h = tensor<?x4x?x16xf32, #relax.shape<["b", 4, "s", 16]>>
!t = tensor<?x4x16x?xf32, #relax.shape<["b", 4, 16, "s"]>>
!s = tensor<?x4x?x?xf32, #relax.shape<["b", 4, "s", "s"]>>
!m = tensor<?x1x1x?xf32, #relax.shape<["b", 1, 1, "s"]>>

// CHECK-LABEL: func.func @encoder
// CHECK-SAME: (%[[Q:[a-z0-9_]+]]: {{.*}}, %[[K:[a-z0-9_]+]]: {{.*}}, %[[V:[a-z0-9_]+]]: {{.*}}, %[[M:[a-z0-9_]+]]:
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.nn_attention_bias"(%[[Q]], %[[K]], %[[V]], %[[M]]) {causal_mask, scale = 2.500000e-01 : f64}
// CHECK-NEXT: return %[[R]] :
func.func @encoder(%q: !x, %k: !x, %v: !x, %m: !m) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %c = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %scaled = "relax.divide"(%product, %c) {} : (!s, tensor<f32>) -> !s
  %masked = "relax.add"(%scaled, %m) {} : (!s, !m) -> !s
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// The mask first, the factor first, and one transposition of the keys.
// CHECK-LABEL: func.func @turned_round
// CHECK-SAME: (%[[Q:[a-z0-9_]+]]: {{.*}}, %[[K:[a-z0-9_]+]]: {{.*}}, %[[V:[a-z0-9_]+]]: {{.*}}, %[[M:[a-z0-9_]+]]:
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.nn_attention_bias"(%[[Q]], %[[K]], %[[V]], %[[M]]) {causal_mask, scale = 4.000000e+00 : f64}
// CHECK-NEXT: return %[[R]] :
func.func @turned_round(%q: !x, %k: !x, %v: !x, %m: !m) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%k) {axes = [0, 2, 3, 1]} : (!x) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %c = "relax.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %scaled = "relax.multiply"(%c, %product) {} : (tensor<f32>, !s) -> !s
  %masked = "relax.add"(%m, %scaled) {} : (!m, !s) -> !s
  %weights = "relax.nn_softmax"(%masked) {axis = 3 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// Neither scale nor mask: the scale is 1.
// CHECK-LABEL: func.func @bare
// CHECK-SAME: (%[[Q:[a-z0-9_]+]]: {{.*}}, %[[K:[a-z0-9_]+]]: {{.*}}, %[[V:[a-z0-9_]+]]:
// CHECK-NEXT: %[[R:[A-Za-z0-9_]+]] = "relax.nn_attention"(%[[Q]], %[[K]], %[[V]]) {causal_mask, scale = 1.000000e+00 : f64}
// CHECK-NEXT: return %[[R]] :
func.func @bare(%q: !x, %k: !x, %v: !x) -> !x {
  %qh = "relax.permute_dims"(%q) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kh = "relax.permute_dims"(%k) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %vh = "relax.permute_dims"(%v) {axes = [0, 2, 1, 3]} : (!x) -> !h
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %weights = "relax.nn_softmax"(%product) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  %r = "relax.permute_dims"(%sums) {axes = [0, 2, 1, 3]} : (!h) -> !x
  return %r : !x
}

// Heads come first from the beginning: each is a batch of its own.
// CHECK-LABEL: func.func @heads_first
// CHECK: %[[S:[A-Za-z0-9_]+]] = "relax.shape_expr"() {values = ["4*b", "s", 1, 16]}
// CHECK: "relax.nn_attention"({{.*}}) {causal_mask, scale = 1.000000e+00 : f64} : (tensor<?x?x1x16xf32, #relax.shape<["4*b", "s", 1, 16]>>,
// CHECK-NOT: relax.matmul
func.func @heads_first(%qh: !h, %kh: !h, %vh: !h) -> !h {
  %kt = "relax.permute_dims"(%kh) {axes = [0, 1, 3, 2]} : (!h) -> !t
  %product = "relax.matmul"(%qh, %kt) {out_dtype} : (!h, !t) -> !s
  %weights = "relax.nn_softmax"(%product) {axis = -1 : i64} : (!s) -> !s
  %sums = "relax.matmul"(%weights, %vh) {out_dtype} : (!s, !h) -> !h
  return %sums : !h
}

// Each matrix is a head of its own. A mask for each matrix becomes one for each head.
// CHECK-LABEL: func.func @masked_matrices
// CHECK: %[[SHAPE:[0-9]+]] = "relax.shape_expr"() {values = [6, 1, 5, 7]}
// CHECK-NEXT: %[[MASK:[0-9]+]] = "relax.reshape"(%m, %[[SHAPE]])
// CHECK: "relax.shape_expr"() {values = [6, 5, 1, 8]}
// CHECK: "relax.shape_expr"() {values = [6, 7, 1, 8]}
// CHECK-NEXT: %[[K:[0-9]+]] = "relax.reshape"(%k,
// CHECK: "relax.shape_expr"() {values = [6, 7, 1, 9]}
// CHECK: "relax.nn_attention_bias"(%{{[0-9]+}}, %[[K]], %{{[0-9]+}}, %[[MASK]]) {causal_mask, scale = 1.000000e+00 : f64}
// CHECK: "relax.shape_expr"() {values = [2, 3, 5, 9]}
func.func @masked_matrices(%x: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x9xf32>, %m: tensor<2x3x5x7xf32>) -> tensor<2x3x5x9xf32> {
  %q = "relax.exp"(%x) {} : (tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  %kt = "relax.permute_dims"(%k) {axes = [0, 1, 3, 2]} : (tensor<2x3x7x8xf32>) -> tensor<2x3x8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %masked = "relax.add"(%product, %m) {} : (tensor<2x3x5x7xf32>, tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<2x3x5x7xf32>, tensor<2x3x7x9xf32>) -> tensor<2x3x5x9xf32>
  return %sums : tensor<2x3x5x9xf32>
}

// One mask for all matrices: batches of 1, one row, or one number; the queries are transposed in another way.
// CHECK-LABEL: func.func @mask_of_all
// CHECK: "relax.shape_expr"() {values = [1, 1, 5, 7]}
// CHECK-NEXT: "relax.reshape"(%m,
// CHECK: "relax.nn_attention_bias"
func.func @mask_of_all(%x: tensor<5x3x8xf32>, %k: tensor<3x7x8xf32>, %v: tensor<3x7x8xf32>, %m: tensor<1x5x7xf32>) -> tensor<3x5x8xf32> {
  %q = "relax.permute_dims"(%x) {axes = [1, 0, 2]} : (tensor<5x3x8xf32>) -> tensor<3x5x8xf32>
  %kt = "relax.permute_dims"(%k) {axes = [0, 2, 1]} : (tensor<3x7x8xf32>) -> tensor<3x8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<3x5x8xf32>, tensor<3x8x7xf32>) -> tensor<3x5x7xf32>
  %masked = "relax.add"(%product, %m) {} : (tensor<3x5x7xf32>, tensor<1x5x7xf32>) -> tensor<3x5x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<3x5x7xf32>, tensor<3x7x8xf32>) -> tensor<3x5x8xf32>
  return %sums : tensor<3x5x8xf32>
}
// CHECK-LABEL: func.func @mask_of_keys
// CHECK: "relax.shape_expr"() {values = [1, 1, 1, 7]}
// CHECK-NEXT: "relax.reshape"(%m,
// CHECK: "relax.nn_attention_bias"
func.func @mask_of_keys(%q: tensor<3x5x8xf32>, %k: tensor<3x7x8xf32>, %v: tensor<3x7x8xf32>, %m: tensor<7xf32>) -> tensor<3x5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes = [0, 2, 1]} : (tensor<3x7x8xf32>) -> tensor<3x8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<3x5x8xf32>, tensor<3x8x7xf32>) -> tensor<3x5x7xf32>
  %masked = "relax.add"(%product, %m) {} : (tensor<3x5x7xf32>, tensor<7xf32>) -> tensor<3x5x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<3x5x7xf32>, tensor<3x7x8xf32>) -> tensor<3x5x8xf32>
  return %sums : tensor<3x5x8xf32>
}

// Matrices without batches, transposed without naming the axes. A constant of one element may have as many dimensions.
// CHECK-LABEL: func.func @matrices
// CHECK: "relax.shape_expr"() {values = [1, 1, 1, 1]}
// CHECK-NEXT: "relax.reshape"(%m,
// CHECK: "relax.shape_expr"() {values = [1, 5, 1, 8]}
// CHECK: "relax.nn_attention_bias"({{.*}}) {causal_mask, scale = -1.000000e+00 : f64}
func.func @matrices(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x8xf32>, %m: tensor<f32>) -> tensor<5x8xf32> {
  %kt = "relax.permute_dims"(%k) {axes} : (tensor<7x8xf32>) -> tensor<8x7xf32>
  %product = "relax.matmul"(%q, %kt) {out_dtype} : (tensor<5x8xf32>, tensor<8x7xf32>) -> tensor<5x7xf32>
  %c = "relax.constant"() {value = dense<-1.0> : tensor<1x1xf32>} : () -> tensor<1x1xf32>
  %scaled = "relax.divide"(%product, %c) {} : (tensor<5x7xf32>, tensor<1x1xf32>) -> tensor<5x7xf32>
  %masked = "relax.add"(%scaled, %m) {} : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
  %weights = "relax.nn_softmax"(%masked) {axis = -1 : i64} : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %sums = "relax.matmul"(%weights, %v) {out_dtype} : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %sums : tensor<5x8xf32>
}
