// gemm_pack.py: where the target has AVX512-BF16 and no AMX, products of bf16 are dot products of pairs.
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" --link-kernels="target='cpu -mcpu=sapphirerapids -mattr=-amx_bf16'" | filecheck %s
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512' kernel=relax.gemm.bf16.f32" | filecheck %s --check-prefix=WIDENED
// RUN: relax-opt %s --lower-contractions="target='cpu -mcpu=skylake-avx512'" --link-kernels="target='cpu -mcpu=skylake-avx512' kernel=relax.gemm.bf16.f32.block" | filecheck %s --check-prefix=TILE

// Operands are packed as they are, B by two of its rows at a time.
// CHECK: func.func private @relax.gemm.bf16.f32.packed.part(
// CHECK: memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?xbf16>
// CHECK: func.func private @relax.gemm.bf16.f32.pack_b(
// CHECK: %[[X:[A-Za-z0-9_]+]] = vector.load {{.*}}, vector<32xbf16>
// CHECK: %[[Y:[A-Za-z0-9_]+]] = vector.load {{.*}}, vector<32xbf16>
// CHECK: %[[X0:[A-Za-z0-9_]+]] = vector.shuffle %[[X]], %[[X]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: %[[Y0:[A-Za-z0-9_]+]] = vector.shuffle %[[Y]], %[[Y]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: %[[XB:[A-Za-z0-9_]+]] = vector.bitcast %[[X0]] :
// CHECK: %[[YB:[A-Za-z0-9_]+]] = vector.bitcast %[[Y0]] :
// CHECK: vector.interleave %[[XB]], %[[YB]] : vector<16xi16>
// CHECK: func.func private @relax.gemm.bf16.f32.tile_2(
// CHECK: scf.for {{.*}} step %c2{{[_0-9]*}} iter_args(%[[C0:[a-z0-9_]+]] = {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: %[[B0:[A-Za-z0-9_]+]] = vector.load {{.*}}, vector<32xbf16>
// CHECK: %[[PAIR:[A-Za-z0-9_]+]] = vector.load {{.*}}, vector<2xbf16>
// CHECK: %[[BITS:[A-Za-z0-9_]+]] = vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// CHECK: %[[WORD:[A-Za-z0-9_]+]] = vector.extract %[[BITS]][0]
// CHECK: %[[WORDS:[A-Za-z0-9_]+]] = vector.broadcast %[[WORD]] : i32 to vector<16xi32>
// CHECK: %[[A0:[A-Za-z0-9_]+]] = vector.bitcast %[[WORDS]] : vector<16xi32> to vector<32xbf16>
// CHECK: x86.avx512.dot %[[C0]], %[[A0]], %[[B0]] : vector<32xbf16> -> vector<16xf32>

// WIDENED-NOT: x86
// WIDENED: func.func private @relax.gemm.bf16.f32.pack_b(
// WIDENED: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// TILE-NOT: x86
// TILE: func.func private @relax.gemm.bf16.f32.tile_2(
// TILE-NOT: x86
func.func @matmul(%a: memref<?x?xbf16>, %b: memref<?x?xbf16>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xbf16>, memref<?x?xbf16>) outs(%c : memref<?x?xf32>)
  return
}
