// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell -mattr=-fma'" --link-kernels="target='cpu -mcpu=haswell -mattr=-fma'" | filecheck %s --check-prefix=UNFUSED
// RUN: not relax-opt %s --lower-contractions="target='cpu -mcpu=toaster'" 2>&1 | filecheck %s --check-prefix=UNKNOWN
// gemm.py, gemm_tiling.py, emit.py: f64 is summed in f64 with half the lanes, f16 in f32.

// UNKNOWN: relax-opt: error: {{.*}}toaster

// CHECK: func.func private @relax.gemm.f64.tile_1(
// CHECK: vector.fma %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<4xf64>
// CHECK: func.func private @relax.gemm.f16.f32.tile_1(
// CHECK: vector.fma %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<8xf32>

// Without fused multiply-add the two operations stay apart.
// UNFUSED: func.func private @relax.gemm.f64.tile_1(
// UNFUSED-NOT: vector.fma
// UNFUSED: %[[PRODUCT:[A-Za-z0-9_]+]] = arith.mulf %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : vector<4xf64>
// UNFUSED-NEXT: arith.addf {{.*}}%[[PRODUCT]],
// UNFUSED-NOT: vector.fma
func.func @double(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  linalg.matmul ins(%a, %b : memref<?x?xf64>, memref<?x?xf64>) outs(%c : memref<?x?xf64>)
  return
}
func.func @half(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf16>, memref<?x?xf16>) outs(%c : memref<?x?xf32>)
  return
}
