// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --legalize-ops --fuse-ops --explain-fusion -o %t 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: relax-opt %s --relax-to-kernels | filecheck %s --check-prefix=KERNEL
// prim_merging.py, rows.py: kernels over rows compute their first input, each row before it is read.

// CHECK-LABEL: func.func @scores
// CHECK: callee = @[[SCORES:multiply_f32_softmax]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @scores(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>> {
  %0 = "relax.multiply"(%x, %y) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %1 = "relax.nn_softmax"(%0) {axis = -1 : i64} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %1 : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}

// A value that is read again behind the kernel is computed once, before it.
// CHECK-LABEL: func.func @two_users
// CHECK: callee = @exp_f32,
// CHECK: callee = @softmax_1_add_f32,
// CHECK: return
func.func @two_users(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.nn_softmax"(%0) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.add"(%1, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Elements that are not read in the order of rows.
// CHECK-LABEL: func.func @turned
// CHECK: callee = @permute_dims,
// CHECK: callee = @softmax_1,
// CHECK: return
func.func @turned(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.permute_dims"(%x) {axes} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.nn_softmax"(%0) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK: func.func private @[[SCORES]](%[[X:.*]]: tensor<?x?xf32>, %[[Y:.*]]: tensor<?xf32>, %[[OUT:.*]]: tensor<?x?xf32>)
// CHECK-SAME: relax.kernel = "softmax"
// CHECK-SAME: relax.kernel_inputs = array<i64: -1>
// CHECK: linalg.generic {{.*}}ins(%[[X]], %[[Y]] : {{.*}}outs(%[[OUT]] : {{.*}}attrs = {relax.prologue}

// The row is filled in the loop over rows; there is no other memory than that of the arguments.
// KERNEL: func.func private @multiply_f32_softmax(
// KERNEL-NOT: memref.alloc
// KERNEL: scf.for
// KERNEL-NEXT: func.call @relax.parallel_cost
// KERNEL: arith.mulf
// KERNEL: vector.{{.*}}store
// KERNEL: arith.cmpf olt
// KERNEL-NOT: relax.parallel_cost
// KERNEL-NOT: memref.alloc
// KERNEL: return

// EXPLAIN: fused  scores: multiply_f32
// EXPLAIN-NEXT: prologue of the kernel softmax; saves 8*m*n bytes
// EXPLAIN: apart  two_users: exp_f32 (elementwise) from softmax_1_add_f32
// EXPLAIN: apart  turned: permute_dims
// EXPLAIN-NEXT: read out of order
