// gemm_amx.py: where the target has AMX, products of bf16 sum tiles; few rows and other types do not.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=sapphirerapids'" --link-kernels="target='cpu -mcpu=sapphirerapids'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s --check-prefix=AVX512

// CHECK: func.func private @relax.gemm.bf16.f32.finished(
// CHECK: call @relax.gemm.bf16.f32.skinny
// CHECK: call @relax.gemm.bf16.f32.packed
// CHECK: func.func private @relax.gemm.bf16.f32.tiles(
// CHECK: scf.for
// CHECK-COUNT-4: x86.amx.tile_mulf {{.*}} : !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x16xf32>
// CHECK: scf.yield
// CHECK-COUNT-4: x86.amx.tile_store
// CHECK-NOT: relax.gemm.bf16.f32.tile_1
//
// AVX512-NOT: x86
// AVX512: func.func private @relax.gemm.bf16.f32.tile_2
func.func @matmul(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  return
}
