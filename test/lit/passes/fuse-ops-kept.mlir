// RUN: relax-opt %s --legalize-ops --fuse-ops --symbol-dce | filecheck %s
// fuse_ops.py, prim_merging.py: calls that stay apart.

// A reduction is no elementwise loop.
// CHECK-LABEL: func.func @reduction
// CHECK: callee = @sum_f32,
// CHECK: callee = @nn_relu_f32,
// CHECK: return
func.func @reduction(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %0 = "relax.sum"(%x) {axis = [1], keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = "relax.nn_relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The user repeats what it reads: fused, the exponential would be computed once per row.
// CHECK-LABEL: func.func @other_shape
// CHECK: callee = @exp_f32,
// CHECK: callee = @add_f32,
// CHECK: return
func.func @other_shape(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.add"(%0, %y) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// A kernel along another axis than the last has no rows that lie in memory.
// CHECK-LABEL: func.func @kernel
// CHECK: callee = @exp_f32_1,
// CHECK: callee = @softmax,
// CHECK: return
func.func @kernel(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "relax.nn_softmax"(%0) {axis = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// The value between is a result, too.
// CHECK-LABEL: func.func @returned
// CHECK: %[[EXP:[A-Za-z0-9_]+]] = "relax.call_tir"({{.*}}callee = @exp_f32,
// CHECK: %[[RELU:[A-Za-z0-9_]+]] = "relax.call_tir"({{.*}}callee = @nn_relu_f32,
// CHECK: return %[[EXP]], %[[RELU]] :
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.nn_relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// One user that reads it twice is one user: this one does fuse, and computes it once.
// CHECK-LABEL: func.func @same_twice
// CHECK: callee = @[[FUSED:exp_f32_add_f32_1]],
// CHECK-NOT: call_tir
// CHECK: return
// CHECK: func.func private @[[FUSED]](
// CHECK: %[[EXP:[A-Za-z0-9_]+]] = math.exp
// CHECK-NEXT: arith.addf %[[EXP]], %[[EXP]] : f32
// CHECK-NEXT: linalg.yield
func.func @same_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
