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
// CHECK-NEXT: return %[[R]]
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
// CHECK-NEXT: return %[[R]]
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
// CHECK-NEXT: return %[[R]]
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
