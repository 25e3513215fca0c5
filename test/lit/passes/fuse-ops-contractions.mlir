// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --relax-to-memrefs | filecheck %s --check-prefix=MEMREF
// fuse_ops.py, prim_merging.py: what is done to the result of a contraction becomes one loop behind it.

// CHECK-LABEL: func.func @chain
// CHECK: callee = @[[CHAIN:matmul_add_f32_nn_relu_f32_add_f32_1]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @chain(%x: tensor<?x8xf32, #relax.shape<["n", 8]>>, %w: tensor<8x16xf32>, %b: tensor<16xf32>, %y: tensor<?x16xf32, #relax.shape<["n", 16]>>) -> tensor<?x16xf32, #relax.shape<["n", 16]>> {
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (tensor<?x8xf32, #relax.shape<["n", 8]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #relax.shape<["n", 16]>>
  %1 = "relax.add"(%0, %b) : (tensor<?x16xf32, #relax.shape<["n", 16]>>, tensor<16xf32>) -> tensor<?x16xf32, #relax.shape<["n", 16]>>
  %2 = "relax.nn_relu"(%1) : (tensor<?x16xf32, #relax.shape<["n", 16]>>) -> tensor<?x16xf32, #relax.shape<["n", 16]>>
  %3 = "relax.add"(%y, %2) : (tensor<?x16xf32, #relax.shape<["n", 16]>>, tensor<?x16xf32, #relax.shape<["n", 16]>>) -> tensor<?x16xf32, #relax.shape<["n", 16]>>
  return %3 : tensor<?x16xf32, #relax.shape<["n", 16]>>
}

// A contraction that is read twice, by two ops that become one.
// CHECK-LABEL: func.func @diamond
// CHECK: callee = @matmul_1_nn_relu_f32_1_multiply_f32,
// CHECK-NOT: call_tir
// CHECK: return
func.func @diamond(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.matmul"(%x, %x) {out_dtype} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.nn_relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.multiply"(%1, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// The sums of what is rounded get memory of their own.
// CHECK-LABEL: func.func @rounded
// CHECK: callee = @[[ROUNDED:matmul_2_cast_nn_relu_f16]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @rounded(%x: tensor<?x8xf16, #relax.shape<["n", 8]>>, %w: tensor<8x16xf16>) -> tensor<?x16xf16, #relax.shape<["n", 16]>> {
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (tensor<?x8xf16, #relax.shape<["n", 8]>>, tensor<8x16xf16>) -> tensor<?x16xf16, #relax.shape<["n", 16]>>
  %1 = "relax.nn_relu"(%0) : (tensor<?x16xf16, #relax.shape<["n", 16]>>) -> tensor<?x16xf16, #relax.shape<["n", 16]>>
  return %1 : tensor<?x16xf16, #relax.shape<["n", 16]>>
}

// Products of integers have no kernel, which would do with the sums of some rows.
// CHECK-LABEL: func.func @integers
// CHECK: callee = @matmul_3,
// CHECK: callee = @astype_i32,
// CHECK: return
func.func @integers(%x: tensor<4x4xi32>) -> tensor<4x4xf32> {
  %0 = "relax.matmul"(%x, %x) {out_dtype} : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  %1 = "relax.astype"(%0) {dtype = f32} : (tensor<4x4xi32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// What is read by a contraction is not computed anew in it; its result is not turned round in place.
// CHECK-LABEL: func.func @apart
// CHECK: callee = @exp_f32,
// CHECK: callee = @matmul_1,
// CHECK: callee = @permute_dims,
// CHECK: return
func.func @apart(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.matmul"(%0, %x) {out_dtype} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.permute_dims"(%1) {axes} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// CHECK: func.func private @[[CHAIN]](%{{.*}}, %{{.*}}, %[[B:.*]]: tensor<16xf32>, %[[Y:.*]]: tensor<?x16xf32>, %[[OUT:.*]]: tensor<?x16xf32>)
// CHECK-SAME: relax.pattern = "out_fusable"
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}}outs(%[[OUT]] :
// CHECK: %[[SUM:.*]] = linalg.matmul {{.*}}outs(%[[ZERO]] :
// CHECK: linalg.generic {{.*}}ins(%[[Y]], %[[SUM]], %[[B]] : {{.*}}outs(%[[SUM]] :
// CHECK-NOT: linalg.generic
// CHECK: return

// CHECK: func.func private @[[ROUNDED]](%[[A:.*]]: tensor<?x8xf16>, %[[B:.*]]: tensor<8x16xf16>, %[[OUT:.*]]: tensor<?x16xf16>)
// CHECK: %[[EMPTY:.*]] = tensor.empty(%{{.*}}) : tensor<?x16xf32>
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}}outs(%[[EMPTY]] :
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}ins(%[[A]], %[[B]] : {{.*}}outs(%[[ZERO]] :
// CHECK: linalg.generic {{.*}}ins(%[[SUM]] : {{.*}}outs(%[[OUT]] :
// CHECK: return

// The loop works in place, on the destination.
// MEMREF: func.func private @matmul_add_f32_nn_relu_f32_add_f32_1(
// MEMREF-NOT: memref.alloc
// MEMREF: linalg.matmul {{.*}}outs(%[[OUT:.*]] :
// MEMREF-NOT: memref.copy
// MEMREF: linalg.generic {{.*}}ins(%{{.*}}, %[[OUT]], %{{.*}} : {{.*}}outs(%[[OUT]] :
// MEMREF: return
