// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" | filecheck %s
// gemv.py: operands that are converted on the way are always packed: there are no thin products of f16.

// CHECK: func.func private @relax.gemm.f16.f32(
// CHECK-NOT: gemm.f16.f32.thin
// CHECK-NOT: gemm.f16.f32.dots
// CHECK-NOT: gemm.f16.f32.rows
// CHECK: func.func private @relax.gemm.f16.f32.packed(
func.func @matvec(%a: memref<?x?xf16>, %x: memref<?xf16>, %y: memref<?xf32>) {
  linalg.matvec ins(%a, %x : memref<?x?xf16>, memref<?xf16>) outs(%y : memref<?xf32>)
  return
}
