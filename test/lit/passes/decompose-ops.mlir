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
