// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s
// gemv.py: products of few rows of f16 widen what they read, and sum in f32.

// CHECK: func.func private @relax.gemm.f16.f32.row(
// CHECK: func.func private @relax.gemm.f16.f32.dots(
// CHECK: vector.load {{.*}}vector<8xf16>
// CHECK: arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: vector.fma {{.*}} : vector<8xf32>
// CHECK: func.func private @relax.gemm.f16.f32.rows_1(
// CHECK: arith.extf {{.*}} : f16 to f32
func.func @matvec(%a: memref<?x?xf16>, %x: memref<?xf16>, %y: memref<?xf32>) {
  linalg.matvec ins(%a, %x : memref<?x?xf16>, memref<?xf16>) outs(%y : memref<?xf32>)
  return
}
