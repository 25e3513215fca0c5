// RUN: relax-opt --lower-contractions %s | filecheck %s

// Integers have no kernel.
// CHECK-LABEL: func.func @integers
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @integers(%a: memref<?x?xi8>, %b: memref<?x?xi8>, %c: memref<?x?xi32>) {
  linalg.matmul ins(%a, %b : memref<?x?xi8>, memref<?x?xi8>) outs(%c : memref<?x?xi32>)
  return
}

// The result's last axis has no unit stride.
// CHECK-LABEL: func.func @strided_result
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @strided_result(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32, strided<[?, 2]>>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32, strided<[?, 2]>>)
  return
}

// The result is an operand.
// CHECK-LABEL: func.func @in_place
// CHECK: linalg.matmul
// CHECK-NOT: call
func.func @in_place(%a: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%c, %a : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// CHECK-NOT: func.func private
