// RUN: relax-opt %s --fuse-ops-by-pattern="patterns=openblas" | filecheck %s
// What is no pattern of the library stays: nothing becomes a function.

// CHECK-NOT: relax.composite

// Integers, and a wider dtype of the result.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<3x4xi32>, %y: tensor<4x5xi32>) -> tensor<3x5xi32> {
  // CHECK: "relax.matmul"
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
  return %0 : tensor<3x5xi32>
}

// CHECK-LABEL: func.func @wider
func.func @wider(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> tensor<3x5xf64> {
  // CHECK: "relax.matmul"
  %0 = "relax.matmul"(%x, %y) {out_dtype = f64} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}

// A vector, and tensors of unknown rank.
// CHECK-LABEL: func.func @vector
func.func @vector(%x: tensor<4xf32>, %y: tensor<4x5xf32>) -> tensor<5xf32> {
  // CHECK: "relax.matmul"
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<4xf32>, tensor<4x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: func.func @unknown_rank
func.func @unknown_rank(%x: tensor<*xf32>, %y: tensor<4x5xf32>) -> tensor<*xf32> {
  // CHECK: "relax.matmul"
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<*xf32>, tensor<4x5xf32>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// Batches that broadcast.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<2x1x3x4xf32>, %y: tensor<1x6x4x5xf32>) -> tensor<2x6x3x5xf32> {
  // CHECK: "relax.matmul"
  %0 = "relax.matmul"(%x, %y) {out_dtype} : (tensor<2x1x3x4xf32>, tensor<1x6x4x5xf32>) -> tensor<2x6x3x5xf32>
  return %0 : tensor<2x6x3x5xf32>
}

// CHECK-NOT: relax.composite
