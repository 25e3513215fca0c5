// gemm_small_m.py: products of 5 to 48 rows and more than 48 columns read B where it lies.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=haswell'" --link-kernels="target='cpu -mcpu=haswell'" | filecheck %s --check-prefix=AVX2

// Whole tiles have 6 or 8 rows; what is left of the columns takes those of `gemm-small-n.mlir`. Nothing is packed.
// CHECK-LABEL: func.func private @relax.gemm.f32.few_rows.part(
// CHECK-NOT: call @relax.gemm.f32.pack_
// CHECK-NOT: memref.alloc
// CHECK: func.call @relax.gemm.f32.unpacked_ahead_6(
// CHECK: func.call @relax.gemm.f32.unpacked_ahead_8(
// CHECK: func.call @relax.gemm.f32.unpacked_one(

// Each step of the depth asks for three lines, 96 columns further on: those of the tile after the next.
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_ahead_6(
// CHECK-COUNT-3: memref.prefetch {{.*}}, read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK-COUNT-18: vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.fma
// CHECK-LABEL: func.func private @relax.gemm.f32.unpacked_ahead_8(
// CHECK-COUNT-24: vector.fma {{.*}} : vector<16xf32>

// AVX2 has no registers for such tiles.
// AVX2-NOT: few_rows
// AVX2: func.func private @relax.gemm.f32.packed(
// AVX2-NOT: few_rows
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) attributes {relax.prim_func} {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}
