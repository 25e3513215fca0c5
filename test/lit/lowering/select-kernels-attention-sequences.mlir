// attention.py: attention of sequences that stand one after the other, for each of them the loops of attention.
// RUN: relax-opt %s --relax-to-memrefs --select-kernels="target='cpu -mcpu=haswell'" | filecheck %s

// Without sequences there are zeros. Starts lie in the tensors, and ends behind starts, whatever the numbers are; the
// number of sequences is one less than that of starts.
// CHECK-LABEL: func.func private @nn_attention_var_len
// CHECK: memref.store %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}[%{{[a-z0-9_]+}}] : memref<?xf32>
// CHECK: scf.for %[[N:[a-z0-9_]+]] =
// CHECK: memref.load %{{[a-z0-9_]+}}[%[[N]]] : memref<?xi32>
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: scf.if
// CHECK: call @relax.attention.f32.pack_keys
// CHECK: call @relax.attention.f32.pack_values
!q = tensor<1x?x4x8xf32, #relax.shape<[1, "s", 4, 8]>>
!k = tensor<1x?x2x8xf32, #relax.shape<[1, "t", 2, 8]>>
!at = tensor<?xi32, #relax.shape<["b + 1"]>>
func.func @main(%q: !q, %k: !k, %at: !at, %most: tensor<i32>) -> !q {
  %0 = "relax.nn_attention_var_len"(%q, %k, %k, %at, %at, %most, %most) {scale = 0.5 : f64, causal_mask = "TopLeft"} : (!q, !k, !k, !at, !at, tensor<i32>, tensor<i32>) -> !q
  return %0 : !q
}
