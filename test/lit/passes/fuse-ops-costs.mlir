// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --legalize-ops --fuse-ops --explain-fusion -o %t 2>&1 | filecheck %s --check-prefix=EXPLAIN
// fuse_ops.py, prim_loops.py, report.py: what is repeated, and what is not.

// Cheap work is repeated for every row that it is broadcast to.
// CHECK-LABEL: func.func @broadcast
// CHECK: callee = @nn_relu_f32_add_f32,
// CHECK-NOT: call_tir
// CHECK: return
func.func @broadcast(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "relax.nn_relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.add"(%0, %y) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// And for each of two users, which read no more memory for it.
// CHECK-LABEL: func.func @two_users
// CHECK: callee = @negative_f32_exp_f32,
// CHECK: callee = @negative_f32_sqrt_f32,
// CHECK-NOT: call_tir
// CHECK: return
func.func @two_users(%x: tensor<?xf32, #relax.shape<["n"]>>) -> (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) {
  %0 = "relax.negative"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %1 = "relax.exp"(%0) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %2 = "relax.sqrt"(%0) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1, %2 : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>
}

// Not if the value is a result: it is stored anyway.
// CHECK-LABEL: func.func @stored
// CHECK: callee = @negative_f32,
// CHECK: callee = @exp_f32,
// CHECK: return
func.func @stored(%x: tensor<?xf32, #relax.shape<["n"]>>) -> (tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>) {
  %0 = "relax.negative"(%x) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  %1 = "relax.exp"(%0) : (tensor<?xf32, #relax.shape<["n"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %0, %1 : tensor<?xf32, #relax.shape<["n"]>>, tensor<?xf32, #relax.shape<["n"]>>
}

// Light work is done while the matrix is turned round, an exponential is not.
// CHECK-LABEL: func.func @turned
// CHECK: callee = @negative_f32_1_permute_dims,
// CHECK: callee = @exp_f32_1,
// CHECK: callee = @permute_dims_1,
// CHECK: return
func.func @turned(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "relax.negative"(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = "relax.permute_dims"(%0) {axes} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %2 = "relax.exp"(%1) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %3 = "relax.permute_dims"(%2) {axes} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// Rows that are picked are worked on where they are read.
// CHECK-LABEL: func.func @picked
// CHECK: callee = @take_exp_f32_2,
// CHECK-NOT: call_tir
// CHECK: return
func.func @picked(%x: tensor<5x4xf32>, %i: tensor<?xi64, #relax.shape<["n"]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>> {
  %0 = "relax.take"(%x, %i) {axis = 0 : i64, mode = "clip"} : (tensor<5x4xf32>, tensor<?xi64, #relax.shape<["n"]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "relax.exp"(%0) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  return %1 : tensor<?x4xf32, #relax.shape<["n", 4]>>
}

// EXPLAIN: ===== Fusion =====
// EXPLAIN-NEXT: fused  broadcast: nn_relu_f32 (elementwise) into add_f32 (broadcast)
// EXPLAIN-NEXT: its only user, cheap enough: broadcast; saves 32 bytes
// EXPLAIN-NEXT: at {{.*}}fuse-ops-costs.mlir:11:8
// EXPLAIN: fused  two_users: negative_f32 (elementwise) into sqrt_f32
// EXPLAIN-NEXT: cheap: computed in each user; saves 8*n bytes
// EXPLAIN: apart  stored: negative_f32 (elementwise) from exp_f32
// EXPLAIN-NEXT: several users, not all of them loops: the value is needed anyway
// EXPLAIN: apart  turned: exp_f32_1 (elementwise) from permute_dims_1
// EXPLAIN-NEXT: functions like exp need vectors
// EXPLAIN: 5 fused, 3 apart
