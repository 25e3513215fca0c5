// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --legalize-ops --fuse-ops --explain-fusion 2>&1 | filecheck %s --check-prefix=WHY
// prim_merging.py: contractions read permuted operands as they lie, where their kernels can.

// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[LINES:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>

// CHECK-LABEL: func.func @linear
// CHECK: callee = @[[LINEAR:permute_dims_matmul_nn_relu_f32]],
// CHECK-NOT: call_tir
// CHECK: return
// WHY: fused  linear: permute_dims (injective) into matmul
// WHY-NEXT: read as it lies
func.func @linear(%x: tensor<?x8xf32, #relax.shape<["n", 8]>>, %w: tensor<16x8xf32>) -> tensor<?x16xf32, #relax.shape<["n", 16]>> {
  %0 = "relax.permute_dims"(%w) {axes} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %1 = "relax.matmul"(%x, %0) {out_dtype} : (tensor<?x8xf32, #relax.shape<["n", 8]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #relax.shape<["n", 16]>>
  %2 = "relax.nn_relu"(%1) : (tensor<?x16xf32, #relax.shape<["n", 16]>>) -> tensor<?x16xf32, #relax.shape<["n", 16]>>
  return %2 : tensor<?x16xf32, #relax.shape<["n", 16]>>
}

// Rows of two batches are one for the product, if they lie in memory as one.
// CHECK-LABEL: func.func @apart
// CHECK: callee = @permute_dims_1,
// CHECK: callee = @matmul_1,
// CHECK: return
// WHY: apart  apart: permute_dims_1
// WHY-NEXT: axes that are one
func.func @apart(%x: tensor<3x2x4xf32>, %w: tensor<4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = "relax.permute_dims"(%x) {axes = [1, 0, 2]} : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
  %1 = "relax.matmul"(%0, %w) {out_dtype} : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}

// A matrix whose neighbours belong to other matrices is read element by element: a copy is better.
// CHECK-LABEL: func.func @batch_inside
// CHECK: callee = @permute_dims_2,
// CHECK: callee = @matmul_2,
// CHECK: return
// WHY: apart  batch_inside: permute_dims_2
// WHY-NEXT: its last axis
func.func @batch_inside(%x: tensor<3x4x2xf32>, %y: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = "relax.permute_dims"(%x) {axes = [2, 0, 1]} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %1 = "relax.matmul"(%0, %y) {out_dtype} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}

// CHECK-LABEL: func.func @returned
// CHECK: callee = @permute_dims,
// CHECK: callee = @matmul_3,
// CHECK: return
// WHY: apart  returned: permute_dims
// WHY-NEXT: several users, not
func.func @returned(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> (tensor<4x16xf32>, tensor<8x16xf32>) {
  %0 = "relax.permute_dims"(%w) {axes} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %1 = "relax.matmul"(%x, %0) {out_dtype} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %1, %0 : tensor<4x16xf32>, tensor<8x16xf32>
}

// A prim func that is defined elsewhere: nothing is known of it.
// CHECK-LABEL: func.func @elsewhere
// CHECK: callee = @external,
// CHECK: callee = @permute_dims_3,
// CHECK: callee = @external,
// CHECK: return
// WHY: apart  elsewhere: external
func.func private @external(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> attributes {relax.pattern = "out_fusable", relax.prim_func}
func.func @elsewhere(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = builtin.unrealized_conversion_cast %x : tensor<4x4xf32> to tuple<tensor<4x4xf32>>
  %1 = "relax.call_tir"(%0) {callee = @external, tir_vars = []} : (tuple<tensor<4x4xf32>>) -> tensor<4x4xf32>
  %2 = "relax.permute_dims"(%1) {axes} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = builtin.unrealized_conversion_cast %2 : tensor<4x4xf32> to tuple<tensor<4x4xf32>>
  %4 = "relax.call_tir"(%3) {callee = @external, tir_vars = []} : (tuple<tensor<4x4xf32>>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// CHECK: func.func private @[[LINEAR]](%[[W:.*]]: tensor<16x8xf32>, %[[X:.*]]: tensor<?x8xf32>, %[[OUT:.*]]: tensor<?x16xf32>)
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}}outs(%[[OUT]] :
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], #[[LINES]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]], %[[W]] : {{.*}}outs(%[[ZERO]] :
// CHECK: linalg.generic {{.*}}ins(%[[SUM]] : {{.*}}outs(%[[SUM]] :
// CHECK: return
