// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --legalize-ops --fuse-ops --explain-fusion -o %t 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: relax-opt %s --relax-to-kernels | filecheck %s --check-prefix=KERNEL
// prim_merging.py, rows.py: what comes behind a kernel over rows is done to each row when it has been written.

// CHECK-LABEL: func.func @norm
// CHECK: callee = @[[NORM:add_f32_layer_norm_nn_relu_f32_add_f32_1]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @norm(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>, %y: tensor<?xf32, #relax.shape<["m"]>>, %g: tensor<?xf32, #relax.shape<["m"]>>, %b: tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>> {
  %0 = "relax.add"(%x, %y) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %1 = "relax.nn_layer_norm"(%0, %g, %b) {axes = [-1 : i64], epsilon = 1.0e-05 : f64, center = true, scale = true} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, tensor<?xf32, #relax.shape<["m"]>>, tensor<?xf32, #relax.shape<["m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %2 = "relax.nn_relu"(%1) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %3 = "relax.add"(%2, %x) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  return %3 : tensor<?x?xf32, #relax.shape<["n", "m"]>>
}

// A contraction comes first: its sums need not be stored.
// CHECK-LABEL: func.func @product
// CHECK: callee = @softmax
// CHECK: callee = @matmul_add_f32
// CHECK: return
func.func @product(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Another dtype would need memory of its own.
// CHECK-LABEL: func.func @rounded
// CHECK: callee = @softmax,
// CHECK: callee = @astype_f32,
// CHECK: return
func.func @rounded(%x: tensor<4x4xf32>) -> tensor<4x4xf16> {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.astype"(%0) {dtype = f16} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  return %1 : tensor<4x4xf16>
}

// Another order would need all rows.
// CHECK-LABEL: func.func @turned
// CHECK: callee = @softmax,
// CHECK: callee = @permute_dims,
// CHECK: return
func.func @turned(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.permute_dims"(%0) {axes} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// A value that something else reads, too.
// CHECK-LABEL: func.func @two_users
// CHECK: callee = @softmax,
// CHECK: callee = @nn_relu_f32{{[_0-9]*}},
// CHECK: return
func.func @two_users(%x: tensor<4x4xf32>) -> tuple<tensor<4x4xf32>, tensor<4x4xf32>> {
  %0 = "relax.nn_softmax"(%x) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.nn_relu"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = builtin.unrealized_conversion_cast %0, %1 : tensor<4x4xf32>, tensor<4x4xf32> to tuple<tensor<4x4xf32>, tensor<4x4xf32>>
  return %2 : tuple<tensor<4x4xf32>, tensor<4x4xf32>>
}

// CHECK: func.func private @[[NORM]](%[[X:.*]]: tensor<?x?xf32>, %[[Y:.*]]: tensor<?xf32>, %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?xf32>, %[[OUT:.*]]: tensor<?x?xf32>)
// CHECK-SAME: relax.kernel = "layer_norm"
// CHECK-SAME: relax.kernel_inputs = array<i64: -1, 2, 3>
// CHECK: linalg.generic {{.*}}ins(%[[X]], %[[Y]] : {{.*}}outs(%[[OUT]] : {{.*}}attrs = {relax.prologue}
// CHECK: linalg.generic {{.*}}ins(%[[RESULT:.*]], %[[X]] : {{.*}}outs(%[[RESULT]] : {{.*}}attrs = {relax.epilogue}
// CHECK: return

// One loop over rows, one memory.
// KERNEL: func.func private @add_f32_layer_norm_nn_relu_f32_add_f32_1(
// KERNEL-NOT: memref.alloc
// KERNEL: scf.for
// KERNEL-NEXT: func.call @relax.parallel_cost
// KERNEL: math.sqrt
// KERNEL: arith.maximumf
// KERNEL-NOT: relax.parallel_cost
// KERNEL-NOT: memref.alloc
// KERNEL: return

// EXPLAIN: fused  norm: add_f32 (broadcast) into layer_norm
// EXPLAIN-NEXT: prologue of the kernel layer_norm; saves 8*m*n bytes
// EXPLAIN: fused  norm: add_f32_layer_norm
// EXPLAIN: epilogue of the kernel layer_norm; saves 8*m*n bytes
// EXPLAIN: apart  rounded: softmax
// EXPLAIN-NEXT: the result of the kernel has another type
// EXPLAIN: apart  turned: softmax
// EXPLAIN-NEXT: read out of order
// EXPLAIN: apart  two_users: softmax
// EXPLAIN-NEXT: several users
