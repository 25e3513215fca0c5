// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --legalize-ops --fuse-ops=max-depth=1 | filecheck %s --check-prefix=DEPTH
// fuse_ops.py, prim_loops.py.

// CHECK-LABEL: @chain
// CHECK: "relax.call_tir"(%{{.*}}) {{.*}}callee = @add_f32_nn_relu_f32
// CHECK-NOT: call_tir
// CHECK: return
// DEPTH-LABEL: @chain
// DEPTH: callee = @add_f32,
// DEPTH: callee = @nn_relu_f32,
func.func @chain(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.add"(%x, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.nn_relu"(%0) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// A value with two users is computed once, by a call of its own.
// CHECK-LABEL: @two_users
// CHECK: callee = @exp_f32,
// CHECK: callee = @nn_relu_f32,
// CHECK: callee = @nn_silu_f32,
func.func @two_users(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>) -> (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>) {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.nn_relu"(%0) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %2 = "relax.nn_silu"(%0) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %1, %2 : tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// A contraction works on its result in place with the loop that is its only user.
// CHECK-LABEL: func.func private @matmul_
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}}outs(%[[OUT:.*]] : tensor<?x4xf32>)
// CHECK: %[[SUM:.*]] = linalg.matmul {{.*}}outs(%[[ZERO]] :
// CHECK: %[[DONE:.*]] = linalg.generic {{.*}}ins(%[[SUM]], {{.*}}outs(%[[SUM]] :
// CHECK: return %[[DONE]] :
func.func @epilogue(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %w: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.matmul"(%x, %w) {out_dtype} : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4x4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.add"(%0, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// CHECK-LABEL: func.func private @add_f32_nn_relu_f32
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32>, %[[Y:.*]]: tensor<4xf32>, %[[OUT:.*]]: tensor<?x4xf32>)
// CHECK-SAME: relax.pattern = "broadcast"
// CHECK: linalg.generic {{.*}}ins(%[[X]], %[[Y]] : {{.*}}outs(%[[OUT]] :
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: arith.maximumf %[[SUM]],
// CHECK-NOT: linalg.generic
// CHECK: return
