// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// RUN: relax-opt %s --legalize-ops --fuse-ops --explain-fusion -o %t 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: relax-opt %s --relax-to-kernels | filecheck %s --check-prefix=KERNEL
// prim_merging.py: loops through slices and concatenations, and into reductions.

// The parts of a concatenation are loops of their own, which write into the result.
// CHECK-LABEL: func.func @parts
// CHECK: callee = @[[PARTS:exp_f32_concat_nn_relu_f32]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @parts(%x: tensor<?x4xf32, #relax.shape<["n", 4]>>, %y: tensor<?x3xf32, #relax.shape<["n", 3]>>) -> tensor<?x7xf32, #relax.shape<["n", 7]>> {
  %0 = "relax.exp"(%x) : (tensor<?x4xf32, #relax.shape<["n", 4]>>) -> tensor<?x4xf32, #relax.shape<["n", 4]>>
  %1 = "builtin.unrealized_conversion_cast"(%0, %y) : (tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x3xf32, #relax.shape<["n", 3]>>) -> tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x3xf32, #relax.shape<["n", 3]>>>
  %2 = "relax.concat"(%1) {axis = 1 : i64} : (tuple<tensor<?x4xf32, #relax.shape<["n", 4]>>, tensor<?x3xf32, #relax.shape<["n", 3]>>>) -> tensor<?x7xf32, #relax.shape<["n", 7]>>
  %3 = "relax.nn_relu"(%2) : (tensor<?x7xf32, #relax.shape<["n", 7]>>) -> tensor<?x7xf32, #relax.shape<["n", 7]>>
  return %3 : tensor<?x7xf32, #relax.shape<["n", 7]>>
}

// A slice is read in place, and only what it takes is computed.
// CHECK-LABEL: func.func @slice
// CHECK: callee = @[[SLICE:exp_f32_1_strided_slice_add_f32]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @slice(%x: tensor<8xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "relax.strided_slice"(%0) {axes = [0], begin = [1], end = [5], strides = [1], assume_inbound = false} : (tensor<8xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%1, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// What is expensive is not computed again for a second slice.
// CHECK-LABEL: func.func @two_slices
// CHECK: callee = @exp_f32_1,
// CHECK: callee = @{{strided_slice.*add_f32}},
// CHECK-NOT: call_tir
// CHECK: return
func.func @two_slices(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "relax.strided_slice"(%0) {axes = [0], begin = [1], end = [5], strides = [1], assume_inbound = false} : (tensor<8xf32>) -> tensor<4xf32>
  %2 = "relax.strided_slice"(%0) {axes = [0], begin = [2], end = [6], strides = [1], assume_inbound = false} : (tensor<8xf32>) -> tensor<4xf32>
  %3 = "relax.add"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @sum
// CHECK: callee = @[[SUM:multiply_f32_sum_f32]],
// CHECK-NOT: call_tir
// CHECK: return
func.func @sum(%x: tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?xf32, #relax.shape<["n"]>> {
  %0 = "relax.multiply"(%x, %x) : (tensor<?x?xf32, #relax.shape<["n", "m"]>>, tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?x?xf32, #relax.shape<["n", "m"]>>
  %1 = "relax.sum"(%0) {axis = [1], keepdims = false} : (tensor<?x?xf32, #relax.shape<["n", "m"]>>) -> tensor<?xf32, #relax.shape<["n"]>>
  return %1 : tensor<?xf32, #relax.shape<["n"]>>
}

// A variance reads its input twice.
// CHECK-LABEL: func.func @twice
// CHECK: callee = @multiply_f32_1,
// CHECK: callee = @variance_f32,
// CHECK: return
func.func @twice(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = "relax.multiply"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.variance"(%0) {axis = [1], keepdims = false} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK: func.func private @[[PARTS]](
// CHECK: math.exp
// CHECK: arith.maximumf
// CHECK: tensor.insert_slice
// CHECK-NOT: math.exp
// CHECK: arith.maximumf
// CHECK: tensor.insert_slice
// CHECK: return

// CHECK: func.func private @[[SLICE]](%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<4xf32>, %[[OUT:.*]]: tensor<4xf32>)
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][1] [4] [1]
// CHECK: linalg.generic {{.*}}ins(%[[PART]], %[[Y]] : {{.*}}outs(%[[OUT]] :

// CHECK: func.func private @[[SUM]](%[[X:.*]]: tensor<?x?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]] :
// CHECK: arith.mulf
// CHECK: arith.addf

// No memory but that of the arguments; nothing is copied after it is computed.
// KERNEL: func.func private @exp_f32_concat_nn_relu_f32(
// KERNEL-NOT: memref.alloc
// KERNEL: math.fma
// KERNEL: vector.{{.*}}store
// KERNEL: arith.maximumf
// KERNEL: func.func private @exp_f32_1_strided_slice_add_f32(
// KERNEL-NOT: memref.alloc
// KERNEL: return

// EXPLAIN: fused  parts: exp_f32_concat
// EXPLAIN-NEXT: its only user, part by part; saves 56*n bytes
// EXPLAIN: fused  slice: exp_f32_1
// EXPLAIN-NEXT: its only user, in slices
// EXPLAIN: fused  sum: multiply_f32 (elementwise) into sum_f32 (reduction)
// EXPLAIN-NEXT: saves 8*m*n bytes
// EXPLAIN: apart  two_slices: exp_f32_1
// EXPLAIN: read in several places
// EXPLAIN: apart  twice: multiply_f32_1 (elementwise) from variance_f32 (reduction)
